use super::*;

fn text(names_and_types: &[(&str, &str)]) -> String {
    names_and_types
        .iter()
        .map(|(name, kind)| {
            format!("- {{plugin_name: {name}, plugin_type: {kind}, health_state_plugin: {{}}}}\n")
        })
        .collect()
}

async fn of_text(text: &str) -> LoadedFile {
    let file = file::parse(text.as_bytes(), "f.yaml");
    of_file(file, "f.yaml", Path::new("")).await
}

fn names(loaded: &LoadedFile) -> Vec<String> {
    let rows = loaded.rows().into_iter();
    rows.map(|row| row.component).collect()
}

#[tokio::test]
async fn init_plugins_first_and_else_the_order_of_the_file() {
    let many: Vec<String> = (0..20).map(|n| format!("p{n}")).collect();
    let typed: Vec<_> = many
        .iter()
        .enumerate()
        .map(|(n, name)| {
            let kind = if n % 3 == 2 { "init" } else { "component" };
            (name.as_str(), kind)
        })
        .collect();
    let of_type = |kind| {
        let typed = typed.iter().filter(move |(_, k)| *k == kind);
        typed.map(|(name, _)| (*name).to_owned())
    };
    let expected: Vec<_> = of_type("init").chain(of_type("component")).collect();
    assert_eq!(names(&of_text(&text(&typed)).await), expected);
}

#[tokio::test]
async fn names_that_occur_twice_come_after_the_table() {
    let loaded = of_text(&text(&[("A b", "init"), ("a B", "component")])).await;
    assert!(!loaded.is_valid() && loaded.problems.is_empty());
    assert_eq!(names(&loaded), ["a-b", "a-b"]);
    let [complaint] = &loaded.late[..] else {
        panic!("{:?}", loaded.late);
    };
    assert_eq!(complaint.message, "duplicate component name: a-b");
    assert_eq!(complaint.kind, "duplicate_component_name");
    assert!(complaint.report.starts_with(&complaint.message));
}

#[tokio::test]
async fn a_missing_file_is_one_problem() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("none.yaml");
    let loaded = load(Some(&path)).await;
    let [complaint] = &loaded.problems[..] else {
        panic!("{:?}", loaded.problems);
    };
    assert_eq!(
        complaint.message,
        format!("open {}: no such file or directory", path.display())
    );
    assert_eq!(complaint.kind, "file_unreadable");
}

#[tokio::test]
async fn good_plugins_of_a_file_with_problems_are_known() {
    let loaded = of_text(&text(&[("a", "component"), ("b", "nonsense")])).await;
    assert_eq!(names(&loaded), ["a"]);
    assert_eq!(loaded.problems[0].kind, "invalid_plugin_type");
    assert_eq!(loaded.checks().count(), 1);
}
