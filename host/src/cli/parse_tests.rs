use std::{any::Any, path::PathBuf, time::Duration};

use super::*;
use crate::cli::{
    checks::{BlockedProcesses, CheckOptions, XidOptions},
    command::{Action, Task},
    compact::CompactOptions,
    compile_builtins::CompileBuiltinsOptions,
    compile_component::CompileComponentOptions,
    completion::CompletionOptions,
    components::ComponentSelection,
    custom_plugins::CustomPluginsOptions,
    down::DownOptions,
    healthcheck::{Form, HealthcheckOptions},
    history::HistoryOptions,
    inject_fault::InjectFaultOptions,
    list_plugins::ListPluginsOptions,
    local_socket::LocalSocketChoice,
    machine_info::MachineInfoOptions,
    man::ManOptions,
    metadata::MetadataOptions,
    notify::NO_CONTROL_PLANE,
    options::FailOn,
    release::NO_SIGNING,
    root_helper::RootHelperOptions,
    run::RunOptions,
    run_plugin_group::RunPluginGroupOptions,
    scan::ScanOptions,
    set_healthy::SetHealthyOptions,
    status::StatusOptions,
    terminal::ColorChoice,
    unavailable::{Unavailable, Unneeded},
    up::UpOptions,
    update::{self, UpdateOptions},
    watch::WatchOptions,
};
use crate::{logging::LogOptions, model::RepairAction};

fn read(line: &str) -> Result<Invocation, Exit> {
    let words = ["gpud"].into_iter().chain(line.split('|'));
    parse(words.filter(|word| !word.is_empty()).map(OsString::from))
}

/// The values that a command line of the command with these values asks for.
pub fn values<A: Action>(line: &str) -> A {
    let task: Box<dyn Any> = read(line).unwrap().task;
    *task.downcast::<A>().unwrap()
}

/// What stands for a task in a table of expectations.
fn task(action: impl Action) -> Box<dyn Task> {
    Box::new(action)
}

#[track_caller]
fn assert_asks_for(invocation: &Invocation, expected: &dyn Task, line: &str) {
    let found = format!("{:?}", invocation.task);
    assert_eq!(found, format!("{expected:?}"), "{line}");
}

fn run(line: &str) -> RunOptions {
    values(&format!("run|--data-dir=/d|{line}"))
}

fn scan(line: &str) -> ScanOptions {
    values(&format!("scan|{line}"))
}

fn failure(line: &str) -> String {
    match read(line).unwrap_err() {
        Exit {
            code: 1,
            stderr: Stderr::Failure(message),
            ..
        } => message,
        other => panic!("{line}: {other:?}"),
    }
}

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

#[test]
fn scans() {
    let options =
        scan("--fail-on=degraded|-json|--components|cpu,disk|--os-blocked-process-name-regexes=");
    assert_eq!(
        (options.fail_on, options.json),
        (Some(FailOn::Degraded), true)
    );
    assert!(options.components.includes("cpu") && !options.components.includes("os"));
    assert_eq!(
        options.checks.blocked_processes.name_regexes,
        Some(Vec::new())
    );
    assert_eq!(scan("").fail_on, None);
    assert_eq!(read("s").unwrap().log.level, LogLevel::Warn);
    assert_eq!(read("check|-l|DEBUG").unwrap().log.level, LogLevel::Debug);
}

