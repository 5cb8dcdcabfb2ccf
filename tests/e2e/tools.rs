//! Programs of others that tests run for real; `tests/tools.sh` fetches them.

use std::path::PathBuf;

/// A program of a Debian package, where `GPUD_TEST_TOOLS` names a folder with it, or where it is installed.
pub fn tool(name: &str) -> Option<PathBuf> {
    let folders = std::env::var_os("GPUD_TEST_TOOLS")
        .unwrap_or_else(|| std::env::var_os("PATH").unwrap_or_default());
    let found = std::env::split_paths(&folders)
        .map(|folder| folder.join(name))
        .find(|file| file.is_file());
    if found.is_none() {
        eprintln!("SKIPPED: {name} is not installed (Debian has a package of it)");
    }
    found
}
