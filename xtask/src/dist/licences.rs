//! The licences of gpud's parts, with their texts where the crates have them.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
    fs,
    path::Path,
};

use anyhow::{Context, Result};

use super::metadata::Parts;

/// How the names of files with licences and notices begin.
const NAMES: [&str; 6] = [
    "licen",
    "copying",
    "copyright",
    "notice",
    "unlicense",
    "authors",
];

/// Returns a text file: a table of all parts, then each text once, with the parts that have it.
///
/// # Errors
/// A crate's folder cannot be read.
pub fn document(parts: &Parts) -> Result<String> {
    let mut texts: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut to = String::from(
        "gpud is licensed under Apache-2.0, see LICENSE. Its binary is made of these crates:\n\n",
    );
    for part in parts.all.values() {
        let name = format!("{} {}", part.name, part.version);
        writeln!(to, "{name}: {}", part.licence)?;
        // gpud's own crates have the licence of gpud.
        if part.checksum.is_some() {
            for text in texts_in(&part.folder)? {
                texts.entry(text).or_default().insert(name.clone());
            }
        }
    }
    // By the crates that have them: the order of the texts themselves would change with every edit of a preamble.
    let mut texts: Vec<(BTreeSet<String>, String)> = texts
        .into_iter()
        .map(|(text, names)| (names, text))
        .collect();
    texts.sort();
    for (names, text) in texts {
        let names: Vec<String> = names.into_iter().collect();
        write!(
            to,
            "\n{}\n{}:\n\n{text}\n",
            "-".repeat(80),
            names.join(", ")
        )?;
    }
    Ok(to)
}

fn texts_in(folder: &Path) -> Result<BTreeSet<String>> {
    let mut texts = BTreeSet::new();
    let entries = fs::read_dir(folder).with_context(|| folder.display().to_string())?;
    for entry in entries {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().to_lowercase();
        let is_text = NAMES.iter().any(|start| name.starts_with(start)) && !name.ends_with(".rs");
        if is_text && entry.file_type()?.is_file() {
            let bytes = fs::read(entry.path())?;
            let text = String::from_utf8_lossy(&bytes).replace("\r\n", "\n");
            let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
            texts.insert(lines.join("\n").trim_matches('\n').to_owned());
        }
    }
    Ok(texts)
}

#[cfg(test)]
mod tests {
    use super::{super::metadata::tests::example, *};

    #[test]
    fn a_text_that_several_crates_have_is_there_once() {
        let folder = tempfile::tempdir().unwrap();
        let mut parts = example();
        for (number, part) in parts.all.values_mut().enumerate() {
            part.folder = folder.path().join(&part.name);
            part.checksum = Some(number.to_string());
            fs::create_dir(&part.folder).unwrap();
            fs::write(part.folder.join("LICENSE-MIT"), "Permission is granted\r\n").unwrap();
            fs::write(part.folder.join("licensing.rs"), "fn no_licence() {}").unwrap();
        }
        let deep = &parts.all["pkg:cargo/deep@0.1.0"];
        fs::write(deep.folder.join("NOTICE"), "\nSomebody wrote this\n").unwrap();
        let text = document(&parts).unwrap();
        assert_eq!(text, document(&parts).unwrap());
        assert!(
            text.contains("\nlibrary 2.0.0: MIT OR Apache-2.0\n"),
            "{text}"
        );
        assert_eq!(text.matches("Permission is granted").count(), 1, "{text}");
        assert!(
            text.contains(
                "\ndeep 0.1.0, gpud 1.2.3, gpud-builtin-fan 1.2.3, library 2.0.0:\n\nPermission"
            ),
            "{text}"
        );
        assert!(
            text.contains("\ndeep 0.1.0:\n\nSomebody wrote this\n"),
            "{text}"
        );
        assert!(!text.contains("no_licence"), "{text}");
    }
}