#[test]
fn small_commands() {
    for (line, expected) in [
        (
            "machine-info|--data-dir=/d|--output-format= JSON ",
            task(MachineInfoOptions {
                data_dir: "/d".into(),
                json: true,
            }),
        ),
        (
            "machine-info|--data-dir=/d|--json",
            task(MachineInfoOptions {
                data_dir: "/d".into(),
                json: true,
            }),
        ),
        (
            "inject-fault|--kernel-message=x|--json",
            task(InjectFaultOptions {
                priority: "KERN_INFO".into(),
                message: "x".into(),
                json: true,
            }),
        ),
        (
            "set-health|cpu, disk|--server=https://h|os,",
            task(SetHealthyOptions {
                server: "https://h".into(),
                token_file: None,
                components: vec!["cpu".into(), "disk".into(), "os".into()],
                json: false,
            }),
        ),
        (
            "lp|--json|--token-file=/t",
            task(ListPluginsOptions {
                server: String::new(),
                token_file: Some("/t".into()),
                json: true,
            }),
        ),
        (
            "run-plugin-group|a tag|--server=https://h|--json",
            task(RunPluginGroupOptions {
                server: "https://h".into(),
                token_file: None,
                tag: "a tag".into(),
                json: true,
            }),
        ),
        (
            "compact|--data-dir=/d",
            task(CompactOptions {
                data_dir: "/d".into(),
                json: false,
            }),
        ),
        (
            "compile-builtins|--output=out|--target=aarch64-unknown-linux-gnu",
            task(CompileBuiltinsOptions {
                output: "out".into(),
                target: Some("aarch64-unknown-linux-gnu".into()),
            }),
        ),
        (
            "root-helper|--kernel-log=/k|--plugins=a,b|--plugin-specs-file=/s",
            task(RootHelperOptions {
                kernel_log: "/k".into(),
                plugin_specs_file: Some("/s".into()),
                plugins: vec!["a".into(), "b".into()],
            }),
        ),
        (
            "compile-component|in|out",
            task(CompileComponentOptions {
                input: "in".into(),
                output: "out".into(),
            }),
        ),
    ] {
        let invocation = read(line).unwrap();
        assert_asks_for(&invocation, expected.as_ref(), line);
        assert!(!invocation.log.json);
    }
}

#[test]
fn commands_of_the_service() {
    let up = |listen_address: Option<&str>| {
        task(UpOptions {
            data_dir: "/d".into(),
            is_folder_named: true,
            db_in_memory: false,
            listen_address: listen_address.map(str::to_owned),
            install_root: None,
        })
    };
    let status = |watch, json| {
        task(StatusOptions {
            data_dir: "/d".into(),
            server: String::new(),
            watch,
            json,
            classic: false,
        })
    };
    let metadata = |json, set: Option<(&str, &str)>| {
        task(MetadataOptions {
            data_dir: "/d".into(),
            json,
            reboot_history: true,
            set: set.map(|(key, value)| (key.into(), value.into())),
        })
    };
    for (line, expected) in [
        ("up|--data-dir=/d", up(None)),
        (
            "up|--data-dir=/d|--listen-address=:15132",
            up(Some(":15132")),
        ),
        (
            "down|--data-dir=/d|--reset-state",
            task(DownOptions {
                data_dir: "/d".into(),
                reset_state: true,
            }),
        ),
        ("status|--data-dir=/d", status(false, false)),
        ("st|-w|--json|-data-dir|/d", status(true, true)),
        (
            "metadata|--data-dir=/d|--reboot-history|--output-format=JSON|--set-key=a|--set-value=b",
            metadata(true, Some(("a", "b"))),
        ),
        (
            "metadata|--data-dir=/d|--reboot-history|--set-key=a",
            metadata(false, None),
        ),
        (
            "completion|fish",
            task(CompletionOptions {
                shell: clap_complete::Shell::Fish,
            }),
        ),
        (
            "man|scan|--dir=/m",
            task(ManOptions {
                topic: vec!["scan".into()],
                dir: Some("/m".into()),
            }),
        ),
    ] {
        let invocation = read(line).unwrap();
        assert_asks_for(&invocation, expected.as_ref(), line);
        assert_eq!(invocation.log.level, LogLevel::Warn, "{line}");
        assert!(invocation.notes.is_empty(), "{:?}", invocation.notes);
    }
}

