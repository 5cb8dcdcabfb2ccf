//! The layout of a scan: the verdict, what is wrong first, then what is well, and the verdict as a sentence.

use std::{collections::BTreeSet, fmt::Write as _, time::Duration};

use unicode_width::UnicodeWidthStr as _;

use crate::{
    cli::{
        ages, details, output,
        paragraph::Paragraph,
        table::wrap,
        terminal::{Mark, Terminal, printable},
    },
    model::Health,
    summary::{Counts, Line, Summary, Trouble},
    wire::ComponentHealthStates,
};

/// Most columns of a subject's name beside what is wrong with it.
const MAX_LABEL: usize = 24;
/// Most lines of reasons why checks do not apply.
const MAX_ABSENT_LINES: usize = 2;

/// The parts that are shown besides the summary.
#[derive(Debug, Clone, Copy)]
pub struct SummaryView<'s> {
    /// The result.
    pub summary: &'s Summary,
    /// The verdicts, for their tables.
    pub components: &'s [ComponentHealthStates],
    /// How long it took.
    pub took: Duration,
    /// Everything, with tables.
    pub verbose: bool,
    /// Where it is shown.
    pub terminal: Terminal,
}

impl SummaryView<'_> {
    /// The first lines: verdict, counts, machine.
    pub fn head(&self) -> String {
        self.head_with("", Some(self.took))
    }

    /// The same with something behind the verdict, and how long it took to check.
    pub fn head_with(&self, more: &str, took: Option<Duration>) -> String {
        let summary = self.summary;
        let counts = &summary.counts;
        let host = match summary.machine.hostname.as_str() {
            "" => "this machine".to_owned(),
            name => printable(name),
        };
        let verdict = summary.verdict.as_str();
        let paragraph = Paragraph {
            terminal: self.terminal,
            indent: self.terminal.mark_width(),
        };
        let mut line = String::new();
        let counted = counted(counts, took);
        paragraph.write_on(&mut line, &format!("{host}: {verdict}{more}, {counted}"));
        // Wrapped before it is coloured: escapes have no width.
        let line = match line.strip_prefix(&format!("{host}: {verdict}")) {
            Some(rest) => {
                let host = self.terminal.paint(Mark::Strong, &host);
                format!("{host}: {}{rest}", self.verdict())
            }
            None => line,
        };
        let mark = self.terminal.mark(Mark::of(&summary.verdict));
        let mut text = format!("{mark}{line}");
        let machine = machine(self.summary);
        if !machine.is_empty() {
            paragraph.write(&mut text, &machine);
        }
        text
    }

    /// Shows the troubles, worst first, then the healthy components, and those that do not apply here.
    pub fn body(&self) -> String {
        format!("{}\n{}", self.troubles(), self.others())
    }

    /// Shows the troubles, worst first, each after an empty line.
    pub fn troubles(&self) -> String {
        let mut text = String::new();
        let troubles = &self.summary.troubles;
        let labels = troubles
            .iter()
            .map(|trouble| printable(&trouble.subject.label).width());
        let label = labels
            .filter(|width| *width <= MAX_LABEL)
            .max()
            .unwrap_or(0);
        for trouble in troubles {
            text.push('\n');
            self.trouble(&mut text, trouble, label);
        }
        text
    }

    /// The last line.
    pub fn end(&self) -> String {
        let sentence = printable(&self.summary.sentence);
        let prefix = format!("{}: ", self.summary.verdict.as_str());
        let lines = wrap(
            &format!("{prefix}{sentence}"),
            self.terminal.width(),
            usize::MAX,
        );
        let text = lines.join("\n");
        // Wrapped before it is coloured: escapes have no width.
        let rest = text
            .strip_prefix(self.summary.verdict.as_str())
            .unwrap_or(&text);
        format!("\n{}{rest}\n", self.verdict())
    }

    fn verdict(&self) -> String {
        let verdict = &self.summary.verdict;
        self.terminal.paint(Mark::of(verdict), verdict.as_str())
    }

    fn trouble(&self, text: &mut String, trouble: &Trouble, label: usize) {
        let mark = Mark::of(&trouble.health);
        let paragraph = Paragraph {
            terminal: self.terminal,
            indent: self.terminal.mark_width() + label + 2,
        };
        let name = printable(&trouble.subject.label);
        let sentence = match trouble.since.0 {
            // A scan knows a moment only where the kernel log gave it.
            Some(since) => format!("{} (since {})", trouble.sentence, ages::moment(since)),
            None => trouble.sentence.clone(),
        };
        text.push_str(&self.terminal.mark(mark));
        text.push_str(&self.terminal.paint(Mark::Strong, &name));
        if name.width() > label {
            text.push('\n');
            paragraph.write(text, &sentence);
        } else {
            text.push_str(&" ".repeat(label + 2 - name.width()));
            paragraph.write_on(text, &sentence);
        }
        if !trouble.subject.detail.is_empty() {
            paragraph.write(text, &trouble.subject.detail);
        }
        let names: BTreeSet<&str> = trouble
            .states
            .iter()
            .map(|s| s.component.as_str())
            .collect();
        if names.len() > 1 {
            let list: Vec<_> = names.iter().map(|name| short_name(name)).collect();
            paragraph.write(text, &format!("{} checks: {}", list.len(), list.join(", ")));
        } else if let Some(state) = trouble.states.first() {
            // Who says so can be asked for more.
            if state.component != trouble.subject.label {
                paragraph.write(text, &format!("check: {}", state.component));
            }
            if !state.error.is_empty() {
                paragraph.write(text, &format!("error: {}", state.error));
            }
        }
        if !trouble.action.is_empty() {
            paragraph.write(text, &format!("-> {}", trouble.action));
        }
        if self.verbose || names.len() == 1 {
            for name in names {
                self.tables(text, name);
            }
        }
    }

    /// The tables of one component; with `--verbose` below a line with its reason.
    fn tables(&self, text: &mut String, name: &str) {
        let mut found = self
            .components
            .iter()
            .filter(|found| found.component == name);
        let Some(found) = found.next() else { return };
        for state in found.states.iter().flatten() {
            if self.verbose {
                let one = std::slice::from_ref(state);
                text.push_str(&output::component(self.terminal, name, one));
            } else if let Some(document) = state.extra_info.get(output::DATA) {
                text.push_str(&details::tables(name, document, self.terminal.width()));
            }
        }
    }

    /// Shows the components that are healthy, were not checked yet, or have nothing to watch.
    pub fn others(&self) -> String {
        let mut text = String::new();
        let to = &mut text;
        let summary = self.summary;
        for (mark, lines, what) in [
            (Mark::Waiting, &summary.initializing, "not checked yet"),
            (Mark::Good, &summary.healthy, "healthy"),
        ] {
            if lines.is_empty() {
                continue;
            }
            if self.verbose {
                for line in lines {
                    self.tables(to, &line.component);
                }
                continue;
            }
            let names = lines.iter().map(|line| short_name(&line.component));
            let names: Vec<String> = names.collect();
            self.group(
                to,
                mark,
                &format!("{} {what}", lines.len()),
                &names.join(", "),
                usize::MAX,
            );
        }
        let absent = &summary.absent;
        if absent.is_empty() {
            return text;
        }
        if self.verbose {
            for line in absent {
                let _ = writeln!(
                    to,
                    "{}{}: {}",
                    self.terminal.mark(Mark::Absent),
                    printable(&line.component),
                    printable(&line.reason)
                );
            }
            return text;
        }
        let title = match absent.len() {
            1 => "1 does not apply".to_owned(),
            count => format!("{count} do not apply"),
        };
        let list = format!("{} (--verbose lists them)", reasons(absent).join(", "));
        self.group(to, Mark::Absent, &title, &list, MAX_ABSENT_LINES);
        text
    }

    /// A count and what is counted, in at most so many lines.
    fn group(&self, text: &mut String, mark: Mark, title: &str, list: &str, most: usize) {
        let indent = self.terminal.mark_width() + 20;
        let width = self.terminal.width().saturating_sub(indent).max(10);
        let mut lines = wrap(&printable(list), width, width);
        if lines.len() > most {
            lines.truncate(most);
            if let Some(last) = lines.last_mut() {
                let end = match width {
                    ..40 => " ...",
                    _ => " ... (--verbose lists them)",
                };
                while last.width() + end.width() > width {
                    let cut = last.rfind(' ').unwrap_or(0);
                    last.truncate(cut);
                    if cut == 0 {
                        break;
                    }
                }
                last.push_str(end);
            }
        }
        let _ = write!(text, "{}{title:<18}  ", self.terminal.mark(mark));
        let separator = format!("\n{}", " ".repeat(indent));
        text.push_str(&lines.join(&separator));
        text.push('\n');
    }
}

