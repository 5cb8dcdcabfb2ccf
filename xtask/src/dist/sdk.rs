//! The SDKs as packages, each with the contract in it: a crate, a wheel, an npm package, Go modules, sources in C.
//!
//! They are made from the files of the repository as they are; nothing is built, and no tool of a language is needed.

use std::{
    collections::BTreeMap, fmt::Write as _, fs, os::unix::fs::PermissionsExt as _, path::Path,
};

use anyhow::{Context, Result, ensure};
use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use sha2::{Digest as _, Sha256};

use super::{
    tree::{Node, Tree, gzip},
    zip,
};

/// Folders that a build leaves behind.
const LEFT_OUT: [&str; 7] = [
    ".git",
    ".venv",
    "__pycache__",
    "build",
    "dist",
    "node_modules",
    "target",
];
/// The path of the Go module, and of the module with its tool.
const GO: (&str, &str) = ("gpud.internal/gpud", "gpud.internal/gpud/cmd/gpud-go");

/// Makes all packages, by the names of their files.
///
/// # Errors
/// A file cannot be read, or says another version.
pub fn packages(workspace: &Path, version: &str, time: u64) -> Result<BTreeMap<String, Vec<u8>>> {
    let from = Sources { workspace, version };
    let archive = |tree: &Tree| gzip(&tree.tar(time)?);
    let (module, tool) = from.go()?;
    Ok(BTreeMap::from([
        (format!("gpud-sdk-{version}.crate"), archive(&from.rust()?)?),
        (
            format!("gpud_sdk-{version}-py3-none-any.whl"),
            zip::encode(&from.python()?)?,
        ),
        (format!("gpud-sdk-{version}.tgz"), archive(&from.js()?)?),
        (format!("gpud-sdk-go-{version}.zip"), zip::encode(&module)?),
        (
            format!("gpud-sdk-go-tool-{version}.zip"),
            zip::encode(&tool)?,
        ),
        (format!("gpud-sdk-c-{version}.tar.gz"), archive(&from.c()?)?),
    ]))
}

/// The repository, and the version that is made of it.
struct Sources<'a> {
    workspace: &'a Path,
    version: &'a str,
}

