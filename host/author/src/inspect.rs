//! `gpud plugin inspect`: what a component is, and what it asks for.

use std::{fmt::Write as _, path::Path, sync::Arc};

use serde::Serialize;

use super::component_file::{ComponentFile, runtime};
use crate::{
    capability::{CONTRACT, Interface},
    cli::{exit::Exit, sizes::iec, terminal::printable},
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

/// Inspects and prints. The status is 1 for what this gpud would not load.
///
/// # Errors
/// The file cannot be read, or is no component.
pub async fn inspect(file: &Path, json: bool) -> Result<Exit, Exit> {
    let fail = |message: String| Exit::failure(message).in_json(json, "failed_to_inspect");
    let node = Node::live()
        .await
        .map_err(|error| fail(error.to_string()))?;
    let runtime = runtime(Arc::new(node)).map_err(fail)?;
    let file = ComponentFile::read(file).await.map_err(fail)?;
    let inspected = of(&file, &runtime).await.map_err(fail)?;
    let stdout = match json {
        true => serde_json::to_string(&inspected).map_err(|e| fail(e.to_string()))? + "\n",
        false => text(&inspected),
    };
    Ok(Exit {
        code: u8::from(inspected.problem.is_some()),
        ..Exit::success(stdout)
    })
}

/// What a component is.
///
/// # Errors
/// It is none.
pub async fn of(file: &ComponentFile, runtime: &Runtime) -> Result<Inspected, String> {
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

/// The same for people.
pub fn text(inspected: &Inspected) -> String {
    let mut text = format!("{}\n", printable(&inspected.file));
    let mut line = |name: &str, value: &str| {
        let _ = writeln!(text, "  {name:<10}{}", printable(value));
    };
    let listed = |names: &[String]| match names {
        [] => "nothing".to_owned(),
        names => names.join(", "),
    };
    line(
        "size",
        &format!("{} ({} bytes)", iec(inspected.size as u64), inspected.size),
    );
    line("sha256", &inspected.sha256);
    let ours = CONTRACT
        .split_once('@')
        .map_or(CONTRACT, |(_, version)| version);
    line(
        "contract",
        &format!("{} (this gpud speaks {ours})", listed(&inspected.contract)),
    );
    if !inspected.version.is_empty() {
        line("version", &inspected.version);
    }
    line("exports", &listed(&inspected.exports));
    let words: Vec<_> = inspected
        .asks_for
        .iter()
        .map(|r| r.interface.to_owned())
        .collect();
    line("asks for", &listed(&words));
    match inspected.wasi_imports.len() {
        0 => {}
        count => line(
            "WASI",
            &format!("answered by an empty world ({count} imported)"),
        ),
    }
    for described in &inspected.components {
        component(&mut text, described);
    }
    if !inspected.asks_for.is_empty() {
        text.push_str("\nTo grant what it asks for, narrowed to what it needs:\n\n  grants:\n");
        for request in &inspected.asks_for {
            let _ = writeln!(text, "    {}", request.example);
        }
    }
    if let Some(problem) = &inspected.problem {
        let _ = writeln!(text, "\n✘ it would not be loaded: {}", printable(problem));
    }
    text
}

fn component(text: &mut String, described: &Described) {
    let _ = writeln!(
        text,
        "\n  component {}: {}",
        printable(&described.name),
        printable(&described.description)
    );
    let mut facts = vec![match described.run_mode {
        "manual" => "checked when triggered".to_owned(),
        _ => format!("checked every {} s", described.interval_seconds),
    }];
    match described.set_healthy {
        "clears-events" => facts.push("set-healthy clears its events".to_owned()),
        "marks" => facts.push("set-healthy leaves a mark".to_owned()),
        _ => {}
    }
    if described.config_schema.is_some() {
        facts.push("takes a configuration (--json shows its schema)".to_owned());
    }
    let _ = writeln!(text, "    {}", facts.join("; "));
    for (name, items) in [("tags", &described.tags), ("metrics", &described.metrics)] {
        if !items.is_empty() {
            let _ = writeln!(text, "    {name}: {}", printable(&items.join(", ")));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inspected() -> Inspected {
        Inspected {
            file: "out/fan-check.wasm".into(),
            size: 46_080,
            sha256: "ab".repeat(32),
            contract: vec!["0.1.0".into()],
            exports: vec!["checker".into(), "scanner".into()],
            asks_for: vec![
                Request::of(Interface::Config),
                Request::of(Interface::Sysfs),
            ],
            unknown_imports: Vec::new(),
            wasi_imports: vec!["wasi:io/poll@0.2.6".into()],
            version: "0.3.0".into(),
            components: vec![Described::of(&ComponentDescriptor {
                name: "fan-check".into(),
                description: "Fans\u{1b}[2J that stand still".into(),
                tags: vec!["fans".into()],
                set_healthy: SetHealthy::ClearsEvents,
                config_schema: Some("{}".into()),
                ..ComponentDescriptor::default()
            })],
            problem: None,
        }
    }

    #[test]
    fn for_people() {
        insta::assert_snapshot!(text(&inspected()), @r#"
        out/fan-check.wasm
          size      45 KiB (46080 bytes)
          sha256    abababababababababababababababababababababababababababababababab
          contract  0.1.0 (this gpud speaks 0.1.0)
          version   0.3.0
          exports   checker, scanner
          asks for  config, sysfs
          WASI      answered by an empty world (1 imported)

          component fan-check: Fans\u{1b}[2J that stand still
            checked every 60 s; set-healthy clears its events; takes a configuration (--json shows its schema)
            tags: fans

        To grant what it asks for, narrowed to what it needs:

          grants:
            config: true
            sysfs: ["/sys/class/…/**"]
        "#);
        let refused = Inspected {
            asks_for: Vec::new(),
            components: Vec::new(),
            wasi_imports: Vec::new(),
            version: String::new(),
            exports: Vec::new(),
            contract: vec!["0.9.0".into()],
            problem: Some("fan-check.wasm: of another contract".into()),
            ..inspected()
        };
        insta::assert_snapshot!(text(&refused), @r"
        out/fan-check.wasm
          size      45 KiB (46080 bytes)
          sha256    abababababababababababababababababababababababababababababababab
          contract  0.9.0 (this gpud speaks 0.1.0)
          exports   nothing
          asks for  nothing

        ✘ it would not be loaded: fan-check.wasm: of another contract
        ");
    }

    #[tokio::test]
    async fn what_is_no_component_is_refused_and_a_foreign_one_is_shown_with_its_problem() {
        let node = Node::live().await.unwrap();
        let runtime = runtime(Arc::new(node)).unwrap();
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
