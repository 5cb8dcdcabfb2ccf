use super::*;

const CASES: &str = r#"
component: checker.wasm
grants:
  sysfs: ["/proc/**", "/sys/**"]
  kmsg: true
  config: true
  history: true
  state: true
cases:
- name: nothing but an OOM kill
  files: { /proc/meminfo: "MemTotal: 1000 kB\nMemFree: 500 kB\nMemAvailable: 600 kB\n" }
  kmsg: ["python invoked oom-killer: gfp_mask=0x0, order=0", "Out of memory: Killed process 1234 (python) total-vm:1kB"]
  expect: { events: [{ message: { matches: "." } }] }
- name: another line is nothing
  files: { /proc/meminfo: "MemTotal: 1000 kB\nMemFree: 500 kB\nMemAvailable: 600 kB\n" }
  kmsg: ["usb 1-1: new device"]
  expect: { events: [] }
- name: what is wrong is shown
  files: { /proc/meminfo: "MemTotal: 1000 kB\nMemFree: 500 kB\nMemAvailable: 600 kB\n" }
  expect: { states: [{ reason: no such reason }] }
"#;

fn folder(cases: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let memory = xtask::guests::alone("memory");
    std::fs::write(folder.path().join("checker.wasm"), memory).unwrap();
    std::fs::write(folder.path().join("cases.yaml"), cases).unwrap();
    folder
}

async fn outcomes(folder: &Path) -> Vec<Outcome> {
    let cases = Cases::read(&folder.join("cases.yaml"), None).await.unwrap();
    let (_cache, compilation) = Compilation::of_test();
    cases.run(&compilation).await
}

#[tokio::test]
async fn a_real_checker_on_made_up_machines() {
    let folder = folder(CASES);
    let outcomes = outcomes(folder.path()).await;
    assert!(outcomes[0].passed, "{:?}", outcomes[0]);
    assert!(outcomes[1].passed, "{:?}", outcomes[1]);
    assert!(!outcomes[2].passed);
    let difference = &outcomes[2].differences[0];
    assert!(difference.starts_with("state 1, reason is"), "{difference}");
}

#[tokio::test]
async fn steps_share_a_machine_and_time_passes() {
    let folder = folder(
        "component: checker.wasm\ngrants: {sysfs: ['/proc/**'], kmsg: true, config: true, history: true, state: true}\ncases:\n\
         - name: two kills\n  steps:\n  - files: {/proc/meminfo: \"MemTotal: 1000 kB\\nMemFree: 500 kB\\nMemAvailable: 600 kB\\n\"}\n    expect: {events: []}\n  - after: 1m\n    kmsg: ['a invoked oom-killer: gfp_mask=0x0', 'Out of memory: Killed process 1 (a)']\n    \
         expect: {events: [{}]}\n  - {after: 1h, expect: {events: []}}\n",
    );
    let outcomes = outcomes(folder.path()).await;
    assert_eq!(outcomes[0].differences, Vec::<String>::new());
}

#[tokio::test]
async fn a_missing_grant_or_component_is_reported() {
    let without = CASES.replace("  kmsg: true\n", "");
    let folder = folder(&without);
    let outcomes = outcomes(folder.path()).await;
    let difference = &outcomes[0].differences[0];
    assert!(difference.contains("without a grant"), "{difference}");

    let path = folder.path().join("cases.yaml");
    std::fs::write(&path, CASES.replace("component: checker.wasm\n", "")).unwrap();
    let error = Cases::read(&path, None).await.unwrap_err();
    assert!(error.contains("names no component"), "{error}");
    let component = folder.path().join("checker.wasm");
    assert!(Cases::read(&path, Some(&component)).await.is_ok());
    std::fs::write(&path, "cases: 5\n").unwrap();
    let error = Cases::read(&path, None).await.unwrap_err();
    assert!(error.contains("cases.yaml: "), "{error}");
}

#[tokio::test]
async fn a_spec_gives_component_and_grants() {
    let text = CASES.replace("component: checker.wasm\n", "spec: plugin.yaml\n");
    let (head, cases) = text.split_once("cases:").unwrap();
    let head = head.split_once("grants:").unwrap().0;
    let folder = folder(&format!("{head}cases:{cases}"));
    std::fs::write(
        folder.path().join("plugin.yaml"),
        "- plugin_name: m\n  plugin_type: wasm\n  path: checker.wasm\n  grants: {sysfs: ['/proc/**'], kmsg: true, config: true, \
         history: true, state: true}\n",
    )
    .unwrap();
    let outcomes = outcomes(folder.path()).await;
    assert!(outcomes[0].passed, "{:?}", outcomes[0]);
}

/// Outputs of real machines' tools (`tests/board-tools/`), through the built-in components that read them: each alone, since
/// cases name the grants of one.
#[tokio::test]
async fn the_tools_of_real_machines() {
    let folder = tempfile::tempdir().unwrap();
    let cases = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/board-tools");
    let (_cache, compilation) = Compilation::of_test();
    let mut differences = Vec::new();
    let readers = [
        ("disk-smart", "smart"),
        ("ipmi", "ipmi"),
        ("systemd-units", "systemd"),
        ("time-sync", "time_sync"),
    ];
    for (name, alone) in readers {
        let own = format!(".{name}.yaml");
        let component = folder.path().join(format!("{name}.wasm"));
        std::fs::write(&component, xtask::guests::alone(alone)).unwrap();
        for entry in std::fs::read_dir(&cases).unwrap() {
            let path = entry.unwrap().path();
            if !path.to_string_lossy().ends_with(&own) {
                continue;
            }
            let outcomes = Cases::read(&path, Some(&component))
                .await
                .unwrap()
                .run(&compilation)
                .await;
            let wrong = outcomes.into_iter().filter(|outcome| !outcome.passed);
            differences.extend(
                wrong.map(|outcome| format!("{}: {:#?}", path.display(), outcome.differences)),
            );
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}
