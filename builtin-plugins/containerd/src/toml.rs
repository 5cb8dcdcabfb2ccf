//! As much of containerd's configuration as tells whether containers can use NVIDIA GPUs: lines, not a document. A file
//! that is broken elsewhere still counts.
//!
//! Sources: containerd's `docs/cri/config.md` and `docs/man/containerd-config.toml.5.md`; what NVIDIA's container
//! toolkit writes.

use std::fmt::Write as _;

/// Files that one configuration may import.
const MAX_IMPORTS: usize = 16;
/// Where relative imports begin, and the folder of the configuration itself.
const FOLDER: &str = "/etc/containerd/";
/// The tables of the runtime, in versions 2 and 3 of the file.
const TABLES: [&str; 2] = [
    r#"plugins."io.containerd.grpc.v1.cri".containerd.runtimes.nvidia"#,
    r#"plugins."io.containerd.cri.v1.runtime".containerd.runtimes.nvidia"#,
];

/// Is there a runtime `nvidia`, and is it used without being asked for: as the default, or through CDI? containerd 2
/// has CDI switched on unless the file says otherwise.
pub fn is_for_nvidia(files: &[String], cdi_by_default: bool) -> bool {
    let lines: Vec<String> = files
        .iter()
        .flat_map(|file| file.lines().map(plain))
        .collect();
    let has = |text: &str| lines.iter().any(|line| line == text);
    let runtime = lines
        .iter()
        .any(|line| TABLES.iter().any(|table| line.contains(table)));
    let cdi = has("enable_cdi=true") || (cdi_by_default && !has("enable_cdi=false"));
    runtime && (has(r#"default_runtime_name="nvidia""#) || cdi)
}

/// The patterns of the first `imports`, absolute. What is no path of a plain kind is left out.
pub fn imports(file: &str) -> Vec<String> {
    let mut lines = file.lines().map(plain);
    let Some(first) = lines.find_map(|line| {
        let list = line.strip_prefix("imports=")?;
        list.strip_prefix('[').map(str::to_owned)
    }) else {
        return Vec::new();
    };
    let mut list = first;
    while !list.contains(']') {
        match lines.next() {
            Some(line) => {
                let _ = write!(list, "{line}");
            }
            None => break,
        }
    }
    let list = list.split(']').next().unwrap_or_default();
    let paths = list.split(',').map(|item| item.trim_matches('"'));
    paths
        .filter(|path| !path.is_empty() && !path.split('/').any(|part| part == ".."))
        .take(MAX_IMPORTS)
        .map(|path| match path.starts_with('/') {
            true => path.to_owned(),
            false => format!("{FOLDER}{path}"),
        })
        .collect()
}

/// A line without comment and blanks, and with one kind of quotes.
fn plain(line: &str) -> String {
    let mut plain = String::with_capacity(line.len());
    let mut quote = None;
    for c in line.chars() {
        match (quote, c) {
            (None, '#') => break,
            (None, '"' | '\'') => quote = Some(c),
            (Some(open), c) if open == c => quote = None,
            _ => {}
        }
        match c {
            '\'' => plain.push('"'),
            c if c.is_whitespace() => {}
            c => plain.push(c),
        }
    }
    plain
}

#[cfg(test)]
mod tests;
