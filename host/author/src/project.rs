//! The file `gpud-plugin.yaml` at the root of a plugin's project: how it is built, and where the result is.

use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::node::trusted::{self, Opener};

/// Name of the file.
pub(crate) const FILE: &str = "gpud-plugin.yaml";
/// Largest file, bytes.
const MAX_BYTES: usize = 64 << 10;

/// A project.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Project {
    /// Its name.
    pub(crate) name: String,
    /// The language that it is written in: for people, and to look for its tools.
    pub(crate) language: String,
    /// Bash commands that build it, run one after another in the project's folder.
    pub(crate) build: Vec<String>,
    /// A core module that the commands leave behind, for gpud to make the component of. Without it they leave the
    /// component.
    pub(crate) module: Option<PathBuf>,
    /// Folder of the contract that the module speaks, where it does not carry that itself.
    pub(crate) wit: Option<PathBuf>,
    /// A module that replaces the first version of WASI, where `module` imports it.
    pub(crate) adapter: Option<PathBuf>,
    /// The component.
    pub(crate) component: PathBuf,
    /// Bash commands that run its own tests.
    #[serde(default)]
    pub(crate) test: Vec<String>,
    /// The file of test cases for `gpud plugin test`.
    pub(crate) cases: Option<PathBuf>,
    /// The spec with which it is loaded, for `gpud cs`.
    pub(crate) spec: Option<PathBuf>,
}

impl Project {
    /// Reads the file of a project's folder.
    ///
    /// # Errors
    /// In words, naming the file.
    pub(crate) fn read(folder: &Path) -> Result<Self, String> {
        let path = folder.join(FILE);
        // It says what is run to build the plugin.
        let bytes = Opener::of_command()
            .read(&path, MAX_BYTES)
            .map_err(|error| match error.is_not_found() {
                true => {
                    format!("{error}; this is no folder of a plugin: `gpud plugin new` makes one")
                }
                // It says more about what is wrong with a project: also how to build it.
                false => match trusted::check_project(folder) {
                    Err(refused) if error.is_refusal() => refused.to_string(),
                    _ => error.to_string(),
                },
            })?;
        let wrong = |problem: String| format!("{}: {problem}", path.display());
        let text = String::from_utf8(bytes).map_err(|_| wrong("it is not UTF-8".to_owned()))?;
        let project: Self =
            serde_yaml::from_str(&text).map_err(|error| wrong(error.to_string()))?;
        if project.build.is_empty() {
            return Err(wrong(
                "build: there is no command that builds it".to_owned(),
            ));
        }
        if project.module.is_none() && (project.wit.is_some() || project.adapter.is_some()) {
            return Err(wrong(
                "`wit` and `adapter` are for a core module; add `module`".to_owned(),
            ));
        }
        Ok(project)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_project_says_how_it_is_built() {
        let folder = tempfile::tempdir().unwrap();
        let read = |text: &str| {
            std::fs::write(folder.path().join(FILE), text).unwrap();
            Project::read(folder.path())
        };
        let project = read("name: a\nlanguage: c\nbuild: [make]\ncomponent: a.wasm\n").unwrap();
        assert_eq!(project.build, ["make"]);
        assert_eq!((project.module, project.test.len()), (None, 0));
        for (text, expected) in [
            (
                "name: a\nlanguage: c\nbuild: []\ncomponent: a.wasm\n",
                "no command",
            ),
            (
                "name: a\nlanguage: c\nbuilt: [make]\ncomponent: a.wasm\n",
                "built",
            ),
            (
                "name: a\nlanguage: c\nbuild: [make]\nwit: w\ncomponent: a.wasm\n",
                "add `module`",
            ),
            ("name: a\n", "gpud-plugin.yaml"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.contains(expected), "{error}");
        }
        let error = Project::read(Path::new("/nonexistent")).unwrap_err();
        assert!(error.contains("gpud plugin new"), "{error}");
    }
}
