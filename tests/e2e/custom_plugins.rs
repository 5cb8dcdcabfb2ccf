//! `gpud custom-plugins` on files.

use std::{
    fs,
    path::Path,
    process::{Command, Stdio},
};

use serde_json::{Value, json};

use crate::{
    daemon::{eventually, gpud},
    spec_file::{FAN_TRAY, Spec, plugin, said, strings},
};

#[test]
fn the_file_of_the_tutorial_is_valid() {
    let tutorial = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/script-plugins.md");
    let tutorial = fs::read_to_string(tutorial).unwrap();
    let (_, rest) = tutorial.split_once("```yaml\n").unwrap();
    let (text, _) = rest.split_once("```").unwrap();
    let spec = Spec::new(text);
    let said = spec.cs(&[]);
    assert_eq!((said.code, said.err.as_str()), (Some(0), ""));
    let lines: Vec<_> = said.out.lines().collect();
    assert_eq!(
        lines,
        [
            "",
            "+-------------+-----------+----------+---------+----------+---------+",
            "|  COMPONENT  |   TYPE    | RUN MODE | TIMEOUT | INTERVAL |  VALID  |",
            "+-------------+-----------+----------+---------+----------+---------+",
            "| free-inodes | component |   auto   |   10s   |   5m0s   | ✔ valid |",
            "+-------------+-----------+----------+---------+----------+---------+",
            "",
        ]
    );
}

#[test]
fn strict_fails_on_what_is_only_a_warning() {
    // The parser is one level too high: the daemon loads it, and its expectations are ignored.
    let spec = Spec::new(&format!(
        "{}  parser: {{json_paths: [{{query: $.a, field: a}}]}}\n",
        plugin("a", "component", "echo '{}'")
    ));
    let lenient = spec.cs(&[]);
    assert_eq!(lenient.code, Some(0), "{}", lenient.err);
    assert!(
        lenient.err.contains("! unknown key `parser`"),
        "{}",
        lenient.err
    );
    let strict = spec.cs(&["--strict"]);
    assert_eq!(strict.code, Some(1), "{}", strict.err);
}

