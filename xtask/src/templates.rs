//! The templates of `gpud plugin new`: every folder of `sdk/templates/` with a `template.json`.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, ensure};

/// What says which other files of the repository a project gets.
const MANIFEST: &str = "template.json";
/// Folders that a build leaves behind, and the tests of the SDK: a project does not run them, and the binary is smaller.
const LEFT_OUT: [&str; 6] = [
    "target",
    "node_modules",
    "__pycache__",
    ".venv",
    ".git",
    "tests.rs",
];

/// A file of a project that is made from a template.
pub struct File {
    /// The template's folder.
    pub language: String,
    /// Where it goes, relative to the project.
    pub path: String,
    /// Where it comes from.
    pub source: PathBuf,
    /// Whether placeholders are filled in.
    pub fill: bool,
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Manifest {
    include: Vec<Include>,
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Include {
    from: String,
    to: String,
}

/// All files of all templates, by language and path.
///
/// # Errors
/// When a manifest or a folder cannot be read, or two files have the same path.
pub fn all(workspace: &Path) -> Result<Vec<File>> {
    let templates = workspace.join("sdk/templates");
    let mut files = Vec::new();
    for entry in fs::read_dir(&templates).with_context(|| templates.display().to_string())? {
        let folder = entry?.path();
        let manifest = folder.join(MANIFEST);
        if !manifest.is_file() {
            continue;
        }
        let place = || manifest.display().to_string();
        let text = fs::read_to_string(&manifest).with_context(place)?;
        let Manifest { include } = serde_json::from_str(&text).with_context(place)?;
        let language = folder.file_name().unwrap_or_default().to_string_lossy();
        collect(&mut files, &language, &folder, "", true)?;
        for Include { from, to } in include {
            collect(&mut files, &language, &workspace.join(from), &to, false)?;
        }
    }
    files.sort_by(|a, b| (&a.language, &a.path).cmp(&(&b.language, &b.path)));
    for pair in files.windows(2) {
        if let [one, two] = pair {
            let twice = one.language == two.language && one.path == two.path;
            ensure!(
                !twice,
                "two files of template {} go to {}",
                one.language,
                one.path
            );
        }
    }
    Ok(files)
}

fn collect(files: &mut Vec<File>, language: &str, from: &Path, to: &str, fill: bool) -> Result<()> {
    if from.is_file() {
        files.push(File {
            language: language.to_owned(),
            path: to.to_owned(),
            source: from.to_owned(),
            fill,
        });
        return Ok(());
    }
    for entry in fs::read_dir(from).with_context(|| from.display().to_string())? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let top = to.is_empty();
        if LEFT_OUT.contains(&name.as_str()) || (top && fill && name == MANIFEST) {
            continue;
        }
        let name = match name.as_str() {
            "_gitignore" => ".gitignore",
            name => name,
        };
        let path = match top {
            true => name.to_owned(),
            false => format!("{to}/{name}"),
        };
        collect(files, language, &entry.path(), &path, fill)?;
    }
    Ok(())
}
