use proptest::prelude::*;

use super::*;
use crate::wire::{JsonPath, MatchRule, OutputParser, QueryLanguage};

fn rule(regex: Option<&str>) -> MatchRule {
    MatchRule {
        regex: regex.map(str::to_owned),
    }
}

/// Takes `query` into `field`, expecting a match if there is a pattern.
fn path(query: &str, field: &str, expect: Option<&str>) -> JsonPath {
    JsonPath {
        query: query.to_owned(),
        field: field.to_owned(),
        expect: expect.map(|regex| rule(Some(regex))),
        ..JsonPath::default()
    }
}

fn with_actions(mut path: JsonPath, actions: &[(&str, Option<&str>)]) -> JsonPath {
    path.suggested_actions = actions
        .iter()
        .map(|(name, regex)| ((*name).to_owned(), rule(*regex)))
        .collect();
    path
}

fn parser(json_paths: Vec<JsonPath>) -> OutputParser {
    OutputParser {
        json_paths,
        ..OutputParser::default()
    }
}

fn printed(output: &str) -> Execution {
    Execution {
        output: output.as_bytes().to_vec(),
        ..Execution::default()
    }
}

fn judged(json_paths: Vec<JsonPath>, output: &str) -> Verdict {
    Judge::new(Some(&parser(json_paths))).judge(&printed(output), None)
}

fn info(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs
        .iter()
        .map(|(field, value)| ((*field).to_owned(), (*value).to_owned()))
        .collect()
}

fn actions(description: &str, names: &[&str]) -> Option<SuggestedActions> {
    Some(SuggestedActions {
        description: description.to_owned(),
        repair_actions: names.iter().map(|name| (*name).to_owned()).collect(),
    })
}

#[test]
fn the_example_of_the_reference() {
    let verdict = judged(
        vec![
            path("$.tray.rpm", "rpm", Some("^[1-9]")),
            with_actions(
                path("$.advice", "advice", None),
                &[("HARDWARE_INSPECTION", Some("(?i)replace"))],
            ),
        ],
        "fan tray probe\n{\"tray\": {\"rpm\": 0}, \"advice\": \"replace tray 2\"}\n",
    );
    assert_eq!(
        verdict,
        Verdict {
            healthy: false,
            unknown: false,
            reason: "unexpected plugin output".to_owned(),
            error: None,
            extra_info: info(&[("advice", "replace tray 2"), ("rpm", "0")]),
            suggested_actions: actions("replace tray 2", &["HARDWARE_INSPECTION"]),
            unchecked: false,
            mismatches: vec![Mismatch {
                field: "rpm".to_owned(),
                query: "$.tray.rpm".to_owned(),
                pattern: Some("^[1-9]".to_owned()),
                value: Some("0".to_owned()),
            }],
        }
    );
    assert_eq!(
        verdict.mismatches[0].to_string(),
        r#"field "rpm" ("$.tray.rpm") is "0", expected to match "^[1-9]""#
    );
}

