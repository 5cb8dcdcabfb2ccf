//! The layout at 80 and 200 columns, on a terminal and into a pipe.

use super::*;
use crate::{
    summary::test_machines::{component, failing, fine, gpu_lost, state},
    summary::{Input, summarize},
    wire::HealthState,
};

fn shown(summary: &Summary, terminal: Terminal) -> String {
    of(summary, &[], false, terminal)
}

fn of(
    summary: &Summary,
    components: &[ComponentHealthStates],
    verbose: bool,
    terminal: Terminal,
) -> String {
    let shown = SummaryView {
        summary,
        components,
        took: Duration::from_millis(910),
        verbose,
        terminal,
    };
    [shown.head(), shown.body(), shown.end()].concat()
}

fn states(name: &str, states: Vec<HealthState>) -> ComponentHealthStates {
    ComponentHealthStates {
        component: name.into(),
        states: Some(states),
    }
}

fn wire(health: &str, reason: &str) -> HealthState {
    HealthState {
        health: health.into(),
        reason: reason.into(),
        ..HealthState::default()
    }
}

#[test]
fn a_failing_machine() {
    let summary = failing();
    for (name, terminal) in [
        ("failing_80", Terminal::with_signs(80)),
        ("failing_200", Terminal::with_signs(200)),
        ("failing_pipe", Terminal::PLAIN),
    ] {
        insta::assert_snapshot!(name, shown(&summary, terminal));
    }
}

#[test]
fn a_healthy_machine() {
    insta::assert_snapshot!("fine_80", shown(&fine(), Terminal::with_signs(80)));
    insta::assert_snapshot!("fine_200", shown(&fine(), Terminal::with_signs(200)));
}

#[test]
fn everything_with_verbose() {
    let document = r#"{"cores":{"logical":8},"usage":{"used_percent":"7.10"}}"#;
    let cpu = HealthState {
        extra_info: [(output::DATA.to_owned(), document.to_owned())].into(),
        ..wire("Healthy", "ok")
    };
    let components = [
        states("cpu", vec![cpu]),
        states(
            "accelerator-nvidia-power",
            vec![wire("Unhealthy", "GPU lost")],
        ),
    ];
    let summary = summarize(Input {
        components: gpu_lost(),
        ..Input::default()
    });
    let text = of(&summary, &components, true, Terminal::with_signs(80));
    insta::assert_snapshot!("verbose_80", text);
}

#[test]
fn a_component_in_trouble_shows_its_table() {
    let document = r#"{"cores":{"logical":8}}"#;
    let cpu = HealthState {
        extra_info: [(output::DATA.to_owned(), document.to_owned())].into(),
        ..wire("Degraded", "too hot")
    };
    let summary = summarize(Input {
        components: vec![component("cpu", vec![state("Degraded", "too hot")])],
        ..Input::default()
    });
    let text = of(
        &summary,
        &[states("cpu", vec![cpu])],
        false,
        Terminal::with_signs(80),
    );
    assert!(text.contains("| Logical Cores | 8 |"), "{text}");
}

#[test]
fn hostile_texts_are_shown_as_text() {
    let name = "a\u{1b}]0;x\u{7}\u{202e}b";
    let hostile = format!("{name}\r\n✔ all is well\u{9b}2J");
    let summary = summarize(Input {
        components: vec![
            component(name, vec![state("Unhealthy", &hostile)]),
            component(&hostile, vec![state("Healthy", "ok")]),
        ],
        ..Input::default()
    });
    let text = shown(&summary, Terminal::with_signs(80));
    insta::assert_snapshot!("hostile_80", text);
    assert!(
        !text.contains(|c: char| c.is_control() && c != '\n'),
        "{text:?}"
    );
    assert!(!text.contains('\u{202e}'));
}

#[test]
fn no_line_is_wider_than_the_terminal() {
    let summary = failing();
    for width in [40, 60, 80, 120] {
        for line in shown(&summary, Terminal::with_signs(width)).lines() {
            assert!(line.width() <= width, "{width}: {line}");
        }
    }
}

#[test]
fn the_worst_comes_first_also_in_json() {
    let mut components = vec![
        states("a", vec![wire("Healthy", "")]),
        states("b", vec![wire("Degraded", "")]),
        states("c", vec![wire("Healthy", ""), wire("Unhealthy", "")]),
        states("d", vec![wire("Initializing", "")]),
        states("e", vec![wire("Degraded", "")]),
    ];
    in_order(&mut components);
    let names: Vec<_> = components.iter().map(|c| c.component.as_str()).collect();
    assert_eq!(names, ["c", "b", "e", "d", "a"]);
}
