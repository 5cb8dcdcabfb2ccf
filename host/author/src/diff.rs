//! `gpud plugin diff`: what a new version of a component asks for beyond the old one, and what else is different.

use std::{collections::BTreeSet, path::Path, sync::Arc};

use serde::Serialize;

use super::{
    component_file::{ComponentFile, runtime},
    inspect::{self, Described, Inspected},
};
use crate::{
    cli::{exit::Exit, terminal::printable},
    node::Node,
};

/// What is different.
#[derive(Debug, Clone, PartialEq, Serialize, Default)]
pub struct Difference {
    /// Both files hold the same bytes.
    pub same: bool,
    /// Interfaces that only the new one asks for: an operator has to grant them first.
    pub asks_for_more: Vec<String>,
    /// Interfaces that only the old one asks for.
    pub asks_no_more_for: Vec<String>,
    /// Everything else, one line each.
    pub changes: Vec<String>,
}

/// Compares and prints. With `exit_code` the status is 1 when the new one asks for more.
///
/// # Errors
/// A file cannot be read, or is no component that this gpud would load.
pub async fn diff(old: &Path, new: &Path, json: bool, exit_code: bool) -> Result<Exit, Exit> {
    let fail = |message: String| Exit::failure(message).in_json(json, "failed_to_compare");
    let node = Node::live()
        .await
        .map_err(|error| fail(error.to_string()))?;
    let runtime = runtime(Arc::new(node)).map_err(fail)?;
    let mut inspected = Vec::new();
    for path in [old, new] {
        let file = ComponentFile::read(path).await.map_err(fail)?;
        let one = inspect::of(&file, &runtime).await.map_err(fail)?;
        if let Some(problem) = &one.problem {
            return Err(fail(problem.clone()));
        }
        inspected.push(one);
    }
    let difference = match inspected.as_slice() {
        [old, new] => between(old, new),
        _ => Difference::default(),
    };
    let stdout = match json {
        true => serde_json::to_string(&difference).map_err(|e| fail(e.to_string()))? + "\n",
        false => text(&difference),
    };
    Ok(Exit {
        code: u8::from(exit_code && !difference.asks_for_more.is_empty()),
        ..Exit::success(stdout)
    })
}

/// What is different between two versions.
pub fn between(old: &Inspected, new: &Inspected) -> Difference {
    let words = |one: &Inspected| -> BTreeSet<&'static str> {
        one.asks_for
            .iter()
            .map(|request| request.interface)
            .collect()
    };
    let (before, after) = (words(old), words(new));
    let only = |these: &BTreeSet<&str>, those: &BTreeSet<&str>| -> Vec<String> {
        these
            .difference(those)
            .map(|word| (*word).to_owned())
            .collect()
    };
    let mut changes = Changes::default();
    changes.add("version", &old.version, &new.version);
    changes.add(
        "size",
        &format!("{} bytes", old.size),
        &format!("{} bytes", new.size),
    );
    changes.add(
        "contract",
        &old.contract.join(", "),
        &new.contract.join(", "),
    );
    changes.add("exports", &old.exports.join(", "), &new.exports.join(", "));
    changes.add(
        "WASI interfaces",
        &old.wasi_imports.len().to_string(),
        &new.wasi_imports.len().to_string(),
    );
    let find = |all: &[Described], name: &str| all.iter().find(|one| one.name == name).cloned();
    for described in &old.components {
        match find(&new.components, &described.name) {
            Some(now) => changes.add_component(described, &now),
            None => changes.add(&format!("component {}", described.name), "there", "gone"),
        }
    }
    for described in &new.components {
        if find(&old.components, &described.name).is_none() {
            changes.add(&format!("component {}", described.name), "not there", "new");
        }
    }
    Difference {
        same: old.sha256 == new.sha256,
        asks_for_more: only(&after, &before),
        asks_no_more_for: only(&before, &after),
        changes: changes.0,
    }
}

/// One line for each thing that is different.
#[derive(Default)]
struct Changes(Vec<String>);

impl Changes {
    /// Adds a line, unless both are the same.
    fn add(&mut self, what: &str, before: &str, after: &str) {
        if before != after {
            self.0.push(format!("{what}: {before} → {after}"));
        }
    }

