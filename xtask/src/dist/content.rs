//! Which files are in an archive and in the packages, and where.

use std::{fs, path::Path};

use anyhow::{Context, Result};

use super::{
    printed::Printed,
    tree::{Tree, gzip},
};

/// Where the unit of the repository expects gpud, and where packages put it.
const BINARY: (&str, &str) = ("/usr/local/bin/gpud", "/usr/bin/gpud");

/// Examples that are installed as documentation, below the folder that comes second.
const EXAMPLES: [(&str, &str); 3] = [
    ("specs", "specs"),
    (
        "deploy/prometheus/gpud.rules.yaml",
        "prometheus/gpud.rules.yaml",
    ),
    ("deploy/kubernetes/rbac.yaml", "kubernetes/rbac.yaml"),
];

/// The inputs of a release.
pub struct Inputs<'a> {
    /// The repository.
    pub workspace: &'a Path,
    /// The binary.
    pub program: &'a [u8],
    /// What gpud prints about itself.
    pub printed: &'a Printed,
    /// The list of parts.
    pub sbom: &'a [u8],
    /// The licences.
    pub licences: &'a str,
}

/// The families of distributions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Family {
    /// Debian and Ubuntu.
    Debian,
    /// Systems with RPM.
    Rpm,
}

impl Inputs<'_> {
    /// Returns the files of an archive, in one folder of this name.
    ///
    /// # Errors
    /// A file of the repository cannot be read.
    pub fn archive(&self, folder: &str) -> Result<Tree> {
        let mut tree = Tree::default();
        tree.file("gpud", 0o755, self.program);
        tree.file("install.sh", 0o755, self.read("deploy/install.sh")?);
        for (file, path) in [
            ("LICENSE", "LICENSE"),
            ("CHANGELOG.md", "CHANGELOG.md"),
            ("deploy/systemd/gpud.service", "systemd/gpud.service"),
            ("deploy/systemd/gpud.default", "systemd/gpud.default"),
            (
                "deploy/systemd/least-privilege.conf",
                "systemd/least-privilege.conf",
            ),
        ] {
            tree.file(path, 0o644, self.read(file)?);
        }
        tree.file("sbom.cdx.json", 0o644, self.sbom);
        tree.file("THIRD-PARTY.txt", 0o644, self.licences);
        for (name, page) in &self.printed.pages {
            tree.file(&format!("man/man1/{name}"), 0o644, page.clone());
        }
        tree.file("completions/gpud.bash", 0o644, self.printed.bash.clone());
        tree.file("completions/_gpud", 0o644, self.printed.zsh.clone());
        tree.file("completions/gpud.fish", 0o644, self.printed.fish.clone());
        self.examples(&mut tree, "examples")?;
        let mut archive = Tree::default();
        archive.folder(folder, 0o755);
        archive.extend(folder, &tree);
        Ok(archive)
    }

    /// Returns the files that a package installs.
    ///
    /// # Errors
    /// A file of the repository cannot be read.
    pub fn package(&self, family: Family) -> Result<Tree> {
        let mut tree = Tree::default();
        tree.file("usr/bin/gpud", 0o755, self.program);
        let unit = String::from_utf8(self.read("deploy/systemd/gpud.service")?)?;
        let unit = unit.replace(BINARY.0, BINARY.1);
        tree.file("usr/lib/systemd/system/gpud.service", 0o644, unit);
        let drop_in = String::from_utf8(self.read("deploy/systemd/least-privilege.conf")?)?;
        let drop_in = drop_in.replace(BINARY.0, BINARY.1);
        tree.file("usr/share/gpud/least-privilege.conf", 0o644, drop_in);
        let defaults = self.read("deploy/systemd/gpud.default")?;
        tree.file("etc/default/gpud", 0o644, defaults);
        let motd = self.read("deploy/packages/motd")?;
        tree.file("usr/share/gpud/motd", 0o755, motd);
        for (name, page) in &self.printed.pages {
            let path = format!("usr/share/man/man1/{name}.gz");
            tree.file(&path, 0o644, gzip(page)?);
        }
        let zsh = match family {
            Family::Debian => "usr/share/zsh/vendor-completions/_gpud",
            Family::Rpm => "usr/share/zsh/site-functions/_gpud",
        };
        tree.file(zsh, 0o644, self.printed.zsh.clone());
        for (path, script) in [
            ("bash-completion/completions/gpud", &self.printed.bash),
            ("fish/vendor_completions.d/gpud.fish", &self.printed.fish),
        ] {
            tree.file(&format!("usr/share/{path}"), 0o644, script.clone());
        }
        let documents = "usr/share/doc/gpud";
        // Debian's name for a licence.
        let licence = match family {
            Family::Debian => "copyright",
            Family::Rpm => "LICENSE",
        };
        let licences = gzip(self.licences.as_bytes())?;
        for (name, content) in [
            (licence, self.read("LICENSE")?),
            ("THIRD-PARTY.txt.gz", licences),
            ("sbom.cdx.json", self.sbom.to_vec()),
        ] {
            tree.file(&format!("{documents}/{name}"), 0o644, content);
        }
        self.examples(&mut tree, &format!("{documents}/examples"))?;
        Ok(tree)
    }

    /// Returns a file of `deploy/packages`.
    ///
    /// # Errors
    /// It cannot be read, or is no text.
    pub fn script(&self, path: &str) -> Result<String> {
        Ok(String::from_utf8(
            self.read(&format!("deploy/packages/{path}"))?,
        )?)
    }

    fn examples(&self, tree: &mut Tree, folder: &str) -> Result<()> {
        for (from, to) in EXAMPLES {
            let path = self.workspace.join(from);
            if path.is_file() {
                tree.file(&format!("{folder}/{to}"), 0o644, self.read(from)?);
                continue;
            }
            let entries = fs::read_dir(&path).with_context(|| path.display().to_string())?;
            for entry in entries {
                let entry = entry?;
                if entry.file_type()?.is_file() {
                    let name = entry.file_name().to_string_lossy().into_owned();
                    let content = fs::read(entry.path())?;
                    tree.file(&format!("{folder}/{to}/{name}"), 0o644, content);
                }
            }
        }
        Ok(())
    }

    fn read(&self, path: &str) -> Result<Vec<u8>> {
        let path = self.workspace.join(path);
        fs::read(&path).with_context(|| path.display().to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::{super::tree::Node, *};

    fn paths(tree: &Tree) -> Vec<&str> {
        let files = tree
            .iter()
            .filter(|(_, node)| !matches!(node, Node::Folder(_)));
        files.map(|(path, _)| path).collect()
    }

    #[test]
    fn files_are_where_systems_look_for_them() {
        let printed = Printed {
            pages: vec![("gpud.1".to_owned(), b"page".to_vec())],
            ..Printed::default()
        };
        let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let inputs = Inputs {
            workspace: &workspace,
            program: b"program",
            printed: &printed,
            sbom: b"{}",
            licences: "text",
        };
        let archive = inputs.archive("gpud-1.2.3").unwrap();
        let found = paths(&archive);
        for path in [
            "gpud",
            "install.sh",
            "systemd/gpud.service",
            "man/man1/gpud.1",
            "completions/_gpud",
            "examples/specs/ibstat.yaml",
        ] {
            let path = format!("gpud-1.2.3/{path}");
            assert!(found.contains(&path.as_str()), "{path} in {found:?}");
        }
        for (family, zsh) in [
            (Family::Debian, "usr/share/zsh/vendor-completions/_gpud"),
            (Family::Rpm, "usr/share/zsh/site-functions/_gpud"),
        ] {
            let package = inputs.package(family).unwrap();
            let found = paths(&package);
            for path in [
                "usr/bin/gpud",
                "etc/default/gpud",
                "usr/share/man/man1/gpud.1.gz",
                "usr/share/gpud/motd",
                zsh,
            ] {
                assert!(found.contains(&path), "{path} in {found:?}");
            }
            let unit = package
                .iter()
                .find(|(path, _)| *path == "usr/lib/systemd/system/gpud.service");
            let Some((_, Node::File(0o644, unit))) = unit else {
                panic!("no unit");
            };
            let unit = String::from_utf8_lossy(unit);
            assert!(unit.contains("\nExecStart=/usr/bin/gpud run "), "{unit}");
            assert!(!unit.contains("/usr/local/bin/gpud"), "{unit}");
            let drop_in = package
                .iter()
                .find(|(path, _)| *path == "usr/share/gpud/least-privilege.conf");
            let Some((_, Node::File(0o644, drop_in))) = drop_in else {
                panic!("no drop-in");
            };
            let drop_in = String::from_utf8_lossy(drop_in);
            let command = "\nExecStart=/usr/bin/gpud run $FLAGS --user=gpud\n";
            assert!(drop_in.contains(command), "{drop_in}");
        }
    }
}
