//! The flags of `gpud run`.

use std::{path::PathBuf, time::Duration};

use super::*;
use crate::{
    cli::{
        checks::{BlockedProcesses, CheckOptions, XidOptions},
        components::ComponentSelection,
        local_socket::LocalSocketChoice,
        terminal::ColorChoice,
    },
    logging::LogOptions,
};

const DAYS_14: Duration = Duration::from_secs(14 * 24 * 3600);

#[test]
fn run_without_flags() {
    let invocation = read("run|--data-dir=/d").unwrap();
    assert_eq!(
        invocation.log,
        LogOptions {
            level: LogLevel::Info,
            json: true,
            file: None
        }
    );
    assert_eq!(
        (invocation.color, invocation.notes),
        (ColorChoice::Auto, Vec::new())
    );
    let xid = XidOptions {
        reboot_threshold: 2,
        lookback: DAYS_14,
        ..XidOptions::default()
    };
    assert_eq!(
        run(""),
        RunOptions {
            data_dir: "/d".into(),
            run_as: None,
            db_in_memory: false,
            listen_address: "127.0.0.1:15132".into(),
            tls: None,
            token_file: None,
            require_token: false,
            local_socket: LocalSocketChoice::Usual,
            allowed_hosts: Vec::new(),
            allowed_origins: Vec::new(),
            pprof: false,
            plugin_specs_file: Some("/etc/default/gpud.plugins.yaml".into()),
            exports_file: Some("/etc/gpud/exports.yaml".into()),
            webhook_url: None,
            otlp_endpoint: None,
            inventory: None,
            components: ComponentSelection::default(),
            dcgm_names: false,
            metrics_retention: Duration::from_secs(3 * 3600),
            events_retention: DAYS_14,
            checks: CheckOptions {
                xid: xid.clone(),
                sxid: xid,
                ..CheckOptions::default()
            },
        }
    );
}

#[test]
fn an_endpoint_for_otlp_is_an_address_or_where_to_find_one() {
    let endpoint = |flag: &str| run(flag).otlp_endpoint.map(|address| address.shown());
    assert_eq!(
        endpoint("--otlp-endpoint=http://collector:4317").as_deref(),
        Some("http://collector:4317")
    );
    assert_eq!(
        endpoint("--otlp-endpoint=env:OTEL_EXPORTER_OTLP_ENDPOINT").as_deref(),
        Some("env:OTEL_EXPORTER_OTLP_ENDPOINT")
    );
    assert!(read("run|--otlp-endpoint=collector:4317").is_err());
}

#[test]
fn metrics_have_gpuds_names_unless_others_are_asked_for() {
    assert!(!run("--metrics-names=gpud").dcgm_names);
    assert!(run("--metrics-names=dcgm").dcgm_names);
    assert!(read("run|--metrics-names=otlp").is_err());
}

#[test]
fn the_unit_files_flags() {
    let line = "run|--log-level=warn|--log-file=\"\"|--endpoint=e|--data-dir=/d|--db-in-memory|--session-protocol=auto|x";
    let invocation = read(line).unwrap();
    assert_eq!(
        invocation.log,
        LogOptions {
            level: LogLevel::Warn,
            json: true,
            file: Some(PathBuf::from("\"\""))
        }
    );
    assert_eq!(
        invocation.notes,
        [
            "argument \"x\" ignored (a switch takes a value only as --name=value)",
            "this build has no control plane and no self-update: --endpoint ignored",
        ]
    );
}

