//! Each built-in checker asks for the interfaces that its code calls, and for no other.

use std::{fs, path::Path};

use serde_json::Value;

/// Interfaces that are granted as a whole, each with the calls that reach it, directly or through a shared crate.
const INTERFACES: [(&str, &[&str]); 5] = [
    (
        "config",
        &["config::document", "policy::configured", "KernelLines"],
    ),
    (
        "history",
        &[
            "history::",
            "KernelLines",
            "PolicyInput::ask",
            "policy::boots",
        ],
    ),
    ("kmsg", &["kmsg::", "kmsg_watcher", "read_log"]),
    ("nvml", &["nvml::", "asking::", "Driver::ask"]),
    (
        "state",
        &[
            "state::",
            "asking::check",
            "mig::extend",
            "check::check",
            "cached::",
            "KernelLines",
            "findings::check",
            "Memory::load",
            "remember_seen",
            "saved_state::",
            "Repeats::load",
            "RetainedState::load",
        ],
    ),
];

/// The code of a checker without comments and tests.
#[allow(clippy::unwrap_used, reason = "a helper of tests")]
fn code(folder: &Path) -> String {
    let mut code = String::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() && name != "tests" {
            code.push_str(&self::code(&path));
        } else if name.ends_with(".rs")
            && !["tests.rs", "testing.rs", "examples.rs"].contains(&&*name)
        {
            let text = fs::read_to_string(&path).unwrap();
            let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap();
            let lines = text
                .lines()
                .filter(|line| !line.trim_start().starts_with("//"));
            // Types of an interface need no grant.
            let lines = lines.filter(|line| !line.trim_start().starts_with("use "));
            lines.for_each(|line| code.push_str(&format!("{line}\n")));
        }
    }
    code
}

#[test]
fn a_checker_asks_for_what_it_calls() {
    let mut wrong = Vec::new();
    let mut checkers = 0;
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let entries = fs::read_dir(here.join("..")).unwrap();
    let built_in = entries.map(|entry| entry.unwrap().path());
    // The check that CONTRIBUTING.md adds is an example of this crate.
    for folder in built_in.chain([here.join("examples/entropy")]) {
        let Ok(manifest) = fs::read_to_string(folder.join("manifest.json")) else {
            continue;
        };
        checkers += 1;
        let manifest: Value = serde_json::from_str(&manifest).unwrap();
        let code = code(&folder.join("src"));
        for (interface, calls) in INTERFACES {
            let asks = manifest["grants"][interface] == true;
            let needs = calls.iter().any(|call| code.contains(call));
            if asks != needs {
                let asks = if asks { "asks" } else { "does not ask" };
                let needs = if needs { "calls" } else { "does not call" };
                wrong.push(format!(
                    "{} {asks} for {interface} and {needs} it",
                    manifest["component"]
                ));
            }
        }
    }
    assert!(checkers > 50, "only {checkers} manifests were found");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
