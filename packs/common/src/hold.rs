//! Findings of a source that does not answer: an unknown finding is not over.

use gpud_sdk::Report;
use gpud_sdk::findings::{Finding, Memory};

/// Findings of the last check that a silent source could still have, as far as this one does not report them: their
/// keys. `of` says by key and name of the event which are its.
pub fn open<'a>(
    before: &'a Memory,
    found: &[Finding],
    of: impl Fn(&str, &str) -> bool,
) -> Vec<&'a str> {
    let open = before.0.iter().filter(|(key, name)| of(key, name));
    open.map(|(key, _)| key.as_str())
        .filter(|key| !found.iter().any(|finding| finding.key == **key))
        .collect()
}

/// Takes back that they are over, and keeps them in mind.
pub fn keep(report: &mut Report, after: &mut Memory, before: &Memory, open: &[&str]) {
    for key in open {
        let Some(name) = before.0.get(*key) else {
            continue;
        };
        let over = format!("{name}_cleared {key}");
        report
            .events
            .retain(|event| event.merge.as_ref().is_none_or(|rule| rule.key != over));
        after.0.insert((*key).to_owned(), name.clone());
    }
}

/// That a source does not answer, with what was wrong when it last did.
pub fn unreadable(key: &str, event: &'static str, what: &str, why: &str, open: &[&str]) -> Finding {
    let mut text = format!("{what} cannot be read ({why})");
    if !open.is_empty() {
        text.push_str(&format!("; last known trouble: {}", open.join(", ")));
    }
    Finding::degraded(key, event, text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use gpud_sdk::findings::judge;
    use gpud_sdk::testing::test_context;

    #[test]
    fn what_is_not_known_is_not_over() {
        let context = test_context("c", 1_000);
        let fan = Finding::degraded("fan", "fan_slow", "fan is slow");
        let disk = Finding::degraded("disk", "disk_old", "disk is old");
        let (_, before) = judge(&context, "fine", &[fan.clone(), disk], &Memory::default());
        let open = open(&before, &[], |_, name| name == "fan_slow");
        assert_eq!(open, ["fan"]);
        let silent = unreadable("bmc", "bmc_silent", "the controller", "busy", &open);
        assert_eq!(
            silent.text,
            "the controller cannot be read (busy); last known trouble: fan"
        );
        let (mut report, mut after) = judge(&context, "fine", &[silent], &before);
        keep(&mut report, &mut after, &before, &open);
        let names: Vec<_> = report.events.iter().map(|event| &event.name).collect();
        assert_eq!(names, ["bmc_silent", "disk_old_cleared"]);
        // The fan is still slow when the source answers again: no news.
        let (report, _) = judge(&context, "fine", &[fan], &after);
        let names: Vec<_> = report.events.iter().map(|event| &event.name).collect();
        assert_eq!(names, ["bmc_silent_cleared"]);
    }
}