#[test]
fn what_is_wrong_is_said_with_its_place() {
    let good = "plugin_type: component, health_state_plugin: {}";
    let list = |list: &str| {
        format!(
            "- {{plugin_name: a, plugin_type: component_list, {list}, health_state_plugin: {{}}}}"
        )
    };
    let step = |step: &str| {
        format!(
            "- {{plugin_name: a, plugin_type: component, health_state_plugin: {{steps: [{step}]}}}}"
        )
    };
    let script = |inner: &str| step(&format!("{{name: s, run_bash_script: {{{inner}}}}}"));
    let long = "n".repeat(129);
    let folder = tempfile::tempdir().unwrap();
    let empty = folder.path().join("empty");
    fs::write(&empty, "# nobody\n").unwrap();
    let empty = empty.to_str().unwrap();
    let missing = folder.path().join("missing");
    let missing = missing.to_str().unwrap();
    let decoding = "error unmarshaling JSON: while decoding JSON: ";
    for (kind, text, column, message) in [
        (
            "yaml_syntax",
            "- a: [\n".to_owned(),
            6,
            "error converting YAML to JSON: yaml: line 1: ".to_owned(),
        ),
        (
            "schema_mismatch",
            "plugin_name: a".to_owned(),
            1,
            format!(
                "{decoding}json: cannot unmarshal object into Go value of type customplugins.Specs"
            ),
        ),
        (
            "schema_mismatch",
            format!("- {{plugin_name: a, timeout: 1d, {good}}}"),
            29,
            format!("{decoding}time: unknown unit \"d\" in duration \"1d\""),
        ),
        (
            "component_list_conflict",
            list("component_list: [x], component_list_file: f"),
            91,
            "component list must be empty when using component_list_file".to_owned(),
        ),
        (
            "component_list_file_unreadable",
            list(&format!("component_list_file: {missing}")),
            70,
            format!(
                "failed to read component list file {missing}: open {missing}: no such file or directory"
            ),
        ),
        (
            "component_list_file_empty",
            list(&format!("component_list_file: {empty}")),
            70,
            format!("component list file {empty} is empty"),
        ),
        (
            "component_list_empty",
            list("component_list: []"),
            65,
            "component list is empty".to_owned(),
        ),
        (
            "component_list_entry_empty_name",
            list("component_list: [':p']"),
            66,
            "component name cannot be empty in component list".to_owned(),
        ),
        (
            "component_list_entry_invalid_tags",
            list("component_list: ['a#x][']"),
            66,
            "invalid tag format in component list entry: a#x][".to_owned(),
        ),
        (
            "invalid_plugin_type",
            "- {plugin_name: a, plugin_type: Component}".to_owned(),
            33,
            "invalid plugin type".to_owned(),
        ),
        (
            "plugin_name_too_long",
            format!("- {{plugin_name: {long}, {good}}}"),
            17,
            format!("plugin name is too long: {long}"),
        ),
        (
            "component_name_required",
            format!("- {{plugin_name: ' ', {good}}}"),
            17,
            "component name is required".to_owned(),
        ),
        (
            "missing_state_plugin",
            "- {plugin_name: a, plugin_type: init}".to_owned(),
            3,
            "state plugin is required".to_owned(),
        ),
        (
            "step_name_required",
            step("{run_bash_script: {content_type: plaintext, script: x}}"),
            74,
            "step name is required".to_owned(),
        ),
        (
            "missing_plugin_step",
            step("{name: s}"),
            74,
            "plugin step cannot be empty".to_owned(),
        ),
        (
            "script_required",
            script("content_type: plaintext"),
            101,
            "script is required".to_owned(),
        ),
        (
            "unsupported_content_type",
            script("content_type: text, script: x"),
            116,
            "unsupported content type: text".to_owned(),
        ),
        (
            "invalid_base64",
            script("content_type: base64, script: 'YQ='"),
            132,
            "not base64: the standard alphabet, padded with = to a multiple of four characters, is expected".to_owned(),
        ),
        (
            "interval_too_short",
            format!("- {{plugin_name: a, interval: 59s, {good}}}"),
            30,
            "interval is too short".to_owned(),
        ),
    ] {
        let spec = Spec::new(&text);
        let said = spec.cs(&[]);
        assert_eq!((said.code, said.out.as_str()), (Some(1), ""), "{text}");
        let mut lines = said.err.lines();
        let (first, second) = (lines.next().unwrap(), lines.next().unwrap());
        match kind {
            "yaml_syntax" => assert!(first.starts_with(&format!("✘ {message}")), "{first}"),
            // People read their own words before those of Go's decoder.
            "schema_mismatch" => assert!(!first.contains("JSON"), "{first}"),
            _ => assert_eq!(first, format!("✘ {message}")),
        }
        let place = format!(" --> {}:1:{column}", spec.path().display());
        let rest = second.strip_prefix(&place);
        assert!(
            rest.is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_digit())),
            "{place}: {second}"
        );
        let document = spec.json(&[]);
        assert_eq!(strings(&document["problems"], "kind"), [kind], "{text}");
        let problem = &document["problems"][0];
        assert_eq!(
            (&problem["line"], &problem["column"]),
            (&json!(1), &json!(column))
        );
        let text = problem["message"].as_str().unwrap();
        match kind {
            "schema_mismatch" => assert_eq!(text, message),
            _ => assert!(first.ends_with(text), "{first}"),
        }
    }
}

#[test]
fn every_problem_is_reported_and_warnings_are_none() {
    let spec = Spec::new(concat!(
        "- {plugin_name: a, plugin_type: component, health_state_plugin: {}, interval: 5s}\n",
        "- {plugin_name: b, plugin_type: component, health_state_plugin: {}}\n",
        "- {plugin_name: c, plugin_type: nonsense}\n",
    ));
    let said = spec.cs(&["-r"]);
    assert_eq!((said.code, said.out.as_str()), (Some(1), ""));
    let marked = said.err.lines().filter(|line| line.starts_with("✘ "));
    assert_eq!(
        marked.collect::<Vec<_>>(),
        ["✘ interval is too short", "✘ invalid plugin type"]
    );
    let document = spec.json(&["-r"]);
    assert_eq!(strings(&document["plugins"], "component"), ["b"]);
    assert_eq!(document.get("results"), None, "nothing is run");

    let spec = Spec::new(
        "- {plugin_name: a, plugin_type: component, health_state_plugin: {}, intervall: 5m}",
    );
    let said = spec.cs(&[]);
    assert_eq!(said.code, Some(0), "{}", said.err);
    assert!(said.out.contains("✔ valid"), "{}", said.out);
    assert!(
        said.err.starts_with("! ") && said.err.contains("intervall"),
        "{}",
        said.err
    );
    let document = spec.json(&[]);
    assert_eq!(document["problems"], json!([]));
    assert_eq!(document["warnings"][0]["kind"], "unknown_key");
}

