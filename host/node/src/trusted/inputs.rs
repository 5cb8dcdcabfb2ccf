//! Variables by which gpud finds what it reads: of root's environment only where no other user can change what they name.

use std::{
    env,
    ffi::{OsStr, OsString},
    os::unix::ffi::{OsStrExt as _, OsStringExt as _},
    path::{Path, PathBuf},
};

use super::{Opener, environment};

/// Returns the value of such a variable (`variables::INPUTS`) without blanks around it; nothing where it is not
/// set or empty. For root it has to be an absolute path, and no other user may be able to change what it leads to: with
/// `sudo -E` another user would choose what root's commands show. One that is not used is named in the log. Blocks.
pub fn input(name: &str) -> Option<OsString> {
    let value = env::var_os(name)?;
    let value = OsString::from_vec(value.as_bytes().trim_ascii().to_vec());
    if value.is_empty() {
        return None;
    }
    if is_good(&value, Opener::of_command()) {
        return Some(value);
    }
    if environment::is_first(PathBuf::from(name)) {
        tracing::warn!(
            "{name} is not used: {:?} is no absolute path to what only root can change; use a copy in a folder of root, or call gpud \
             without another user's environment",
            value.to_string_lossy()
        );
    }
    None
}

fn is_good(value: &OsStr, opener: Opener) -> bool {
    !opener.is_strict || environment::is_trusted(Path::new(value), opener)
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::PermissionsExt as _};

    use super::*;

    #[test]
    fn what_others_can_change_is_no_input_of_root() {
        let place = tempfile::tempdir().unwrap();
        let place = place.path().canonicalize().unwrap();
        let (good, bad) = (place.join("good"), place.join("bad"));
        for (file, mode) in [(&good, 0o644), (&bad, 0o666)] {
            fs::write(file, "3,1,1000,-;x\n").unwrap();
            fs::set_permissions(file, fs::Permissions::from_mode(mode)).unwrap();
        }
        let strict = Opener::of_daemon();
        for (path, expected) in [
            (good.clone(), true),
            (place.clone(), true),
            // It may be created later: only root can do that.
            (place.join("missing"), true),
            (PathBuf::from("/dev/null"), true),
            (bad.clone(), false),
            (PathBuf::from("good"), false),
            (place.join("../good"), false),
        ] {
            assert_eq!(is_good(path.as_os_str(), strict), expected, "{path:?}");
        }
        let lax = Opener {
            is_strict: false,
            ..strict
        };
        assert!(is_good(bad.as_os_str(), lax));
    }
}
