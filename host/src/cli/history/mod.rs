//! `gpud history`: events and changes of health of this machine, as the running daemon remembers them.

mod args;

use std::path::PathBuf;

use self::args::HistoryArgs;
use super::{
    ages,
    client::{
        Client,
        ask::{AskError, ask},
    },
    command::{Action, Command, CommandContext},
    exit::Exit,
    live::{self, machine},
    terminal::Terminal,
};
use crate::{
    store::MAX_PAGE,
    summary::{History, HistoryEntry, SubjectView},
};

/// The entry of the table of commands.
pub(super) const COMMAND: Command = Command::new::<HistoryArgs>(
    "history",
    "Show the events and changes of health of this machine",
);

/// The word for programs.
const ERROR_CODE: &str = "failed_to_get_history";
/// Most requests for one table.
const MAX_REQUESTS: usize = 200;

/// The entries to show, and the daemon to ask.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HistoryOptions {
    /// Base URL; empty is the daemon of this machine.
    pub server: String,
    /// Where the token is, if not in the data folder.
    pub token_file: Option<PathBuf>,
    /// Nothing before this, Unix milliseconds.
    pub since: u64,
    /// The components whose entries are shown; empty is all.
    pub components: Vec<String>,
    /// The GPU whose entries are shown.
    pub gpu: Option<String>,
    /// Most entries.
    pub limit: u32,
    /// Print JSON.
    pub json: bool,
}

impl Action for HistoryOptions {
    async fn run(self, context: CommandContext) -> Result<Exit, Exit> {
        history(&self, context.stdout).await
    }
}

/// Asks and prints.
///
/// # Errors
/// The daemon cannot be asked, or refuses.
pub async fn history(options: &HistoryOptions, terminal: Terminal) -> Result<Exit, Exit> {
    let found = collect(options).await;
    let found = found.map_err(|error| {
        Exit::failure(format!("cannot read the history: {error}")).in_json(options.json, ERROR_CODE)
    })?;
    if options.json {
        let text = serde_json::to_string(&found).map_err(Exit::failure)?;
        return Ok(Exit::success(text + "\n"));
    }
    let mut text = machine::history(&found.entries).render(terminal);
    let since = ages::moment(options.since);
    match found.entries.len() {
        0 => text = format!("no event and no change of health since {since}\n"),
        count if found.next.is_some() => {
            text.push_str(&format!(
                "the newest {count} entries; there are older ones since {since} (--limit)\n"
            ));
        }
        _ => {}
    }
    Ok(Exit::success(text))
}

/// Asks for pages until there are enough entries.
async fn collect(options: &HistoryOptions) -> Result<History, AskError> {
    let client = Client::of_daemon(&options.server, options.token_file.as_deref())?;
    let wanted = options.limit.max(1) as usize;
    let mut found = History::default();
    let mut before = None;
    for _ in 0..MAX_REQUESTS {
        let missing = wanted - found.entries.len();
        // Those about other GPUs are read, too.
        let limit = match options.gpu {
            Some(_) => MAX_PAGE as usize,
            None => missing.min(MAX_PAGE as usize),
        };
        let query = live::query(&[
            ("since", &ages::moment(options.since)),
            ("limit", &limit.to_string()),
            ("component", &options.components.join(",")),
            ("before", before.as_deref().unwrap_or_default()),
        ]);
        let page: History = ask(&client, &format!("/v1/history?{query}")).await?;
        let entries = page.entries.into_iter();
        let mut fitting: Vec<HistoryEntry> = entries
            .filter(|entry| is_about(entry, options.gpu.as_deref()))
            .collect();
        let cut = fitting.len() > missing;
        fitting.truncate(missing);
        found.entries.append(&mut fitting);
        before.clone_from(&page.next);
        found.next = page.next.or_else(|| cut.then(String::new));
        if found.next.is_none() || found.entries.len() >= wanted {
            break;
        }
    }
    Ok(found)
}

/// Whether an entry is about this GPU, by whatever name.
fn is_about(entry: &HistoryEntry, gpu: Option<&str>) -> bool {
    let Some(wanted) = gpu else { return true };
    let wanted = wanted.trim();
    let number = wanted.strip_prefix("GPU ").unwrap_or(wanted);
    let fits = |subject: &SubjectView| {
        let names = [&subject.uuid, &subject.serial, &subject.pci];
        let mut names = names.into_iter().flatten();
        let index = subject.index.map(|index| index.to_string());
        index.as_deref() == Some(number)
            || names.any(|name| name.eq_ignore_ascii_case(wanted))
            // Without the function, as the kernel log has it.
            || subject.pci.as_deref().and_then(|id| id.strip_suffix(".0")) == Some(wanted)
    };
    entry.subject.as_ref().is_some_and(fits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gpu_by_all_its_names() {
        let entry = HistoryEntry {
            subject: Some(SubjectView {
                kind: "gpu".into(),
                uuid: Some("GPU-a".into()),
                serial: Some("165".into()),
                pci: Some("0000:4b:00.0".into()),
                index: Some(3),
                ..SubjectView::default()
            }),
            ..HistoryEntry::default()
        };
        for name in ["3", "GPU 3", "gpu-A", "165", "0000:4B:00.0", "0000:4b:00"] {
            assert!(is_about(&entry, Some(name)), "{name}");
        }
        for name in ["4", "33", "", "GPU"] {
            assert!(!is_about(&entry, Some(name)), "{name}");
        }
        assert!(is_about(&HistoryEntry::default(), None));
        assert!(!is_about(&HistoryEntry::default(), Some("3")));
    }
}