impl Sources<'_> {
    /// As `cargo package` arranges it, with a manifest that stands alone: that of new projects.
    fn rust(&self) -> Result<Tree> {
        let manifest = "sdk/templates/rust/vendor/gpud-sdk/Cargo.toml";
        self.check_version(manifest, &format!("version = \"{}\"", self.version))?;
        let mut tree = Tree::default();
        self.add(&mut tree, manifest, "Cargo.toml")?;
        self.add(&mut tree, "sdk/rust/src", "src")?;
        self.add(&mut tree, "sdk/rust/wit", "wit")?;
        self.add(&mut tree, "LICENSE", "LICENSE")?;
        Ok(below(&format!("gpud-sdk-{}", self.version), &tree))
    }

    fn js(&self) -> Result<Tree> {
        let manifest = "sdk/js/package.json";
        self.check_version(manifest, &format!("\"version\": \"{}\"", self.version))?;
        let mut tree = Tree::default();
        for name in [
            "package.json",
            "README.md",
            "tsconfig.json",
            "bin",
            "src",
            "wit",
        ] {
            self.add(&mut tree, &format!("sdk/js/{name}"), name)?;
        }
        self.add(&mut tree, "LICENSE", "LICENSE")?;
        Ok(below("package", &tree))
    }

    fn c(&self) -> Result<Tree> {
        let mut tree = Tree::default();
        self.add(&mut tree, "sdk/c", "")?;
        self.add(&mut tree, "wit", "wit")?;
        self.add(&mut tree, "LICENSE", "LICENSE")?;
        Ok(below(&format!("gpud-sdk-c-{}", self.version), &tree))
    }

    /// The module, and that of the tool which builds plugins.
    fn go(&self) -> Result<(Tree, Tree)> {
        let (mut module, mut tool) = (Tree::default(), Tree::default());
        self.add(&mut module, "sdk/go", "")?;
        self.add(&mut module, "wit", "wit")?;
        self.add(&mut tool, "sdk/go/cmd/gpud-go", "")?;
        // A module inside of a module is not part of it.
        let module = module.without("cmd/gpud-go");
        let place = |path: &str, mut tree: Tree| -> Result<Tree> {
            self.add(&mut tree, "LICENSE", "LICENSE")?;
            Ok(below(&format!("{path}@v{}", self.version), &tree))
        };
        Ok((place(GO.0, module)?, place(GO.1, tool)?))
    }

    /// A wheel: the package, and what installers ask for beside it.
    fn python(&self) -> Result<Tree> {
        let manifest = "sdk/python/pyproject.toml";
        self.check_version(manifest, &format!("version = \"{}\"", self.version))?;
        let text = self.read(manifest)?;
        let text = String::from_utf8(text)?;
        let mut tree = Tree::default();
        self.add(&mut tree, "sdk/python/src/gpud_sdk", "gpud_sdk")?;
        let about = format!("gpud_sdk-{}.dist-info", self.version);
        self.add(&mut tree, "LICENSE", &format!("{about}/licenses/LICENSE"))?;
        let metadata = metadata(&text).with_context(|| manifest.to_owned())?;
        tree.file(&format!("{about}/METADATA"), 0o644, metadata);
        let wheel =
            "Wheel-Version: 1.0\nGenerator: xtask\nRoot-Is-Purelib: true\nTag: py3-none-any\n";
        tree.file(&format!("{about}/WHEEL"), 0o644, wheel);
        let record = format!("{about}/RECORD");
        let lines = record_of(&tree, &record);
        tree.file(&record, 0o644, lines);
        Ok(tree)
    }

    /// Adds a file or all files of a folder.
    fn add(&self, tree: &mut Tree, from: &str, to: &str) -> Result<()> {
        let path = self.workspace.join(from);
        let wrong = || path.display().to_string();
        let facts = fs::metadata(&path).with_context(wrong)?;
        if facts.is_file() {
            let mode = match facts.permissions().mode() & 0o111 {
                0 => 0o644,
                _ => 0o755,
            };
            tree.file(to, mode, self.read(from)?);
            return Ok(());
        }
        for entry in fs::read_dir(&path).with_context(wrong)? {
            let name = entry?.file_name().to_string_lossy().into_owned();
            if LEFT_OUT.contains(&name.as_str()) || name.ends_with(".wasm") {
                continue;
            }
            let to = match to {
                "" => name.clone(),
                to => format!("{to}/{name}"),
            };
            self.add(tree, &format!("{from}/{name}"), &to)?;
        }
        Ok(())
    }

    fn read(&self, path: &str) -> Result<Vec<u8>> {
        let path = self.workspace.join(path);
        fs::read(&path).with_context(|| path.display().to_string())
    }

    /// Refuses a manifest without this line: versions are in step.
    fn check_version(&self, path: &str, line: &str) -> Result<()> {
        let text = String::from_utf8(self.read(path)?)?;
        let is_there = text
            .lines()
            .any(|found| found.trim().trim_end_matches(',') == line);
        ensure!(
            is_there,
            "{path} has no line `{line}`: the SDKs have gpud's version"
        );
        Ok(())
    }
}

/// Returns the tree inside of a folder.
fn below(folder: &str, tree: &Tree) -> Tree {
    let mut whole = Tree::default();
    whole.extend(folder, tree);
    whole
}

/// Writes the metadata of a wheel from the lines of `[project]`.
fn metadata(manifest: &str) -> Result<String> {
    let mut metadata = "Metadata-Version: 2.4\n".to_owned();
    for (field, key) in [
        ("Name", "name"),
        ("Version", "version"),
        ("Summary", "description"),
        ("License-Expression", "license"),
        ("Requires-Python", "requires-python"),
    ] {
        let value = value(manifest, key)?.trim_matches('"');
        let _ = writeln!(metadata, "{field}: {value}");
    }
    metadata.push_str("License-File: LICENSE\n");
    let list = value(manifest, "dependencies")?;
    let list = list.trim_start_matches('[').trim_end_matches(']');
    for dependency in list.split(',') {
        let dependency = dependency.trim().trim_matches('"');
        let _ = writeln!(metadata, "Requires-Dist: {dependency}");
    }
    Ok(metadata)
}

/// Returns what the first line with this key has behind the `=`.
fn value<'a>(manifest: &'a str, key: &str) -> Result<&'a str> {
    let mut lines = manifest.lines().filter_map(|line| line.split_once(" = "));
    let line = lines.find(|(found, _)| *found == key);
    let (_, value) = line.with_context(|| format!("there is no `{key}`"))?;
    Ok(value)
}

/// Writes the list of a wheel's files with their checksums. It is in that list itself, without one.
fn record_of(tree: &Tree, own: &str) -> String {
    let mut lines = String::new();
    for (path, node) in tree.iter() {
        if let Node::File(_, content) = node {
            let sum = BASE64_URL_SAFE_NO_PAD.encode(Sha256::digest(content));
            let _ = writeln!(lines, "{path},sha256={sum},{}", content.len());
        }
    }
    let _ = writeln!(lines, "{own},,");
    lines
}

#[cfg(test)]
#[path = "sdk_tests.rs"]
mod tests;