#[test]
fn names_that_occur_twice_are_reported_after_the_table() {
    let spec = Spec::new(&[plugin("A b", "init", ":"), plugin("a B", "component", ":")].concat());
    for flags in [&[][..], &["-r"], &["-r", "-f=false"]] {
        let said = spec.cs(flags);
        assert_eq!(said.code, Some(1), "{flags:?}");
        assert_eq!(said.out.matches("  a-b  ").count(), 2, "{}", said.out);
        assert!(!said.out.contains("### "), "nothing is run\n{}", said.out);
        let first = said.err.lines().next();
        assert_eq!(first, Some("✘ duplicate component name: a-b"));
        // Both places.
        for line in [1, 10] {
            let place = format!("spec.yaml:{line}:3");
            assert!(said.err.contains(&place), "{place} in {}", said.err);
        }
    }
}

#[test]
fn exit_statuses() {
    let healthy = Spec::new(&plugin("a", "component", "echo fine"));
    let unhealthy = Spec::new(
        &[
            plugin("a", "component", "exit 3"),
            plugin("b", "component", ":"),
        ]
        .concat(),
    );
    let invalid = Spec::new("- {plugin_name: a, plugin_type: x}");
    let missing = Spec::new("");
    fs::remove_file(missing.path()).unwrap();
    for (what, spec, expected) in [
        ("healthy", &healthy, [0, 0, 0]),
        ("unhealthy", &unhealthy, [0, 1, 0]),
        ("invalid", &invalid, [1, 1, 1]),
        ("missing", &missing, [1, 1, 1]),
    ] {
        for json in [&[][..], &["--json"]] {
            let flags = [&[][..], &["-r"], &["-r", "-f=false"]];
            let codes = flags.map(|flags| spec.cs(&[flags, json].concat()).code);
            assert_eq!(codes, expected.map(Some), "{what} {json:?}");
        }
    }
    let said = missing.cs(&[]);
    let path = missing.path();
    assert_eq!(
        said.err,
        format!("✘ open {}: no such file or directory\n", path.display())
    );
}

#[test]
fn init_plugins_run_first_and_else_the_file_decides() {
    let mut text = String::new();
    for n in 0..14 {
        let kind = ["component", "init"][usize::from(n % 4 == 3)];
        text += &plugin(
            &format!("p{n}"),
            kind,
            &format!("echo p{n} >>@FOLDER@/order"),
        );
    }
    text += &plugin("l", "component_list", "echo ${NAME}${PAR} >>@FOLDER@/order").replace(
        "  health_state_plugin",
        "  component_list: ['m1#manual:x', m0]\n  health_state_plugin",
    );
    let spec = Spec::new(&text);
    let init = ["p3", "p7", "p11"];
    let others = [
        "p0", "p1", "p2", "p4", "p5", "p6", "p8", "p9", "p10", "p12", "p13", "m1", "m0",
    ];
    let expected = [&init[..], &others].concat();
    let document = spec.json(&["-r"]);
    assert_eq!(strings(&document["plugins"], "component"), expected);
    assert_eq!(strings(&document["results"], "component"), expected);
    let ran = fs::read_to_string(spec.folder.path().join("order")).unwrap();
    let ran: Vec<_> = ran.lines().map(|line| line.replace('x', "")).collect();
    assert_eq!(ran, expected);
    assert!(
        fs::read_to_string(spec.folder.path().join("order"))
            .unwrap()
            .contains("m1x\n")
    );
}

