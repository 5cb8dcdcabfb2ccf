//! Messages and rules of entries.

use super::*;

pub(crate) const LOST: Entry = Entry {
    name: "lost",
    severity: Severity::Fatal,
    otherwise: Some(Severity::Warning),
    message: "{what} lost on {device}, {no}",
    other_message: "no {what}",
    actions: &[Action::Reboot, Action::Inspect],
    advice: "Reboot.",
    verdict: Some(EventVerdict {
        unhealthy: true,
        at_least: 2,
        window_seconds: 60,
        reboot_clears: true,
        ended_by: &["found"],
    }),
};

pub(crate) const FOUND: Entry = Entry {
    name: "found",
    severity: Severity::Info,
    otherwise: None,
    message: "found",
    other_message: "",
    actions: &[],
    advice: "",
    verdict: None,
};

pub(crate) static CATALOG: Catalog = Catalog {
    version: 3,
    device: "device",
    patterns: &["lost", "found"],
    entries: &[&LOST, &FOUND],
};

#[test]
fn messages_are_filled_in() {
    for (values, expected) in [
        (
            &[("what", "disk"), ("device", "{what}")][..],
            "disk lost on {what}, {no}",
        ),
        (&[], "{what} lost on {device}, {no}"),
    ] {
        assert_eq!(LOST.say(values), expected);
    }
    assert_eq!(LOST.say_otherwise(&[("what", "disk")]), "no disk");
    assert_eq!(FOUND.say_otherwise(&[("what", "disk")]), "");
    for message in ["", "{", "}", "{}", "a{b", "{b}{b}{"] {
        let entry = Entry { message, ..FOUND };
        assert_eq!(entry.say(&[("b", "b")]), message.replace("{b}", "b"));
    }
}

#[test]
fn a_rule_of_an_entry() {
    let rule = LOST.rule();
    assert_eq!(
        (rule.event, rule.at_least, rule.remember_ms, rule.ended_by),
        ("lost", 2, 60_000, &["found"][..])
    );
    assert_eq!(
        (rule.health, rule.action, rule.advice, rule.reboot_clears),
        (
            Health::Unhealthy,
            Some(RepairAction::RebootSystem),
            "Reboot.",
            true
        )
    );
    let rule = FOUND.rule();
    assert_eq!(
        (rule.health, rule.action, rule.reboot_clears, rule.at_least),
        (Health::Healthy, None, false, 1)
    );
    assert_eq!(
        (LOST.event_type(), LOST.other_type(), FOUND.other_type()),
        (EventType::Fatal, EventType::Warning, EventType::Info)
    );
    assert_eq!(CATALOG.entry("found"), Some(&FOUND));
    assert_eq!(CATALOG.entry("foun"), None);
}
