//! The line and the exit status of each form.

use std::collections::BTreeSet;

use super::{
    error::HealthcheckError,
    verdict::{Finding, Severity, Verdict},
};
use crate::cli::{exit::Exit, options::FailOn, terminal::printable};

/// Findings that a line names; the rest is counted.
const NAMED: usize = 5;
/// Longest reason of one finding, characters.
const REASON: usize = 300;
/// Nagios' statuses.
const WARNING: u8 = 1;
const CRITICAL: u8 = 2;
const UNKNOWN: u8 = 3;
/// The status of node-problem-detector for a check without a verdict.
const NPD_UNKNOWN: u8 = 2;
/// Ends a line that was cut.
const CUT: &str = "...";

/// Answers as Nagios, Icinga and their like expect it: a word, what is wrong, and figures behind a `|`.
pub fn plain(judged: &Result<Verdict, HealthcheckError>) -> Exit {
    let verdict = match judged {
        Ok(verdict) => verdict,
        Err(why) => {
            let why = without_bar(&why.to_string());
            return line(UNKNOWN, format!("UNKNOWN - {why}"));
        }
    };
    let (degraded, unhealthy) = (
        verdict.count(Severity::Degraded),
        verdict.count(Severity::Unhealthy),
    );
    let checked = verdict.components.saturating_sub(verdict.starting);
    let (code, text) = match verdict.findings.first().map(|worst| worst.severity) {
        Some(Severity::Unhealthy) => (CRITICAL, format!("CRITICAL - {}", list(&verdict.findings))),
        Some(Severity::Degraded) => (WARNING, format!("WARNING - {}", list(&verdict.findings))),
        None if checked == 0 => (UNKNOWN, "UNKNOWN - no component is checked yet".to_owned()),
        None => (0, format!("OK - {}", healthy(verdict))),
    };
    let text = without_bar(&text);
    let figures = format!(
        "unhealthy={unhealthy} degraded={degraded} starting={} components={}",
        verdict.starting, verdict.components
    );
    line(code, format!("{text} | {figures}"))
}

/// Answers as a custom plugin of node-problem-detector, which keeps the first bytes of the output.
pub fn npd(judged: &Result<Verdict, HealthcheckError>, fail_on: FailOn, max_output: usize) -> Exit {
    let (code, text) = match judged {
        Err(why) => (NPD_UNKNOWN, printable(&why.to_string())),
        Ok(verdict) => {
            let problems: Vec<Finding> = verdict.at_least(fail_on).cloned().collect();
            match problems.is_empty() {
                false => (1, list(&problems)),
                true if verdict.starting == verdict.components => {
                    (NPD_UNKNOWN, "no component is checked yet".to_owned())
                }
                true => (0, healthy(verdict)),
            }
        }
    };
    line(code, cut(&text, max_output))
}

/// Names findings, the worst first: `component: reason [ACTION]; …`.
pub fn list(findings: &[Finding]) -> String {
    let mut named: Vec<String> = findings.iter().take(NAMED).map(describe).collect();
    if let Some(more) = findings.len().checked_sub(NAMED).filter(|more| *more > 0) {
        named.push(format!("{more} more"));
    }
    named.join("; ")
}

/// Says how many components are healthy, and what else there is.
pub fn healthy(verdict: &Verdict) -> String {
    let more = |count: usize, what: &str| match count {
        0 => String::new(),
        count => format!(", {count} {what}"),
    };
    let names = verdict.findings.iter().map(|finding| &finding.component);
    let worse = names.collect::<BTreeSet<_>>().len();
    let others = verdict.starting + verdict.uncounted + worse;
    format!(
        "{} of {} components healthy{}{}{}",
        verdict.components.saturating_sub(others),
        verdict.components,
        more(worse, "not"),
        more(verdict.uncounted, "that suggest no action that counts"),
        more(verdict.starting, "not checked yet")
    )
}

fn describe(finding: &Finding) -> String {
    let reason: String = printable(&finding.reason).chars().take(REASON).collect();
    let actions = match finding.actions.is_empty() {
        true => String::new(),
        false => format!(" [{}]", printable(&finding.actions.join(", "))),
    };
    format!("{}: {reason}{actions}", printable(&finding.component))
}

/// Shortens a text to so many bytes, at the end of a character.
pub fn cut(text: &str, bytes: usize) -> String {
    if text.len() <= bytes {
        return text.to_owned();
    }
    let end = text.floor_char_boundary(bytes.saturating_sub(CUT.len()));
    let start = text.get(..end).unwrap_or_default();
    format!("{start}{CUT}")
}

/// Behind a `|` Nagios reads figures.
fn without_bar(text: &str) -> String {
    printable(text).replace('|', "/")
}

fn line(code: u8, text: String) -> Exit {
    Exit {
        code,
        ..Exit::success(text + "\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::{
        components::ComponentSelection,
        healthcheck::testing::{named_states, no_daemon, state},
    };

    fn verdicts() -> Vec<(&'static str, Result<Verdict, HealthcheckError>)> {
        let mut all: Vec<_> = named_states()
            .into_iter()
            .map(|(name, states)| {
                let verdict = Verdict::of(&states, &ComponentSelection::default(), &[]);
                (name, verdict)
            })
            .collect();
        all.push(("no daemon", Err(no_daemon())));
        all
    }

    #[test]
    fn lines_of_every_form() {
        let mut text = String::new();
        for (name, judged) in verdicts() {
            for (form, exit) in [
                ("plain", plain(&judged)),
                ("npd", npd(&judged, FailOn::Unhealthy, 80)),
                ("npd, also degraded", npd(&judged, FailOn::Degraded, 80)),
            ] {
                text.push_str(&format!("{name}, {form}: {}\n  {}", exit.code, exit.stdout));
            }
        }
        insta::assert_snapshot!(text);
    }

    #[test]
    fn one_line_whatever_a_reason_holds() {
        let states = [state("a", "Unhealthy", "x\ny | z=1\u{1b}[2J", &[])];
        let judged = Verdict::of(&states, &ComponentSelection::default(), &[]);
        assert_eq!(
            plain(&judged).stdout,
            "CRITICAL - a: x y / z=1\\u{1b}[2J | unhealthy=1 degraded=0 starting=0 components=1\n"
        );
    }

    proptest::proptest! {
        #[test]
        fn npd_gets_one_line_that_is_no_longer_than_it_keeps(
            reason in "(?s).{0,200}",
            max in 20_usize..100,
        ) {
            let states = [state("component", "Unhealthy", &reason, &[])];
            let judged = Verdict::of(&states, &ComponentSelection::default(), &[]);
            let exit = npd(&judged, FailOn::Unhealthy, max);
            proptest::prop_assert_eq!(exit.code, 1);
            let line = exit.stdout.strip_suffix('\n').unwrap();
            proptest::prop_assert!(line.len() <= max && !line.contains('\n'), "{:?}", line);
        }
    }
}
