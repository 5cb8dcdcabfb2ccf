use super::*;
use crate::cli::healthcheck::testing::state;

fn judged(states: &[Component], components: &str, actions: &[RepairAction]) -> String {
    match Verdict::of(states, &ComponentSelection::parse(components), actions) {
        Err(why) => why.to_string(),
        Ok(verdict) => {
            let found = verdict.findings.iter();
            let found: Vec<String> = found
                .map(|found| format!("{:?} {} {}", found.severity, found.component, found.reason))
                .collect();
            format!(
                "{} of {}, {} starting, {} uncounted",
                found.join(", "),
                verdict.components,
                verdict.starting,
                verdict.uncounted
            )
        }
    }
}

#[test]
fn states_are_judged() {
    let states = [
        state("a", "Healthy", "", &[]),
        state("b", "Degraded", "slow", &[]),
        state("c", "Unhealthy", "gone", &["REBOOT_SYSTEM"]),
        state("c", "Unhealthy", "hot", &["HARDWARE_INSPECTION"]),
        state("d", "Initializing", "", &[]),
        state("e", "", "", &[]),
        state("f", "Molten", "glows", &[]),
    ];
    let reboot = [RepairAction::RebootSystem];
    for (components, actions, expected) in [
        (
            "",
            &[][..],
            "Unhealthy c gone, Unhealthy c hot, Unhealthy f glows, Degraded b slow of 6, 2 starting, 0 uncounted",
        ),
        (
            "-c,-f",
            &[],
            "Degraded b slow of 4, 2 starting, 0 uncounted",
        ),
        ("a", &[], " of 1, 0 starting, 0 uncounted"),
        ("a,e", &[], " of 2, 1 starting, 0 uncounted"),
        (
            "",
            &reboot[..],
            "Unhealthy c gone of 6, 2 starting, 2 uncounted",
        ),
        ("b", &reboot[..], " of 1, 0 starting, 1 uncounted"),
        ("nosuch", &[], "gpud has none of the components that count"),
    ] {
        assert_eq!(
            judged(&states, components, actions),
            expected,
            "{components}"
        );
    }
    assert_eq!(
        judged(&[], "", &[]),
        "gpud has none of the components that count"
    );
}

#[test]
fn a_threshold_counts_what_is_worse_too() {
    let states = [
        state("a", "Degraded", "", &[]),
        state("b", "Unhealthy", "", &[]),
    ];
    let verdict = Verdict::of(&states, &ComponentSelection::default(), &[]).unwrap();
    assert_eq!(verdict.at_least(FailOn::Degraded).count(), 2);
    assert_eq!(verdict.at_least(FailOn::Unhealthy).count(), 1);
    assert_eq!(verdict.count(Severity::Degraded), 1);
}
