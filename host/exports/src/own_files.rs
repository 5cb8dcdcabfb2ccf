//! Checks gpud's own files, which another program may have replaced by devices or pipes.

use std::{fs, io, path::Path};

/// Checks that a path leads to a regular file, if it leads to anything. Opening a pipe would wait for ever.
///
/// # Errors
/// [`io::ErrorKind::InvalidInput`] for anything else than a regular file.
pub fn check_regular(path: &Path) -> io::Result<()> {
    match fs::metadata(path) {
        Ok(facts) if !facts.is_file() => Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            format!("{} is not a regular file", path.display()),
        )),
        Ok(_) | Err(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_and_nothing_are_good_and_a_pipe_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("file"), "x").unwrap();
        let made = std::process::Command::new("mkfifo")
            .arg(at("pipe"))
            .status();
        assert!(made.unwrap().success());
        assert!(check_regular(&at("file")).is_ok());
        assert!(check_regular(&at("none")).is_ok());
        for other in [at("pipe"), folder.path().to_owned()] {
            let error = check_regular(&other).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
        }
    }
}
