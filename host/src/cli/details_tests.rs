//! Tests the tables of a scan of a machine with eight GPUs: `testdata/scanned.json`, taken from a scan over the
//! simulated NVML library. The golden files are `testdata/scanned-‹width›.txt`; `GPUD_WRITE_GOLDEN=1` regenerates them.

use std::{fmt::Write as _, fs, path::PathBuf};

use proptest::prelude::*;
use serde_json::Value;
use unicode_width::UnicodeWidthStr as _;

use super::*;

fn testdata(file: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("src/cli/testdata")
        .join(file)
}

/// Component and document, in the order of the file and with the order of its keys.
fn scanned() -> std::collections::BTreeMap<String, String> {
    let text = fs::read_to_string(testdata("scanned.json")).unwrap();
    let lines = text.lines().filter_map(|line| {
        let (name, document) = line.trim_end_matches(',').split_once(": ")?;
        Some((name.trim_matches('"').to_owned(), document.to_owned()))
    });
    lines.collect()
}

fn golden(width: usize) {
    let mut text = String::new();
    for (component, document) in scanned() {
        let _ = writeln!(
            text,
            "# {component}\n{}",
            tables(&component, &document, width)
        );
    }
    for line in text.lines() {
        assert!(line.width() <= width, "{} columns: {line}", line.width());
    }
    let file = testdata(&format!("scanned-{width}.txt"));
    if std::env::var_os("GPUD_WRITE_GOLDEN").is_some() {
        fs::write(&file, &text).unwrap();
    }
    let expected = fs::read_to_string(&file).unwrap();
    for (at, (line, expected)) in text.lines().zip(expected.lines()).enumerate() {
        assert_eq!(line, expected, "{} line {}", file.display(), at + 1);
    }
    assert_eq!(text.lines().count(), expected.lines().count());
}

#[test]
fn eight_gpus_in_a_file() {
    golden(160);
}

#[test]
fn eight_gpus_on_a_narrow_terminal() {
    golden(80);
}

#[test]
fn no_component_of_eight_gpus_takes_more_than_a_page() {
    for (component, document) in scanned() {
        let lines = tables(&component, &document, 160).lines().count();
        assert!(lines <= 32, "{component}: {lines} lines");
    }
}

#[test]
fn every_layout_finds_its_values() {
    for (component, document) in scanned() {
        let root: Node = serde_json::from_str(&document).unwrap();
        for part in layouts::of(&component) {
            let (row, columns) = match part {
                Part::Pairs(columns) => (Some(&root), *columns),
                Part::Rows(list, columns) => (root.at(list).unwrap().items().first(), *columns),
                _ => continue,
            };
            // Nothing is mounted from a server on that machine.
            let Some(row) = row else { continue };
            for column in columns {
                assert!(
                    row.at(column.path).is_some(),
                    "{component}: {}",
                    column.path
                );
            }
        }
    }
}

#[test]
fn a_document_as_it_is_built() {
    let document = r#"{"usage":{"used_percent":"7.10","load":{"1min":0.5}},"cores":8,"names":["b","a"],"none":null,"empty":[],
        "many":[1,2,3,4,5,6,7,8,9,10],"ok":false,
        "gpus":[{"bus":"0000:18:00.0","uuid":"GPU-1","ecc":{"on":true},"procs":[{"pid":1},{"pid":2}],"kind":"a"},
                {"bus":"0000:2a:00.0","uuid":"GPU-2","extra":-1,"kind":"a"}]}"#;
    insta::assert_snapshot!(tables("fan-tray", document, 160), @r"
    +--------------------+------------------------------+
    | usage.used_percent |             7.10             |
    |  usage.load.1min   |             0.5              |
    |       cores        |              8               |
    |       names        |             b, a             |
    |        many        | 1, 2, 3, 4, 5, 6, 7, 8, … (2 |
    |                    |            more)             |
    |         ok         |            false             |
    +--------------------+------------------------------+
    gpus: in all 2: kind a
    +-------+--------------+--------+-----------+-------+
    | UUID  |     BUS      | ECC ON |   PROCS   | EXTRA |
    +-------+--------------+--------+-----------+-------+
    | GPU-1 | 0000:18:00.0 |  true  | 2 entries |       |
    | GPU-2 | 0000:2a:00.0 |        |           |  -1   |
    +-------+--------------+--------+-----------+-------+
    ");
}

#[test]
fn long_lists_are_cut_and_wide_ones_too() {
    let rows: Vec<String> = (0..MAX_ROWS + 3)
        .map(|n| format!(r#"{{"a":{n}}}"#))
        .collect();
    let text = tables("x", &format!(r#"{{"l":[{}]}}"#, rows.join(",")), 80);
    assert_eq!(
        text.lines().filter(|line| line.starts_with('|')).count(),
        MAX_ROWS + 1
    );
    assert!(text.ends_with("(3 more rows: see --json)\n"), "{text}");

    let row = |value: usize| {
        let cells: Vec<String> = (0..5_000)
            .map(|n| format!(r#""key_{n}":{}"#, value + n))
            .collect();
        format!("{{{}}}", cells.join(","))
    };
    let text = tables("x", &format!(r#"{{"l":[{},{}]}}"#, row(0), row(1)), 100);
    assert!(text.lines().count() < 80, "{} lines", text.lines().count());
}

#[test]
fn what_is_no_object_shows_nothing() {
    for document in ["", "x", "[1]", "{}", "7", r#"{"a":{}}"#] {
        assert_eq!(tables("cpu", document, 80), "", "{document}");
    }
}

#[test]
fn a_known_component_with_another_document_is_shown_as_it_is_built() {
    let text = tables("cpu", r#"{"sockets":2}"#, 80);
    assert!(text.contains("sockets"), "{text}");
}

#[test]
fn values_that_are_not_what_a_column_expects_are_shown_as_they_are() {
    let document = r#"{"powers":[{"uuid":"GPU-1","usage_milli_watts":"unknown"},{"uuid":7,"used_percent":[1,2]}]}"#;
    let text = tables("accelerator-nvidia-power", document, 160);
    assert!(text.contains("unknown") && text.contains("1, 2"), "{text}");
}

/// Any document of a few levels.
fn documents() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        r"\PC{0,60}".prop_map(Value::from),
    ];
    let known = prop_oneof![
        Just("uuid"),
        Just("ecc_modes"),
        Just("aggregate"),
        Just("total"),
        Just("é")
    ];
    leaf.prop_recursive(4, 64, 8, move |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..8).prop_map(Value::from),
            proptest::collection::vec((known.clone(), inner), 0..8).prop_map(|fields| {
                let fields = fields
                    .into_iter()
                    .map(|(key, value)| (key.to_owned(), value));
                Value::Object(fields.collect())
            }),
        ]
    })
}

proptest! {
    #[test]
    fn no_document_makes_a_line_too_wide(document in documents(), width in 40_usize..200) {
        let text = tables("accelerator-nvidia-ecc", &document.to_string(), width);
        prop_assert!(text.lines().all(|line| line.width() <= width), "{}", text);
    }
}
