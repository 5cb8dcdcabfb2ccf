//! `gpud plugin inspect`: what a component is, and what it asks for.

use std::{fmt::Write as _, path::Path};

use gpud_author::inspect::{self, Described, Inspected};

use super::compilation;
use crate::{
    capability::CONTRACT,
    cli::{exit::Exit, sizes::iec, terminal::printable},
};

/// Inspects and prints. The status is 1 for what this gpud would not load.
///
/// # Errors
/// The file cannot be read, or is no component.
pub async fn inspect(file: &Path, json: bool) -> Result<Exit, Exit> {
    let fail = |message: String| Exit::failure(message).in_json(json, "failed_to_inspect");
    let inspected = inspect::inspect(file, &compilation()).await.map_err(fail)?;
    let stdout = match json {
        true => serde_json::to_string(&inspected).map_err(|e| fail(e.to_string()))? + "\n",
        false => text(&inspected),
    };
    Ok(Exit {
        code: u8::from(inspected.problem.is_some()),
        ..Exit::success(stdout)
    })
}

/// Describes a component for people.
fn text(inspected: &Inspected) -> String {
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
    use gpud_author::inspect::Request;

    use super::*;
    use crate::{
        capability::Interface,
        model::{ComponentDescriptor, SetHealthy},
    };

    fn request(interface: Interface) -> Request {
        Request {
            interface: interface.word(),
            example: interface.grant_line(),
        }
    }

    fn inspected() -> Inspected {
        Inspected {
            file: "out/fan-check.wasm".into(),
            size: 46_080,
            sha256: "ab".repeat(32),
            contract: vec!["0.1.0".into()],
            exports: vec!["checker".into(), "scanner".into()],
            asks_for: vec![request(Interface::Config), request(Interface::Sysfs)],
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
}
