//! What a new version of a component asks for beyond the old one, and what else is different.

use std::{collections::BTreeSet, path::Path, sync::Arc};

use serde::Serialize;

use super::{
    component_file::{Compilation, ComponentFile},
    inspect::{self, Described, Inspected},
};
use crate::{node::Node, runtime::Runtime};

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

/// Compares the components of two files.
///
/// # Errors
/// A file cannot be read, or is no component that this gpud would load.
pub async fn compare(
    old: &Path,
    new: &Path,
    compilation: &Compilation,
) -> Result<Difference, String> {
    let node = Node::live().await.map_err(|error| error.to_string())?;
    let runtime = compilation.start(Arc::new(node))?;
    let old = loadable(old, &runtime).await?;
    let new = loadable(new, &runtime).await?;
    Ok(between(&old, &new))
}

/// What a component that this gpud would load is.
async fn loadable(path: &Path, runtime: &Runtime) -> Result<Inspected, String> {
    let file = ComponentFile::read(path).await?;
    let mut inspected = inspect::of(&file, runtime).await?;
    match inspected.problem.take() {
        Some(problem) => Err(problem),
        None => Ok(inspected),
    }
}

/// What is different between two versions.
fn between(old: &Inspected, new: &Inspected) -> Difference {
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
        assert_eq!(difference.asks_no_more_for, ["kmsg"]);
        assert_eq!(
            difference.changes,
            [
                "version: 1.0 → 1.1",
                "component a, interval: 60 s → 30 s",
                "component b: there → gone",
                "component c: not there → new",
            ]
        );
    }

    #[test]
    fn less_is_not_more_and_the_same_is_the_same() {
        let old = inspected(&["kmsg", "sysfs"], "1.0", &[("a", 60.0)]);
        let new = inspected(&["sysfs"], "1.0", &[("a", 60.0)]);
        let difference = between(&old, &new);
        assert!(difference.asks_for_more.is_empty() && difference.changes.is_empty());
        assert_eq!(difference.asks_no_more_for, ["kmsg"]);
        assert!(between(&old, &old).same);
    }
}
