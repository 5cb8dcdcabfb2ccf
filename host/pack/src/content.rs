//! A whole pack in memory.

use std::{collections::BTreeMap, fmt::Write as _};

use sha2::{Digest as _, Sha256};

use super::{
    MANIFEST_FILE, MAX_BYTES, MAX_FILE_BYTES, MAX_FILES, Manifest, PackRefusal, check_path,
};

/// Digests of all other files, in the form of `sha256sum`.
pub(crate) const SUMS_FILE: &str = "SHA256SUMS";
/// The signature over [`SUMS_FILE`], in the form of minisign.
pub const SIGNATURE_FILE: &str = "SHA256SUMS.minisig";
/// Largest signature, bytes.
const MAX_SIGNATURE: usize = 8 << 10;

/// A pack whose digests fit its files. Whether its signature is good is another question.
#[derive(Debug, Clone, PartialEq)]
pub struct Pack {
    /// What its vendor says of it.
    pub manifest: Manifest,
    /// Its files but digests and signature, by path; `pack.yaml` is one of them.
    files: BTreeMap<String, Vec<u8>>,
    /// The signature, if it has one; not yet looked at.
    pub signature: Option<String>,
}

/// The files of a pack while they are collected, within a pack's bounds.
#[derive(Debug, Default)]
pub(crate) struct PackFiles {
    files: BTreeMap<String, Vec<u8>>,
    bytes: usize,
}

impl PackFiles {
    /// How large the next file may be at most.
    pub(crate) fn room(&self) -> usize {
        MAX_BYTES.saturating_sub(self.bytes).min(MAX_FILE_BYTES)
    }

    /// Adds a file.
    ///
    /// # Errors
    /// [`PackRefusal`]: its path, its size, or one of that path is there already.
    pub(crate) fn add(&mut self, path: &str, content: Vec<u8>) -> Result<(), PackRefusal> {
        check_path(path)?;
        if content.len() > self.room() {
            return Err(PackRefusal(format!(
                "{path}: a pack holds files of up to {MAX_FILE_BYTES} bytes, {MAX_BYTES} bytes in all"
            )));
        }
        if self.files.len() >= MAX_FILES {
            return Err(PackRefusal(format!(
                "more than {MAX_FILES} files in the pack"
            )));
        }
        self.bytes += content.len();
        match self.files.insert(path.to_owned(), content) {
            None => Ok(()),
            Some(_) => Err(PackRefusal(format!("{path} is in the pack twice"))),
        }
    }

    /// Makes a pack of them. Digests have to be there and to fit, unless the pack is only being `built`.
    ///
    /// # Errors
    /// [`PackRefusal`], naming the file.
    pub(crate) fn into_pack(mut self, built: bool) -> Result<Pack, PackRefusal> {
        let sums = self.files.remove(SUMS_FILE);
        let signature = self.files.remove(SIGNATURE_FILE);
        let signature = match (signature, built) {
            // A rebuilt pack is signed again.
            (None, _) | (Some(_), true) => None,
            (Some(bytes), false) if bytes.len() <= MAX_SIGNATURE => Some(
                String::from_utf8(bytes)
                    .map_err(|_| PackRefusal(format!("{SIGNATURE_FILE} is not UTF-8")))?,
            ),
            (Some(_), false) => {
                return Err(PackRefusal(format!(
                    "{SIGNATURE_FILE} is larger than {MAX_SIGNATURE} bytes"
                )));
            }
        };
        let manifest = self
            .files
            .get(MANIFEST_FILE)
            .ok_or_else(|| PackRefusal(format!("there is no {MANIFEST_FILE}: this is no pack")))?;
        let manifest = Manifest::parse(manifest)?;
        let pack = Pack {
            manifest,
            files: self.files,
            signature,
        };
        let named = pack.manifest.plugins.iter().map(|plugin| &plugin.file);
        for file in named.chain(&pack.manifest.docs) {
            if !pack.files.contains_key(file) {
                return Err(PackRefusal(format!(
                    "{MANIFEST_FILE} names {file}, which is not in the pack"
                )));
            }
        }
        if !built {
            let sums = sums.ok_or_else(|| {
                PackRefusal(format!(
                    "there is no {SUMS_FILE}: `gpud pack build` makes a pack with one"
                ))
            })?;
            pack.check_sums(&sums)?;
        }
        Ok(pack)
    }
}

impl Pack {
    /// A file of it.
    pub fn file(&self, path: &str) -> Option<&[u8]> {
        self.files.get(path).map(Vec::as_slice)
    }

    /// All of its files with digests and signature, by path.
    pub(crate) fn all_files(&self) -> BTreeMap<String, Vec<u8>> {
        let mut all = self.files.clone();
        all.insert(SUMS_FILE.to_owned(), self.sums().into_bytes());
        if let Some(signature) = &self.signature {
            all.insert(SIGNATURE_FILE.to_owned(), signature.clone().into_bytes());
        }
        all
    }

    /// The digests of its files, in the form of `sha256sum`, by path.
    pub fn sums(&self) -> String {
        let mut text = String::new();
        for (path, content) in &self.files {
            let _ = writeln!(text, "{}  {path}", hex(content));
        }
        text
    }

