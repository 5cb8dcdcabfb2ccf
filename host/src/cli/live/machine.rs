//! The daemon's view of the machine as text: verdict, troubles, GPUs, last events.

use std::fmt::Write as _;

use super::{
    MachineSnapshot, gpus,
    grouped_history::{GroupedEntry, grouped},
};
use crate::{
    cli::{
        ages,
        columns::Columns,
        scan::show::{SummaryView, short_name},
        terminal::{Mark, Terminal, printable},
    },
    summary::HistoryEntry,
};

/// Rows of the last events.
const LAST_EVENTS: usize = 5;

/// Formats the state of a machine as text.
#[derive(Debug, Clone, Copy)]
pub struct MachineText<'l> {
    /// The result.
    pub look: &'l MachineSnapshot,
    /// Now, for ages.
    pub now: u64,
    /// Where it is shown.
    pub terminal: Terminal,
}

impl MachineText<'_> {
    /// Everything but the verdict at the end.
    pub fn text(&self) -> String {
        let look = self.look;
        let shown = self.shown();
        let mut text = shown.troubles();
        if !look.gpus.is_empty() {
            let table = gpus::table(&look.gpus).render(self.terminal);
            let _ = write!(text, "\n{table}");
        }
        if !look.history.entries.is_empty() {
            let title = self.terminal.paint(Mark::Strong, "Last events");
            let table = last_events(&look.history.entries).render(self.terminal);
            let _ = write!(text, "\n{title}\n{table}");
        }
        text.push('\n');
        text + &shown.others()
    }

    /// The first lines: the verdict since when, counts, and the machine.
    pub fn head(&self) -> String {
        let summary = &self.look.summary;
        let since = match summary.since.0 {
            Some(since) => {
                let ago = ages::ago(self.now, since);
                format!(" since {} ({ago})", ages::moment(since))
            }
            None => String::new(),
        };
        self.shown().head_with(&since, None)
    }

    /// The last line.
    pub fn end(&self) -> String {
        self.shown().end()
    }

    fn shown(&self) -> SummaryView<'_> {
        SummaryView {
            summary: &self.look.summary,
            components: &[],
            took: std::time::Duration::ZERO,
            verbose: false,
            terminal: self.terminal,
        }
    }
}

/// Events and changes of health as a table.
pub fn history(entries: &[HistoryEntry]) -> Columns {
    table(entries.iter().map(GroupedEntry::single))
}

/// The newest of them, where what many checks say of one thing is one row.
fn last_events(entries: &[HistoryEntry]) -> Columns {
    table(grouped(entries).into_iter().take(LAST_EVENTS))
}

fn table<'l>(rows: impl Iterator<Item = GroupedEntry<'l>>) -> Columns {
    let mut table = Columns::new(&["TIME", "WHAT", "CHECK", "ABOUT", "MESSAGE"]);
    for GroupedEntry { entry, checks } in rows {
        let subject = entry.subject.as_ref();
        let about = subject.map_or("", |subject| subject.label.as_str());
        let time = ages::moment(entry.last_time.0.unwrap_or(0));
        let (what, message) = in_words(entry);
        let check = match checks {
            0 | 1 => short_name(&entry.component),
            checks => format!("{checks} checks"),
        };
        table.row([&time, &what, &check, &printable(about), &message]);
    }
    table
}

/// Returns the kind of an entry, and its text.
pub fn in_words(entry: &HistoryEntry) -> (String, String) {
    let what = match (&entry.to, &entry.severity) {
        (Some(to), _) => to.clone(),
        (None, Some(severity)) => severity.clone(),
        (None, None) => String::new(),
    };
    let said = match entry.means.as_str() {
        "" => &entry.message,
        means => means,
    };
    let said = match (entry.kind.as_str(), said) {
        // Names of events say what a message may not.
        ("event", "") => entry.name.clone(),
        ("event", said) => format!("{}: {said}", entry.name),
        (_, said) => said.to_owned(),
    };
    let count = match entry.count {
        0 | 1 => String::new(),
        count => format!(
            " ({count} times since {})",
            ages::moment(entry.time.0.unwrap_or(0))
        ),
    };
    (what, format!("{said}{count}"))
}

#[cfg(test)]
#[path = "machine_tests.rs"]
pub(in crate::cli) mod tests;
