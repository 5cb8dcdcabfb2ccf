//! The layout of `gpud scan --kmsg-file`: for each host what is wrong, worst first, then what the checkers made of the
//! lines, and a verdict as a sentence.

use std::{collections::BTreeSet, path::Path, slice, time::Duration};

use super::{HostJudgement, affected_devices, print};
use crate::{
    capture::Overview,
    cli::{
        options::FailOn,
        output,
        scan::show::SummaryView,
        terminal::{Mark, Terminal, printable},
    },
    model::Health,
    summary::{ComponentInput, Input, Summary, summarize},
    wire::ComponentHealthStates,
};

/// A saved log as it was judged.
pub(super) struct LogLayout<'s> {
    /// Where it is.
    pub path: &'s Path,
    /// Its content.
    pub log: &'s Overview,
    /// The checkers' judgements, host by host.
    pub hosts: &'s [HostJudgement],
    /// The states that `--fail-on` counts: verdicts, and serious events of components without one.
    pub gate: &'s [ComponentHealthStates],
    /// Everything.
    pub verbose: bool,
    /// Where it is shown.
    pub terminal: Terminal,
}

impl LogLayout<'_> {
    /// Returns the summary of each host's log.
    fn summaries(&self) -> Vec<Summary> {
        self.hosts.iter().map(summary).collect()
    }

    /// All of it.
    pub fn text(&self) -> String {
        let terminal = self.terminal;
        let summaries = self.summaries();
        let worst = summaries.iter().max_by_key(|one| one.verdict.rank());
        let troubles: usize = summaries.iter().map(|one| one.troubles.len()).sum();
        let health = match worst {
            Some(worst) if troubles > 0 => worst.verdict.clone(),
            _ => output::worst(self.gate),
        };
        let is_unread = print::is_unread(self.log);
        let verdict = match troubles {
            0 if is_unread => print::UNREAD.to_owned(),
            0 if self.has_serious_events() => {
                "serious events, on which no check gives a verdict by the log alone".to_owned()
            }
            // What only some of the machine's components can judge by the log alone is not called healthy.
            0 => "no trouble that the log alone proves".to_owned(),
            1 => format!("{}, 1 trouble", health.as_str()),
            count => format!("{}, {count} troubles", health.as_str()),
        };
        let mark = match is_unread {
            true => Mark::Absent,
            false => Mark::of(&health),
        };
        let name = self.path.display().to_string();
        let mut text = format!(
            "{}{}: {verdict}\n",
            terminal.mark(mark),
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
            _ => format!("\n{}{}\n", terminal.mark(mark), self.nothing()),
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
        let listed = match events {
            0 if print::is_unread(self.log) => {
                return "Nothing was judged: there is no kernel message in it.".to_owned();
            }
            0 => return "Nothing to do: no checker makes anything of this log.".to_owned(),
            1 => "1 event is listed above".to_owned(),
            count => format!("{count} events are listed above"),
        };
        let serious = match self.has_serious_events() {
            true => ", serious ones among them",
            false => "",
        };
        format!("No trouble that the log alone proves; {listed}{serious}.")
    }

    /// Whether something counts for a gate, be it an event only.
    fn has_serious_events(&self) -> bool {
        output::fails(Some(FailOn::Degraded), &output::worst(self.gate))
    }

    /// Says why `--fail-on` fails. Where no verdict is that bad, an event of a component without one is.
    pub fn why_it_fails(&self, fail_on: FailOn) -> String {
        let fails = |health: &Health| output::fails(Some(fail_on), health);
        let summaries = self.summaries().into_iter();
        let worst = summaries.max_by_key(|one| one.verdict.rank());
        let worst = worst.unwrap_or_default();
        if fails(&worst.verdict) {
            return output::why_it_fails(fail_on, &worst);
        }
        let gate = self.gate.iter();
        let bad = gate.filter(|one| fails(&output::worst(slice::from_ref(*one))));
        let names: BTreeSet<&str> = bad.map(|one| one.component.as_str()).collect();
        let names: Vec<&str> = names.into_iter().collect();
        format!(
            "status 1, as --fail-on {} asks: the log has serious events that nothing ended, see {}",
            output::word_of(fail_on),
            names.join(", ")
        )
    }

    fn shown<'a>(&self, summary: &'a Summary) -> SummaryView<'a> {
        SummaryView {
            summary,
            components: &[],
            took: Duration::ZERO,
            verbose: self.verbose,
            terminal: self.terminal,
        }
    }
}

/// Returns the summary of one host's log. Only verdicts count; its events alone are not judged.
fn summary(host: &HostJudgement) -> Summary {
    let judgements = host.judgements.iter();
    let judged = judgements.filter(|judgement| !judgement.states.is_empty());
    let components = judged.map(|judgement| ComponentInput {
        component: judgement.component.clone(),
        supported: true,
        states: affected_devices::states(judgement, host.last_boot),
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

#[cfg(test)]
mod tests;