#[test]
fn flags_of_run() {
    let options = run(concat!(
        "--listen-address=:15132|--tls-cert=/c|--tls-key=/k|--pprof|--require-token|--token-file=/t|--local-socket=none|--allowed-hosts=.a,B|--allowed-origins=https://c|--plugin-specs-file=|--components=-disk|",
        "--retention-period=1h|--events-retention-period=48h|--gpu-count=8|",
        "--infiniband-expected-port-states={\"at_least_ports\":8,\"at_least_rate\":400}|",
        "--nvlink-expected-link-states={\"at_least_gpus_with_all_links_feature_enabled\":4}|",
        "--infiniband-exclude-devices=mlx5_0, mlx5_1,|--infiniband-flap-auto-clear-window=10m|",
        "--infiniband-class-root-dir=/ib|--xid-thresholds={\"overrides\":{\"79\":{\"rebootThreshold\":3}}}|",
        "--xid-lookback-period=24h|--os-blocked-process-name-regexes=^nv,|",
        "--os-blocked-process-persistence-threshold=0|--threshold-celsius-slowdown-margin=-4|",
        "--nfs-host-root=/proc/1/root|--host-root=/host|--lsblk-commands=nsenter -t 1 -- lsblk|",
        "--gpu-uuids-with-gpu-lost=GPU-1,GPU-2|--gpu-product-name=H100|--nvml-device-get-devices-error"
    ));
    let checks = &options.checks;
    assert_eq!(options.listen_address, ":15132");
    let tls = options.tls.as_ref().unwrap();
    assert_eq!(
        (tls.certificate.to_str(), tls.key.to_str()),
        (Some("/c"), Some("/k"))
    );
    assert!(options.pprof && options.plugin_specs_file.is_none());
    assert!(options.require_token && options.token_file == Some("/t".into()));
    assert_eq!(options.local_socket, LocalSocketChoice::Off);
    assert_eq!(options.allowed_hosts, [".a", "b"]);
    assert_eq!(options.allowed_origins, ["https://c"]);
    assert!(options.components.includes("cpu") && !options.components.includes("disk"));
    assert_eq!(options.metrics_retention, Duration::from_secs(3600));
    assert_eq!(options.events_retention, Duration::from_secs(48 * 3600));
    assert_eq!(checks.gpu_count, Some(8));
    let ports = checks.infiniband.expected_ports.unwrap();
    assert_eq!((ports.at_least_ports, ports.at_least_rate), (8, 400));
    assert_eq!(checks.nvlink_gpus_with_all_links, Some(4));
    assert_eq!(checks.infiniband.exclude_devices, ["mlx5_0", "mlx5_1"]);
    assert_eq!(
        checks.infiniband.flap_auto_clear,
        Some(Duration::from_secs(600))
    );
    assert_eq!(checks.infiniband.class_root, Some("/ib".into()));
    assert_eq!(checks.xid.thresholds, [(79, 3)].into());
    assert_eq!(checks.xid.lookback, Duration::from_secs(24 * 3600));
    // Unset, it is the events retention.
    assert_eq!(checks.sxid.lookback, Duration::from_secs(48 * 3600));
    assert_eq!(
        checks.blocked_processes,
        BlockedProcesses {
            name_regexes: Some(vec!["^nv".into()]),
            persistence: Some(5)
        }
    );
    assert_eq!(checks.slowdown_margin_celsius, 0);
    assert_eq!(checks.nfs_host_root, Some("/proc/1/root".into()));
    assert_eq!(checks.host_root, Some("/host".into()));
    assert_eq!(
        checks.commands.lsblk.as_deref(),
        Some("nsenter -t 1 -- lsblk")
    );
    assert_eq!(checks.faults.gpu_lost, ["GPU-1", "GPU-2"]);
    assert_eq!(checks.faults.product_name.as_deref(), Some("H100"));
    assert!(checks.faults.enumeration_fails);
}

#[test]
fn odd_values_are_put_right() {
    let options =
        run("--listen-address=|--events-retention-period=0|--retention-period=-1h|--gpu-count=-3");
    assert_eq!(options.listen_address, "127.0.0.1:15132");
    assert_eq!(options.events_retention, DAYS_14);
    assert_eq!(options.metrics_retention, Duration::from_secs(3 * 3600));
    assert_eq!(options.checks.gpu_count, None);
    let invocation = read("scan|--xid-reboot-threshold=0").unwrap();
    assert_eq!(
        invocation.notes,
        ["--xid-reboot-threshold 0 ignored: it must be at least 1"]
    );
}
