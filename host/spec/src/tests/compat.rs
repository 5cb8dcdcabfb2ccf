//! Against the answers of GPUd's libraries.

use serde_json::Value as Json;

use crate::{
    ProblemKind, base64, build,
    decode::Decoder,
    scalar::{Typed, resolve},
    source::Source,
    tree::Value,
    wire::{self, PluginSpec},
};

fn lines(data: &str) -> Vec<Json> {
    let lines: Vec<Json> = data
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert!(lines.len() > 200);
    lines
}

#[test]
fn scalars_as_gpud_types_them() {
    for case in lines(include_str!("../testdata/scalars.jsonl")) {
        let text = case["in"].as_str().unwrap();
        let typed = resolve(text);
        assert_eq!(
            typed.text().unwrap_or_default(),
            case["text"].as_str().unwrap(),
            "{text}"
        );
        // Go knows no keys above the signed range; ours is the number.
        if let Some(key) = case["key"].as_str() {
            assert_eq!(typed.key().as_deref(), Some(key), "{text}");
        }
        let Some(json) = case["json"].as_str() else {
            assert!(
                matches!(typed, Typed::Float(value) if !value.is_finite()),
                "{text}"
            );
            continue;
        };
        // Serde's own reading may be a digit off.
        let exact = json.trim_matches(['[', ']']).parse::<f64>();
        let json: Json = serde_json::from_str(json).unwrap();
        let same = match typed {
            Typed::Null => json[0].is_null(),
            Typed::Bool(value) => json[0] == value,
            Typed::Int(value) => json[0] == value,
            Typed::Uint(value) => json[0] == value,
            Typed::Float(value) => exact == Ok(value),
            Typed::Text(value) => json[0] == value,
        };
        assert!(same, "{text}: {typed:?}, {json}");
    }
}

#[test]
fn base64_is_taken_and_refused_as_by_go() {
    for case in lines(include_str!("../testdata/base64.jsonl")) {
        let text = case["in"].as_str().unwrap();
        match base64::decode(text) {
            Ok(bytes) => {
                let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
                assert_eq!(case["hex"], hex, "{text:?}");
            }
            Err(_) => assert!(case["err"].is_string(), "{text:?}"),
        }
    }
}

/// What the reading stage makes of a file: entries, or the kind of the first problem.
fn decoded(text: &str) -> Result<Vec<PluginSpec>, (ProblemKind, String)> {
    let source = Source::new("f.yaml", text);
    let document = build::read(source.text()).map_err(|error| (error.kind, error.message))?;
    let mut decoder = Decoder::new(&source);
    let mut specs = Vec::new();
    if let Some(root) = document.root {
        match &root.value {
            Value::List(entries) => {
                for (at, node) in entries.iter().enumerate() {
                    specs.extend(decoder.entry(at, node, Decoder::script_entry));
                }
            }
            _ if root.is_null() => {}
            _ => decoder.mismatch(&root, "customplugins.Specs", "a list"),
        }
    }
    let mut problems = decoder.problems.then([], &source).into_iter();
    match (problems.next(), problems.next()) {
        (None, _) => Ok(specs),
        (Some(only), None) => Err((only.kind, only.message)),
        // Go looks at keys in alphabetical order, so its first one may be another.
        (Some(first), Some(_)) => Err((first.kind, String::new())),
    }
}

/// What GPUd's library refuses and ours reads, to nobody's harm.
const READ_ALL_THE_SAME: &[&str] = &[
    "-\tplugin_name: a\n",
    "[{\"plugin_name\":\"a\\/b\"}]",
    "[{\"plugin_name\":\"\\ud83d\\ude00\"}]",
    "%YAML 1.2\n---\n- plugin_name: y\n",
    "%FOO\n---\n- plugin_name: y\n",
    "- unknown: .inf\n",
    "- unknown: .nan\n",
    "- unknown: {y: 1, 5: 2, ~: 3}\n",
    "- plugin_name: !!int x\n",
];
/// U+0085 ends a line in YAML 1.1 but not in 1.2, which our parser reads.
const NOT_READ: &[&str] = &["- plugin_name: a\u{85}  run_mode: b\n"];

/// Go names the innermost of its types (here those of a stand-in program), we the whole way from the entry.
fn in_our_words(message: &str) -> String {
    let types = [
        ("main.Bash", "customplugins.RunBashScript"),
        ("main.State", "customplugins.HealthStatePlugin"),
        ("main.Parser", "customplugins.PluginOutputParseConfig"),
        ("main.Path", "customplugins.JSONPath"),
        ("main.Rule", "customplugins.MatchRule"),
        ("main.", "customplugins."),
        ("field Bash.", "field Spec."),
        ("field State.", "field Spec."),
        ("field Parser.", "field Spec."),
        ("field Path.", "field Spec."),
        ("field Rule.", "field Spec."),
        ("field Step.", "field Spec."),
    ];
    types
        .iter()
        .fold(message.to_owned(), |message, (go, ours)| {
            message.replace(go, ours)
        })
}

#[test]
fn files_as_gpud_reads_them() {
    let (mut odd, mut reported) = (Vec::new(), 0);
    for case in lines(include_str!("../testdata/specs.jsonl")) {
        let text = case["in"].as_str().unwrap();
        let ours = match decoded(text) {
            Ok(specs) => serde_json::from_slice(&wire::to_json(&specs).unwrap()).unwrap(),
            Err((kind, message)) => {
                let theirs = case["err"].as_str().unwrap_or_default();
                if kind == ProblemKind::SchemaMismatch && !message.is_empty() {
                    reported += 1;
                    if message != in_our_words(theirs) {
                        odd.push(format!("{text:?}\n  {message}\n  {theirs}"));
                    }
                }
                Json::from(kind.as_str())
            }
        };
        let theirs = case.get("ok").unwrap_or(&case["kind"]);
        let known = if ours.is_array() {
            READ_ALL_THE_SAME
        } else {
            NOT_READ
        };
        if (ours != *theirs) != known.contains(&text) {
            odd.push(format!("{text:?}\n  {ours}\n  {theirs} {}", case["err"]));
        }
    }
    assert!(reported > 50, "{reported}");
    assert!(odd.is_empty(), "{}:\n{}", odd.len(), odd.join("\n"));
}
