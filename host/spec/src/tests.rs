//! The room as a whole. What GPUd's libraries answer is in `testdata/`: `sigs.k8s.io/yaml` 1.6.0 with Go 1.26.

mod compat;
mod limits;
mod rules;
mod wasm;

use std::path::Path;

use super::{PluginFile, parse};

/// Reads a file whose list files do not exist.
fn read(text: &str) -> PluginFile {
    let missing = |path: &Path| {
        Err(format!(
            "open {}: no such file or directory",
            path.display()
        ))
    };
    parse(text.as_bytes(), "f.yaml", &missing)
}

/// Kind and place of each problem, as `kind@line:column path`.
fn problem_lines(file: &PluginFile) -> Vec<String> {
    file.problems.iter().map(problem_line).collect()
}

fn problem_line(problem: &super::Problem) -> String {
    let place = problem.place.map_or("-".to_owned(), |place| {
        format!("{}:{}", place.line, place.column)
    });
    format!("{}@{place} {}", problem.kind.as_str(), problem.path)
}

fn names(file: &PluginFile) -> Vec<&str> {
    file.plugins
        .iter()
        .map(|plugin| plugin.component.as_str())
        .collect()
}
