//! `gpud plugin new --sdk FOLDER`: the SDK of a project from the packages of a release, in place of the one that gpud
//! brings. `cargo xtask dist` makes them.
#![allow(
    clippy::disallowed_methods,
    reason = "reads a folder that the user named"
)]

mod zip;

use std::{
    fs,
    io::{self, Cursor, Read as _},
    path::Path,
};

use flate2::read::GzDecoder;
use tar::{Archive, EntryType};

use super::templates::TemplateFile;
use crate::{node::local_file, pack::hex};

/// Largest package, and most that is unpacked of it, bytes. Ours have about 1 MiB.
const MAX_PACKAGE: usize = 64 << 20;
const MAX_UNPACKED: u64 = 256 << 20;
/// Largest list of checksums, bytes.
const MAX_SUMS: usize = 1 << 20;

/// A package of a language, and where a project has its files.
struct Packaged {
    language: &'static str,
    /// The name of the file before and behind the version.
    name: (&'static str, &'static str),
    form: Form,
    /// The folder of the project that it fills.
    to: &'static str,
}

impl Packaged {
    /// The name of the file for a version.
    fn file_name(&self, version: &str) -> String {
        let (before, behind) = self.name;
        format!("{before}{version}{behind}")
    }
}

/// How the files are packed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    /// In one folder of a `.tar.gz`.
    Archive,
    /// A wheel, of which the package counts.
    Wheel,
    /// A module of Go, below `PATH@vVERSION/`.
    Module,
}

const PACKAGES: [Packaged; 6] = [
    Packaged {
        language: "rust",
        name: ("gpud-sdk-", ".crate"),
        form: Form::Archive,
        to: "vendor/gpud-sdk",
    },
    Packaged {
        language: "js",
        name: ("gpud-sdk-", ".tgz"),
        form: Form::Archive,
        to: "vendor/gpud-sdk",
    },
    Packaged {
        language: "c",
        name: ("gpud-sdk-c-", ".tar.gz"),
        form: Form::Archive,
        to: "gpud-sdk",
    },
    Packaged {
        language: "python",
        name: ("gpud_sdk-", "-py3-none-any.whl"),
        form: Form::Wheel,
        to: "vendor/gpud-sdk/src",
    },
    Packaged {
        language: "go",
        name: ("gpud-sdk-go-", ".zip"),
        form: Form::Module,
        to: "gpud-sdk",
    },
    Packaged {
        language: "go",
        name: ("gpud-sdk-go-tool-", ".zip"),
        form: Form::Module,
        to: "gpud-sdk/cmd/gpud-go",
    },
];

/// What the SDK of Rust is built from, besides. A folder of an older release has none.
const CRATES: Packaged = Packaged {
    language: "rust",
    name: ("gpud-sdk-rust-crates-", ".tar.gz"),
    form: Form::Archive,
    to: "vendor/crates",
};
/// The settings with which cargo takes these crates and asks no registry.
const CARGO_SETTINGS: (&str, &str) = (
    ".cargo/config.toml",
    "# All crates are in vendor/crates: the project builds without a network. Without this file, cargo fetches them.\n\
     [source.crates-io]\n\
     replace-with = \"vendor\"\n\
     \n\
     [source.vendor]\n\
     directory = \"vendor/crates\"\n",
);

/// An SDK from a folder of packages.
#[derive(Debug)]
pub(crate) struct Sdk {
    /// Its version.
    pub(crate) version: String,
    /// Folders of the project that it fills.
    folders: Vec<&'static str>,
    files: Vec<TemplateFile>,
}

impl Sdk {
    /// Reads the SDK of a language from a folder of packages. Where there is a `SHA256SUMS`, the packages must be in it.
    ///
    /// # Errors
    /// There is no package, or more than one version; a package is damaged, or not the one of `SHA256SUMS`.
    pub(crate) fn read(folder: &Path, language: &str) -> Result<Self, String> {
        let mut sdk = Self {
            version: String::new(),
            folders: Vec::new(),
            files: Vec::new(),
        };
        for packaged in PACKAGES.iter().filter(|of| of.language == language) {
            let version = version_in(folder, packaged)?;
            if !sdk.version.is_empty() && sdk.version != version {
                return Err(format!(
                    "{} has parts of versions {} and {version} for {language}",
                    folder.display(),
                    sdk.version
                ));
            }
            sdk.files.extend(files_of(folder, packaged, &version)?);
            sdk.version = version;
            sdk.folders.push(packaged.to);
        }
        let crates = CRATES.file_name(&sdk.version);
        if language == CRATES.language && folder.join(crates).exists() {
            sdk.files.extend(files_of(folder, &CRATES, &sdk.version)?);
            let (path, content) = CARGO_SETTINGS;
            sdk.files.push(TemplateFile {
                path: path.to_owned(),
                content: content.as_bytes().to_vec(),
            });
        }
        match sdk.version.is_empty() {
            true => Err(format!("there is no package of an SDK for {language:?}")),
            false => Ok(sdk),
        }
    }