#[test]
fn commands_that_this_build_does_not_have() {
    for (line, expected) in [
        ("notify|startup", task(Unneeded(NO_CONTROL_PLANE))),
        (
            "nt|shutdown|--data-dir=/d",
            task(Unneeded(NO_CONTROL_PLANE)),
        ),
        ("update|check", task(Unavailable(update::NO_CHECK))),
        (
            "release|sign-key|--root-priv-path=a|--sign-pub-path=b|--sig-path=c",
            task(Unavailable(NO_SIGNING)),
        ),
        (
            "release|gen-key|--root|--priv-path=a",
            task(Unavailable(NO_SIGNING)),
        ),
    ] {
        let invocation = read(line).unwrap();
        assert_asks_for(&invocation, expected.as_ref(), line);
        assert_eq!(invocation.log.level, LogLevel::Warn, "{line}");
        assert!(invocation.notes.is_empty(), "{:?}", invocation.notes);
    }
}

#[test]
fn an_update_names_its_place() {
    let options = values::<UpdateOptions>;
    let found = options("update|--from=/srv/gpud");
    assert_eq!(found.source.to_string(), "/srv/gpud");
    assert_eq!(found.public_key, PathBuf::from("/etc/gpud/release.pub"));
    assert_eq!(
        (found.limits.wait, found.limits.settle),
        (Duration::from_secs(60), Duration::from_secs(10))
    );
    assert!(found.version.is_none() && !found.allow_downgrade && !found.dry_run);
    // GPUd's names of the same.
    let found = options("update|--url=https://host/x|--next-version=v1.2.3");
    assert_eq!(found.source.to_string(), "https://host/x");
    assert_eq!(found.version.as_deref(), Some("v1.2.3"));
    let found = options(
        "update|--from=a|--public-key=k|--allow-downgrade|--dry-run|--restart|sv restart gpud|--wait=2s|--settle=-1s|--data-dir=/d",
    );
    assert!(found.allow_downgrade && found.dry_run);
    assert_eq!(found.restart.as_deref(), Some("sv restart gpud"));
    assert_eq!(
        (found.limits.wait, found.limits.settle),
        (Duration::from_secs(2), Duration::ZERO)
    );
    assert_eq!(found.data_dir, Some("/d".into()));
    assert!(failure("update").starts_with("--from names"));
}

#[test]
fn joining_a_platform_is_explained_in_one_line() {
    let line = "up|--data-dir=/d|--token=t|--endpoint=e|--private-ip=1.2.3.4|--public-ip=1.2.3.4|--region=r|\
        --node-group=g|--node-labels={}|--gpu-count=8|--session-protocol=v2|--machine-id=m|--machine-id-overwrite|\
        --refresh-session-token";
    let notes = read(line).unwrap().notes;
    assert_eq!(
        notes,
        [
            "this build has no control plane and no self-update: --token, --endpoint, --private-ip, --public-ip, --region, \
             --node-group, --node-labels, --gpu-count, --machine-id, --machine-id-overwrite, --refresh-session-token, \
             --session-protocol ignored"
        ]
    );
    assert!(
        read("up|--data-dir=/d|--session-protocol=auto")
            .unwrap()
            .notes
            .is_empty()
    );
}

#[test]
fn custom_plugins_with_go_flags() {
    let options = values::<CustomPluginsOptions>;
    let bare = CustomPluginsOptions {
        file: None,
        run: false,
        fail_fast: true,
        strict: false,
        json: false,
    };
    let of = |file: &str| Some(PathBuf::from(file));
    for (line, expected) in [
        ("custom-plugins", bare.clone()),
        (
            "cs|f.yaml",
            CustomPluginsOptions {
                file: of("f.yaml"),
                ..bare.clone()
            },
        ),
        // In GPUd the last flag here would be an argument.
        (
            "cs|-r|f.yaml|-f=false",
            CustomPluginsOptions {
                file: of("f.yaml"),
                run: true,
                fail_fast: false,
                ..bare.clone()
            },
        ),
        (
            "plugins|f.yaml|--run|--fail-fast|--json",
            CustomPluginsOptions {
                file: of("f.yaml"),
                run: true,
                json: true,
                ..bare
            },
        ),
    ] {
        assert_eq!(options(line), expected, "{line}");
    }
    let invocation = read("plugin|f|g|--infiniband-class-root-dir=/x").unwrap();
    assert_eq!(
        invocation.notes,
        [
            "--infiniband-class-root-dir has no effect on plugins",
            "argument \"g\" ignored: one file is checked",
        ]
    );
}