    /// What identifies its content: the SHA-256 of its digests.
    pub fn digest(&self) -> String {
        hex(self.sums().as_bytes())
    }

    fn check_sums(&self, sums: &[u8]) -> Result<(), PackRefusal> {
        let ours = self.sums();
        if ours.as_bytes() == sums {
            return Ok(());
        }
        let theirs = String::from_utf8_lossy(sums);
        let changed = ours
            .lines()
            .find(|line| !theirs.lines().any(|other| other == *line));
        let path = changed
            .and_then(|line| line.split_once("  "))
            .map(|(_, path)| path);
        Err(PackRefusal(match path {
            Some(path) => {
                format!("{path} is not what {SUMS_FILE} says: the pack was changed or is damaged")
            }
            None => format!("{SUMS_FILE} lists what is not in the pack"),
        }))
    }
}

/// SHA-256 in hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    Sha256::digest(bytes)
        .iter()
        .fold(String::with_capacity(64), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        })
}

#[cfg(test)]
pub(crate) mod tests {
    use std::{fs, path::Path};

    use super::*;
    use crate::spec::{self, PluginFile};

    pub(crate) const MANIFEST: &str = "name: acme\nvendor: Acme\nversion: 1.0.0\ndocs: README.md\nplugins:\n- {name: acme-fans, file: fans.wasm, \
         grants: {kmsg: true}}\n";

    pub(crate) fn collected(manifest: &str, fans: &[u8]) -> PackFiles {
        let mut collected = PackFiles::default();
        collected
            .add("pack.yaml", manifest.as_bytes().to_vec())
            .unwrap();
        collected.add("fans.wasm", fans.to_vec()).unwrap();
        collected.add("README.md", b"Fans.\n".to_vec()).unwrap();
        collected
    }

    pub(crate) fn pack() -> Pack {
        collected(MANIFEST, b"wasm").into_pack(true).unwrap()
    }

    /// Reads the spec of an installed pack, as the daemon does.
    pub(crate) fn read_spec(path: &Path) -> PluginFile {
        let text = fs::read(path).unwrap();
        spec::parse(&text, &path.display().to_string(), &|list| {
            Err(format!("{} is not read", list.display()))
        })
    }

    fn again(change: impl FnOnce(&mut BTreeMap<String, Vec<u8>>)) -> Result<Pack, PackRefusal> {
        let mut files = pack().all_files();
        change(&mut files);
        let mut collected = PackFiles::default();
        for (path, content) in files {
            collected.add(&path, content)?;
        }
        collected.into_pack(false)
    }

    #[test]
    fn what_was_built_is_read_again_and_any_change_is_noticed() {
        assert_eq!(again(|_| {}).unwrap(), pack());
        type Files = BTreeMap<String, Vec<u8>>;
        let refusal = |change: &dyn Fn(&mut Files)| again(change).unwrap_err().to_string();
        assert!(
            refusal(&|files| files.get_mut("fans.wasm").unwrap()[0] ^= 1)
                .contains("fans.wasm is not what SHA256SUMS says")
        );
        assert!(
            refusal(&|files| drop(files.insert("more".into(), Vec::new())))
                .contains("more is not what")
        );
        assert!(
            refusal(&|files| drop(files.remove("README.md")))
                .contains("names README.md, which is not in the pack")
        );
        assert!(refusal(&|files| drop(files.remove(SUMS_FILE))).contains("there is no SHA256SUMS"));
        assert!(refusal(&|files| drop(files.remove("pack.yaml"))).contains("this is no pack"));
        assert!(
            refusal(&|files| files.get_mut(SUMS_FILE).unwrap().extend(b"00  gone\n"))
                .contains("lists what is not")
        );
        assert!(
            refusal(&|files| drop(files.insert(SIGNATURE_FILE.into(), vec![0xff])))
                .contains("not UTF-8")
        );
        assert!(
            refusal(&|files| drop(files.insert(SIGNATURE_FILE.into(), vec![b'a'; 9000])))
                .contains("larger than")
        );
    }

    #[test]
    fn sums_are_those_of_sha256sum() {
        let pack = pack();
        let line = pack.sums().lines().next().unwrap().to_owned();
        assert_eq!(line, format!("{}  README.md", hex(b"Fans.\n")));
        assert_eq!(pack.digest().len(), 64);
        let changed = collected(MANIFEST, b"wasm2").into_pack(true).unwrap();
        assert_ne!(pack.digest(), changed.digest());
    }

    #[test]
    fn bounds_hold() {
        let mut full = PackFiles {
            bytes: MAX_BYTES - 1,
            ..PackFiles::default()
        };
        assert!(full.add("a", vec![0; 2]).is_err());
        full.add("a", vec![0]).unwrap();
        let mut many = PackFiles::default();
        for at in 0..MAX_FILES {
            many.add(&format!("f{at}"), Vec::new()).unwrap();
        }
        assert!(
            many.add("one-more", Vec::new())
                .unwrap_err()
                .to_string()
                .contains("more than 1000 files")
        );
        let mut twice = PackFiles::default();
        twice.add("a", Vec::new()).unwrap();
        assert!(
            twice
                .add("a", Vec::new())
                .unwrap_err()
                .to_string()
                .contains("twice")
        );
    }
}
