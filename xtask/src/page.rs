//! Builds the page that gpud serves, and holds the committed bundle against its sources.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use anyhow::{Context, Result, bail};

use crate::steps::Cargo;

/// The page's folder in the workspace.
const FOLDER: &str = "host/page";

/// Runs `cargo xtask page [--check]`.
pub fn command(cargo: &Cargo, arguments: &[String]) -> Result<()> {
    match arguments {
        [] => build(cargo, &page(cargo).join("dist")),
        [flag] if flag == "--check" => check(cargo),
        _ => bail!("page takes no argument but --check"),
    }
}

/// Checks the page if this machine has Node.js, and says so if it has not.
pub fn check_if_possible(cargo: &Cargo) -> Result<()> {
    if !has_npm() {
        eprintln!(
            "xtask: the page: NOT RUN, there is no npm. The committed bundle is not compared with its sources"
        );
        return Ok(());
    }
    check(cargo)
}

/// Builds the page from its sources and compares every byte with what is committed.
fn check(cargo: &Cargo) -> Result<()> {
    let built = cargo.target_dir().join("page");
    build(cargo, &built)?;
    cargo.timed(
        "types of the page",
        npm(cargo, &["run", "--silent", "types"]),
    )?;
    cargo.timed("unit tests of the page", npm(cargo, &["test", "--silent"]))?;
    let committed = files(&page(cargo).join("dist"))?;
    let different = differing(&files(&built)?, &committed);
    if !different.is_empty() {
        bail!(
            "host/page/dist is not what its sources give ({}). Run `cargo xtask page` and commit the result",
            different.join(", ")
        );
    }
    Ok(())
}

/// Installs what the lock file names, without running any of it, and builds into a folder.
fn build(cargo: &Cargo, out: &Path) -> Result<()> {
    if !has_npm() {
        bail!("building the page needs Node.js with npm: apt-get install nodejs npm");
    }
    let install = ["ci", "--ignore-scripts", "--no-audit", "--no-fund"];
    cargo.timed("tools of the page", npm(cargo, &install))?;
    // Node.js works in another folder than this program.
    let out = std::path::absolute(out)?;
    let mut build = Command::new("node");
    build.arg("build.mjs").arg(out).current_dir(page(cargo));
    cargo.timed("the page", build)
}

fn page(cargo: &Cargo) -> PathBuf {
    cargo.workspace().join(FOLDER)
}

fn npm(cargo: &Cargo, arguments: &[&str]) -> Command {
    let mut command = Command::new("npm");
    command.args(arguments).current_dir(page(cargo));
    command
}

fn has_npm() -> bool {
    let mut command = Command::new("npm");
    command.arg("--version");
    command.stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// The files of a folder by name.
fn files(folder: &Path) -> Result<BTreeMap<String, Vec<u8>>> {
    let mut found = BTreeMap::new();
    let entries = fs::read_dir(folder).with_context(|| folder.display().to_string())?;
    for entry in entries {
        let entry = entry?;
        let content = fs::read(entry.path())?;
        found.insert(entry.file_name().to_string_lossy().into_owned(), content);
    }
    Ok(found)
}

/// Names of files that are not the same in both, or only in one.
fn differing(one: &BTreeMap<String, Vec<u8>>, another: &BTreeMap<String, Vec<u8>>) -> Vec<String> {
    let names = one.keys().chain(another.keys());
    let mut names: Vec<String> = names
        .filter(|name| one.get(*name) != another.get(*name))
        .cloned()
        .collect();
    names.sort();
    names.dedup();
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_differs_or_is_only_in_one_is_named() {
        let folder = |files: &[(&str, &str)]| -> BTreeMap<String, Vec<u8>> {
            let files = files.iter();
            files
                .map(|(name, text)| ((*name).to_owned(), text.as_bytes().to_vec()))
                .collect()
        };
        let one = folder(&[("a", "1"), ("b", "2"), ("c", "3")]);
        let another = folder(&[("a", "1"), ("b", "x"), ("d", "4")]);
        assert_eq!(differing(&one, &another), ["b", "c", "d"]);
        assert!(differing(&one, &one).is_empty());
    }
}
