//! The verdict.

use gpud_sdk::{CheckContext, Error, HealthState, Report};
use serde::Serialize;

use crate::search::FoundLibrary;

/// The document under `data`.
#[derive(Serialize)]
struct Data<'a> {
    resolved_libraries: &'a [String],
}

/// Judges what was found. Nothing was looked for on a machine without a driver.
///
/// # Errors
/// When a library is nowhere, but a place could not be looked at.
pub fn judge(context: &CheckContext, found: Vec<FoundLibrary>) -> Result<Report, Error> {
    let mut paths = Vec::new();
    let mut missing = Vec::new();
    let mut unknown = None;
    for library in found {
        match library.path {
            Ok(Some(path)) => paths.push(path),
            Ok(None) => missing.push(format!("library {:?} does not exist", library.name)),
            Err(error) => unknown = Some(error),
        }
    }
    // What is missing for sure is worth more than what is not known.
    let mut state = match (missing.is_empty(), unknown) {
        (true, Some(error)) => return Err(error.into()),
        (true, None) => HealthState::healthy(context, "all libraries exist"),
        (false, unknown) => {
            missing.sort_unstable();
            let mut state = HealthState::unhealthy(context, missing.join("; "));
            state.error = unknown.map(|error| error.text());
            state
        }
    };
    paths.sort_unstable();
    paths.dedup();
    if !paths.is_empty() {
        let data = Data {
            resolved_libraries: &paths,
        };
        state = state.info("data", serde_json::to_string(&data).map_err(Error::failed)?);
    }
    Ok(Report::of(state))
}

#[cfg(test)]
mod tests;
