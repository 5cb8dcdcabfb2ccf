//! What gpud prints about itself for packages: manual pages and completions.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, ensure};

/// Pages and completions.
#[derive(Debug, Default)]
pub struct Printed {
    /// Manual pages by file name, such as `gpud-run.1`.
    pub pages: Vec<(String, Vec<u8>)>,
    /// For bash.
    pub bash: Vec<u8>,
    /// For zsh.
    pub zsh: Vec<u8>,
    /// For fish.
    pub fish: Vec<u8>,
}

/// Asks a gpud that runs on this machine. The folder is made and removed.
///
/// # Errors
/// It cannot be run, or writes no pages.
pub fn ask(gpud: &Path, folder: &Path) -> Result<Printed> {
    let _ = fs::remove_dir_all(folder);
    let text = folder.to_str().context("the folder's name is no text")?;
    output(gpud, &["man", "--dir", text])?;
    let mut paths: Vec<PathBuf> = Vec::new();
    for entry in fs::read_dir(folder).with_context(|| text.to_owned())? {
        paths.push(entry?.path());
    }
    paths.sort();
    let mut pages = Vec::new();
    for path in paths {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        pages.push((name.into_owned(), fs::read(&path)?));
    }
    fs::remove_dir_all(folder)?;
    ensure!(
        pages.iter().any(|(name, _)| name == "gpud.1"),
        "{} man wrote no page gpud.1",
        gpud.display()
    );
    Ok(Printed {
        pages,
        bash: output(gpud, &["completion", "bash"])?,
        zsh: output(gpud, &["completion", "zsh"])?,
        fish: output(gpud, &["completion", "fish"])?,
    })
}

fn output(gpud: &Path, arguments: &[&str]) -> Result<Vec<u8>> {
    let output = Command::new(gpud)
        .args(arguments)
        .output()
        .with_context(|| format!("running {}", gpud.display()))?;
    ensure!(
        output.status.success(),
        "{} {}: {}",
        gpud.display(),
        arguments.join(" "),
        String::from_utf8_lossy(&output.stderr).trim()
    );
    Ok(output.stdout)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    #[test]
    fn pages_are_sorted_and_the_folder_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        let gpud = folder.path().join("gpud");
        let script = "#!/bin/sh\ncase $1 in\n\
            man) mkdir -p \"$3\"; echo run >\"$3/gpud-run.1\"; echo gpud >\"$3/gpud.1\" ;;\n\
            *) echo \"$2\" ;;\nesac\n";
        fs::write(&gpud, script).unwrap();
        fs::set_permissions(&gpud, fs::Permissions::from_mode(0o755)).unwrap();
        let pages = folder.path().join("pages");
        let printed = ask(&gpud, &pages).unwrap();
        assert_eq!(
            printed.pages,
            [
                ("gpud-run.1".to_owned(), b"run\n".to_vec()),
                ("gpud.1".to_owned(), b"gpud\n".to_vec())
            ]
        );
        assert_eq!(printed.zsh, b"zsh\n");
        assert!(!pages.exists());
    }

    #[test]
    fn a_program_that_fails_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let pages = folder.path().join("pages");
        let error = ask(Path::new("/bin/false"), &pages).unwrap_err();
        assert!(
            error.to_string().contains("/bin/false man --dir"),
            "{error}"
        );
    }
}
