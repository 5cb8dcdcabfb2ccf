//! A package for systems with RPM (4.14 or later): a lead, a header with digests, a header about the files, and the files.

use std::collections::BTreeMap;

use anyhow::{Context, Result, ensure};

use super::{
    cpio,
    rpm_header::{Header, Value},
    sums::sha256,
    tree::{Node, Tree, gzip},
};

/// The operator may change it; an upgrade leaves such a file alone (`%config(noreplace)`).
const CONFIG: u32 = 1 | 16;
/// Documentation (`%doc`).
const DOCUMENTATION: u32 = 2;
/// The region of a header about files, and of one with digests.
const REGION: (u32, u32) = (63, 62);
/// "At most" and "of rpm itself", for what rpm must know.
const RPM_KNOWS: u32 = 0x0100_000a;
/// "Equal".
const EQUAL: u32 = 8;

/// The description of the package.
pub struct RpmPackage<'a> {
    /// The version of gpud.
    pub version: &'a str,
    /// Which packaging of that version.
    pub release: &'a str,
    /// The machine, and its number.
    pub machine: (&'a str, u16),
    /// What must be there, such as `libc.so.6(GLIBC_2.28)(64bit)`.
    pub requires: Vec<String>,
    /// The time of every file and of the package.
    pub time: u32,
    /// Scripts after installation, before and after removal.
    pub scripts: [(Script, String); 3],
    /// Files that are installed.
    pub files: &'a Tree,
}

/// When a script runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Script {
    /// `%post`.
    AfterInstallation,
    /// `%preun`.
    BeforeRemoval,
    /// `%postun`.
    AfterRemoval,
}

impl Script {
    /// The tags of the script and of what runs it.
    fn tags(self) -> (u32, u32) {
        match self {
            Self::AfterInstallation => (1024, 1086),
            Self::BeforeRemoval => (1025, 1087),
            Self::AfterRemoval => (1026, 1088),
        }
    }
}

