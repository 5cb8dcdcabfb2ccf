//! The release binary: gpud with the compiled code of its built-in components behind it.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, ensure};

use crate::steps::Cargo;

/// End of an archive, as `host/src/runtime/archive.rs` defines it: the archive's length is in front of two more fields.
const MAGIC: &[u8] = b"gpud-builtins-1\n";
/// Bytes of an archive's trailer.
const TRAILER: usize = 64;

/// Builds gpud, lets it compile its built-in components, and puts their code into the binary.
///
/// # Errors
/// A step failed; the binary is as cargo left it then.
pub fn run(cargo: &Cargo) -> Result<PathBuf> {
    cargo.run("build gpud", &["build", "--release", "--package", "gpud"])?;
    let folder = cargo.target_dir().join("release");
    let (program, archive) = (folder.join("gpud"), folder.join("gpud-builtins"));
    let mut compiling = Command::new(&program);
    compiling
        .args(["compile-builtins", "--output"])
        .arg(&archive);
    cargo.timed("compile its built-in components", compiling)?;
    append(&program, &archive)?;
    Ok(program)
}

/// Command `release`, whose only argument may be `--target TRIPLE`.
///
/// # Errors
/// As [`run`].
pub fn command(cargo: &Cargo, arguments: &[String]) -> Result<()> {
    let Some((flag, rest)) = arguments.split_first() else {
        let program = run(cargo)?;
        println!("{}", program.display());
        return Ok(());
    };
    let [target] = rest else {
        anyhow::bail!("release takes `--target TRIPLE`, or nothing");
    };
    ensure!(flag == "--target", "release does not know {flag}");
    let program = for_target(cargo, target)?;
    println!("{}", program.display());
    Ok(())
}

/// The same for machines of another kind. A gpud of this machine compiles the components.
fn for_target(cargo: &Cargo, target: &str) -> Result<PathBuf> {
    let build = [
        "build",
        "--release",
        "--package",
        "gpud",
        "--target",
        target,
    ];
    cargo.run("build gpud", &build)?;
    // In a folder of its own: other features mean another build of all that depends on them.
    let tools = cargo.target_dir().join("cross");
    let tools = tools
        .to_str()
        .context("the target folder's name is no text")?;
    let build = [
        "build",
        "--release",
        "--package",
        "gpud",
        "--features",
        "cross",
        "--target-dir",
        tools,
    ];
    cargo.run("build a gpud that compiles for it", &build)?;
    let folder = cargo.target_dir().join(target).join("release");
    let (program, archive) = (folder.join("gpud"), folder.join("gpud-builtins"));
    let mut compiling = Command::new(Path::new(tools).join("release/gpud"));
    compiling.args(["compile-builtins", "--target", target, "--output"]);
    compiling.arg(&archive);
    cargo.timed("compile its built-in components", compiling)?;
    append(&program, &archive)?;
    Ok(program)
}

/// Puts an archive behind a program, in place of one that is there. The program is replaced as a whole or not at all.
fn append(program: &Path, archive: &Path) -> Result<()> {
    let read = |path: &Path| fs::read(path).with_context(|| path.display().to_string());
    let (mut bytes, archive) = (read(program)?, read(archive)?);
    bytes.truncate(without_archive(&bytes));
    bytes.extend_from_slice(&archive);
    let beside = program.with_extension(format!("{}.tmp", std::process::id()));
    let replaced = fs::write(&beside, &bytes)
        .and_then(|()| fs::set_permissions(&beside, fs::metadata(program)?.permissions()))
        .and_then(|()| fs::rename(&beside, program));
    if replaced.is_err() {
        let _ = fs::remove_file(&beside);
    }
    replaced.with_context(|| program.display().to_string())
}

/// Returns how long a program is without the archive behind it.
fn without_archive(program: &[u8]) -> usize {
    let length = || {
        let trailer = program.len().checked_sub(TRAILER)?;
        let trailer = program.get(trailer..)?;
        let (length, _) = trailer.split_first_chunk()?;
        let length = usize::try_from(u64::from_le_bytes(*length)).ok()?;
        trailer
            .ends_with(MAGIC)
            .then(|| program.len().checked_sub(length))?
    };
    length().unwrap_or(program.len())
}

/// Copies the release binary to where `cargo bench`, which builds its own, does not replace it.
///
/// # Errors
/// It cannot be copied.
pub fn for_benchmarks(cargo: &Cargo) -> Result<()> {
    let program = run(cargo)?;
    let folder = cargo.target_dir().join("bench");
    fs::create_dir_all(&folder)?;
    let copy = folder.join("gpud");
    // One that still runs cannot be written to.
    let _ = fs::remove_file(&copy);
    fs::copy(&program, &copy).with_context(|| copy.display().to_string())?;
    ensure!(copy.is_file(), "{} is not there", copy.display());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn archive(content: &[u8]) -> Vec<u8> {
        let length = (content.len() + TRAILER) as u64;
        [content, &length.to_le_bytes(), &[0; 40], MAGIC].concat()
    }

    #[test]
    fn an_archive_takes_the_place_of_another() {
        let folder = std::env::temp_dir().join(format!("gpud-xtask-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let (program, file) = (folder.join("gpud"), folder.join("archive"));
        fs::write(&program, b"program").unwrap();
        for content in [b"first".as_slice(), b"", b"third and longer"] {
            let archive = archive(content);
            fs::write(&file, &archive).unwrap();
            append(&program, &file).unwrap();
            let expected = [b"program".as_slice(), &archive].concat();
            assert_eq!(fs::read(&program).unwrap(), expected);
        }
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 2, "no leftovers");
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn what_is_no_archive_stays() {
        for program in [b"".to_vec(), vec![7; 200], archive(b"x")[1..].to_vec()] {
            assert_eq!(without_archive(&program), program.len());
        }
    }
}
