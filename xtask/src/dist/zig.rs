//! The linker for machines with an older C library than this one's: cargo-zigbuild and Zig, both from PyPI.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, ensure};

use crate::{release::Zig, steps::Cargo};

/// What is installed, with the versions that releases are made with.
const PACKAGES: [&str; 2] = ["cargo-zigbuild==0.24.1", "ziglang==0.15.2"];

/// Installs both into a folder of their own unless they are there, and adds Rust's library for the target.
///
/// # Errors
/// There is no Python with `venv`, or a package cannot be had.
pub fn set_up(cargo: &Cargo, target: &str, glibc: &str) -> Result<Zig> {
    let cache = cache()?;
    // A folder for each pair of versions, which appears under this name when it is whole.
    let folder = cache.join(folder_name(&PACKAGES));
    if !folder.join("bin/cargo-zigbuild").is_file() {
        fs::create_dir_all(&cache).with_context(|| cache.display().to_string())?;
        let _ = fs::remove_dir_all(&folder);
        install(cargo, &folder).inspect_err(|_| {
            let _ = fs::remove_dir_all(&folder);
        })?;
    }
    let sysroot = sysroot(cargo)?;
    if !sysroot
        .join("lib/rustlib")
        .join(target)
        .join("lib")
        .is_dir()
    {
        cargo.program("adding the target", "rustup", &["target", "add", target])?;
    }
    let flags = Flags::new(cargo, &sysroot)?;
    Ok(Zig {
        programs: folder.join("bin"),
        glibc: glibc.to_owned(),
        rust_flags: flags.rust(),
        c_flags: flags.c(),
        commit: String::new(),
    })
}

fn install(cargo: &Cargo, folder: &Path) -> Result<()> {
    let text = folder.to_str().context("the cache's name is no text")?;
    cargo.program("a folder for Zig", "python3", &["-m", "venv", text])?;
    let mut pip = Command::new(folder.join("bin/pip"));
    pip.args(["install", "--quiet", "--disable-pip-version-check"]);
    pip.args(PACKAGES);
    cargo.timed("installing cargo-zigbuild and Zig", pip)
}

/// The folder of tools that are fetched once, which tests use as well.
fn cache() -> Result<PathBuf> {
    let named = env::var_os("GPUD_TEST_TOOLS_CACHE").map(PathBuf::from);
    let home = || env::var_os("HOME").map(|home| Path::new(&home).join(".cache/gpud-test-tools"));
    named.or_else(home).context("HOME is not set")
}

fn folder_name(packages: &[&str]) -> String {
    packages.join("-").replace("==", "-")
}

fn sysroot(cargo: &Cargo) -> Result<PathBuf> {
    let output = Command::new("rustc")
        .args(["--print", "sysroot"])
        .current_dir(cargo.workspace())
        .output()
        .context("running rustc")?;
    ensure!(output.status.success(), "rustc --print sysroot failed");
    Ok(PathBuf::from(
        String::from_utf8_lossy(&output.stdout).trim(),
    ))
}

/// Flags that take the names of this machine's folders out of the binary.
struct Flags(Vec<(String, &'static str)>);

impl Flags {
    fn new(cargo: &Cargo, sysroot: &Path) -> Result<Self> {
        let home = env::var_os("CARGO_HOME").map(PathBuf::from);
        let home = home
            .or_else(|| env::var_os("HOME").map(|home| Path::new(&home).join(".cargo")))
            .context("neither CARGO_HOME nor HOME is set")?;
        let mut folders = Vec::new();
        // The last that fits counts, for rustc and for the C compiler: the target folder may be inside of the workspace.
        for (folder, name) in [
            (cargo.workspace().to_owned(), "/gpud"),
            (cargo.target_dir(), "/gpud/target"),
            (home, "/cargo"),
            (sysroot.to_owned(), "/rust"),
        ] {
            let folder = folder.to_str().context("a folder's name is no text")?;
            ensure!(
                !folder.contains(char::is_whitespace),
                "releases cannot be built in a folder with a space in its name: {folder}"
            );
            folders.push((folder.to_owned(), name));
        }
        Ok(Self(folders))
    }

    fn rust(&self) -> String {
        let flags = self.0.iter();
        let flags = flags.map(|(folder, name)| format!("--remap-path-prefix={folder}={name}"));
        flags.collect::<Vec<_>>().join(" ")
    }

    fn c(&self) -> String {
        let flags = self.0.iter();
        let flags = flags.map(|(folder, name)| format!("-ffile-prefix-map={folder}={name}"));
        flags.collect::<Vec<_>>().join(" ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_are_named_by_their_content() {
        assert_eq!(folder_name(&["a==1.2", "b==3"]), "a-1.2-b-3");
    }

    #[test]
    fn this_machines_folders_are_replaced() {
        let cargo = Cargo::at(PathBuf::from("/home/me/gpud"));
        let flags = Flags::new(&cargo, Path::new("/opt/rust")).unwrap();
        for flags in [flags.rust(), flags.c()] {
            assert!(flags.contains("-prefix"), "{flags}");
            assert!(flags.contains("=/home/me/gpud=/gpud "), "{flags}");
            assert!(flags.ends_with("=/opt/rust=/rust"), "{flags}");
        }
        let spaced = Cargo::at(PathBuf::from("/home/me/my gpud"));
        assert!(Flags::new(&spaced, Path::new("/opt/rust")).is_err());
    }
}
