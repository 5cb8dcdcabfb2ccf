//! From the operator's flags to each checker's configuration document.

use serde_json::{Value, json};

use super::{
    checks::{BlockedProcesses, CheckOptions, XidOptions},
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

/// What the flags say; `{}` for components without any.
fn flags(component: &str, checks: &CheckOptions) -> Value {
    match component {
        "accelerator-nvidia-error-xid" => xid(&checks.xid),
        "accelerator-nvidia-error-sxid" => sxid(&checks.sxid),
        "disk" => json!({ "nfs_mounts": !checks.nfs_groups.is_empty() }),
        "os" => os(&checks.blocked_processes),
        _ => json!({}),
    }
}

/// What was not given is left out, for the checker's own defaults.
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

fn overrides(options: &XidOptions) -> serde_json::Map<String, Value> {
    let thresholds = options.thresholds.iter();
    thresholds
        .map(|(code, reboots)| (code.to_string(), json!(reboots)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
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
}
