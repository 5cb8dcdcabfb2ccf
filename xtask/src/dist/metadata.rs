//! What gpud is built from, as cargo knows it.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

use crate::steps::Cargo;

/// A crate that is part of gpud.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// The licence, as an SPDX expression.
    pub licence: String,
    /// The SHA-256 of what the registry gave; none for gpud's own crates.
    pub checksum: Option<String>,
    /// Where its files are.
    pub folder: PathBuf,
    /// The parts that it uses, as [`Part::url`] names them.
    pub uses: BTreeSet<String>,
}

impl Part {
    /// Returns its name as a package URL.
    pub fn url(&self) -> String {
        format!("pkg:cargo/{}@{}", self.name, self.version)
    }
}

/// gpud and everything that its binary is made of, by package URL.
#[derive(Debug, PartialEq, Eq)]
pub struct Parts {
    /// The version of gpud.
    pub version: String,
    /// gpud's own package URL.
    pub root: String,
    /// All parts.
    pub all: BTreeMap<String, Part>,
}

/// Asks cargo for the parts of a gpud for this target: its crates, and those of the checks that are built in.
///
/// # Errors
/// cargo fails, or answers with something else than it does today.
pub fn parts(cargo: &Cargo, target: &str) -> Result<Parts> {
    let mut command = cargo.command();
    // Not that of the checks as well: gpud would seem to have the crates that it needs in a browser. Theirs need none.
    command.args(["metadata", "--locked", "--format-version", "1"]);
    command.args(["--filter-platform", target]);
    let output = command.output().context("running cargo metadata")?;
    ensure!(
        output.status.success(),
        "cargo metadata: {}",
        String::from_utf8_lossy(&output.stderr).trim()
    );
    let lock = cargo.workspace().join("Cargo.lock");
    let lock = fs::read_to_string(&lock).with_context(|| lock.display().to_string())?;
    let metadata = serde_json::from_slice(&output.stdout).context("cargo metadata")?;
    parts_of(metadata, &checksums(&lock))
}

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
    resolve: Resolve,
}

#[derive(Deserialize)]
struct Package {
    name: String,
    version: String,
    id: String,
    license: Option<String>,
    source: Option<String>,
    manifest_path: PathBuf,
}

#[derive(Deserialize)]
struct Resolve {
    nodes: Vec<MetadataNode>,
}

#[derive(Deserialize)]
struct MetadataNode {
    id: String,
    deps: Vec<Dependency>,
}

#[derive(Deserialize)]
struct Dependency {
    pkg: String,
    dep_kinds: Vec<Kind>,
}

#[derive(Deserialize)]
struct Kind {
    /// None for what becomes part of the program; `dev` and `build` are for its making.
    kind: Option<String>,
}

fn parts_of(metadata: Metadata, checksums: &BTreeMap<(String, String), String>) -> Result<Parts> {
    let Metadata { packages, resolve } = metadata;
    let packages: BTreeMap<&str, &Package> = packages
        .iter()
        .map(|package| (package.id.as_str(), package))
        .collect();
    let nodes: BTreeMap<&str, &MetadataNode> = resolve
        .nodes
        .iter()
        .map(|node| (node.id.as_str(), node))
        .collect();
    let gpud = packages
        .values()
        .find(|package| package.name == "gpud" && package.source.is_none())
        .context("there is no package gpud")?;
    let mut waiting: Vec<&str> = packages
        .values()
        .filter(|package| is_builtin(package))
        .map(|package| package.id.as_str())
        .collect();
    waiting.push(&gpud.id);
    let mut all = BTreeMap::new();
    let mut seen = BTreeSet::new();
    while let Some(id) = waiting.pop() {
        if !seen.insert(id) {
            continue;
        }
        let package = packages
            .get(id)
            .with_context(|| format!("no package {id}"))?;
        let mut part = part(package, checksums);
        let node = nodes.get(id).with_context(|| format!("no node {id}"))?;
        for dependency in &node.deps {
            if dependency.dep_kinds.iter().all(|kind| kind.kind.is_some()) {
                continue;
            }
            let id = dependency.pkg.as_str();
            let used = packages
                .get(id)
                .with_context(|| format!("no package {id}"))?;
            part.uses.insert(url(used));
            waiting.push(id);
        }
        all.insert(part.url(), part);
    }
    Ok(Parts {
        version: gpud.version.clone(),
        root: url(gpud),
        all,
    })
}

/// Whether it is one of the checks whose code is embedded in gpud.
fn is_builtin(package: &Package) -> bool {
    let mut folders = package.manifest_path.ancestors().skip(2);
    package.source.is_none()
        && folders
            .next()
            .is_some_and(|folder| folder.ends_with("builtin-plugins"))
}

fn url(package: &Package) -> String {
    format!("pkg:cargo/{}@{}", package.name, package.version)
}