    /// Adds what is different between two versions of a component.
    fn add_component(&mut self, before: &Described, after: &Described) {
        let or_none = |text: String| match text.is_empty() {
            true => "none".to_owned(),
            false => text,
        };
        let schema = |one: &Described| {
            let schema = one.config_schema.as_ref();
            schema.map_or_else(String::new, ToString::to_string)
        };
        let facts = |one: &Described| {
            [
                ("description", one.description.clone()),
                ("interval", format!("{} s", one.interval_seconds)),
                ("run mode", one.run_mode.to_owned()),
                ("set-healthy", one.set_healthy.to_owned()),
                ("tags", one.tags.join(", ")),
                ("metrics", one.metrics.join(", ")),
                ("config schema", schema(one)),
            ]
        };
        for ((what, former), (_, present)) in facts(before).into_iter().zip(facts(after)) {
            let what = format!("component {}, {what}", before.name);
            self.add(&what, &or_none(former), &or_none(present));
        }
    }
}

fn text(difference: &Difference) -> String {
    if difference.same {
        return "the two are the same, byte for byte\n".to_owned();
    }
    let mut lines = Vec::new();
    match difference.asks_for_more.as_slice() {
        [] => lines.push("✔ it asks for nothing that the old one does not ask for".to_owned()),
        more => lines.push(format!(
            "! it asks for more: {}; grant it in the spec, or it is refused and the old one goes on",
            more.join(", ")
        )),
    }
    if !difference.asks_no_more_for.is_empty() {
        lines.push(format!(
            "  it no longer asks for: {}; take that out of its grants",
            difference.asks_no_more_for.join(", ")
        ));
    }
    let changes = difference.changes.iter();
    lines.extend(changes.map(|change| format!("  {}", printable(change))));
    lines.join("\n") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inspected(words: &[&'static str], version: &str, components: &[(&str, f64)]) -> Inspected {
        Inspected {
            file: "f".into(),
            size: 10,
            sha256: format!("{words:?}{version}"),
            contract: vec!["0.1.0".into()],
            exports: vec!["checker".into()],
            asks_for: words
                .iter()
                .map(|interface| inspect::Request {
                    interface,
                    example: "",
                })
                .collect(),
            unknown_imports: Vec::new(),
            wasi_imports: Vec::new(),
            version: version.into(),
            components: components
                .iter()
                .map(|(name, interval)| Described {
                    name: (*name).into(),
                    description: "d".into(),
                    tags: Vec::new(),
                    interval_seconds: *interval,
                    run_mode: "auto",
                    set_healthy: "unsupported",
                    metrics: Vec::new(),
                    config_schema: None,
                })
                .collect(),
            problem: None,
        }
    }

    #[test]
    fn what_is_asked_for_beyond_comes_first() {
        let old = inspected(&["kmsg", "sysfs"], "1.0", &[("a", 60.0), ("b", 60.0)]);
        let new = inspected(&["exec", "sysfs"], "1.1", &[("a", 30.0), ("c", 60.0)]);
        let difference = between(&old, &new);
        assert_eq!(difference.asks_for_more, ["exec"]);
        insta::assert_snapshot!(text(&difference), @r"
        ! it asks for more: exec; grant it in the spec, or it is refused and the old one goes on
          it no longer asks for: kmsg; take that out of its grants
          version: 1.0 → 1.1
          component a, interval: 60 s → 30 s
          component b: there → gone
          component c: not there → new
        ");
    }

    #[test]
    fn less_is_not_more_and_the_same_is_the_same() {
        let old = inspected(&["kmsg", "sysfs"], "1.0", &[("a", 60.0)]);
        let new = inspected(&["sysfs"], "1.0", &[("a", 60.0)]);
        let difference = between(&old, &new);
        assert!(difference.asks_for_more.is_empty() && difference.changes.is_empty());
        assert_eq!(difference.asks_no_more_for, ["kmsg"]);
        let same = between(&old, &old);
        assert!(same.same);
        assert_eq!(text(&same), "the two are the same, byte for byte\n");
    }
}
