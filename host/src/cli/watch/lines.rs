//! The content of each pane as lines with a tone.

use super::model::{Model, Pane};
use crate::{
    cli::{
        ages,
        live::{
            MachineSnapshot,
            grouped_history::{GroupedEntry, grouped},
            machine,
        },
        scan::show::short_name,
        table::wrap,
        terminal::printable,
    },
    model::Health,
    summary::{HistoryEntry, Trouble},
};

/// How a line looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tone {
    /// As text.
    Plain,
    /// Something does not work.
    Bad,
    /// Something needs attention.
    Warning,
    /// A line of little importance.
    Dim,
    /// A heading.
    Strong,
}

impl Tone {
    /// Returns the tone of a health.
    pub fn of(health: &Health) -> Self {
        match health {
            Health::Healthy => Self::Plain,
            Health::Initializing => Self::Dim,
            Health::Degraded => Self::Warning,
            Health::Unhealthy | Health::Other(_) => Self::Bad,
        }
    }

    fn of_word(word: &str) -> Self {
        match word {
            "Fatal" | "Critical" => Self::Bad,
            "Warning" => Self::Warning,
            "Info" | "Unknown" => Self::Plain,
            "" => Self::Dim,
            health => Self::of(&Health::from(health)),
        }
    }
}

/// A line of a pane.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Line {
    /// How it looks.
    pub tone: Tone,
    /// Its text, harmless.
    pub text: String,
}

/// The lines of the pane that is shown, for a screen of this width.
pub(super) fn lines(model: &Model, width: usize) -> Vec<Line> {
    let mut page = PaneLines {
        width: width.max(20),
        filter: model.filter.to_lowercase(),
        only_bad: model.only_bad,
        lines: Vec::new(),
    };
    if model.help {
        page.help();
        return page.lines;
    }
    let Some(look) = &model.look else {
        let waiting = match model.problem {
            Some(_) => "no answer yet",
            None => "asking the daemon",
        };
        page.put(Tone::Dim, "", waiting);
        return page.lines;
    };
    match model.pane {
        Pane::Overview => page.overview(look),
        Pane::Gpus => page.gpus(look),
        Pane::Events => page.events(&look.history.entries),
        Pane::Checks => page.checks(look),
    }
    if page.lines.is_empty() {
        let nothing = match model.filter.is_empty() && !model.only_bad {
            true => "nothing to show",
            false => "nothing fits the filter (Escape clears it)",
        };
        page.put(Tone::Dim, "", nothing);
    }
    page.lines
}

struct PaneLines {
    width: usize,
    filter: String,
    only_bad: bool,
    lines: Vec<Line>,
}

impl PaneLines {
    /// Whether something with these texts is shown.
    fn fits(&self, texts: &[&str], tone: Tone) -> bool {
        let is_bad = matches!(tone, Tone::Bad | Tone::Warning);
        let found = |text: &&str| text.to_lowercase().contains(&self.filter);
        (is_bad || !self.only_bad) && (self.filter.is_empty() || texts.iter().any(found))
    }

    /// A text of any origin, wrapped below its own beginning.
    fn put(&mut self, tone: Tone, head: &str, text: &str) {
        let head = printable_keeping_blanks(head);
        let indent = head.chars().count();
        let room = self.width.saturating_sub(indent).max(10);
        for (number, part) in wrap(&printable(text), room, room).into_iter().enumerate() {
            let text = match number {
                0 => format!("{head}{part}"),
                _ => format!("{}{part}", " ".repeat(indent)),
            };
            self.lines.push(Line { tone, text });
        }
    }

    fn gap(&mut self) {
        if !self.lines.is_empty() {
            self.put(Tone::Plain, "", "");
        }
    }

    fn overview(&mut self, look: &MachineSnapshot) {
        let summary = &look.summary;
        for trouble in &summary.troubles {
            self.trouble(trouble);
        }
        if summary.troubles.is_empty() && self.filter.is_empty() && !self.only_bad {
            self.put(Tone::Plain, "", &summary.sentence);
        }
        if !look.gpus.is_empty() {
            self.gap();
            self.gpus(look);
        }
        let entries = look
            .history
            .entries
            .get(..look.history.entries.len().min(8));
        let before = self.lines.len();
        self.events(entries.unwrap_or_default());
        if self.lines.len() > before && before > 0 {
            let gap = Line {
                tone: Tone::Plain,
                text: String::new(),
            };
            self.lines.insert(before, gap);
        }
    }

