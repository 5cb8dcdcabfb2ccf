//! The state of the machine from the running daemon: the same for `status`, `watch` and `history`.

pub mod gpus;
pub mod grouped_history;
pub mod machine;

use self::gpus::GpuRow;
use super::client::{
    Client,
    ask::{AskError, ask},
};
use crate::{
    summary::{History, Summary},
    text::encode_query_value,
};

/// The state of a machine as the commands show it.
#[derive(Debug, Clone, Default)]
pub struct MachineSnapshot {
    /// The verdict and what is wrong.
    pub summary: Summary,
    /// The GPUs and their readings.
    pub gpus: Vec<GpuRow>,
    /// The last events and changes, newest first.
    pub history: History,
}

/// Asks the daemon for everything. Readings and history that do not come are left out: the verdict is what counts.
///
/// # Errors
/// It cannot be asked, or knows no summary.
pub async fn look(client: &Client, entries: u32) -> Result<MachineSnapshot, AskError> {
    let summary: Summary = ask(client, "/v1/summary").await?;
    let history = format!("/v1/history?limit={entries}");
    let history = ask(client, &history).await.unwrap_or_default();
    let gpus = match summary.machine.gpu_count {
        0 => Vec::new(),
        _ => gpus::ask(client, &summary).await,
    };
    Ok(MachineSnapshot {
        summary,
        gpus,
        history,
    })
}

/// A query of these pairs; those without a value are left out.
pub(super) fn query(pairs: &[(&str, &str)]) -> String {
    let given = pairs.iter().filter(|(_, value)| !value.is_empty());
    let given: Vec<_> = given
        .map(|(name, value)| format!("{name}={}", encode_query_value(value)))
        .collect();
    given.join("&")
}
