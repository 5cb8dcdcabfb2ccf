//! `gpud plugin new`: the folder of a plugin that builds, tests and runs at once.

use std::{
    io,
    path::{Path, PathBuf},
};

use super::{
    sdk::Sdk,
    templates::{self, TemplateFile},
};
use crate::{
    cli::exit::Exit,
    node::trusted::output::{FileMode, OutputFolder},
};

/// Longest name.
const MAX_NAME: usize = 64;

/// Makes the folder and says what to do next.
///
/// # Errors
/// There is no such template, the name is none, the folder is there already, or `sdk` has no SDK for the language.
pub fn new(
    language: &str,
    name: &str,
    folder: Option<&Path>,
    sdk: Option<&Path>,
) -> Result<Exit, Exit> {
    let folder = folder.map_or_else(|| PathBuf::from(name), Path::to_owned);
    make_with(language, name, &folder, sdk).map_err(Exit::failure)?;
    let shown = folder.display();
    Ok(Exit::success(format!(
        "{shown} is a plugin in {language}.\n\n  cd {shown}\n  gpud plugin build\n  gpud plugin test\n  gpud cs plugin.yaml -r\n\n\
         README.md there says where to go on.\n"
    )))
}

/// Writes the files of a plugin, with the SDK that gpud brings, into its new folder, which errors name as `shown`.
///
/// # Errors
/// There is no such template, the name is none, or a file cannot be written.
pub fn fill(language: &str, name: &str, folder: &OutputFolder, shown: &Path) -> Result<(), String> {
    check_name(name)?;
    check_language(language)?;
    let files = templates::files(language, name);
    files.iter().try_for_each(|file| write(folder, shown, file))
}

/// Makes the folder of a plugin, with the SDK from the packages of a folder if one is named.
fn make_with(language: &str, name: &str, folder: &Path, sdk: Option<&Path>) -> Result<(), String> {
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
pub fn make_folder(folder: &Path, language: &str) -> Result<OutputFolder, String> {
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
pub fn write(folder: &OutputFolder, shown: &Path, file: &TemplateFile) -> Result<(), String> {
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
pub fn check_name(name: &str) -> Result<(), String> {
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

    fn make(language: &str, name: &str, folder: &Path) -> Result<(), String> {
        make_with(language, name, folder, None)
    }

    #[test]
    fn a_project_is_written_once() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("p");
        make("rust", "memory-check", &folder).unwrap();
        let cargo = fs::read_to_string(folder.join("Cargo.toml")).unwrap();
        assert!(cargo.contains("name = \"memory-check\""), "{cargo}");
        assert!(folder.join("vendor/gpud-sdk/src/lib.rs").exists());
        super::super::project::Project::read(&folder).unwrap();
        let error = make("rust", "memory-check", &folder).unwrap_err();
        assert!(
            error.contains("is there already; nothing was written"),
            "{error}"
        );
        let error = make("cobol", "fan-check", &home.path().join("q")).unwrap_err();
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
        let error = make_with("rust", "fan-check", &folder, Some(home.path())).unwrap_err();
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