#[test]
fn what_is_wrong_is_said_in_one_line() {
    for (line, message) in [
        ("run|--log-level=loud", "unrecognized level: \"loud\""),
        (
            "run|--gpu-count=x",
            "invalid value \"x\" for flag -gpu-count: invalid digit found in string",
        ),
        (
            "run|--events-retention-period=3",
            "invalid value \"3\" for flag -events-retention-period: time: missing unit in duration \"3\"",
        ),
        (
            "run|--data-dir=/d|--events-retention-period=59s",
            "invalid value for --events-retention-period: 59s is less than a minute",
        ),
        (
            "run|--session-protocol=v3",
            "invalid session protocol \"v3\": it is v1, v2 or auto",
        ),
        (
            "run|--data-dir=/d|--nfs-host-root=x",
            "invalid value for --nfs-host-root: x is not an absolute path",
        ),
        (
            "scan|--host-root=x",
            "invalid value for --host-root: x is not an absolute path",
        ),
        (
            "scan|--fail-on=healthy",
            "invalid value \"healthy\" for flag -fail-on: it is one of degraded, unhealthy",
        ),
        (
            "machine-info|--output-format=xml",
            "invalid output format \"xml\": it is plain or json",
        ),
        ("run|--nope", "flag provided but not defined: -nope"),
        ("up|--data-dir=/d|--token=", "token is empty"),
        (
            "up|--data-dir=/d|--session-protocol=v9",
            "invalid session protocol \"v9\": it is v1, v2 or auto",
        ),
        (
            "completion|tcsh",
            "unknown shell \"tcsh\": it is bash, zsh, fish, elvish or powershell",
        ),
        (
            "release|sign-key|--nope",
            "flag provided but not defined: -nope",
        ),
        (
            "run-plugin-group",
            "exactly one argument (tag_name) is required",
        ),
        (
            "run-plugin-group|a|b",
            "exactly one argument (tag_name) is required",
        ),
        (
            "cs|-f=maybe",
            "invalid boolean value \"maybe\" for -f: parse error",
        ),
    ] {
        assert_eq!(failure(line), message, "{line}");
    }
    for line in [
        "scan|--infiniband-expected-port-states=8",
        "scan|--nfs-checker-configs={}",
        "scan|--os-blocked-process-name-regexes=(",
        "run|--data-dir=/d|--sxid-thresholds={}x",
        "run|--tls-cert=/c",
        "run|--data-dir=/d|--root-plugins=raid",
        "root-helper",
        "compile-component|in",
    ] {
        let message = failure(line);
        assert!(
            !message.contains('\n') || line.starts_with("scan|--os"),
            "{message}"
        );
    }
}

#[test]
fn usage_goes_to_standard_output_with_the_help() {
    let exit = read("compact|--nope").unwrap_err();
    assert!(
        exit.stdout.starts_with(
            "Incorrect Usage: flag provided but not defined: -nope\n\nShrink the state file"
        ),
        "{}",
        exit.stdout
    );
    let exit = read("--nope").unwrap_err();
    assert!(
        exit.stdout.starts_with("Incorrect Usage. flag provided"),
        "{}",
        exit.stdout
    );
    assert_eq!(exit.code, 1);
}

#[test]
fn help_version_and_unknown_commands() {
    let exit = read("--version").unwrap_err();
    assert_eq!(
        (exit.code, exit.stdout),
        (0, format!("{}\n", version::line()))
    );
    let exit = read("").unwrap_err();
    assert_eq!(exit.code, 0);
    assert!(exit.stdout.contains("machine-info") && !exit.stdout.contains("compile-component"));
    let exit = read("scan|--help").unwrap_err();
    assert!(
        exit.stdout.contains("--fail-on") && !exit.stdout.contains("gpu-lost"),
        "{}",
        exit.stdout
    );
    let exit = read("release").unwrap_err();
    assert_eq!(exit.code, 0);
    assert!(
        exit.stdout.contains("verify-package-signature"),
        "{}",
        exit.stdout
    );
    let exit = read("notify|sideways").unwrap_err();
    assert_eq!(exit.code, 3);
    let exit = read("frobnicate").unwrap_err();
    assert_eq!(
        (exit.code, exit.stderr),
        (3, Stderr::Line("No help topic for 'frobnicate'".into()))
    );
}

