//! No file may cost more than it should.

use super::{names, problem_lines, read};
use crate::{MAX_DEPTH, MAX_FILE_BYTES, ProblemKind, parse};

fn first_kind(text: &str) -> ProblemKind {
    let file = read(text);
    assert!(file.plugins.is_empty());
    file.problems[0].kind
}

#[test]
fn large_files_are_not_looked_at() {
    let blanks = " ".repeat(MAX_FILE_BYTES);
    assert!(read(&blanks).problems.is_empty());
    assert_eq!(first_kind(&format!("{blanks} ")), ProblemKind::FileTooLarge);
}

#[test]
fn text_that_is_not_utf8_names_its_line() {
    let file = parse(b"- a\n- \xff\n", "f.yaml", &|_| Err(String::new()));
    assert_eq!(
        file.problems[0].to_string(),
        "error converting YAML to JSON: yaml: line 2: the text is not UTF-8 (f.yaml)"
    );
}

#[test]
fn aliases_that_multiply_are_refused_at_the_alias() {
    let mut text = "- &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..9 {
        let before = level - 1;
        let aliases = vec![format!("*a{before}"); 10].join(", ");
        text += &format!("- &a{level} [{aliases}]\n");
    }
    let file = read(&text);
    assert_eq!(file.problems.len(), 1);
    assert_eq!(file.problems[0].kind, ProblemKind::TooManyNodes);
    assert_eq!(file.problems[0].place.unwrap().line, 5);
    // Mappings merged into each other are counted too.
    let mut text = "- &a0 {tags: [x, x, x, x, x, x, x, x, x, x]}\n".to_owned();
    for level in 1..20 {
        let before = level - 1;
        text += &format!("- &a{level} {{<<: [*a{before}, *a{before}, *a{before}]}}\n");
    }
    assert_eq!(first_kind(&text), ProblemKind::TooManyNodes);
}

#[test]
fn many_values_are_refused() {
    assert_eq!(
        first_kind(&format!("- [{}]", "a,".repeat(1_000_001))),
        ProblemKind::TooManyNodes
    );
}

#[test]
fn an_anchor_within_itself_is_refused() {
    for text in ["- &a [*a]", "- &a {plugin_name: *a}", "&a [*a]"] {
        assert_eq!(first_kind(text), ProblemKind::YamlSyntax, "{text}");
    }
}

#[test]
fn depth_is_bounded_with_aliases_written_out() {
    let nest = |levels: usize| {
        format!(
            "- {{plugin_name: a, plugin_type: init, health_state_plugin: {{}}, x: {}{}}}",
            "[".repeat(levels),
            "]".repeat(levels)
        )
    };
    assert_eq!(names(&read(&nest(MAX_DEPTH - 2))), ["a"]);
    for levels in [MAX_DEPTH - 1, 200, 300, 100_000] {
        assert_eq!(
            first_kind(&nest(levels)),
            ProblemKind::NestedTooDeep,
            "{levels}"
        );
    }
    let block: String = (0..200)
        .map(|at| format!("{}a:\n", " ".repeat(at)))
        .collect();
    assert_eq!(first_kind(&block), ProblemKind::NestedTooDeep);
    let mut text = "- &a0 [x]\n".to_owned();
    for level in 1..70 {
        text += &format!("- &a{level} [*a{}]\n", level - 1);
    }
    assert_eq!(first_kind(&text), ProblemKind::NestedTooDeep);
}

#[test]
fn the_expansion_of_a_file_is_bounded() {
    let plugin = |script: &str| {
        format!(
            "plugin_type: component, health_state_plugin: {{steps: [{{name: s, run_bash_script: {{content_type: plaintext, script: {script}}}}}]}}"
        )
    };
    let long = "x".repeat(1 << 20);
    // A long script, many times through an alias.
    let mut text = format!("- {{plugin_name: a, {}}}\n", plugin(&format!("&s {long}")));
    for at in 0..100 {
        text += &format!("- {{plugin_name: a{at}, {}}}\n", plugin("*s"));
    }
    let file = read(&text);
    assert_eq!(
        file.problems
            .iter()
            .map(|problem| problem.kind)
            .collect::<Vec<_>>(),
        [ProblemKind::ExpandsTooFar]
    );
    assert!(file.plugins.len() < 64);
    // A long param, many times in a script; a long script, many times in a list; nested variables.
    let list = |entries: &str, script: &str| {
        let plugin = plugin(script).replace("component,", "component_list,");
        format!(
            "- {{plugin_name: l, component_list: [{entries}], {plugin}}}\n- {{plugin_name: z, plugin_type: init, health_state_plugin: {{}}}}"
        )
    };
    for text in [
        list(
            &format!("'a:{long}'"),
            &format!("'{}'", "${PAR}".repeat(1000)),
        ),
        list(&"a,".repeat(200), &long),
        list(
            &format!("'{}:{}'", "${PAR}".repeat(100), "x".repeat(10_000)),
            &format!("'{}'", "${NAME}".repeat(1000)),
        ),
        list(&"a,".repeat(900_000), "x"),
    ] {
        let file = read(&text);
        let kinds: Vec<_> = file.problems.iter().map(|problem| problem.kind).collect();
        assert_eq!(kinds, [ProblemKind::ExpandsTooFar], "{}", file.problems[0]);
    }
}

#[test]
fn a_thousand_problems_are_listed_and_the_rest_counted() {
    let file = read(&"- x\n".repeat(3000));
    assert_eq!(file.problems.len(), 1001);
    assert_eq!(file.problems[1000].message, "2000 more, not listed");
    let bare = read(&"-\n".repeat(1500));
    assert_eq!(problem_lines(&bare).last().unwrap(), "more_problems@- ");
}

#[test]
fn messages_that_quote_the_file_are_cut() {
    let file = read(&format!(
        "- {{plugin_name: {}, plugin_type: init, health_state_plugin: {{}}, timeout: {}}}",
        "é".repeat(100_000),
        "x".repeat(100_000)
    ));
    assert!(
        file.problems
            .iter()
            .all(|problem| problem.report().len() < 5000)
    );
}

#[test]
fn five_thousand_entries() {
    let entry = "- plugin_name: p%\n  plugin_type: component\n  health_state_plugin:\n    steps:\n    - name: s\n      run_bash_script:\n        content_type: plaintext\n        script: |\n          echo a\n          echo b\n";
    let text: String = (0..5000)
        .map(|at| entry.replace('%', &at.to_string()))
        .collect();
    let file = read(&text);
    assert_eq!((file.plugins.len(), file.problems.len()), (5000, 0));
    assert_eq!(file.plugins[4999].place.line, 10 * 4999 + 1);
}
