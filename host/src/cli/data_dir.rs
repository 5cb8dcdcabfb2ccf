//! Which folder holds the state file when several could.

use std::{
    env,
    path::{Path, PathBuf},
};

use crate::node::system::euid;

const SHARED: &str = "/var/lib";
/// The folder of a daemon that root runs.
pub const SHARED_DATA_DIR: &str = "/var/lib/gpud";

/// The folder that was asked for, else `/var/lib/gpud` for root, else `~/.gpud`. Nothing is created.
///
/// # Errors
/// There is no home folder.
pub fn data_dir(flag: Option<PathBuf>) -> Result<PathBuf, String> {
    let home = env::var_os("HOME").map(PathBuf::from);
    choose(flag, euid() == 0 && Path::new(SHARED).exists(), home)
        .ok_or_else(|| "no data folder: HOME is not set; use --data-dir".to_owned())
}

fn choose(flag: Option<PathBuf>, shared: bool, home: Option<PathBuf>) -> Option<PathBuf> {
    let given = |path: &PathBuf| !path.as_os_str().is_empty();
    match flag.filter(given) {
        Some(path) => Some(path),
        None if shared => Some(SHARED_DATA_DIR.into()),
        None => home.filter(given).map(|home| home.join(".gpud")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_flag_then_root_then_home() {
        for (flag, shared, home, expected) in [
            (Some("/x"), true, Some("/root"), Some("/x")),
            (Some(""), true, Some("/root"), Some("/var/lib/gpud")),
            (None, true, None, Some("/var/lib/gpud")),
            (None, false, Some("/home/u"), Some("/home/u/.gpud")),
            (None, false, Some(""), None),
            (None, false, None, None),
        ] {
            let found = choose(flag.map(Into::into), shared, home.map(Into::into));
            assert_eq!(
                found,
                expected.map(PathBuf::from),
                "{flag:?} {shared} {home:?}"
            );
        }
    }
}
