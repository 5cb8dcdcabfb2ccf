//! Makes each checker's configuration document from the operator's flags.

use serde_json::{Value, json};

use super::{
    checks::{BlockedProcesses, CheckOptions, InfinibandOptions, XidCatalog, XidOptions},
    json_flags::{ExpectedPorts, NfsGroup},
    site_configs::SiteConfigs,
};
use crate::component::ComponentConfig;

/// The configuration of a built-in component.
pub fn component_config(
    component: &str,
    checks: &CheckOptions,
    site: &SiteConfigs,
) -> ComponentConfig {
    ComponentConfig {
        flags: flags(component, checks),
        site: site.of(component),
    }
}

/// Returns the configuration that the flags give; `{}` for components without any.
fn flags(component: &str, checks: &CheckOptions) -> Value {
    match component {
        "accelerator-nvidia-error-xid" => with_catalog(xid(&checks.xid), checks),
        "accelerator-nvidia-error-sxid" => with_catalog(sxid(&checks.sxid), checks),
        "accelerator-nvidia-infiniband" => infiniband(&checks.infiniband),
        "accelerator-nvidia-gpu-counts" => given("count", checks.gpu_count.map(Value::from)),
        "accelerator-nvidia-nvlink" => given(
            "expected_link_states",
            checks
                .nvlink_gpus_with_all_links
                .map(|gpus| json!({ "at_least_gpus_with_all_links_feature_enabled": gpus })),
        ),
        // The real machine's PCI devices mean nothing for a pretended product.
        "accelerator-nvidia-fabric-manager" => given(
            "assume_nvswitch",
            checks.faults.product_name.is_some().then_some(json!(true)),
        ),
        "accelerator-nvidia-temperature" => {
            json!({ "celsius_slowdown_margin": checks.slowdown_margin_celsius })
        }
        "containerd" if checks.faults.containerd_socket_missing => {
            json!({ "socket_missing": true })
        }
        "nfs" => nfs(checks),
        "disk" => json!({
            "nfs_mounts": !checks.nfs_groups.is_empty(),
            "usage_from_df": checks.commands.blockdev_usage.is_some(),
        }),
        "os" => os(&checks.blocked_processes),
        _ => json!({}),
    }
}

/// One key, left out when it was not given.
fn given(key: &str, value: Option<Value>) -> Value {
    value.map_or_else(|| json!({}), |value| json!({ key: value }))
}

/// Settings that were not given are left out, for the checker's own defaults.
fn os(options: &BlockedProcesses) -> Value {
    let mut config = serde_json::Map::new();
    if let Some(regexes) = &options.name_regexes {
        config.insert("blocked_process_name_regexes".to_owned(), json!(regexes));
    }
    if let Some(threshold) = options.persistence {
        config.insert("persistence_threshold".to_owned(), json!(threshold));
    }
    Value::Object(config)
}

/// Settings that were not given are left out, for the product's default.
fn infiniband(options: &InfinibandOptions) -> Value {
    let mut config = serde_json::Map::new();
    let mut put = |key: &str, value: Value| config.insert(key.to_owned(), value);
    if let Some(expected) = options.expected_ports {
        let ExpectedPorts {
            at_least_ports,
            at_least_rate,
        } = expected;
        let states = json!({"at_least_ports": at_least_ports, "at_least_rate": at_least_rate});
        put("expected_port_states", states);
    }
    if !options.exclude_devices.is_empty() {
        put("exclude_devices", json!(options.exclude_devices));
    }
    if let Some(root) = &options.class_root {
        put("class_root", json!(root.to_string_lossy()));
    }
    if let Some(window) = options.flap_auto_clear {
        put("flap_auto_clear_seconds", json!(window.as_secs().max(1)));
    }
    Value::Object(config)
}

fn nfs(checks: &CheckOptions) -> Value {
    let group = |group: &NfsGroup| {
        let NfsGroup {
            volume_path,
            dir_name,
            file_contents,
        } = group;
        json!({"volume_path": volume_path, "dir_name": dir_name, "file_contents": file_contents})
    };
    let root = checks.nfs_host_root.as_ref();
    json!({
        "groups": checks.nfs_groups.iter().map(group).collect::<Vec<_>>(),
        "host_root": root.map(|root| root.to_string_lossy()).unwrap_or_default(),
    })
}

fn xid(options: &XidOptions) -> Value {
    json!({
        "lookback_seconds": options.lookback.as_secs(),
        "reboot_threshold": options.reboot_threshold,
        "overrides": overrides(options),
    })
}

/// The threshold of SXids without one of their own is fixed, as in GPUd.
fn sxid(options: &XidOptions) -> Value {
    json!({
        "lookback_seconds": options.lookback.as_secs(),
        "overrides": overrides(options),
    })
}

/// The default view is left out.
fn with_catalog(mut config: Value, checks: &CheckOptions) -> Value {
    if checks.xid_catalog == XidCatalog::Nvidia {
        put(&mut config, "xid_catalog", json!("nvidia"));
    }
    if let Some(product) = &checks.log_product {
        put(&mut config, "product", json!(product));
    }
    config
}

fn put(config: &mut Value, key: &str, value: Value) {
    if let Some(keys) = config.as_object_mut() {
        keys.insert(key.to_owned(), value);
    }
}

/// The configuration of a built-in component that judges a saved log: nothing of this machine is asked.
pub fn config_for_saved_log(
    component: &str,
    checks: &CheckOptions,
    site: &SiteConfigs,
) -> ComponentConfig {
    let mut config = component_config(component, checks, site);
    if component == "accelerator-nvidia-error-xid" {
        put(&mut config.flags, "saved_log", json!(true));
    }
    config
}

fn overrides(options: &XidOptions) -> serde_json::Map<String, Value> {
    let thresholds = options.thresholds.iter();
    thresholds
        .map(|(code, reboots)| (code.to_string(), json!(reboots)))
        .collect()
}

#[cfg(test)]
mod tests;
