//! GPUd's files, retained for a way back: its unit, its environment file, its program.

use std::{
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use super::super::install::Root;
use crate::node::{
    process::{self, Command, Program},
    trusted::{
        self,
        output::{self, FileMode},
    },
};

/// The folder in the data folder.
pub const FOLDER: &str = "from-GPUd";
/// Where `install.sh` and `gpud update` retain the program that they replace.
const REPLACED: &str = "/usr/local/share/gpud/gpud.before";
/// Longest that a program may take to say its version.
const VERSION: Duration = Duration::from_secs(30);

/// Finds GPUd's program among those that an installation replaced: it does not name a contract with its version.
pub async fn program_of_gpud(root: &Root) -> Option<PathBuf> {
    let path = root.join(REPLACED);
    process::check_program(&path).await.ok()?;
    let argv = vec![path.clone().into_os_string(), OsString::from("--version")];
    let output = process::run(Command::new(Program::Argv(argv), VERSION))
        .await
        .ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let is_gpud = text.starts_with("gpud version") && !text.contains("contract");
    is_gpud.then_some(path)
}

/// Writes texts and the program into the folder, and returns the names of what is there of them. A file that is there
/// already stays: it is from the first time.
///
/// # Errors
/// Something cannot be written.
pub fn retain(
    folder: &Path,
    texts: &[(&str, &str)],
    program: Option<&Path>,
) -> Result<Vec<String>, String> {
    if texts.is_empty() && program.is_none() {
        return Ok(Vec::new());
    }
    trusted::make_folder(folder, 0o700).map_err(|error| error.to_string())?;
    let mut names = Vec::new();
    for (name, text) in texts {
        write_once(&folder.join(name), text.as_bytes(), 0o644)?;
        names.push((*name).to_owned());
    }
    if let Some(program) = program {
        #[expect(clippy::disallowed_methods, reason = "gpud's former program")]
        let content =
            fs::read(program).map_err(|error| format!("{}: {error}", program.display()))?;
        write_once(&folder.join("gpud"), &content, 0o755)?;
        names.push("gpud".to_owned());
    }
    Ok(names)
}

fn write_once(path: &Path, content: &[u8], mode: u32) -> Result<(), String> {
    if path.exists() {
        return Ok(());
    }
    output::replace(path, content, FileMode::Exact(mode))
        .map_err(|error| format!("cannot retain {}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn what_is_retained_first_stays() {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("program");
        fs::write(&program, "code").unwrap();
        let kept = folder.path().join("data").join(FOLDER);
        assert_eq!(retain(&kept, &[], None), Ok(Vec::new()));
        assert!(!kept.exists());
        let names = retain(&kept, &[("gpud.service", "unit")], Some(&program)).unwrap();
        assert_eq!(names, ["gpud.service", "gpud"]);
        let again = retain(
            &kept,
            &[("gpud.service", "another"), ("gpud.default", "flags")],
            None,
        );
        assert_eq!(again.unwrap(), ["gpud.service", "gpud.default"]);
        for (name, content, mode) in [
            ("gpud.service", "unit", 0o644),
            ("gpud.default", "flags", 0o644),
            ("gpud", "code", 0o755),
        ] {
            let path = kept.join(name);
            assert_eq!(fs::read_to_string(&path).unwrap(), content, "{name}");
            let found = fs::metadata(&path).unwrap().permissions().mode();
            assert_eq!(found & 0o777, mode, "{name}");
        }
        assert_eq!(
            fs::metadata(&kept).unwrap().permissions().mode() & 0o777,
            0o700
        );
    }
}