#[test]
fn json_output_has_json_errors() {
    let exit = read("machine-info|--output-format=json|-l|loud").unwrap_err();
    assert_eq!(exit.code, 1);
    assert_eq!(
        exit.stdout,
        "{\"error\":{\"code\":\"invalid_log_level\",\"message\":\"unrecognized level: \\\"loud\\\"\"}}\n"
    );
    assert_eq!(exit.stderr, Stderr::Nothing);
}

#[test]
fn forms_of_healthcheck() {
    let of = |line: &str| values::<HealthcheckOptions>(&format!("healthcheck|{line}"));
    let plain = of("");
    assert_eq!(plain.form, Form::Plain);
    assert_eq!(plain.timeout, Duration::from_secs(2));
    let npd = |fail_on, max_output| Form::Npd {
        fail_on,
        max_output,
    };
    assert_eq!(of("--npd").form, npd(FailOn::Unhealthy, 80));
    assert_eq!(
        of("--npd|--fail-on=degraded|--max-output=200").form,
        npd(FailOn::Degraded, 200)
    );
    let slurm = of(
        "--slurm|--drain-on=degraded|--dry-run|--drain-if-unreachable|--node=n1|--scontrol=/s|--actions=reboot_system,X|--components=-disk|--timeout=500ms",
    );
    let Form::Slurm(options) = slurm.form else {
        panic!("{slurm:?}");
    };
    assert_eq!(options.drain_on, FailOn::Degraded);
    assert!(options.dry_run && options.drain_if_unreachable);
    assert_eq!(options.node.as_deref(), Some("n1"));
    assert_eq!(options.scontrol, Some("/s".into()));
    assert_eq!(
        slurm.actions,
        [RepairAction::RebootSystem, RepairAction::Other("X".into())]
    );
    assert_eq!(slurm.timeout, Duration::from_millis(500));
    assert!(!slurm.components.includes("disk") && slurm.components.includes("cpu"));
    let notes = read("healthcheck|--actions=X").unwrap().notes;
    assert!(
        notes.iter().any(|note| note.contains("X is none of")),
        "{notes:?}"
    );
}

/// 1 would be an answer: a problem to node-problem-detector, a warning to Nagios.
#[test]
fn misuse_of_healthcheck_is_no_answer() {
    for line in [
        "--nosuch",
        "--npd|--slurm",
        "--dry-run",
        "--drain-on=unhealthy",
        "--fail-on=degraded",
        "--slurm|--drain-on=broken",
        "--npd|--max-output=3",
        "--timeout=0s",
        "--log-level=loud",
    ] {
        let exit = read(&format!("healthcheck|{line}")).unwrap_err();
        assert_eq!(exit.code, 3, "{line}");
    }
    assert_eq!(read("scan|--nosuch").unwrap_err().code, 1);
}

#[test]
fn what_watch_and_history_are_asked() {
    let history = |line: &str| values::<HistoryOptions>(&format!("history|{line}"));
    let options = history(
        "--since=2026-11-26T14:00:00Z|--component=cpu, disk,|--component=os|--gpu=3|-n|7|--json",
    );
    assert_eq!(
        options,
        HistoryOptions {
            server: String::new(),
            token_file: None,
            since: 1_795_701_600_000,
            components: vec!["cpu".into(), "disk".into(), "os".into()],
            gpu: Some("3".into()),
            limit: 7,
            json: true,
        }
    );
    assert_eq!(history("--gpu=").gpu, None);
    let message = failure("history|--since=yesterday");
    assert!(
        message.starts_with("invalid value for --since: \"yesterday\""),
        "{message}"
    );
    let watch = values::<WatchOptions>("watch|--data-dir=/d|--server=https://n:1");
    assert_eq!(watch.server, "https://n:1");
    assert!(scan("--verbose").verbose && scan("--classic").classic);
}