    /// Puts its files in place of those that a template brings.
    pub(crate) fn fill(self, template: Vec<TemplateFile>) -> Vec<TemplateFile> {
        let is_replaced = |path: &str| {
            self.folders.iter().any(|folder| {
                let rest = path.strip_prefix(*folder);
                rest.is_some_and(|rest| rest.starts_with('/'))
            })
        };
        let mut files: Vec<_> = template
            .into_iter()
            .filter(|file| !is_replaced(&file.path))
            .collect();
        files.extend(self.files);
        files
    }
}

/// Reads the files of a package.
fn files_of(
    folder: &Path,
    packaged: &Packaged,
    version: &str,
) -> Result<Vec<TemplateFile>, String> {
    let name = packaged.file_name(version);
    let files = unpack(&load(folder, &name)?, packaged, version);
    files.map_err(|why| format!("{}: {why}", folder.join(&name).display()))
}

/// Finds the one version of a package that the folder has.
fn version_in(folder: &Path, packaged: &Packaged) -> Result<String, String> {
    let shown = folder.display();
    let wrong = |error: io::Error| format!("{shown}: {error}");
    let (before, behind) = packaged.name;
    let mut versions = Vec::new();
    for entry in fs::read_dir(folder).map_err(wrong)? {
        let name = entry.map_err(wrong)?.file_name();
        let name = name.to_string_lossy();
        let version = name
            .strip_prefix(before)
            .and_then(|rest| rest.strip_suffix(behind));
        versions.extend(
            version
                .filter(|version| is_version(version))
                .map(str::to_owned),
        );
    }
    versions.sort();
    match versions.as_slice() {
        [version] => Ok(version.clone()),
        [] => Err(format!("{shown} has no {before}VERSION{behind}")),
        several => Err(format!(
            "{shown} has {before}VERSION{behind} of versions {}; leave one there",
            several.join(", ")
        )),
    }
}

fn is_version(text: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b".-+".contains(&byte);
    text.starts_with(|first: char| first.is_ascii_digit()) && text.bytes().all(is_part)
}

/// Reads a package and compares it with the checksums of its folder.
fn load(folder: &Path, name: &str) -> Result<Vec<u8>, String> {
    let path = folder.join(name);
    let wrong = |error: io::Error| format!("{}: {error}", path.display());
    let bytes = local_file::read(&path, MAX_PACKAGE).map_err(wrong)?;
    let sums = match local_file::read(&folder.join("SHA256SUMS"), MAX_SUMS) {
        Ok(sums) => String::from_utf8_lossy(&sums).into_owned(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(bytes),
        Err(error) => return Err(format!("{}: {error}", folder.join("SHA256SUMS").display())),
    };
    let line = format!("{}  {name}", hex(&bytes));
    match sums.lines().any(|found| found == line) {
        true => Ok(bytes),
        false => Err(format!(
            "{} is not the file that SHA256SUMS lists: it is damaged, or was changed",
            path.display()
        )),
    }
}

fn unpack(bytes: &[u8], packaged: &Packaged, version: &str) -> Result<Vec<TemplateFile>, String> {
    let damaged = |error: &dyn std::fmt::Display| format!("it is damaged: {error}");
    let entries = match packaged.form {
        Form::Archive => untar(bytes).map_err(|error| damaged(&error))?,
        Form::Wheel | Form::Module => {
            zip::read(bytes, MAX_UNPACKED).map_err(|error| damaged(&error))?
        }
    };
    let mark = format!("@v{version}/");
    let mut files = Vec::new();
    for (path, content) in entries {
        let inner = match packaged.form {
            Form::Archive => path.split_once('/').map(|(_, rest)| rest),
            Form::Wheel => Some(path.as_str()).filter(|path| path.starts_with("gpud_sdk/")),
            Form::Module => path.split_once(&mark).map(|(_, rest)| rest),
        };
        let Some(inner) = inner else {
            continue;
        };
        if !is_plain(inner) {
            return Err(format!("{path:?} in it leads out of its folder"));
        }
        files.push(TemplateFile {
            path: format!("{}/{inner}", packaged.to),
            content,
        });
    }
    match files.is_empty() {
        true => Err("there is no SDK in it".to_owned()),
        false => Ok(files),
    }
}

fn is_plain(path: &str) -> bool {
    let is_name = |part: &str| !matches!(part, "" | "." | "..");
    !path.contains(['\\', '\0']) && path.split('/').all(is_name)
}

fn untar(bytes: &[u8]) -> io::Result<Vec<(String, Vec<u8>)>> {
    let unpacked = GzDecoder::new(Cursor::new(bytes)).take(MAX_UNPACKED);
    let mut archive = Archive::new(unpacked);
    let mut files = Vec::new();
    for entry in archive.entries()? {
        let mut entry = entry?;
        if entry.header().entry_type() != EntryType::Regular {
            continue;
        }
        let path = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
        let mut content = Vec::new();
        entry.read_to_end(&mut content)?;
        files.push((path, content));
    }
    Ok(files)
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
