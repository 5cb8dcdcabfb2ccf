//! Checks the folders above a project for files that build tools find and run.
//!
//! Anybody can put `.cargo/config.toml` into `/tmp`, and cargo reads it for each project below.

use std::{fs, path::Path};

use rustix::fs::FileType;

use super::{Opener, TrustError, tree};

/// Files and folders that tools look for from a project's folder upwards. They are those of cargo and rustup, Go, npm and
/// other package managers of JavaScript, test runners and linters of JavaScript and Python, version managers, Bazel,
/// Maven, MSBuild and Zig, and of version control, which these ask.
const NAMES: &[&str] = &[
    ".babelrc",
    ".babelrc.js",
    ".babelrc.json",
    ".bazelrc",
    ".bzr",
    ".cargo",
    ".config",
    ".envrc",
    ".eslintrc",
    ".eslintrc.cjs",
    ".eslintrc.js",
    ".eslintrc.json",
    ".eslintrc.yml",
    ".fossil",
    ".git",
    ".hg",
    ".jj",
    ".mise.toml",
    ".mocharc.cjs",
    ".mocharc.js",
    ".mvn",
    ".node-version",
    ".npmrc",
    ".nvmrc",
    ".pnp.cjs",
    ".pnp.loader.mjs",
    ".pnpmfile.cjs",
    ".prettierrc",
    ".prettierrc.js",
    ".python-version",
    ".svn",
    ".tool-versions",
    ".yarn",
    ".yarnrc",
    ".yarnrc.yml",
    "Cargo.lock",
    "Cargo.toml",
    "Directory.Build.props",
    "Directory.Build.targets",
    "MODULE.bazel",
    "WORKSPACE",
    "babel.config.cjs",
    "babel.config.js",
    "babel.config.json",
    "babel.config.mjs",
    "build.zig",
    "build.zig.zon",
    "bunfig.toml",
    "conftest.py",
    "deno.json",
    "deno.jsonc",
    "eslint.config.cjs",
    "eslint.config.js",
    "eslint.config.mjs",
    "eslint.config.ts",
    "global.json",
    "go.mod",
    "go.work",
    "jest.config.cjs",
    "jest.config.js",
    "jest.config.mjs",
    "jest.config.ts",
    "lerna.json",
    "mise.toml",
    "node_modules",
    "nuget.config",
    "package.json",
    "pnpm-workspace.yaml",
    "prettier.config.cjs",
    "prettier.config.js",
    "prettier.config.mjs",
    "pyproject.toml",
    "pytest.ini",
    "rust-toolchain",
    "rust-toolchain.toml",
    "setup.cfg",
    "tox.ini",
    "tsconfig.json",
];

/// Checks the folders above one whose path has no links, the nearest one first.
///
/// # Errors
/// The first such file or folder that others can change, or in a folder of them the first entry.
pub(super) fn check(folder: &Path, opener: Opener) -> Result<(), TrustError> {
    for above in folder.ancestors().skip(1) {
        for name in NAMES {
            match check_found(&above.join(name), opener) {
                Err(error) if error.is_not_found() => {}
                checked => checked?,
            }
        }
    }
    Ok(())
}

/// Checks what a tool would find by this path, and what is directly in it.
fn check_found(path: &Path, opener: Opener) -> Result<(), TrustError> {
    let facts = tree::judge(path, None, opener)?;
    let folder = match FileType::from_raw_mode(facts.st_mode) {
        FileType::Directory => Some(path.to_owned()),
        FileType::Symlink => tree::follow(path, &facts, opener)?,
        _ => None,
    };
    let Some(folder) = folder else { return Ok(()) };
    let failed = |error| TrustError::io(&folder, error);
    for entry in fs::read_dir(&folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        let facts = tree::judge(&path, None, opener)?;
        if FileType::from_raw_mode(facts.st_mode) == FileType::Symlink {
            tree::follow(&path, &facts, opener)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::{
        os::unix::fs::{PermissionsExt as _, symlink},
        path::PathBuf,
    };

    use super::*;

    /// A folder open to all, as `/tmp` is, and a project in it.
    fn shared() -> (tempfile::TempDir, PathBuf) {
        let place = tempfile::tempdir().unwrap();
        let above = place.path().canonicalize().unwrap();
        fs::set_permissions(&above, fs::Permissions::from_mode(0o1777)).unwrap();
        let project = above.join("a/project");
        fs::create_dir_all(&project).unwrap();
        (place, project)
    }

    fn answer(project: &Path) -> String {
        let checked = check(project, Opener::of_daemon());
        checked.map_or_else(|error| error.to_string(), |()| "good".to_owned())
    }

    #[test]
    fn what_tools_find_above_a_project_is_judged() {
        let (place, project) = shared();
        let above = place.path().canonicalize().unwrap();
        fs::create_dir(above.join(".cargo")).unwrap();
        fs::write(above.join(".cargo/config.toml"), "").unwrap();
        fs::write(above.join("Cargo.toml"), "").unwrap();
        fs::write(above.join("anything"), "").unwrap();
        let open = fs::Permissions::from_mode(0o666);
        fs::set_permissions(above.join("anything"), open.clone()).unwrap();
        assert_eq!(answer(&project), "good");
        for name in ["Cargo.toml", ".cargo/config.toml"] {
            let path = above.join(name);
            fs::set_permissions(&path, open.clone()).unwrap();
            let said = answer(&project);
            assert!(
                said.contains(&format!("{} can be", path.display())),
                "{said}"
            );
            fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        }
        // What a link leads to.
        symlink(above.join("anything"), above.join("a/go.work")).unwrap();
        let said = answer(&project);
        assert!(said.contains("anything can be changed"), "{said}");
        // Beside the project, and in it, is not above it.
        fs::rename(above.join("a/go.work"), project.join("go.work")).unwrap();
        assert_eq!(answer(&project), "good");
    }

    #[test]
    fn names_are_in_order_and_once() {
        assert!(NAMES.is_sorted_by(|one, next| one < next));
    }
}
