use super::{
    super::outcome::{Bill, WasmCheck},
    *,
};
use crate::{
    script::judge::Mismatch,
    wire::{GoDuration, SuggestedActions},
};

fn row(component: &str) -> PluginRow {
    PluginRow {
        component: component.to_owned(),
        plugin_name: component.to_owned(),
        plugin_type: "component".into(),
        run_mode: "auto".into(),
        timeout: GoDuration(60_000_000_000),
        interval: GoDuration(0),
        tags: Vec::new(),
        valid: true,
        asks_for: None,
        components: None,
    }
}

fn fan_tray() -> Outcome {
    Outcome {
        component: "fan-tray".into(),
        run_mode: "auto".into(),
        states: vec![HealthState {
            health: "Unhealthy".into(),
            reason: "unexpected plugin output".into(),
            suggested_actions: Some(SuggestedActions {
                description: "replace tray 2".into(),
                repair_actions: vec!["HARDWARE_INSPECTION".into()],
            }),
            extra_info: [("rpm".to_owned(), "0 <".to_owned())].into(),
            ..HealthState::default()
        }],
        mismatches: vec![Mismatch {
            field: "rpm".into(),
            query: "$.tray.rpm".into(),
            pattern: Some("^[1-9]".into()),
            value: Some("0 <".into()),
        }],
        output: b"probe\n\x1b[31m\xff".to_vec(),
        ..Outcome::default()
    }
}

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap()
}

#[test]
fn the_table_of_a_file() {
    let wasm = |name: &str, words: &[&str]| PluginRow {
        plugin_type: "wasm".into(),
        asks_for: Some(words.iter().map(|word| (*word).to_owned()).collect()),
        ..row(name)
    };
    let broken = PluginRow {
        valid: false,
        ..row("broken\u{1b}[2J")
    };
    let rows = [
        row("a"),
        wasm("board-temp", &["sysfs", "config"]),
        wasm("idle", &[]),
        broken,
    ];
    insta::assert_snapshot!(table(&rows, Terminal::PLAIN), @r"

    +-----------------+-----------+----------+---------+----------+-----------+
    |    COMPONENT    |   TYPE    | RUN MODE | TIMEOUT | INTERVAL |   VALID   |
    +-----------------+-----------+----------+---------+----------+-----------+
    |        a        | component |   auto   |  1m0s   |    0s    |  ✔ valid  |
    +-----------------+-----------+----------+---------+----------+-----------+
    |   board-temp    |   wasm    |   auto   |  1m0s   |    0s    |  ✔ valid  |
    +-----------------+-----------+----------+---------+----------+-----------+
    |      idle       |   wasm    |   auto   |  1m0s   |    0s    |  ✔ valid  |
    +-----------------+-----------+----------+---------+----------+-----------+
    | broken\u{1b}[2J | component |   auto   |  1m0s   |    0s    | ✘ invalid |
    +-----------------+-----------+----------+---------+----------+-----------+

    board-temp asks for: sysfs, config
    idle asks for: nothing
    ");
    assert_eq!(table(&[], Terminal::PLAIN).lines().count(), 5);
}

#[test]
fn an_outcome_shows_output_verdict_and_what_was_unexpected() {
    insta::assert_snapshot!(text(outcome(&fan_tray(), Terminal::PLAIN, true)), @r#"
    ### Component "fan-tray" output

    probe
    \u{1b}[31m�

    ✘ fan-tray: unexpected plugin output
      suggested: HARDWARE_INSPECTION (replace tray 2)
      unexpected: field "rpm" ("$.tray.rpm") is "0 <", expected to match "^[1-9]"
    "#);
    let as_it_is = outcome(&fan_tray(), Terminal::PLAIN, false);
    let printed = b"output\n\nprobe\n\x1b[31m\xff\n\n";
    assert!(as_it_is.windows(printed.len()).any(|part| part == printed));
    let silent = Outcome {
        output: Vec::new(),
        mismatches: Vec::new(),
        states: vec![HealthState {
            health: "Healthy".into(),
            reason: "ok".into(),
            ..HealthState::default()
        }],
        ..fan_tray()
    };
    assert_eq!(
        text(outcome(&silent, Terminal::PLAIN, true)),
        "### Component \"fan-tray\" output\n\n✔ fan-tray: ok\n\n"
    );
}

#[test]
fn a_wasm_component_shows_what_it_cost() {
    let temperature = Outcome {
        component: "board-temp".into(),
        output: Vec::new(),
        mismatches: Vec::new(),
        wasm: Some(WasmCheck {
            supported: false,
            bill: Some(Bill {
                seconds: 0.012,
                memory_high_water_bytes: 1_572_864.0,
                host_calls: 3.0,
                bytes: 4096.0,
            }),
        }),
        ..fan_tray()
    };
    insta::assert_snapshot!(text(outcome(&temperature, Terminal::PLAIN, true)), @r#"
    ### Component "board-temp" output

    ✘ board-temp: unexpected plugin output
      suggested: HARDWARE_INSPECTION (replace tray 2)
      there is nothing for it to watch on this machine
      took 0.012 s, 1.5 MiB of memory, 3 host calls, 4096 bytes to and from the host
    "#);
}

#[test]
fn the_table_of_results() {
    let mut results = Results::default();
    results.add(&fan_tray());
    results.add(&Outcome {
        component: "ok".into(),
        run_mode: String::new(),
        states: vec![HealthState {
            health: "Healthy".into(),
            reason: "ok".into(),
            ..HealthState::default()
        }],
        ..fan_tray()
    });
    insta::assert_snapshot!(results.render(Terminal::PLAIN), @r#"
    ### Results

    +-----------+--------------+--------------------------+-------+----------+--------------------+
    | COMPONENT | HEALTH STATE |         SUMMARY          | ERROR | RUN MODE |     EXTRA INFO     |
    +-----------+--------------+--------------------------+-------+----------+--------------------+
    | fan-tray  | ✘ Unhealthy  | unexpected plugin output |       |   auto   | {"rpm":"0 \u003c"} |
    +-----------+--------------+--------------------------+-------+----------+--------------------+
    |    ok     |  ✔ Healthy   |            ok            |       |          |        null        |
    +-----------+--------------+--------------------------+-------+----------+--------------------+
    "#);
}

#[test]
fn long_values_are_cut_and_complaints_keep_their_lines() {
    let mut long = fan_tray();
    long.mismatches[0].value = Some("ä".repeat(100_000));
    long.states[0].extra_info = [("x".to_owned(), "y".repeat(100_000))].into();
    let shown = text(outcome(&long, Terminal::PLAIN, true));
    assert!(shown.len() < 2 * MAX_SHOWN, "{}", shown.len());
    let mut results = Results::default();
    results.add(&long);
    let line = results.render(Terminal::PLAIN);
    assert!(line.lines().all(|line| line.len() < 2 * MAX_SHOWN));

    let reported_problem = Complaint {
        report: "message \u{1b}[31m\u{202e}\n --> f.yaml:1:2\n\tx".into(),
        ..Complaint::unreadable("f.yaml", "message".into())
    };
    assert_eq!(
        complaint(&reported_problem, "✘"),
        "✘ message \\u{1b}[31m\\u{202e}\n --> f.yaml:1:2\n\tx"
    );
}