/// `66 checks in 0.9 s: 1 unhealthy, 65 healthy`.
fn counted(counts: &Counts, took: Option<Duration>) -> String {
    let parts = [
        (counts.unhealthy, "unhealthy"),
        (counts.degraded, "degraded"),
        (counts.initializing, "not checked yet"),
        (counts.healthy, "healthy"),
    ];
    let parts = parts.iter().filter(|(count, _)| *count > 0);
    let parts: Vec<String> = parts
        .map(|(count, what)| format!("{count} {what}"))
        .collect();
    let checks = match counts.present() {
        1 => "1 check".to_owned(),
        count => format!("{count} checks"),
    };
    let list = match parts.is_empty() {
        true => String::new(),
        false => format!(": {}", parts.join(", ")),
    };
    let took = took.map(|took| format!(" in {:.1} s", took.as_secs_f64()));
    format!("{checks}{}{list}", took.unwrap_or_default())
}

/// `8 x NVIDIA H100 80GB HBM3, driver 595.71`; empty without GPUs.
fn machine(summary: &Summary) -> String {
    let machine = &summary.machine;
    let mut parts = Vec::new();
    if machine.gpu_count > 0 {
        parts.push(format!("{} x {}", machine.gpu_count, machine.gpu_product));
    }
    if !machine.driver_version.is_empty() {
        parts.push(format!("driver {}", machine.driver_version));
    }
    parts.join(", ")
}

/// A component without the word that all checks of GPUs begin with.
pub(in crate::cli) fn short_name(component: &str) -> String {
    let name = component.strip_prefix("accelerator-").unwrap_or(component);
    printable(name)
}

/// Each reason once, in the order in which they first come.
fn reasons(lines: &[Line]) -> Vec<&str> {
    let mut seen = BTreeSet::new();
    let reasons = lines.iter().map(|line| match line.reason.as_str() {
        "" => line.component.as_str(),
        reason => reason,
    });
    reasons.filter(|reason| seen.insert(*reason)).collect()
}

/// Components in the order in which a scan shows them: the worst first.
pub fn in_order(components: &mut [ComponentHealthStates]) {
    components.sort_by_key(|component| {
        let states = component.states.iter().flatten();
        let ranks = states.map(|state| Health::from(state.health.as_str()).rank());
        std::cmp::Reverse(ranks.max().unwrap_or(0))
    });
}

#[cfg(test)]
#[path = "show_tests.rs"]
mod tests;
