use serde_json::json;

use super::*;

fn grant(value: Value) -> ExecGrant {
    ExecGrant::parse(&value).unwrap()
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

#[test]
fn arguments_are_bounded_where_the_grant_says_so() {
    let grant = grant(json!({"programs": [
        "lsblk",
        {"path": "/usr/bin/ipmitool", "arguments": [["sdr"], ["sel", "list", "*"], []]},
        {"path": "/usr/bin/id"},
    ]}));
    let verdict = |program: &str, arguments: &[&str]| {
        grant.verdict(program, Path::new(program), &words(arguments))
    };
    for (program, arguments, expected) in [
        ("lsblk", &["-J", "-o", "x"][..], GrantDecision::Granted),
        ("/usr/bin/id", &["-u"], GrantDecision::Granted),
        ("/usr/bin/ipmitool", &[], GrantDecision::Granted),
        ("/usr/bin/ipmitool", &["sdr"], GrantDecision::Granted),
        (
            "/usr/bin/ipmitool",
            &["sel", "list", "5"],
            GrantDecision::Granted,
        ),
        (
            "/usr/bin/ipmitool",
            &["sel", "list", "*"],
            GrantDecision::Granted,
        ),
        // An option in the place of a word may have a program name anything.
        (
            "/usr/bin/ipmitool",
            &["sel", "list", "-f/x"],
            GrantDecision::OtherArguments,
        ),
        (
            "/usr/bin/ipmitool",
            &["sel", "list"],
            GrantDecision::OtherArguments,
        ),
        (
            "/usr/bin/ipmitool",
            &["sel", "list", "5", "6"],
            GrantDecision::OtherArguments,
        ),
        (
            "/usr/bin/ipmitool",
            &["raw", "0"],
            GrantDecision::OtherArguments,
        ),
        ("/usr/bin/env", &[], GrantDecision::NotGranted),
    ] {
        assert_eq!(
            verdict(program, arguments),
            expected,
            "{program} {arguments:?}"
        );
    }
    assert_eq!(
        grant.verdict_by_name("ipmitool", &words(&["raw"])),
        GrantDecision::OtherArguments
    );
    assert_eq!(
        grant.verdict("x", Path::new("/usr/bin/id"), &[]),
        GrantDecision::Granted
    );
}

#[test]
fn variables_are_those_of_the_list() {
    let none = grant(json!("bash"));
    assert!(none.is_bash() && !none.allows_variable("FOLDER"));
    let some = grant(json!({"bash": true, "env": ["FOLDER"]}));
    assert!(some.is_bash() && some.allows_variable("FOLDER"));
    assert!(!some.allows_variable("BASH_ENV"));
    assert!(!grant(json!(["lsblk"])).allows_variable("FOLDER"));
}

#[test]
fn bad_grants_name_what_is_wrong() {
    for (value, expected) in [
        (json!("sh"), "expected `bash`, a list of programs"),
        (json!(["bin/x"]), "`bin/x` is neither"),
        (json!({}), "expected either `bash: true` or `programs"),
        (json!({"bash": true, "programs": []}), "expected either"),
        (
            json!({"programs": [], "environment": []}),
            "unknown field `environment`",
        ),
        (
            json!({"bash": true, "env": ["LD_PRELOAD"]}),
            "env: `LD_PRELOAD` decides",
        ),
        (
            json!({"programs": ["x"], "env": ["BASH_ENV"]}),
            "env: `BASH_ENV` decides",
        ),
        (
            json!({"programs": ["x"], "env": ["A=B"]}),
            "env: \"A=B\" is not the name",
        ),
        (
            json!([{"path": "x", "argument": []}]),
            "a program is a path",
        ),
    ] {
        let problem = ExecGrant::parse(&value).unwrap_err();
        assert!(problem.contains(expected), "{value}: {problem}");
    }
}

#[test]
fn a_grant_covers_what_it_bounds_no_more_than_itself() {
    let bounded = json!([{"path": "x", "arguments": [["a"], ["b"]]}]);
    for (mine, theirs, covers) in [
        (json!("bash"), json!(["x"]), true),
        (json!(["x"]), json!("bash"), false),
        (json!(["x"]), bounded.clone(), true),
        (bounded.clone(), json!(["x"]), false),
        (
            bounded.clone(),
            json!([{"path": "x", "arguments": [["b"]]}]),
            true,
        ),
        (bounded, json!([{"path": "x", "arguments": [["*"]]}]), false),
        (json!("bash"), json!({"bash": true, "env": ["A"]}), false),
        (json!({"bash": true, "env": ["A"]}), json!(["x"]), true),
    ] {
        assert_eq!(
            grant(mine.clone()).covers(&grant(theirs.clone())),
            covers,
            "{mine} {theirs}"
        );
    }
}
