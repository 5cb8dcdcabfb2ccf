//! The folders in which libraries are searched, and the outcome.

use gpud_sdk::AccessError;

use crate::config::Config;
use crate::{cache, links};

/// A library under its name and the one that it has without the development files.
const LIBRARIES: [[&str; 2]; 2] = [["libcuda.so", "libcuda.so.1"], [NVML, "libnvidia-ml.so.1"]];

/// The library through which gpud asks the driver.
const NVML: &str = "libnvidia-ml.so";

/// Folders in which distributions and driver installers put them.
const DIRECTORIES: [&str; 23] = [
    "/",
    "/usr/lib64",
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
    "/usr/lib/x86_64-linux-gnu/nvidia/current",
    "/usr/lib/aarch64-linux-gnu/nvidia/current",
    "/lib64",
    "/lib/x86_64-linux-gnu",
    "/lib/aarch64-linux-gnu",
    "/lib/x86_64-linux-gnu/nvidia/current",
    "/lib/aarch64-linux-gnu/nvidia/current",
    // NVIDIA Bright / Base Command Manager.
    "/cm/local/apps/cuda/libs/current/lib64",
    // Jetson.
    "/usr/lib/aarch64-linux-gnu/nvidia",
    "/lib/aarch64-linux-gnu/nvidia",
    // Arch and its kin.
    "/usr/lib",
    // WSL.
    "/usr/lib/wsl/lib",
    // Container-Optimized OS, and what containers get from it.
    "/home/kubernetes/bin/nvidia/lib64",
    "/usr/local/nvidia/lib64",
    "/usr/local/nvidia/lib",
    // NixOS.
    "/run/opengl-driver/lib",
    // Drivers in containers, as the GPU operator mounts them.
    "/run/nvidia/driver/usr/lib64",
    "/run/nvidia/driver/usr/lib/x86_64-linux-gnu",
    "/run/nvidia/driver/usr/lib/aarch64-linux-gnu",
];

/// The machine's answers.
pub trait Machine {
    /// Is there a file, links followed?
    ///
    /// # Errors
    /// When this cannot be determined; a file that is not there is no error.
    fn is_file(&self, path: &str) -> Result<bool, AccessError>;

    /// Target of a link, if it is one that may be looked at.
    fn link(&self, path: &str) -> Option<String>;

    /// The dynamic loader's cache, if it can be read.
    fn loader_cache(&self) -> Option<Vec<u8>>;
}

/// The outcome of the search for one library.
#[derive(Debug, Clone, PartialEq)]
pub struct FoundLibrary {
    /// Its name.
    pub name: &'static str,
    /// Its real path; `None` if it was not found. An error if it may be in a folder that could not be read.
    pub path: Result<Option<String>, AccessError>,
}

/// Looks for all libraries, sorted by name.
pub fn all(config: &Config, machine: &impl Machine) -> Vec<FoundLibrary> {
    let mut cache = None;
    let mut found = Vec::new();
    for names in LIBRARIES {
        let [name, _] = names;
        let mut path = in_folders(&names, config, machine);
        if !matches!(path, Ok(Some(_))) {
            let cache = cache.get_or_insert_with(|| machine.loader_cache().unwrap_or_default());
            if let Some(known) = in_cache(cache, &names, machine) {
                path = Ok(Some(known));
            }
        }
        found.push(FoundLibrary { name, path });
    }
    found
}

/// Leaves out NVML if it was not found: gpud has loaded it, so that the loader found it somewhere else, for example by
/// `LD_LIBRARY_PATH` or the name that an operator gave.
pub fn loaded(mut found: Vec<FoundLibrary>) -> Vec<FoundLibrary> {
    found.retain(|library| library.name != NVML || !matches!(library.path, Ok(None) | Err(_)));
    found
}

fn in_folders(
    names: &[&str],
    config: &Config,
    machine: &impl Machine,
) -> Result<Option<String>, AccessError> {
    let configured = config.search_directories.iter().map(String::as_str);
    let mut trouble = None;
    for folder in configured.chain(DIRECTORIES) {
        for name in names {
            let path = format!("{}/{name}", folder.trim_end_matches('/'));
            match machine.is_file(&path) {
                Ok(true) => return Ok(Some(links::resolve(&path, |part| machine.link(part)))),
                Ok(false) => {}
                // A link to where nobody may look is not followed, and a dead mount not asked twice.
                Err(error) => {
                    trouble.get_or_insert(error);
                    break;
                }
            }
        }
    }
    trouble.map_or(Ok(None), Err)
}

fn in_cache(cache: &[u8], names: &[&str], machine: &impl Machine) -> Option<String> {
    let known = cache::paths(cache, names);
    let path = known
        .into_iter()
        .find(|path| machine.is_file(path).unwrap_or(false))?;
    Some(links::resolve(path, |part| machine.link(part)))
}

#[cfg(test)]
mod tests;
