//! The destinations of the daemon's exports, from flags and the environment.

use std::time::Duration;

use gpud_exports::{config::Address, inventory, secret::Secret};

/// The address of `--webhook-url`, or the variable that holds it.
pub fn webhook_url(flag: &str) -> Result<Option<Address>, String> {
    let variable = "GPUD_WEBHOOK_URL";
    match flag.trim() {
        "" => {
            let is_set = std::env::var_os(variable).is_some_and(|url| !url.is_empty());
            let secret = Secret::Variable(variable.to_owned());
            Ok(is_set.then_some(Address::Secret(secret)))
        }
        // Not repeated: such an address is often a secret.
        flag => Address::parse(flag).map(Some).ok_or_else(|| {
            "--webhook-url is no address such as https://host/path, and neither env:NAME nor file:/path".to_owned()
        }),
    }
}

/// The address of `--otlp-endpoint`, or of the variable that says the same.
pub fn otlp_endpoint(flag: &str) -> Result<Option<Address>, String> {
    let variable = "GPUD_OTLP_ENDPOINT";
    let (said, by) = match flag.trim() {
        "" => (std::env::var(variable).unwrap_or_default(), variable),
        flag => (flag.to_owned(), "--otlp-endpoint"),
    };
    if said.trim().is_empty() {
        return Ok(None);
    }
    Address::parse(said.trim()).map(Some).ok_or_else(|| {
        format!("{by} is no address such as http://host:4317, and neither env:NAME nor file:/path")
    })
}

/// The export of `--inventory-from-env`, which gpuid's variables describe.
pub fn inventory_of_environment(
    is_wanted: bool,
    variable: impl Fn(&str) -> Option<String>,
) -> Result<Option<Box<(inventory::Settings, Duration)>>, String> {
    if !is_wanted {
        return Ok(None);
    }
    inventory::environment::settings(variable)
        .map(|described| Some(Box::new(described)))
        .map_err(|error| format!("--inventory-from-env: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gpuids_variables_count_when_they_are_asked_for() {
        let variable = |name: &str| (name == "CLUSTER_NAME").then(|| "c1".to_owned());
        assert_eq!(inventory_of_environment(false, variable), Ok(None));
        let described = inventory_of_environment(true, variable).unwrap().unwrap();
        assert_eq!(
            (described.0.cluster.as_str(), described.0.stdout),
            ("c1", true)
        );
        let problem = inventory_of_environment(true, |_| None).unwrap_err();
        assert_eq!(
            problem,
            "--inventory-from-env: the environment variable CLUSTER_NAME is not set"
        );
    }
}
