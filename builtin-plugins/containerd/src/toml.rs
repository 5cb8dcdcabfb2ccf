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
mod tests {
    use super::*;
    use proptest::prelude::*;

    const TOOLKIT: &str = r#"
version = 2
imports = ["/etc/containerd/conf.d/*.toml"]

[plugins]
  [plugins."io.containerd.grpc.v1.cri"]
    enable_cdi = true # by the toolkit
    [plugins."io.containerd.grpc.v1.cri".containerd]
      default_runtime_name = "nvidia"
      [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.nvidia]
        runtime_type = "io.containerd.runc.v2"
        [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.nvidia.options]
          BinaryName = "/usr/local/nvidia/toolkit/nvidia-container-runtime"
"#;

    #[test]
    fn configurations() {
        let single = TOOLKIT.replace('"', "'");
        let third = TOOLKIT.replace("io.containerd.grpc.v1.cri", "io.containerd.cri.v1.runtime");
        let neither = TOOLKIT
            .replace("default_runtime_name = \"nvidia\"", "")
            .replace("enable_cdi = true", "");
        let commented = TOOLKIT.replace('[', "# [");
        let off = neither.replace("version = 2", "enable_cdi=false");
        for (text, cdi, expected) in [
            (TOOLKIT, false, true),
            (&single, false, true),
            (&third, false, true),
            (&TOOLKIT.replace("enable_cdi = true", ""), false, true),
            (&TOOLKIT.replace("default_runtime_name", "#"), false, true),
            (
                &TOOLKIT.replace(
                    "default_runtime_name = \"nvidia\"",
                    "default_runtime_name = \"runc\"",
                ),
                false,
                true,
            ),
            (&neither, false, false),
            (&neither, true, true),
            (&off, true, false),
            (&commented, true, false),
            ("version = 2", true, false),
            ("", true, false),
        ] {
            assert_eq!(is_for_nvidia(&[text.to_owned()], cdi), expected, "{text}");
        }
        let (head, tail) = TOOLKIT.split_at(200);
        assert!(is_for_nvidia(&[head.to_owned(), tail.to_owned()], false));
        assert!(!is_for_nvidia(&[], true));
    }

    #[test]
    fn further_files() {
        for (text, expected) in [
            (TOOLKIT, vec!["/etc/containerd/conf.d/*.toml"]),
            ("imports = []", vec![]),
            ("#imports = ['a']", vec![]),
            ("imports = 'a'", vec![]),
            (
                "imports = [\n  'conf.d/*.toml', # ours\n  \"/opt/x.toml\",\n]\nversion = 3",
                vec!["/etc/containerd/conf.d/*.toml", "/opt/x.toml"],
            ),
            ("imports = ['../../x', '/etc/../x']", vec![]),
            ("imports = ['a'", vec!["/etc/containerd/a"]),
            ("imports=['a']\nimports=['b']", vec!["/etc/containerd/a"]),
            ("", vec![]),
        ] {
            assert_eq!(imports(text), expected, "{text}");
        }
        let many = format!("imports = [{}]", "'a',".repeat(1000));
        assert_eq!(imports(&many).len(), MAX_IMPORTS);
    }

    proptest! {
        #[test]
        fn any_text_is_survived(text in "(imports|enable_cdi|[\\[\\]\"'=#, \n/a.é]){0,60}") {
            prop_assert!(imports(&text).len() <= MAX_IMPORTS);
            is_for_nvidia(&[text], true);
        }
    }
}
