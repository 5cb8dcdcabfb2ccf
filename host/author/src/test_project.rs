//! `gpud plugin test`: builds a project, runs its own tests, and tries its component on made-up machines.
#![allow(
    clippy::disallowed_methods,
    reason = "files of a plugin's project, which the user named"
)]

use std::{
    fs,
    path::{Path, PathBuf},
};

use super::{
    build::{self, CommandOptions},
    cases::{Cases, Outcome},
    component_file::Compilation,
    project::{self, Project},
};

/// The result of trying a component.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tested {
    /// The commands of the project's own tests, all of which succeeded.
    pub commands: Vec<String>,
    /// The outcomes of the cases.
    pub cases: Vec<Outcome>,
}

/// Tries the cases of a file; or of a project, after its own tests.
///
/// `builds`: the component of a project is built first, also where only its file of cases was named. The build decides which
/// steps are needed, so a component that is older than its sources is never tried.
///
/// # Errors
/// It is no project, it cannot be built, its own tests failed, or the cases cannot be read.
pub async fn test(
    path: &Path,
    component: Option<&Path>,
    builds: bool,
    command_options: CommandOptions<'_>,
    compilation: &Compilation,
) -> Result<Tested, String> {
    let builds = builds && component.is_none();
    let mut commands = Vec::new();
    let cases = match path.is_dir() {
        false => {
            if builds && let Some((folder, project)) = project_of(path)? {
                build::built(&folder, &project, command_options).await?;
            }
            Some(path.to_owned())
        }
        true => {
            let project = Project::read(path)?;
            if builds {
                build::built(path, &project, command_options).await?;
            } else if !project.test.is_empty() {
                build::check_project(path).await?;
            }
            build::run_all(path, &project.test, command_options).await?;
            if component.is_none() && !path.join(&project.component).exists() {
                let missing = path.join(&project.component);
                let shown = missing.display();
                return Err(format!(
                    "{shown} is not there yet: `gpud plugin build` makes it"
                ));
            }
            commands = project.test;
            project.cases.map(|cases| path.join(cases))
        }
    };
    let cases = match cases {
        Some(cases) => Cases::read(&cases, component).await?.run(compilation).await,
        None => Vec::new(),
    };
    Ok(Tested { commands, cases })
}

/// The project whose file of cases this is: one in the folder of the file, or in the folder above.
fn project_of(file: &Path) -> Result<Option<(PathBuf, Project)>, String> {
    let Ok(file) = fs::canonicalize(file) else {
        return Ok(None);
    };
    for folder in file.ancestors().skip(1).take(2) {
        if !folder.join(project::FILE).exists() {
            continue;
        }
        let project = Project::read(folder)?;
        let own = project.cases.as_ref().map(|cases| folder.join(cases));
        let is_own = own.is_some_and(|own| fs::canonicalize(own).is_ok_and(|own| own == file));
        return Ok(is_own.then(|| (folder.to_owned(), project)));
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A project without tools: its build copies `source` to the component, and its test notes that it ran.
    fn project() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        let yaml = "name: x\nlanguage: none\nbuild: [cp source x.wasm]\ncomponent: x.wasm\n\
                    test: [cmp source x.wasm, echo tested >> log]\ncases: tests/cases.yaml\n";
        fs::write(folder.path().join(project::FILE), yaml).unwrap();
        fs::write(folder.path().join("source"), b"\0asm\x0d\0\x01\0").unwrap();
        fs::create_dir(folder.path().join("tests")).unwrap();
        let cases = "component: ../x.wasm\ncases: [{name: a}]\n";
        fs::write(folder.path().join("tests/cases.yaml"), cases).unwrap();
        folder
    }

    async fn tried(path: &Path, builds: bool) {
        // The component is an empty one, so that its cases cannot be run; what came before is what is looked at.
        let (_cache, compilation) = Compilation::of_test();
        let _ = test(path, None, builds, CommandOptions::default(), &compilation).await;
    }

    #[tokio::test]
    async fn a_component_is_as_new_as_its_sources() {
        let folder = project();
        let component = folder.path().join("x.wasm");
        for path in [
            folder.path().to_owned(),
            folder.path().join("tests/cases.yaml"),
        ] {
            fs::write(&component, b"\0asm\x0d\0\x01\0older").unwrap();
            tried(&path, true).await;
            assert_eq!(fs::read(&component).unwrap().len(), 8, "{path:?}");
        }
        assert_eq!(
            fs::read_to_string(folder.path().join("log")).unwrap(),
            "tested\n"
        );
        fs::write(&component, b"\0asm\x0d\0\x01\0older").unwrap();
        tried(folder.path(), false).await;
        assert_eq!(fs::read(&component).unwrap().len(), 13);
    }

    #[test]
    fn only_the_cases_of_a_project_belong_to_it() {
        let folder = project();
        let own = folder.path().join("tests/cases.yaml");
        assert_eq!(project_of(&own).unwrap().unwrap().1.name, "x");
        let other = folder.path().join("tests/other.yaml");
        fs::write(&other, "cases: []\n").unwrap();
        assert_eq!(project_of(&other).unwrap(), None);
        assert_eq!(project_of(Path::new("/nonexistent")).unwrap(), None);
    }
}
