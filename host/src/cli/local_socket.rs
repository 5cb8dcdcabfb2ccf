//! The path of the Unix socket for local administration.

use std::{
    env,
    path::{Path, PathBuf},
};

use crate::node::system::euid;

/// The socket of a daemon that root runs.
pub const SHARED_SOCKET: &str = "/run/gpud/gpud.sock";
const NAME: &str = "gpud.sock";

/// The choice that `--local-socket` makes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum LocalSocketChoice {
    /// The usual path.
    #[default]
    Usual,
    /// This path.
    At(PathBuf),
    /// No socket.
    Off,
}

impl LocalSocketChoice {
    /// Reads the flag; an empty value and `none` switch the socket off.
    pub fn of_flag(flag: Option<PathBuf>) -> Self {
        match flag {
            None => Self::Usual,
            Some(path) if path.as_os_str().is_empty() || path == Path::new("none") => Self::Off,
            Some(path) => Self::At(path),
        }
    }

    /// Returns the path for a daemon with this data folder.
    pub fn path(&self, data_dir: &Path) -> Option<PathBuf> {
        match self {
            Self::Usual => Some(usual(data_dir)),
            Self::At(path) => Some(path.clone()),
            Self::Off => None,
        }
    }
}

/// Returns the usual path: `/run/gpud/gpud.sock` for root, for others `gpud/gpud.sock` in `$XDG_RUNTIME_DIR`, or
/// `gpud.sock` in the data folder where that is not set.
pub fn usual(data_dir: &Path) -> PathBuf {
    let runtime = env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
    choose(euid() == 0, runtime, data_dir)
}

fn choose(root: bool, runtime: Option<PathBuf>, data_dir: &Path) -> PathBuf {
    match runtime.filter(|folder| folder.is_absolute()) {
        _ if root => SHARED_SOCKET.into(),
        Some(folder) => folder.join("gpud").join(NAME),
        None => data_dir.join(NAME),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn root_then_the_runtime_folder_then_the_data_folder() {
        for (root, runtime, expected) in [
            (true, Some("/run/user/1000"), SHARED_SOCKET),
            (
                false,
                Some("/run/user/1000"),
                "/run/user/1000/gpud/gpud.sock",
            ),
            (false, Some("relative"), "/d/gpud.sock"),
            (false, None, "/d/gpud.sock"),
        ] {
            let found = choose(root, runtime.map(Into::into), Path::new("/d"));
            assert_eq!(found, PathBuf::from(expected));
        }
    }

    #[test]
    fn the_flag_names_it_or_switches_it_off() {
        let choose = |flag: Option<&str>| LocalSocketChoice::of_flag(flag.map(Into::into));
        assert_eq!(choose(None), LocalSocketChoice::Usual);
        assert_eq!(choose(Some("")).path(Path::new("/d")), None);
        assert_eq!(choose(Some("none")), LocalSocketChoice::Off);
        let path = choose(Some("/x/s")).path(Path::new("/d"));
        assert_eq!(path, Some("/x/s".into()));
    }
}
