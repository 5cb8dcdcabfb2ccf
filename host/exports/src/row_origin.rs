//! The origin of a row: the names of the cluster and of the node.

use crate::{Context, DeliveryError};

/// Returns the node's name: the one of the settings, of the variable that they name as `env:NAME`, or else `hostname`.
///
/// # Errors
/// The variable is not set.
pub(crate) fn node_name(
    setting: Option<&str>,
    hostname: &str,
    context: &Context,
) -> Result<String, DeliveryError> {
    let Some(setting) = setting else {
        return Ok(hostname.to_owned());
    };
    let Some(variable) = setting.strip_prefix("env:") else {
        return Ok(setting.to_owned());
    };
    let value = context.environment.secrets.variable(variable);
    value.filter(|value| !value.is_empty()).ok_or_else(|| {
        DeliveryError::transient(format!(
            "the variable {variable} is not set; it holds the node's name"
        ))
    })
}

/// Checks a name of a cluster, a node or the like, as settings have it.
pub(crate) fn check_name(key: &str, name: &str) -> Result<(), String> {
    if name.is_empty() || name.len() > 253 || name.chars().any(char::is_control) {
        return Err(format!(
            "{key} is a name of 1 to 253 characters without control characters"
        ));
    }
    Ok(())
}
