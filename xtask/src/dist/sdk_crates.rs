//! The crates of others that a plugin in Rust is built from, as a package beside the SDK: with them, a new project builds
//! without a network.

use std::{fs, path::Path, process::Stdio};

use anyhow::{Context, Result};
use xtask::templates;

use super::tree::{Tree, gzip};
use crate::steps::Cargo;

/// Makes the package, and returns it with its name: each crate in a folder of its own, as `cargo vendor` arranges them, in
/// the version of the workspace's `Cargo.lock`. The folder is made and removed.
///
/// # Errors
/// A file cannot be read or written, or cargo cannot get the crates.
pub fn package(
    cargo: &Cargo,
    version: &str,
    time: u64,
    folder: &Path,
) -> Result<(String, Vec<u8>)> {
    let _ = fs::remove_dir_all(folder);
    let project = folder.join("project");
    write_project(cargo.workspace(), version, &project)?;
    let crates = folder.join("crates");
    vendor(cargo, &project, &crates)?;
    let name = format!("gpud-sdk-rust-crates-{version}");
    let mut tree = Tree::default();
    add(&mut tree, &crates, &name)?;
    fs::remove_dir_all(folder).with_context(|| folder.display().to_string())?;
    Ok((format!("{name}.tar.gz"), gzip(&tree.tar(time)?)?))
}

/// Writes a project as `gpud plugin new` makes it, with the versions of this workspace.
fn write_project(workspace: &Path, version: &str, project: &Path) -> Result<()> {
    for file in templates::all(workspace)? {
        if file.language != "rust" {
            continue;
        }
        let place = || file.source.display().to_string();
        let mut content = fs::read(&file.source).with_context(place)?;
        if file.fill {
            let text = String::from_utf8(content).with_context(place)?;
            let text = text.replace("{{name}}", "plugin");
            content = text.replace("{{gpud}}", version).into_bytes();
        }
        let path = project.join(&file.path);
        let parent = path.parent().context("a file is in a folder")?;
        fs::create_dir_all(parent).with_context(|| parent.display().to_string())?;
        fs::write(&path, content).with_context(|| path.display().to_string())?;
    }
    fs::copy(workspace.join("Cargo.lock"), project.join("Cargo.lock"))
        .context("copying Cargo.lock")?;
    Ok(())
}

fn vendor(cargo: &Cargo, project: &Path, crates: &Path) -> Result<()> {
    let command = |network: &[&str]| {
        let mut command = cargo.command();
        command
            .current_dir(project)
            .args(["vendor", "--quiet", "--versioned-dirs"])
            .arg("--respect-source-config")
            .args(network)
            .arg(crates)
            // It prints the settings that use the folder; gpud writes them into new projects.
            .stdout(Stdio::null());
        command
    };
    // A machine that has built gpud has them already.
    let offline = command(&["--offline"]).stderr(Stdio::null()).status();
    match offline.context("running cargo vendor")?.success() {
        true => Ok(()),
        false => cargo.timed("fetching crates for plugins in Rust", command(&[])),
    }
}

/// Adds all files of a folder.
fn add(tree: &mut Tree, from: &Path, to: &str) -> Result<()> {
    for entry in fs::read_dir(from).with_context(|| from.display().to_string())? {
        let entry = entry?;
        let path = entry.path();
        let to = format!("{to}/{}", entry.file_name().to_string_lossy());
        if entry.file_type()?.is_dir() {
            add(tree, &path, &to)?;
        } else {
            let content = fs::read(&path).with_context(|| path.display().to_string())?;
            tree.file(&to, 0o644, content);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeSet, path::PathBuf};

    use flate2::read::GzDecoder;

    use super::*;

    #[test]
    fn it_has_the_crates_of_a_new_project_as_cargo_wants_them() {
        let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let folder = tempfile::tempdir().unwrap();
        let cargo = Cargo::at(workspace);
        let version = env!("CARGO_PKG_VERSION");
        let made = package(&cargo, version, 0, &folder.path().join("work")).unwrap();
        let name = format!("gpud-sdk-rust-crates-{version}");
        assert_eq!(made.0, format!("{name}.tar.gz"));
        let mut archive = tar::Archive::new(GzDecoder::new(made.1.as_slice()));
        let entries = archive.entries().unwrap();
        let paths: BTreeSet<PathBuf> = entries
            .map(|entry| entry.unwrap().path().unwrap().into_owned())
            .collect();
        let top = Path::new(&name);
        let crates: BTreeSet<&Path> = paths
            .iter()
            .filter(|path| path.parent() == Some(top))
            .map(PathBuf::as_path)
            .collect();
        for krate in &crates {
            for file in ["Cargo.toml", ".cargo-checksum.json"] {
                assert!(paths.contains(&krate.join(file)), "{krate:?} has no {file}");
            }
        }
        for name in ["serde_json-1.", "wit-bindgen-0."] {
            let is_there = crates.iter().any(|path| {
                let folder = path.file_name().unwrap_or_default();
                folder.to_string_lossy().starts_with(name)
            });
            assert!(is_there, "{name}: {crates:?}");
        }
        assert!(!folder.path().join("work").exists());
    }
}
