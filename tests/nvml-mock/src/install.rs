//! Puts the shared library where a program looks for it, without the functions that a scenario says are missing.

use std::io;
use std::path::{Path, PathBuf};

use crate::scenario::{Scenario, ScenarioError};
use crate::source::BESIDE;

/// What programs load.
pub const SONAME: &str = "libnvidia-ml.so.1";
/// What cargo builds.
pub const BUILT: &str = "libgpud_nvml_mock.so";

/// Why the library could not be installed.
#[derive(Debug, thiserror::Error)]
pub enum InstallError {
    /// A file could not be read or written.
    #[error("{path}: {error}")]
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// The scenario is no good.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    /// The library has no such function, so it cannot be taken out.
    #[error("the library exports no `{0}`, so it cannot be made to miss it; look at the spelling")]
    NoSymbol(String),
    /// No library was built.
    #[error("no {BUILT} in {0}: build the crate gpud-nvml-mock first")]
    NotBuilt(PathBuf),
}

/// Finds the shared library that cargo built: in the folder of the running program or near it, as for tests and examples.
///
/// # Errors
/// Nothing there.
pub fn built() -> Result<PathBuf, InstallError> {
    let program = std::env::current_exe().map_err(|error| InstallError::File {
        path: PathBuf::from("."),
        error,
    })?;
    let near = program
        .ancestors()
        .skip(1)
        .take(3)
        .flat_map(|dir| [dir.join("deps").join(BUILT), dir.join(BUILT)]);
    let newest = near
        .filter_map(|path| Some((path.metadata().ok()?.modified().ok()?, path)))
        .max();
    newest
        .map(|(_, path)| path)
        .ok_or_else(|| InstallError::NotBuilt(program.parent().unwrap_or(&program).to_owned()))
}

/// Copies the library to `dir/libnvidia-ml.so.1` with the scenario beside it, so that a program needs no environment
/// variable, and several copies can be loaded into one process. Gives back the copy's path.
///
/// # Errors
/// Files, a scenario that does not parse, a missing symbol that the library does not have.
pub fn install(library: &Path, scenario: &str, dir: &Path) -> Result<PathBuf, InstallError> {
    let beside = dir.join(BESIDE);
    let read = Scenario::read(&beside.display().to_string(), scenario)?;
    let to = dir.join(SONAME);
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |error| InstallError::File { path, error }
    };
    let bytes = std::fs::read(library).map_err(failed(library))?;
    let missing: Vec<&str> = read
        .missing_symbols
        .iter()
        .map(|name| name.value.as_str())
        .collect();
    let bytes = without(bytes, &missing)?;
    std::fs::create_dir_all(dir).map_err(failed(dir))?;
    std::fs::write(&beside, scenario).map_err(failed(&beside))?;
    // Never written over: a process may have the old file mapped.
    let part = dir.join(format!(".{SONAME}.part"));
    std::fs::write(&part, bytes).map_err(failed(&part))?;
    std::fs::rename(&part, &to).map_err(failed(&to))?;
    Ok(to)
}

/// Takes functions out of a library: their names in the string table of dynamic symbols are changed in the first letter,
/// so that `dlsym` finds them no longer. (`objcopy --strip-symbol` does not touch dynamic symbols.)
///
/// # Errors
/// A name that the library does not have.
pub fn without(mut library: Vec<u8>, missing: &[&str]) -> Result<Vec<u8>, InstallError> {
    // Names in the table stand between zeros. None of NVML's names is the end of another, so none shares its place.
    let mut places = Vec::new();
    let mut found = vec![false; missing.len()];
    let mut at = 0;
    for piece in library.split(|byte| *byte == 0) {
        // All begin alike, so most pieces are passed over at once.
        let is_missing = |name: &&str| name.as_bytes() == piece;
        if piece.starts_with(b"nvml")
            && let Some(which) = missing.iter().position(is_missing)
        {
            places.push(at);
            if let Some(found) = found.get_mut(which) {
                *found = true;
            }
        }
        at += piece.len() + 1;
    }
    if let Some((name, _)) = missing.iter().zip(&found).find(|(_, found)| !**found) {
        return Err(InstallError::NoSymbol((*name).to_owned()));
    }
    for place in places {
        if let Some(letter) = library.get_mut(place) {
            *letter = b'-';
        }
    }
    Ok(library)
}