#[test]
fn a_step_that_gpud_cannot_run_says_nothing_about_the_machine() {
    let execution = Execution {
        error: Some("no file for the script: /tmp: read-only".to_owned()),
        not_run: true,
        ..printed(r#"{"a":1}"#)
    };
    let verdict =
        Judge::new(Some(&parser(vec![path("$.a", "a", Some("^2$"))]))).judge(&execution, None);
    assert_eq!(verdict.health(), crate::model::Health::Degraded);
    assert_eq!(
        verdict.reason,
        "cannot be judged: no file for the script: /tmp: read-only"
    );
    assert!(verdict.mismatches.is_empty());
}

/// The first that applies: parse failure, failed step, mismatch, ok.
#[test]
fn the_order_of_the_verdict() {
    let paths = vec![with_actions(
        path("$.a", "a", Some("^x$")),
        &[("REBOOT_SYSTEM", None)],
    )];
    let judge = Judge::new(Some(&parser(paths)));
    let failed = |output: &str| Execution {
        exit_code: 3,
        error: Some("exit status 3".to_owned()),
        ..printed(output)
    };
    let (step, parse) = (
        "error executing state plugin (exit code: 3)",
        "failed to parse plugin output",
    );
    let value = r#"{"a":"y"}"#;
    for (execution, log, healthy, reason, error, has_info) in [
        (
            failed("{x"),
            None,
            false,
            parse,
            Some(
                "invalid JSON from byte 0 of the output on: key must be a string at line 1 column 2",
            ),
            false,
        ),
        (
            failed(value),
            Some("failed to open log file: x"),
            false,
            parse,
            Some("failed to open log file: x"),
            false,
        ),
        (
            failed(value),
            None,
            false,
            step,
            Some("exit status 3"),
            true,
        ),
        (
            printed(value),
            None,
            false,
            "unexpected plugin output",
            None,
            true,
        ),
        (printed(r#"{"a":"x"}"#), None, true, "ok", None, true),
        // Nothing printed, nothing logged, nothing parsed.
        (printed(""), Some("unused"), true, "ok", None, false),
        (failed(""), None, false, step, Some("exit status 3"), false),
        (printed("no json"), None, true, "ok", None, false),
    ] {
        let verdict = judge.judge(&execution, log.map(str::to_owned));
        let got = (
            verdict.healthy,
            verdict.reason.as_str(),
            verdict.error.as_deref(),
        );
        assert_eq!(got, (healthy, reason, error));
        assert_eq!(verdict.extra_info.is_empty(), !has_info);
        assert_eq!(verdict.suggested_actions.is_some(), has_info);
    }
}

#[test]
fn without_a_parser_or_paths_only_the_exit_code_counts() {
    let no_parser = Judge::new(None);
    assert!(
        no_parser
            .judge(&printed("{x"), Some("unused".to_owned()))
            .healthy
    );
    let no_paths = Judge::new(Some(&OutputParser::default()));
    assert!(no_paths.judge(&printed("{x"), None).healthy);
    let verdict = no_paths.judge(&printed("x"), Some("failed to open log file: x".to_owned()));
    assert_eq!(verdict.reason, "failed to parse plugin output");
}

#[test]
fn a_missing_value_counts_only_where_one_is_expected() {
    let nulls = r#"{"null": null}"#;
    let mut empty_rule = path("$.b", "empty rule", None);
    empty_rule.expect = Some(rule(None));
    let verdict = judged(
        vec![
            with_actions(path("$.a", "free", None), &[("REBOOT_SYSTEM", None)]),
            with_actions(
                path("$.null", "null", Some("^$")),
                &[("REBOOT_SYSTEM", None)],
            ),
            path("$.a.b.c", "deep", Some(".*")),
            empty_rule,
        ],
        nulls,
    );
    assert!(!verdict.healthy);
    assert_eq!(
        verdict.extra_info,
        info(&[("null", ""), ("deep", ""), ("empty rule", "")])
    );
    assert_eq!(verdict.suggested_actions, None);
    let shown: Vec<_> = verdict.mismatches.iter().map(ToString::to_string).collect();
    assert_eq!(
        shown,
        [
            r#"field "null" ("$.null") is missing, expected to match "^$""#,
            r#"field "deep" ("$.a.b.c") is missing, expected to match ".*""#,
            r#"field "empty rule" ("$.b") is missing"#,
        ]
    );
}

#[test]
fn values_are_matched_as_text() {
    let output =
        r#"{"bytes": 1048576, "ok": true, "list": [1, {"b": "<", "a": null}], "none": []}"#;
    let verdict = judged(
        vec![
            path("$.bytes", "bytes", Some(r"^1\.048576e\+06$")),
            path("$.ok", "ok", Some("^true$")),
            path(
                "$.list",
                "list",
                Some(r#"^\[1,\{"a":null,"b":"\\u003c"}]$"#),
            ),
            path("$.none[*]", "", Some(r"^\[]$")),
        ],
        output,
    );
    assert_eq!(verdict.mismatches, []);
    assert_eq!(
        verdict.extra_info,
        info(&[
            ("bytes", "1.048576e+06"),
            ("ok", "true"),
            ("list", r#"[1,{"a":null,"b":"\u003c"}]"#),
            ("", "[]"),
        ])
    );
}

#[test]
fn a_field_that_comes_again_replaces_all_of_the_earlier() {
    let output = r#"{"a": "bad", "b": "good"}"#;
    let first = with_actions(path("$.a", "f", Some("good")), &[("REBOOT_SYSTEM", None)]);
    let verdict = judged(vec![first.clone(), path("$.b", "f", Some("good"))], output);
    assert_eq!((verdict.healthy, verdict.suggested_actions), (true, None));
    assert_eq!(verdict.extra_info, info(&[("f", "good")]));
    // One that finds nothing and expects nothing replaces nothing.
    let verdict = judged(vec![first, path("$.c", "f", None)], output);
    assert_eq!(
        (verdict.healthy, verdict.suggested_actions),
        (false, actions("bad", &["REBOOT_SYSTEM"]))
    );
}

#[test]
fn actions_come_in_the_order_of_the_spec_with_a_line_each() {
    let output = r#"{"a": "one", "b": "two", "empty": "", "n": 5}"#;
    let verdict = judged(
        vec![
            with_actions(
                path("$.a", "a", Some("^nothing")),
                &[
                    ("ZEBRA", Some("o")),
                    ("OTHER", Some("x")),
                    ("AARDVARK", None),
                ],
            ),
            with_actions(
                path("$.b", "b", None),
                &[("NEW", Some("two")), ("AARDVARK", Some("^t"))],
            ),
            with_actions(path("$.n", "n", None), &[("ZEBRA", Some("5"))]),
            with_actions(path("$.empty", "e", None), &[("AARDVARK", None)]),
        ],
        output,
    );
    assert_eq!(
        verdict.suggested_actions,
        actions("one, 5\none, two, \ntwo", &["ZEBRA", "AARDVARK", "NEW"])
    );
    let verdict = judged(
        vec![
            with_actions(path("$.empty", "e", None), &[("A", None)]),
            with_actions(path("$.a", "a", None), &[("A", None)]),
        ],
        output,
    );
    assert!(verdict.healthy);
    assert_eq!(verdict.suggested_actions, actions("one", &["A"]));
}

#[test]
fn what_fails_says_where() {
    let output = r#"{"a": "x", "l": ["a"]}"#;
    let bad_action = with_actions(path("$.a", "a", None), &[("FIX", Some("x**"))]);
    for (paths, error) in [
        (
            vec![path("$.l[3]", "l", None)],
            r#"failed to read json path "$.l[3]": index 3 out of bounds"#,
        ),
        (
            vec![path("$.a", "a", Some("["))],
            "failed to check match rule for path \"$.a\": failed to compile regex \"[\": error parsing regexp: missing closing ]: `[`",
        ),
        (
            vec![bad_action.clone()],
            "failed to check match rule for path \"$.a\" for suggested action \"FIX\": failed to compile regex \"x**\": error parsing regexp: invalid nested repetition operator: `**`",
        ),
        // The first path that fails is the one.
        (
            vec![
                path("$.a", "a", Some("x")),
                path("$[\"a\tb", "q", None),
                bad_action,
            ],
            r#"failed to read json path "$[\"a\tb": "#,
        ),
    ] {
        // The outcome of compiling is kept, and no worse for it.
        let judge = Judge::new(Some(&parser(paths)));
        for _ in 0..2 {
            let verdict = judge.judge(&printed(output), None);
            assert_eq!(verdict.reason, "failed to parse plugin output");
            let got = verdict.error.unwrap();
            assert!(got.starts_with(error), "{got}");
            assert!(error.ends_with(": ") || got == error, "{got}");
            assert!(verdict.extra_info.is_empty() && verdict.mismatches.is_empty());
        }
    }
    // Not noticed while the value is missing.
    assert!(
        judged(
            vec![with_actions(
                path("$.b", "b", None),
                &[("FIX", Some("x**"))]
            )],
            output
        )
        .healthy
    );
    assert_eq!(
        judged(vec![path("$.b", "b", Some("["))], output).reason,
        "unexpected plugin output"
    );
}

#[test]
fn cut_output_is_marked() {
    let judge = Judge::new(Some(&parser(vec![path("$.a", "a", Some("x"))])));
    for (output, error) in [
        (
            r#"{"a": "x"#,
            Some(
                "invalid JSON from byte 0 of the output on: EOF while parsing a string at line 1 column 8 (the output was cut at its limit of 8 bytes)",
            ),
        ),
        (
            "no brace",
            Some("no JSON object found (the output was cut at its limit of 8 bytes)"),
        ),
        (r#"{"a":"x"}, and so on"#, None),
    ] {
        let execution = Execution {
            truncated: true,
            ..printed(output)
        };
        assert_eq!(judge.judge(&execution, None).error.as_deref(), error);
    }
}

#[test]
fn values_and_errors_are_bounded() {
    let long = format!("{{\"a\": \"{}\"}}", "x".repeat(1 << 20));
    let takes = |count| {
        (0..count)
            .map(|at| path("$.a", &at.to_string(), None))
            .collect::<Vec<_>>()
    };
    assert!(judged(takes(16), &long).healthy);
    assert_eq!(
        judged(takes(17), &long).error.as_deref(),
        Some("the values taken from the output are longer than 16777216 bytes together")
    );
    let names: Vec<String> = (0..16).map(|at| at.to_string()).collect();
    let proposals: Vec<_> = names.iter().map(|name| (name.as_str(), None)).collect();
    assert!(
        judged(
            vec![with_actions(path("$.a", "a", None), &proposals)],
            &long
        )
        .error
        .is_some()
    );
    let wordy = judged(
        vec![path(&format!("{}[", "é".repeat(9000)), "a", None)],
        "{}",
    )
    .error
    .unwrap();
    assert!(wordy.len() <= MAX_ERROR_BYTES && wordy.ends_with('…'));
}

#[test]
fn a_judge_can_be_shared_between_threads() {
    fn sharable<T: Send + Sync>() {}
    sharable::<Judge>();
}

#[test]
fn expectations_without_json_are_said_to_be_unchecked() {
    let expects = || vec![path("$.a", "a", Some("1"))];
    assert!(judged(expects(), "no json here").unchecked);
    assert!(!judged(expects(), r#"{"a": 1}"#).unchecked);
    assert!(!judged(vec![path("$.a", "a", None)], "no json here").unchecked);
    // Nothing changes for GPUd's clients.
    assert!(judged(expects(), "no json here").healthy);
}

#[test]
fn a_parser_can_speak_standard_jsonpath() {
    let hot = path("$.gpus[?@.temp > 80].id", "hot", Some("^$"));
    let parser = OutputParser {
        query_language: QueryLanguage::Jsonpath,
        ..parser(vec![with_actions(
            hot,
            &[("HARDWARE_INSPECTION", Some("."))],
        )])
    };
    let judge = Judge::new(Some(&parser));
    let output = r#"{"gpus":[{"id":0,"temp":40},{"id":1,"temp":90},{"id":2,"temp":95}]}"#;
    let verdict = judge.judge(&printed(output), None);
    assert!(!verdict.healthy);
    assert_eq!(verdict.extra_info, info(&[("hot", "1, 2")]));
    assert_eq!(
        verdict.suggested_actions,
        actions("1, 2", &["HARDWARE_INSPECTION"])
    );
}

proptest! {
    #[test]
    fn no_output_and_no_parser_panics(
        query in "[$.@a\\[\\]*\"0-9?()= -]{0,12}",
        regex in "[a-z\\[\\](){}*+?\\\\^$|.0-9-]{0,10}",
        output in "[{}\\[\\]\":,a0-9.]{0,40}",
        truncated in any::<bool>(),
    ) {
        let parser = parser(vec![with_actions(path(&query, "f", Some(&regex)), &[("A", Some(&regex))])]);
        let execution = Execution { truncated, ..printed(&output) };
        let verdict = Judge::new(Some(&parser)).judge(&execution, None);
        prop_assert_eq!(verdict.healthy, verdict.reason == "ok");
        prop_assert!(verdict.healthy || verdict.error.is_some() || !verdict.mismatches.is_empty());
    }
}