impl RpmPackage<'_> {
    /// Returns the package's bytes.
    ///
    /// # Errors
    /// A file is too large.
    pub fn encode(&self) -> Result<Vec<u8>> {
        let files: BTreeMap<&str, &Node> = self
            .files
            .iter()
            .filter(|(path, node)| !matches!(node, Node::Folder(_)) || is_own(path))
            .collect();
        let plain = cpio::archive(&files, self.time)?;
        let payload = gzip(&plain)?;
        let mut header = self.header(&files)?;
        header.set(5092, Value::Texts(vec![sha256(&payload)]));
        header.number(5093, 8);
        let header = header.encode(REGION.0);
        let mut digests = Header::default();
        digests.text(273, &sha256(&header));
        digests.number(1000, u32::try_from(header.len() + payload.len())?);
        digests.number(1007, u32::try_from(plain.len())?);
        let mut bytes = self.lead();
        bytes.extend(digests.encode(REGION.1));
        bytes.resize(bytes.len().next_multiple_of(8), 0);
        bytes.extend(header);
        bytes.extend(payload);
        Ok(bytes)
    }

    /// The first 96 bytes, which only `file` still reads.
    fn lead(&self) -> Vec<u8> {
        let mut name = format!("gpud-{}-{}", self.version, self.release).into_bytes();
        name.resize(66, 0);
        let mut lead = vec![0xed, 0xab, 0xee, 0xdb, 3, 0, 0, 0];
        lead.extend(self.machine.1.to_be_bytes());
        lead.extend(name);
        // Linux, and digests in a header.
        lead.extend([0, 1, 0, 5]);
        lead.resize(96, 0);
        lead
    }

    fn header(&self, files: &BTreeMap<&str, &Node>) -> Result<Header> {
        let Self {
            version, release, ..
        } = self;
        let mut header = Header::default();
        header.set(100, Value::Texts(vec!["C".to_owned()]));
        header.text(1000, "gpud");
        header.text(1001, version);
        header.text(1002, release);
        let summary = "Health of this GPU machine";
        header.set(1004, Value::Translated(summary.to_owned()));
        let description = "Watches one GPU machine: is it healthy, what went wrong, what should be done about it.\n\
            Checks run in a sandbox. Nothing is sent anywhere unless the operator names where to.";
        header.set(1005, Value::Translated(description.to_owned()));
        header.number(1006, self.time);
        header.text(1007, "localhost");
        header.number(1009, u32::try_from(self.files.size())?);
        header.text(1014, "Apache-2.0");
        header.set(1016, Value::Translated("Unspecified".to_owned()));
        header.text(1021, "linux");
        header.text(1022, self.machine.0);
        header.text(1044, &format!("gpud-{version}-{release}.src.rpm"));
        header.text(1064, "4.14.0");
        header.text(1124, "cpio");
        header.text(1125, "gzip");
        header.text(1126, "9");
        header.text(5062, "utf-8");
        for (script, text) in &self.scripts {
            let (body, runs) = script.tags();
            header.text(body, text);
            header.text(runs, "/bin/sh");
        }
        self.relations(&mut header);
        self.describe(files, &mut header)?;
        Ok(header)
    }

    /// What the package gives and needs. rpm looks names up by bisection.
    fn relations(&self, header: &mut Header) {
        let Self {
            version, release, ..
        } = self;
        let texts = |text: &str| Value::Texts(vec![text.to_owned()]);
        header.set(1047, texts("gpud"));
        header.number(1112, EQUAL);
        header.set(1113, texts(&format!("{version}-{release}")));
        let mut needs: Vec<(String, u32, &str)> = self
            .requires
            .iter()
            .map(|name| (name.clone(), 0, ""))
            .collect();
        needs.push(("/bin/sh".to_owned(), 0, ""));
        for (name, since) in [
            ("CompressedFileNames", "3.0.4-1"),
            ("FileDigests", "4.6.0-1"),
            ("PayloadFilesHavePrefix", "4.0-1"),
        ] {
            needs.push((format!("rpmlib({name})"), RPM_KNOWS, since));
        }
        needs.sort();
        let names = needs.iter().map(|(name, ..)| name.clone()).collect();
        let flags = needs.iter().map(|(_, flags, _)| *flags).collect();
        let versions = needs
            .iter()
            .map(|(.., since)| (*since).to_owned())
            .collect();
        header.set(1049, Value::Texts(names));
        header.set(1048, Value::Number(flags));
        header.set(1050, Value::Texts(versions));
    }

    /// One value for each file, in the order of the payload.
    fn describe(&self, files: &BTreeMap<&str, &Node>, header: &mut Header) -> Result<()> {
        let mut folders: Vec<String> = Vec::new();
        let (mut sizes, mut modes, mut digests) = (vec![], vec![], vec![]);
        let (mut flags, mut of_folder, mut names) = (vec![], vec![], vec![]);
        for (path, node) in files {
            let (folder, name) = path.rsplit_once('/').context("a file in the root folder")?;
            let folder = format!("/{folder}/");
            let number = folders.iter().position(|known| *known == folder);
            let number = number.unwrap_or_else(|| {
                folders.push(folder);
                folders.len() - 1
            });
            of_folder.push(u32::try_from(number)?);
            names.push(name.to_owned());
            modes.push(u16::try_from(cpio::mode(node))?);
            flags.push(kind(path));
            let (size, digest) = match node {
                Node::Folder(_) => (0, String::new()),
                Node::File(_, content) => (content.len(), sha256(content)),
            };
            sizes.push(u32::try_from(size)?);
            digests.push(digest);
        }
        let count = files.len();
        let root = || Value::Texts(vec!["root".to_owned(); count]);
        ensure!(count > 0, "a package without files");
        header.set(1028, Value::Number(sizes));
        header.set(1030, Value::Short(modes));
        header.set(1033, Value::Short(vec![0; count]));
        header.set(1034, Value::Number(vec![self.time; count]));
        header.set(1035, Value::Texts(digests));
        // Links, of which there are none.
        header.set(1036, Value::Texts(vec![String::new(); count]));
        header.set(1037, Value::Number(flags));
        header.set(1039, root());
        header.set(1040, root());
        header.set(1045, Value::Number(vec![u32::MAX; count]));
        header.set(1095, Value::Number(vec![1; count]));
        header.set(1096, Value::Number((1..=u32::try_from(count)?).collect()));
        header.set(1097, Value::Texts(vec![String::new(); count]));
        header.set(1116, Value::Number(of_folder));
        header.set(1117, Value::Texts(names));
        header.set(1118, Value::Texts(folders));
        header.number(5011, 8);
        Ok(())
    }
}

/// Whether a folder belongs to this package alone; the others belong to the system.
fn is_own(path: &str) -> bool {
    path.split('/').any(|part| part == "gpud")
}

fn kind(path: &str) -> u32 {
    if path.starts_with("etc/") {
        CONFIG
    } else if path.starts_with("usr/share/doc/") || path.starts_with("usr/share/man/") {
        DOCUMENTATION
    } else {
        0
    }
}

/// Returns what rpm calls the libraries and versions that a program needs.
pub fn requires(program: &super::elf::Program) -> Vec<String> {
    let libraries = program
        .libraries
        .iter()
        .map(|library| format!("{library}()(64bit)"));
    let versions = program
        .versions
        .iter()
        .map(|(library, version)| format!("{library}({version})(64bit)"));
    let mut names: Vec<String> = libraries.chain(versions).collect();
    names.sort();
    names.dedup();
    names
}

#[cfg(test)]
#[path = "rpm_tests.rs"]
mod tests;
