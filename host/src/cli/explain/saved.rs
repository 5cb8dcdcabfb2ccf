//! The layout of `gpud scan --kmsg-file`: for each host what is wrong, worst first, then what the checkers made of the
//! lines, and a verdict as a sentence.

use std::{path::Path, time::Duration};

use super::{HostJudgement, print};
use crate::{
    capture::Capture,
    cli::{
        scan::show::Shown,
        terminal::{Mark, Terminal, printable},
    },
    model::Health,
    summary::{ComponentInput, Input, Summary, summarize},
};

/// A saved log as it was judged.
pub(super) struct Saved<'s> {
    /// Where it is.
    pub path: &'s Path,
    /// What it holds.
    pub log: &'s Capture,
    /// What the checkers made of it, host by host.
    pub hosts: &'s [HostJudgement],
    /// Everything.
    pub verbose: bool,
    /// Where it is shown.
    pub terminal: Terminal,
}

impl Saved<'_> {
    /// What each host's log amounts to.
    fn summaries(&self) -> Vec<Summary> {
        self.hosts.iter().map(summary).collect()
    }

    /// All of it.
    pub fn text(&self) -> String {
        let terminal = self.terminal;
        let summaries = self.summaries();
        let worst = summaries.iter().max_by_key(|one| one.verdict.rank());
        let troubles: usize = summaries.iter().map(|one| one.troubles.len()).sum();
        let health = worst.map_or(Health::Healthy, |one| one.verdict.clone());
        let verdict = match troubles {
            // What only some of the machine's components can judge by the log alone is not called healthy.
            0 => "no trouble that the log alone proves".to_owned(),
            1 => format!("{}, 1 trouble", health.as_str()),
            count => format!("{}, {count} troubles", health.as_str()),
        };
        let name = self.path.display().to_string();
        let mut text = format!(
            "{}{}: {verdict}\n",
            terminal.mark(Mark::of(&health)),
            terminal.paint(Mark::Strong, &printable(&name))
        );
        for (host, summary) in self.hosts.iter().zip(&summaries) {
            if let Some(name) = host.host.as_ref().filter(|_| self.hosts.len() > 1)
                && !summary.troubles.is_empty()
            {
                text.push_str(&format!("\nhost {}\n", printable(name)));
            }
            text.push_str(&self.shown(summary).troubles());
        }
        text.push('\n');
        text.push_str(&print::text(self.log, self.hosts, terminal));
        text.push_str(&match worst {
            Some(worst) if troubles > 0 => self.end(worst, troubles),
            _ => format!("\n{}{}\n", terminal.mark(Mark::Good), self.nothing()),
        });
        text
    }

    /// The last line: the worst of all hosts.
    fn end(&self, worst: &Summary, troubles: usize) -> String {
        let mut hosts = self.hosts.iter().zip(self.summaries());
        let host = hosts.find(|(_, summary)| summary.sentence == worst.sentence);
        let host = host.and_then(|(host, _)| host.host.as_ref());
        let others = troubles - worst.troubles.len();
        let mut summary = worst.clone();
        if let Some(name) = host.filter(|_| self.hosts.len() > 1) {
            summary.sentence = format!("host {name}: {}", summary.sentence);
        }
        if others > 0 {
            summary
                .sentence
                .push_str(&format!(" {others} troubles of other hosts."));
        }
        self.shown(&summary).end()
    }

    fn nothing(&self) -> String {
        let judgements = self.hosts.iter().flat_map(|host| &host.judgements);
        let events: usize = judgements.map(|judgement| judgement.events.len()).sum();
        match events {
            0 => "Nothing to do: no checker makes anything of this log.".to_owned(),
            1 => "No trouble that the log alone proves; 1 event is listed above.".to_owned(),
            count => {
                format!("No trouble that the log alone proves; {count} events are listed above.")
            }
        }
    }

    /// Why `--fail-on` fails.
    pub fn worst(&self) -> Summary {
        let summaries = self.summaries().into_iter();
        let worst = summaries.max_by_key(|one| one.verdict.rank());
        worst.unwrap_or_default()
    }

    fn shown<'a>(&self, summary: &'a Summary) -> Shown<'a> {
        Shown {
            summary,
            components: &[],
            took: Duration::ZERO,
            verbose: self.verbose,
            terminal: self.terminal,
        }
    }
}

/// What the log of one host amounts to. Only verdicts count: what its events alone are worth is not judged.
fn summary(host: &HostJudgement) -> Summary {
    let judgements = host.judgements.iter();
    let judged = judgements.filter(|judgement| !judgement.states.is_empty());
    let components = judged.map(|judgement| ComponentInput {
        component: judgement.component.clone(),
        supported: true,
        states: judgement.states.clone(),
        events: judgement
            .events
            .iter()
            .map(|seen| seen.event.clone())
            .collect(),
    });
    summarize(Input {
        components: components.collect(),
        ..Input::default()
    })
}