fn part(package: &Package, checksums: &BTreeMap<(String, String), String>) -> Part {
    let key = (package.name.clone(), package.version.clone());
    let folder = package.manifest_path.parent().unwrap_or(Path::new("/"));
    Part {
        // The slash of old manifests meant the same.
        licence: package
            .license
            .as_deref()
            .unwrap_or("NOASSERTION")
            .replace('/', " OR ")
            .replace("  OR  ", " OR "),
        checksum: checksums.get(&key).cloned(),
        folder: folder.to_owned(),
        uses: BTreeSet::new(),
        name: key.0,
        version: key.1,
    }
}

/// Reads the checksums of a `Cargo.lock`, by name and version.
fn checksums(lock: &str) -> BTreeMap<(String, String), String> {
    let mut found = BTreeMap::new();
    for block in lock.split("[[package]]") {
        let field = |name: &str| {
            block.lines().find_map(|line| {
                let value = line.strip_prefix(name)?.strip_prefix(" = \"")?;
                Some(value.strip_suffix('"')?.to_owned())
            })
        };
        if let (Some(name), Some(version), Some(checksum)) =
            (field("name"), field("version"), field("checksum"))
        {
            found.insert((name, version), checksum);
        }
    }
    found
}

#[cfg(test)]
pub mod tests {
    use super::*;

    /// gpud with one check, a library, a part of that, and two crates that only help to build.
    pub fn example() -> Parts {
        let metadata = serde_json::json!({
            "packages": [
                {"name": "gpud", "version": "1.2.3", "id": "gpud", "license": "Apache-2.0", "source": null, "manifest_path": "/src/host/Cargo.toml"},
                {"name": "gpud-builtin-fan", "version": "1.2.3", "id": "fan", "license": "Apache-2.0", "source": null, "manifest_path": "/src/builtin-plugins/fan/Cargo.toml"},
                {"name": "library", "version": "2.0.0", "id": "library 2", "license": "MIT/Apache-2.0", "source": "registry", "manifest_path": "/none/library/Cargo.toml"},
                {"name": "deep", "version": "0.1.0", "id": "deep", "license": null, "source": "registry", "manifest_path": "/none/deep/Cargo.toml"},
                {"name": "for-tests", "version": "0.1.0", "id": "for-tests", "license": "MIT", "source": "registry", "manifest_path": "/none/for-tests/Cargo.toml"},
                {"name": "for-building", "version": "0.1.0", "id": "for-building", "license": "MIT", "source": "registry", "manifest_path": "/none/for-building/Cargo.toml"},
            ],
            "resolve": {"nodes": [
                {"id": "gpud", "deps": [
                    {"pkg": "library 2", "dep_kinds": [{"kind": null, "target": null}, {"kind": "dev", "target": null}]},
                    {"pkg": "for-tests", "dep_kinds": [{"kind": "dev", "target": null}]},
                    {"pkg": "for-building", "dep_kinds": [{"kind": "build", "target": null}]},
                ]},
                {"id": "fan", "deps": []},
                {"id": "library 2", "deps": [{"pkg": "deep", "dep_kinds": [{"kind": null, "target": null}]}]},
                {"id": "deep", "deps": []},
                {"id": "for-tests", "deps": []},
                {"id": "for-building", "deps": []},
            ]},
        });
        let lock = "version = 4\n\n[[package]]\nname = \"library\"\nversion = \"2.0.0\"\nsource = \"registry\"\nchecksum = \"ab01\"\ndependencies = [\n \"deep\",\n]\n\n[[package]]\nname = \"gpud\"\nversion = \"1.2.3\"\n";
        parts_of(serde_json::from_value(metadata).unwrap(), &checksums(lock)).unwrap()
    }

    #[test]
    fn only_what_becomes_part_of_the_program_counts() {
        let parts = example();
        assert_eq!(parts.root, "pkg:cargo/gpud@1.2.3");
        let names: Vec<&str> = parts.all.keys().map(String::as_str).collect();
        assert_eq!(
            names,
            [
                "pkg:cargo/deep@0.1.0",
                "pkg:cargo/gpud-builtin-fan@1.2.3",
                "pkg:cargo/gpud@1.2.3",
                "pkg:cargo/library@2.0.0"
            ]
        );
        let library = &parts.all["pkg:cargo/library@2.0.0"];
        assert_eq!(library.licence, "MIT OR Apache-2.0");
        assert_eq!(library.checksum.as_deref(), Some("ab01"));
        assert_eq!(library.folder, Path::new("/none/library"));
        assert!(library.uses.contains("pkg:cargo/deep@0.1.0"));
        assert_eq!(parts.all["pkg:cargo/deep@0.1.0"].licence, "NOASSERTION");
        assert_eq!(parts.all["pkg:cargo/gpud@1.2.3"].checksum, None);
    }
}
