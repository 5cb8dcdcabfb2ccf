use super::*;
use crate::cli::checks::GpuFaults;
use std::{collections::BTreeMap, time::Duration};

#[test]
fn flags_reach_the_checkers() {
    let checks = CheckOptions {
        xid: XidOptions {
            reboot_threshold: 3,
            thresholds: BTreeMap::from([(79, 5)]),
            lookback: Duration::from_secs(60),
        },
        blocked_processes: BlockedProcesses {
            name_regexes: Some(vec!["^nvidia".into()]),
            persistence: None,
        },
        ..CheckOptions::default()
    };
    assert_eq!(
        flags("accelerator-nvidia-error-xid", &checks),
        json!({"lookback_seconds": 60, "reboot_threshold": 3, "overrides": {"79": 5}})
    );
    assert_eq!(
        flags("os", &checks),
        json!({"blocked_process_name_regexes": ["^nvidia"]})
    );
    assert_eq!(
        flags("accelerator-nvidia-error-sxid", &CheckOptions::default()),
        json!({"lookback_seconds": CheckOptions::default().sxid.lookback.as_secs(), "overrides": {}})
    );
    assert_eq!(flags("cpu", &checks), json!({}));
}

#[test]
fn a_saved_log_is_judged_by_the_catalogue_and_product_of_the_flags() {
    let vendor = CheckOptions {
        xid_catalog: XidCatalog::Nvidia,
        log_product: Some("NVIDIA H100".into()),
        ..CheckOptions::default()
    };
    for component in ["xid", "sxid"] {
        let component = format!("accelerator-nvidia-error-{component}");
        let config = config_for_saved_log(&component, &vendor, &SiteConfigs::default());
        assert_eq!(config.flags["xid_catalog"], "nvidia");
        assert_eq!(config.flags["product"], "NVIDIA H100");
        let is_xid = component.ends_with("-xid");
        assert_eq!(config.flags.get("saved_log").is_some(), is_xid);
    }
}

#[test]
fn flags_about_gpus_reach_their_checkers() {
    let checks = CheckOptions {
        gpu_count: Some(8),
        nvlink_gpus_with_all_links: Some(4),
        slowdown_margin_celsius: 10,
        faults: GpuFaults {
            product_name: Some("H100-SXM".into()),
            ..GpuFaults::default()
        },
        ..CheckOptions::default()
    };
    for (component, config) in [
        ("gpu-counts", json!({"count": 8})),
        (
            "nvlink",
            json!({"expected_link_states": {"at_least_gpus_with_all_links_feature_enabled": 4}}),
        ),
        ("temperature", json!({"celsius_slowdown_margin": 10})),
        ("fabric-manager", json!({"assume_nvswitch": true})),
    ] {
        let component = format!("accelerator-nvidia-{component}");
        assert_eq!(flags(&component, &checks), config, "{component}");
    }
    for component in ["gpu-counts", "nvlink", "fabric-manager"] {
        let component = format!("accelerator-nvidia-{component}");
        assert_eq!(flags(&component, &CheckOptions::default()), json!({}));
    }
}

#[test]
fn flags_about_ports_and_volumes_reach_their_checkers() {
    let checks = CheckOptions {
        infiniband: InfinibandOptions {
            expected_ports: Some(ExpectedPorts {
                at_least_ports: 8,
                at_least_rate: 400,
            }),
            class_root: Some("/mnt/infiniband".into()),
            ..InfinibandOptions::default()
        },
        nfs_groups: vec![NfsGroup {
            volume_path: "/data".into(),
            dir_name: ".gpud".into(),
            file_contents: "x".into(),
        }],
        ..CheckOptions::default()
    };
    assert_eq!(
        flags("accelerator-nvidia-infiniband", &checks),
        json!({
            "expected_port_states": {"at_least_ports": 8, "at_least_rate": 400},
            "class_root": "/mnt/infiniband",
        })
    );
    assert_eq!(
        flags("nfs", &checks),
        json!({
            "groups": [{"volume_path": "/data", "dir_name": ".gpud", "file_contents": "x"}],
            "host_root": "",
        })
    );
}