#[test]
fn the_first_that_is_not_healthy_ends_the_run_and_is_explained() {
    let never = "echo ran >>@FOLDER@/after";
    let spec = Spec::new(
        &[
            plugin("before", "component", "echo one"),
            FAN_TRAY.to_owned(),
            plugin("after", "component", never),
        ]
        .concat(),
    );
    let said = spec.cs(&["-r"]);
    assert_eq!(said.code, Some(1));
    assert_eq!(
        said.err,
        "✘ plugin fan-tray returned unhealthy state (summary unexpected plugin output)\n"
    );
    for text in [
        "### Component \"before\" output\n\none\n",
        "### Component \"fan-tray\" output\n\nfan tray probe\n",
        "✘ fan-tray: unexpected plugin output\n",
        "suggested: HARDWARE_INSPECTION (replace tray 2)\n",
        "field \"rpm\" (\"$.tray.rpm\") is \"0\", expected to match \"^[1-9]\"\n",
    ] {
        assert!(said.out.contains(text), "no {text:?} in\n{}", said.out);
    }
    assert!(!said.out.contains("### Results"), "{}", said.out);
    assert!(!fs::exists(spec.folder.path().join("after")).unwrap());

    let said = spec.cs(&["-r", "--fail-fast=false"]);
    assert_eq!((said.code, said.err.as_str()), (Some(0), ""));
    let (_, results) = said.out.split_once("### Results\n\n").unwrap();
    let cells = |line: &str| -> Vec<String> {
        let cells = line.trim_matches('|').split('|');
        cells.map(|cell| cell.trim().to_owned()).collect()
    };
    let rows: Vec<_> = results
        .lines()
        .filter(|line| line.starts_with('|'))
        .map(cells)
        .collect();
    assert_eq!(
        rows,
        [
            [
                "COMPONENT",
                "HEALTH STATE",
                "SUMMARY",
                "ERROR",
                "RUN MODE",
                "EXTRA INFO"
            ],
            ["before", "✔ Healthy", "ok", "", "", "null"],
            [
                "fan-tray",
                "✘ Unhealthy",
                "unexpected plugin output",
                "",
                "auto",
                "{\"advice\":\"replace tray 2\",\"rpm\":\"0\"}"
            ],
            ["after", "✔ Healthy", "ok", "", "", "null"],
        ]
    );
    assert!(fs::exists(spec.folder.path().join("after")).unwrap());
}

#[test]
fn a_run_as_one_document() {
    let spec = Spec::new(FAN_TRAY);
    let document = spec.json(&["-r"]);
    let path = spec.path();
    assert_eq!(
        document,
        json!({
            "plugins": [{
                "component": "fan-tray", "plugin_name": "Fan Tray", "plugin_type": "component", "run_mode": "auto",
                "timeout": "20s", "interval": "5m0s", "tags": ["cooling"], "valid": true
            }],
            "problems": [],
            "warnings": [],
            "results": [{
                "component": "fan-tray", "health": "Unhealthy", "reason": "unexpected plugin output", "error": null,
                "run_mode": "auto", "extra_info": {"advice": "replace tray 2", "rpm": "0"}, "exit_code": 0,
                "suggested_actions": {
                    "description": "replace tray 2", "repair_actions": ["HARDWARE_INSPECTION"]
                },
                "mismatches": [{"field": "rpm", "query": "$.tray.rpm", "pattern": "^[1-9]", "value": "0"}],
                "raw_output": "fan tray probe\n{\"tray\": {\"rpm\": 0}, \"advice\": \"replace tray 2\"}\n"
            }]
        }),
        "{}",
        path.display()
    );
    let said = spec.cs(&["-r", "--json"]);
    assert_eq!(said.err, "", "all is in the document");
}

