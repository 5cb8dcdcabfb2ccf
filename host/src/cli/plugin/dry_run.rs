//! `gpud plugin run`: one check of a component here and now, with what it cost. Nothing is stored, no daemon is asked.

use std::path::PathBuf;

use gpud_author::{check_result::CheckResult, dry_run::Candidate};
use serde::Serialize;
use serde_json::Value;

use super::{check_result::text, compilation};
use crate::cli::{exit::Exit, terminal::Terminal};

/// The component to run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DryRun {
    /// The component's file.
    pub file: PathBuf,
    /// Its grants, as in a spec.
    pub grants: Value,
    /// Its configuration, a mapping.
    pub config: Value,
    /// One of its components; all without.
    pub component: Option<String>,
    /// A folder that replaces `/` of this machine.
    pub node: Option<PathBuf>,
    /// Print one JSON document.
    pub json: bool,
}

#[derive(Serialize)]
struct DryRunDocument<'a> {
    file: String,
    sha256: String,
    checks: &'a [CheckResult],
}

/// Runs and prints. The status is 1 when a component gave no report, whatever its verdicts.
///
/// # Errors
/// It cannot be loaded with these grants, or its configuration does not fit.
pub async fn dry_run(options: &DryRun, terminal: Terminal) -> Result<Exit, Exit> {
    let fail = |message: String| Exit::failure(message).in_json(options.json, "failed_to_run");
    let candidate = Candidate {
        file: &options.file,
        grants: &options.grants,
        config: &options.config,
        component: options.component.as_deref(),
        node: options.node.as_deref(),
    };
    let checked = candidate.check(&compilation()).await.map_err(fail)?;
    let stdout = match options.json {
        true => {
            let document = DryRunDocument {
                file: options.file.display().to_string(),
                sha256: checked.sha256,
                checks: &checked.checks,
            };
            serde_json::to_string(&document).map_err(|error| fail(error.to_string()))? + "\n"
        }
        false => {
            let texts = checked
                .checks
                .iter()
                .map(|check_result| text(check_result, &checked.limits, terminal));
            let note = match checked.watches_kmsg {
                true => {
                    "  (kernel messages are not handed over here: `gpud plugin test` does that)\n"
                }
                false => "",
            };
            texts.collect::<String>() + note
        }
    };
    Ok(Exit {
        code: u8::from(
            checked
                .checks
                .iter()
                .any(|check_result| check_result.error.is_some()),
        ),
        ..Exit::success(stdout)
    })
}
