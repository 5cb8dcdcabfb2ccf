use serde_json::json;

use super::*;

#[test]
fn scalars_are_read_as_in_a_spec() {
    let text = "a: {on: yes, 1: 010, t: 1e3, s: 'on', z: ~}\nb: &b {x: [1]}\nc: *b\nd:\n";
    let configs = parse_configs(text, "f").unwrap();
    let keys = |name: &str| Json::Object(configs[name].clone());
    assert_eq!(
        keys("a"),
        json!({"true": true, "1": 8, "t": 1000.0, "s": "on", "z": null})
    );
    assert_eq!((keys("b"), keys("d")), (keys("c"), json!({})));
    for empty in ["", "# nothing\n", "{}", "~"] {
        assert_eq!(parse_configs(empty, "f"), Ok(Configs::new()), "{empty}");
    }
}

#[test]
fn what_is_wrong_is_named_with_its_place() {
    let bomb = format!(
        "a: &a [{}]\nb: &b [{}]\nc: {{k: [{}]}}\n",
        ["x"; 100].join(", "),
        ["*a"; 100].join(", "),
        ["*b"; 100].join(", "),
    );
    for (text, part, place) in [
        ("disk: 5\n", "a mapping of configuration keys", "f:1:7"),
        ("- disk\n", "a mapping from names", "f:1:1"),
        ("disk:\n  a: [1\n", "yaml: line", "f:"),
        (
            "disk: {}\ndisk: {}\n",
            "`disk` is given more than once",
            "f:2:1",
        ),
        ("disk: {a: .inf}\n", "finite", "f:1:11"),
        (
            "disk: {}\n---\nos: {}\n",
            "more than one YAML document",
            "f:",
        ),
        (&bomb, "", "f:"),
    ] {
        let problem = parse_configs(text, "f").unwrap_err();
        assert!(
            problem.contains(part) && problem.contains(place),
            "{text}: {problem}"
        );
    }
}