#[test]
fn without_a_file_an_example_is_checked() {
    let names = [
        "test-healthy",
        "test-unhealthy",
        "test-unhealthy-with-missing-field",
        "exit-0",
        "exit-1",
    ];
    let said_by = |flags: &[&str]| said(gpud().arg("custom-plugins").args(flags));
    let plain = said_by(&[]);
    assert_eq!(plain.code, Some(0));
    assert!(names.iter().all(|name| plain.out.contains(name)));
    assert_eq!(said_by(&["-r"]).code, Some(1));
    let all = said_by(&["-r", "-f=false", "--json"]);
    assert_eq!(all.code, Some(0));
    let document: Value = serde_json::from_str(&all.out).unwrap();
    let results = &document["results"];
    assert_eq!(strings(results, "component"), names);
    assert_eq!(
        strings(results, "health"),
        ["Healthy", "Unhealthy", "Unhealthy", "Healthy", "Unhealthy"]
    );
    assert_eq!(results[2]["mismatches"][0]["value"], Value::Null);
    assert_eq!(results[4]["exit_code"], 1);
}

#[test]
fn output_without_end_is_bounded_and_ended_by_the_timeout() {
    let text = plugin("loud", "component", "yes | head -c 3000000")
        + "      - name: t\n        run_bash_script:\n          content_type: plaintext\n          script: \"yes\"\n";
    let spec = Spec::new(&text.replace("  health", "  timeout: 3s\n  health"));
    let document = spec.json(&["-r"]);
    let result = &document["results"][0];
    assert_eq!(result["health"], "Unhealthy");
    assert_eq!(result["error"], "context deadline exceeded");
    // What the finished step left of the first mebibyte; the output of the other is lost.
    assert_eq!(result["raw_output"].as_str().unwrap().len(), 1 << 20);
}

/// A process that is there and has not ended; the process that adopts an orphan may not reap it.
fn is_alive(pid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = stat
        .rsplit_once(") ")
        .and_then(|(_, rest)| rest.chars().next());
    !matches!(state, None | Some('Z' | 'X'))
}

#[test]
fn nothing_of_a_step_is_left_running() {
    let spec = Spec::new(&plugin(
        "leaves",
        "component",
        "nohup sleep 1000 >/dev/null 2>&1 &\necho $!",
    ));
    let document = spec.json(&["-r"]);
    let result = &document["results"][0];
    assert_eq!(result["health"], "Healthy");
    let pid: u32 = result["raw_output"]
        .as_str()
        .unwrap()
        .trim()
        .parse()
        .unwrap();
    eventually("the child is gone", || (!is_alive(pid)).then_some(()));
}

#[test]
fn an_interrupted_run_takes_its_script_along() {
    let spec = Spec::new(
        &[
            plugin(
                "slow",
                "component",
                "echo $$ >@FOLDER@/pid\nexec sleep 1000",
            ),
            plugin("never", "component", "echo ran >@FOLDER@/after"),
        ]
        .concat(),
    );
    for flags in [&["-r"][..], &["-r", "-f=false", "--json"]] {
        let _ = fs::remove_file(spec.folder.path().join("pid"));
        let mut command = spec.command(flags);
        let child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let pid: u32 = eventually("the script runs", || {
            let text = fs::read_to_string(spec.folder.path().join("pid")).ok()?;
            text.trim().parse().ok()
        });
        let interrupted = Command::new("kill")
            .args(["-INT", &child.id().to_string()])
            .status();
        assert!(interrupted.unwrap().success());
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{flags:?}");
        eventually("the script is gone", || (!is_alive(pid)).then_some(()));
        if flags.contains(&"--json") {
            let document: Value = serde_json::from_slice(&output.stdout).unwrap();
            assert_eq!(document["results"][0]["error"], "context canceled");
        } else {
            let err = String::from_utf8(output.stderr).unwrap();
            assert!(err.ends_with("✘ interrupted while slow ran\n"), "{err}");
        }
        assert!(!fs::exists(spec.folder.path().join("after")).unwrap());
    }
}

#[test]
fn output_into_a_pipe_is_passed_on_as_it_is() {
    let spec = Spec::new(&plugin("raw", "component", r"printf 'a\033[31m\377b'"));
    let output = spec.command(&["-r"]).output().unwrap();
    let printed = b"output\n\na\x1b[31m\xffb\n";
    assert!(
        output.stdout.windows(printed.len()).any(|w| w == printed),
        "{}",
        String::from_utf8_lossy(&output.stdout)
    );
}
