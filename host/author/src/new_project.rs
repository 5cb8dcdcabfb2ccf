//! `gpud plugin new`: the folder of a plugin that builds, tests and runs at once.

use std::{io, path::Path};

use crate::{
    node::trusted::output::{FileMode, OutputFolder},
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
    let made = make_folder(folder, language)?;
    files.iter().try_for_each(|file| write(&made, folder, file))
}

/// Writes the files of a plugin, with the SDK that gpud brings, into its new folder, which errors name as `shown`.
///
/// # Errors
/// There is no such template, the name is none, or a file cannot be written.
pub(crate) fn fill(
    language: &str,
    name: &str,
    folder: &OutputFolder,
    shown: &Path,
) -> Result<(), String> {
    check_name(name)?;
    check_language(language)?;
    let files = templates::files(language, name);
    files.iter().try_for_each(|file| write(folder, shown, file))
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
pub(crate) fn make_folder(folder: &Path, language: &str) -> Result<OutputFolder, String> {
    check_language(language)?;
    OutputFolder::create(folder).map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => {
            format!("{} is there already; nothing was written", folder.display())
        }
        _ => format!("{}: {error}", folder.display()),
    })
}

/// Writes a file of a new folder, which errors name as `shown`; one that begins as a script can be run.
///
/// # Errors
/// The system's, naming the file.
pub(crate) fn write(
    folder: &OutputFolder,
    shown: &Path,
    file: &TemplateFile,
) -> Result<(), String> {
    let mode = match file.content.starts_with(b"#!") {
        true => FileMode::Exact(0o755),
        false => FileMode::ByUmask,
    };
    folder
        .write_new(Path::new(&file.path), &file.content, mode)
        .map_err(|error| format!("{}: {error}", shown.join(&file.path).display()))
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
    use std::fs;

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