    fn trouble(&mut self, trouble: &Trouble) {
        let tone = Tone::of(&trouble.health);
        let components = trouble.states.iter().map(|state| state.component.as_str());
        let mut texts: Vec<&str> = components.collect();
        texts.extend([trouble.headline.as_str(), &trouble.subject.detail]);
        if !self.fits(&texts, tone) {
            return;
        }
        let sign = match tone {
            Tone::Bad => "✘ ",
            _ => "! ",
        };
        self.put(tone, sign, &trouble.headline);
        if !trouble.subject.detail.is_empty() {
            self.put(Tone::Dim, "  ", &trouble.subject.detail);
        }
        if let Some(since) = trouble.since.0 {
            self.put(Tone::Dim, "  since ", &ages::moment(since));
        }
        let mut names: Vec<_> = trouble
            .states
            .iter()
            .map(|s| short_name(&s.component))
            .collect();
        names.dedup();
        self.put(Tone::Dim, "  seen by ", &names.join(", "));
        if !trouble.action.is_empty() {
            self.put(Tone::Strong, "  -> ", &trouble.action);
        }
    }

    fn gpus(&mut self, look: &MachineSnapshot) {
        let mut shown = Vec::new();
        for gpu in &look.gpus {
            let tone = match gpu.health.as_str() {
                "" => Tone::Plain,
                health => Tone::of_word(health),
            };
            let name = format!("GPU {}", gpu.index);
            if self.fits(&[&name, &gpu.bus_id, &gpu.trouble], tone) {
                shown.push((tone, gpu));
            }
        }
        if shown.is_empty() {
            return;
        }
        self.put_row(
            Tone::Strong,
            ["GPU", "BUS ID", "UTIL", "MEMORY", "TEMP", "POWER"],
            "STATE",
        );
        for (tone, gpu) in shown {
            let index = gpu.index.to_string();
            let cells = [
                index.as_str(),
                &gpu.bus_id,
                &gpu.utilization,
                &gpu.memory,
                &gpu.temperature,
                &gpu.power,
            ];
            let state = match gpu.trouble.as_str() {
                "" => "ok",
                trouble => trouble,
            };
            self.put_row(tone, cells, state);
        }
    }

    /// Columns of fixed widths, so that they do not move while readings do.
    fn put_row(&mut self, tone: Tone, cells: [&str; 6], state: &str) {
        let [index, bus, used, memory, temperature, power] = cells;
        let head = format!("{index:<4}{bus:<14}{used:<7}{memory:<13}{temperature:<12}{power:<13}");
        self.put(tone, &head, state);
    }

    fn events(&mut self, entries: &[HistoryEntry]) {
        // With a filter each check is a line of its own.
        let shown = match self.filter.is_empty() {
            true => grouped(entries),
            false => entries.iter().map(GroupedEntry::single).collect(),
        };
        for GroupedEntry { entry, checks } in shown {
            let (what, message) = machine::in_words(entry);
            let tone = Tone::of_word(&what);
            let about = entry
                .subject
                .as_ref()
                .map_or("", |subject| subject.label.as_str());
            if !self.fits(&[&what, &message, about, &entry.component], tone) {
                continue;
            }
            let time = ages::moment(entry.last_time.0.unwrap_or(0));
            let time = time.replace('T', " ").trim_end_matches('Z').to_owned();
            let head = format!("{time} {what:<9} ");
            let check = match checks {
                0 | 1 => short_name(&entry.component),
                checks => format!("{checks} checks"),
            };
            let text = match about {
                "" => format!("{check}: {message}"),
                about => format!("{about}, {check}: {message}"),
            };
            self.put(tone, &head, &text);
        }
    }

    fn checks(&mut self, look: &MachineSnapshot) {
        let summary = &look.summary;
        for trouble in &summary.troubles {
            for state in &trouble.states {
                let reason = match state.means.as_str() {
                    "" => &state.reason,
                    means => means,
                };
                let health = state.health.as_str();
                self.check(Tone::of(&state.health), health, &state.component, reason);
            }
        }
        for (tone, word, lines) in [
            (Tone::Dim, "Initializing", &summary.initializing),
            (Tone::Plain, "Healthy", &summary.healthy),
            (Tone::Dim, "absent", &summary.absent),
        ] {
            for line in lines {
                self.check(tone, word, &line.component, &line.reason);
            }
        }
    }

    fn check(&mut self, tone: Tone, health: &str, component: &str, reason: &str) {
        if self.fits(&[health, component, reason], tone) {
            let head = format!("{health:<13}{:<26} ", short_name(component));
            self.put(tone, &head, reason);
        }
    }

    fn help(&mut self) {
        for (keys, what) in [
            ("1 to 4, Tab", "overview, GPUs, events, checks"),
            ("/", "show only what has a text; Enter ends, Escape clears"),
            ("w", "only what is not well"),
            ("arrows, j, k", "scroll; also page up and down, Home, End"),
            ("?", "these keys"),
            ("q, Escape", "leave"),
        ] {
            self.put(Tone::Plain, &format!("{keys:<16}"), what);
        }
    }
}

/// As [`printable`], with the blanks at the end that make a column.
fn printable_keeping_blanks(text: &str) -> String {
    let end = text.len() - text.trim_end_matches(' ').len();
    let begin = text.len() - text.trim_start_matches(' ').len();
    if begin == text.len() {
        return text.to_owned();
    }
    format!(
        "{}{}{}",
        " ".repeat(begin),
        printable(text),
        " ".repeat(end)
    )
}
