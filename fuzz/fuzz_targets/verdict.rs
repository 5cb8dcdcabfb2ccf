//! The verdict on an execution. The input is text and what was printed, with an empty line between them:
//!
//! ```text
//! !exit status 3                              the step failed (optional)
//! ~                                           more was printed than is kept (optional)
//! QUERY⇥FIELD⇥PATTERN⇥ACTION⇥PATTERN⇥ACTION…  a path; the first pattern is what is expected
//! ```
//!
//! A pattern `-` is none at all.

#![no_main]

use gpud_fuzz::{
    script::judge::{Execution, Judge, Verdict},
    small_stack, split,
    wire::{JsonPath, MatchRule, OutputParser},
};
use libfuzzer_sys::fuzz_target;

/// Each has its own pattern to compile.
const MAX_PATHS: usize = 16;

fuzz_target!(init: small_stack(), |input: &[u8]| {
    let (head, output) = split(input, b"\n\n");
    let Ok(head) = str::from_utf8(head) else {
        return;
    };
    let mut execution = Execution {
        output: output.to_vec(),
        ..Execution::default()
    };
    let mut parser = OutputParser::default();
    for line in head.lines() {
        if let Some(error) = line.strip_prefix('!') {
            execution.error = Some(error.to_owned());
            execution.exit_code = 3;
        } else if line == "~" {
            execution.truncated = true;
        } else if parser.json_paths.len() < MAX_PATHS {
            parser.json_paths.push(path(line));
        }
    }
    let judge = Judge::new(Some(&parser));
    let verdict = judge.judge(&execution, None);
    check(&verdict, &parser, &execution);
    assert_eq!(verdict, judge.judge(&execution, None));
});

fn path(line: &str) -> JsonPath {
    let mut cells = line.split('\t');
    let mut cell = || cells.next().map(str::to_owned);
    let rule = |pattern: String| MatchRule {
        regex: (pattern != "-").then_some(pattern),
    };
    JsonPath {
        query: cell().unwrap_or_default(),
        field: cell().unwrap_or_default(),
        expect: cell().map(rule),
        suggested_actions: std::iter::from_fn(|| Some((cell()?, rule(cell()?)))).collect(),
    }
}

fn check(verdict: &Verdict, parser: &OutputParser, execution: &Execution) {
    let paths = &parser.json_paths;
    let failed = execution.error.is_some();
    assert_eq!(verdict.healthy, verdict.reason == "ok");
    match verdict.reason.as_str() {
        "failed to parse plugin output" => {
            let error = verdict.error.as_ref().expect("an error");
            assert!((1..=4096).contains(&error.len()));
            assert!(verdict.extra_info.is_empty() && verdict.suggested_actions.is_none());
        }
        "error executing state plugin (exit code: 3)" => {
            assert!(failed);
            assert_eq!(verdict.error, execution.error);
        }
        "unexpected plugin output" => assert!(!failed && !verdict.mismatches.is_empty()),
        "ok" => assert!(!failed && verdict.mismatches.is_empty()),
        other => panic!("{other}"),
    }
    for field in verdict.extra_info.keys() {
        assert!(paths.iter().any(|path| &path.field == field));
    }
    for mismatch in &verdict.mismatches {
        assert!(verdict.extra_info.contains_key(&mismatch.field));
        assert!(!mismatch.to_string().contains(char::is_control));
    }
    if let Some(suggested) = &verdict.suggested_actions {
        assert!(!suggested.repair_actions.is_empty());
        for action in &suggested.repair_actions {
            let known = |path: &JsonPath| {
                path.suggested_actions
                    .iter()
                    .any(|(name, _)| name == action)
            };
            assert!(paths.iter().any(known), "{action}");
        }
    }
}
