//! What a component is, and what it asks for.

use std::{path::Path, sync::Arc};

use serde::Serialize;

use super::component_file::{Compilation, ComponentFile};
use crate::{
    capability::Interface,
    model::{ComponentDescriptor, RunMode, SetHealthy},
    node::Node,
    runtime::Runtime,
};

/// What a component is.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Inspected {
    /// Its file, as it was named.
    pub file: String,
    /// Its size, bytes.
    pub size: usize,
    /// SHA-256 of it.
    pub sha256: String,
    /// Versions of the contract that it was built against.
    pub contract: Vec<String>,
    /// What it exports of the contract.
    pub exports: Vec<String>,
    /// What it asks for: words under `grants:`.
    pub asks_for: Vec<Request>,
    /// Imports that this gpud does not offer. A component with any is not loaded.
    pub unknown_imports: Vec<String>,
    /// Imports of WASI: answered by an empty world.
    pub wasi_imports: Vec<String>,
    /// Its own version; empty if it could not describe itself.
    pub version: String,
    /// Its components.
    pub components: Vec<Described>,
    /// Why this gpud would not load it, whatever it were granted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// An interface that has to be granted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Request {
    /// Its word.
    pub interface: &'static str,
    /// A line that grants it.
    pub example: &'static str,
}

/// What a plugin says of one component.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Described {
    /// Its name.
    pub name: String,
    /// One line.
    pub description: String,
    /// For trigger-by-tag.
    pub tags: Vec<String>,
    /// Seconds between two checks.
    pub interval_seconds: f64,
    /// `auto` or `manual`.
    pub run_mode: &'static str,
    /// What set-healthy does: `unsupported`, `clears-events` or `marks`.
    pub set_healthy: &'static str,
    /// Names of its metrics.
    pub metrics: Vec<String>,
    /// The schema of its configuration, if it takes one; text where it is no JSON.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub config_schema: Option<serde_json::Value>,
}

/// Reads what the component of a file is.
///
/// # Errors
/// The file cannot be read, or is no component.
pub async fn inspect(path: &Path, compilation: &Compilation) -> Result<Inspected, String> {
    let node = Node::live().await.map_err(|error| error.to_string())?;
    let runtime = compilation.start(Arc::new(node))?;
    let file = ComponentFile::read(path).await?;
    of(&file, &runtime).await
}

/// What a component is.
///
/// # Errors
/// It is none.
pub(crate) async fn of(file: &ComponentFile, runtime: &Runtime) -> Result<Inspected, String> {
    let opened = file
        .open(runtime)
        .await
        .map_err(|error| error.to_string())?;
    let (version, components, problem) = match &opened.plugin {
        Ok(plugin) => {
            let described = plugin.components().iter().map(Described::of).collect();
            (plugin.version().to_owned(), described, None)
        }
        Err(error) => (String::new(), Vec::new(), Some(error.to_string())),
    };
    let owned = |names: Vec<&str>| names.into_iter().map(str::to_owned).collect();
    Ok(Inspected {
        file: file.path.display().to_string(),
        size: file.bytes.len(),
        sha256: file.digest(),
        contract: owned(opened.shape.contracts()),
        exports: owned(opened.shape.parts()),
        asks_for: opened
            .shape
            .requests()
            .into_iter()
            .map(Request::of)
            .collect(),
        unknown_imports: owned(opened.shape.unknown()),
        wasi_imports: owned(opened.shape.wasi()),
        version,
        components,
        problem,
    })
}

impl Request {
    fn of(interface: Interface) -> Self {
        Self {
            interface: interface.word(),
            example: interface.grant_line(),
        }
    }
}

impl Described {
    /// Of a descriptor.
    pub fn of(described: &ComponentDescriptor) -> Self {
        let schema = described.config_schema.as_ref();
        Self {
            name: described.name.clone(),
            description: described.description.clone(),
            tags: described.tags.clone(),
            interval_seconds: described
                .interval
                .map_or(60.0, |interval| interval.as_secs_f64()),
            run_mode: match described.run_mode {
                RunMode::Auto => "auto",
                RunMode::Manual => "manual",
            },
            set_healthy: match described.set_healthy {
                SetHealthy::Unsupported => "unsupported",
                SetHealthy::ClearsEvents => "clears-events",
                SetHealthy::Marks => "marks",
            },
            metrics: described
                .metrics
                .iter()
                .map(|metric| metric.name.clone())
                .collect(),
            config_schema: schema.map(|schema| {
                serde_json::from_str(schema).unwrap_or_else(|_| schema.clone().into())
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_is_no_component_is_refused_and_a_foreign_one_is_shown_with_its_problem() {
        let node = Node::live().await.unwrap();
        let (_cache, compilation) = Compilation::of_test();
        let runtime = compilation.start(Arc::new(node)).unwrap();
        let file = |text: &str| ComponentFile {
            path: "x.wasm".into(),
            bytes: wat::parse_str(text).unwrap(),
        };
        let error = of(&file("(module)"), &runtime).await.unwrap_err();
        assert!(error.contains("core module"), "{error}");
        let foreign = r#"(component (import "gpud:plugin/teleport@0.1.0" (instance)))"#;
        let inspected = of(&file(foreign), &runtime).await.unwrap();
        assert_eq!(inspected.unknown_imports, ["gpud:plugin/teleport@0.1.0"]);
        let problem = inspected.problem.unwrap();
        assert!(
            problem.contains("imports what this gpud does not offer"),
            "{problem}"
        );
    }
}
