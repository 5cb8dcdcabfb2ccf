//! `gpud plugin new`: the folder of a plugin that builds, tests and runs at once.
#![allow(
    clippy::disallowed_methods,
    reason = "writes a new folder that the user named"
)]

use std::{fs, io::Write as _, path::Path};

use super::{
    sdk::Sdk,
    templates::{self, TemplateFile},
};

/// Longest name.
const MAX_NAME: usize = 64;

/// Makes the folder of a plugin, with the SDK from the packages of a folder if one is named, otherwise with that of gpud.
///
/// # Errors
/// There is no such template, the name is none, the folder is there already, or `sdk` has no SDK for the language.
pub fn make(language: &str, name: &str, folder: &Path, sdk: Option<&Path>) -> Result<(), String> {
    check_name(name)?;
    check_language(language)?;
    let files = match sdk {
        None => templates::files(language, name),
        Some(packages) => {
            let sdk = Sdk::read(packages, language)?;
            let template = templates::files_for(language, name, &sdk.version);
            sdk.fill(template)
        }
    };
    make_folder(folder, language)?;
    files.iter().try_for_each(|file| write(folder, file))
}

fn check_language(language: &str) -> Result<(), String> {
    match templates::languages().contains(&language) {
        true => Ok(()),
        false => Err(format!(
            "there is no template for {language:?}; there are: {}",
            templates::languages().join(", ")
        )),
    }
}

/// Makes an empty folder for something in this language. Not before it is known that something can be written into it;
/// and never one that is there.
///
/// # Errors
/// There is no template for the language, or the folder is there already.
pub(crate) fn make_folder(folder: &Path, language: &str) -> Result<(), String> {
    check_language(language)?;
    fs::create_dir(folder).map_err(|error| match error.kind() {
        std::io::ErrorKind::AlreadyExists => {
            format!("{} is there already; nothing was written", folder.display())
        }
        _ => format!("{}: {error}", folder.display()),
    })
}

/// Writes a file of a new folder; one that begins as a script can be run.
///
/// # Errors
/// The system's, naming the file.
pub(crate) fn write(folder: &Path, file: &TemplateFile) -> Result<(), String> {
    let path = folder.join(&file.path);
    let wrong = |error: std::io::Error| format!("{}: {error}", path.display());
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent).map_err(wrong)?;
    }
    let mut to = fs::File::create_new(&path).map_err(wrong)?;
    to.write_all(&file.content).map_err(wrong)?;
    if file.content.starts_with(b"#!") {
        use std::os::unix::fs::PermissionsExt as _;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).map_err(wrong)?;
    }
    Ok(())
}

/// A name that is a component's, a package's and, with `_` for `-`, an identifier in all the languages.
///
/// # Errors
/// It is none, and what a name is.
pub(crate) fn check_name(name: &str) -> Result<(), String> {
    let fits = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    let begins = name
        .bytes()
        .next()
        .is_some_and(|byte| byte.is_ascii_lowercase());
    let well = begins
        && name.len() <= MAX_NAME
        && name.bytes().all(fits)
        && !name.ends_with('-')
        && !name.contains("--");
    match well {
        true => Ok(()),
        false => Err(format!(
            "{name:?} is no name for a plugin: up to {MAX_NAME} lower-case letters, digits and single dashes, a letter first"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_project_is_written_once() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("p");
        make("rust", "memory-check", &folder, None).unwrap();
        let cargo = fs::read_to_string(folder.join("Cargo.toml")).unwrap();
        assert!(cargo.contains("name = \"memory-check\""), "{cargo}");
        assert!(folder.join("vendor/gpud-sdk/src/lib.rs").exists());
        crate::project::Project::read(&folder).unwrap();
        let error = make("rust", "memory-check", &folder, None).unwrap_err();
        assert!(
            error.contains("is there already; nothing was written"),
            "{error}"
        );
        let error = make("cobol", "fan-check", &home.path().join("q"), None).unwrap_err();
        assert!(
            error.contains("there is no template for \"cobol\"; there are: "),
            "{error}"
        );
        assert!(!home.path().join("q").exists());
    }

    #[test]
    fn without_the_package_of_an_sdk_nothing_is_written() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("p");
        let error = make("rust", "fan-check", &folder, Some(home.path())).unwrap_err();
        assert!(error.ends_with("has no gpud-sdk-VERSION.crate"), "{error}");
        assert!(!folder.exists());
    }

    #[test]
    fn names_are_plain() {
        for name in ["a", "fan-check", "x2-y"] {
            check_name(name).unwrap();
        }
        for name in [
            "",
            "Fan",
            "2x",
            "-x",
            "x-",
            "a--b",
            "a_b",
            "a/b",
            "..",
            "é",
            &"x".repeat(65),
        ] {
            assert!(check_name(name).is_err(), "{name}");
        }
    }
}
