//! Checks that an installed pack is unchanged since its vendor signed and the operator approved it.
//!
//! The signature is over `SHA256SUMS`, which has the digest of every file, `pack.yaml` among them; that has the grants. So
//! one chain leads from the vendor's key to each byte that runs and to each grant that it has. The chain is followed each
//! time the daemon loads a pack, and each file is checked with the very bytes that are used.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use super::{
    MANIFEST_FILE, MAX_FILE_BYTES, MAX_FILES, MAX_PATH, Manifest, PackRefusal, SIGNATURE_FILE,
    SUMS_FILE, hex,
    installed::{Packs, Record, below},
    signature::{SignatureError, TrustedKeys},
};
use crate::{node::trusted::Opener, spec::Plugin};

/// Largest file of digests, bytes: a digest, two blanks, a path and a newline for each file.
const MAX_SUMS: usize = MAX_FILES * (64 + 2 + MAX_PATH + 1);
/// Largest signature, bytes.
const MAX_SIGNATURE: usize = 8 << 10;

/// An installed pack whose record, manifest, digests and signature fit together. Its other files are checked as they are
/// read.
#[derive(Debug, Clone)]
pub struct InstalledPack {
    /// What was noted when it was installed.
    pub record: Record,
    /// The folder of its files, below that of the specs.
    below: String,
    /// The same as a path.
    folder: PathBuf,
    /// Digests by path.
    sums: BTreeMap<String, String>,
}

impl InstalledPack {
    /// Follows the chain from the key to the manifest of the pack with this spec.
    ///
    /// # Errors
    /// [`PackRefusal`], naming the file that does not fit.
    pub fn verify(packs: &Packs, spec: &Path) -> Result<Self, PackRefusal> {
        let record = packs.record(spec)?;
        let below = below(&record.manifest.name, &record.digest);
        let folder = packs.folder().join(&below);
        let what = format!("pack {} {}", record.manifest.name, record.manifest.version);
        let text = read(&folder.join(SUMS_FILE), MAX_SUMS)?;
        if hex(&text) != record.digest {
            return Err(damaged(&what, SUMS_FILE));
        }
        let text = String::from_utf8(text).map_err(|_| damaged(&what, SUMS_FILE))?;
        if let Some(key) = &record.signed_by {
            check_signature(&what, &folder, &text, Path::new(key))?;
        }
        let sums = text.lines().filter_map(|line| line.split_once("  "));
        let sums = sums.map(|(sum, path)| (path.to_owned(), sum.to_owned()));
        let pack = Self {
            sums: sums.collect(),
            record,
            below,
            folder,
        };
        pack.check_manifest(&what, spec)?;
        Ok(pack)
    }

    /// The files, other than those of components, that loading the pack of this spec depends on.
    pub fn control_files(packs: &Packs, spec: &Path) -> Vec<PathBuf> {
        let Ok(record) = packs.record(spec) else {
            return Vec::new();
        };
        let folder = packs
            .folder()
            .join(below(&record.manifest.name, &record.digest));
        let names = [SUMS_FILE, SIGNATURE_FILE, MANIFEST_FILE];
        names.map(|name| folder.join(name)).into()
    }

    /// Checks that these are the entries that the signed manifest and the operator's configuration give.
    ///
    /// # Errors
    /// [`PackRefusal`]: the spec was edited.
    pub fn check_entries(&self, plugins: &[Plugin]) -> Result<(), PackRefusal> {
        let signed = self
            .record
            .manifest
            .entries(&self.below, &self.record.config)?;
        let differs = plugins.len() != signed.len()
            || plugins
                .iter()
                .zip(&signed)
                .any(|(one, other)| one.spec != other.spec);
        match differs {
            false => Ok(()),
            true => Err(PackRefusal(format!(
                "the spec of pack {} was edited: its entries are not those of the signed {MANIFEST_FILE}; install the pack again, \
                 with --config for a configuration of your own",
                self.record.manifest.name
            ))),
        }
    }

    /// Checks what was read of a file, which a spec names by its path below the folder of specs.
    ///
    /// # Errors
    /// [`PackRefusal`], naming the file.
    pub fn check(&self, path: &str, content: &[u8]) -> Result<(), PackRefusal> {
        let inside = path.strip_prefix(&self.below);
        let inside = inside.and_then(|path| path.strip_prefix('/'));
        let sum = inside.and_then(|path| self.sums.get(path));
        match sum.is_some_and(|sum| *sum == hex(content)) {
            true => Ok(()),
            false => Err(damaged(&self.what(), inside.unwrap_or(path))),
        }
    }

    /// Reads every file, and says which are not as they were signed.
    pub fn damage(&self) -> Vec<String> {
        let files = self.sums.keys();
        let checked = files.map(|path| {
            let content = read(&self.folder.join(path), MAX_FILE_BYTES)?;
            self.check(&format!("{}/{path}", self.below), &content)
        });
        checked
            .filter_map(Result::err)
            .map(|PackRefusal(why)| why)
            .collect()
    }

    fn what(&self) -> String {
        let Manifest { name, version, .. } = &self.record.manifest;
        format!("pack {name} {version}")
    }

    /// The record has the grants that were approved: they are those of the signed manifest.
    fn check_manifest(&self, what: &str, spec: &Path) -> Result<(), PackRefusal> {
        let content = read(&self.folder.join(MANIFEST_FILE), MAX_FILE_BYTES)?;
        self.check(&format!("{}/{MANIFEST_FILE}", self.below), &content)?;
        let signed = Manifest::parse(&content)?;
        if signed == self.record.manifest {
            return Ok(());
        }
        let noted = &self.record.manifest.plugins;
        let differs = noted.iter().find(|plugin| !signed.plugins.contains(plugin));
        let which = differs.map_or_else(String::new, |plugin| {
            format!(", plugin {} with {}", plugin.name, plugin.file)
        });
        Err(PackRefusal(format!(
            "{what}: {} is not what the signed {MANIFEST_FILE} says{which}: it was edited; install the pack again",
            spec.display()
        )))
    }
}

/// A key that is not there any more proves nothing, and takes nothing back either: remove the pack for that.
fn check_signature(what: &str, folder: &Path, sums: &str, key: &Path) -> Result<(), PackRefusal> {
    let signature = read(&folder.join(SIGNATURE_FILE), MAX_SIGNATURE)?;
    let signature = String::from_utf8_lossy(&signature);
    if !key.is_absolute() {
        // Written by an earlier gpud. From another working folder it would be another key, or none.
        return Err(PackRefusal(format!(
            "{what}: its key is noted as {}, which is no absolute path: install the pack again",
            key.display()
        )));
    }
    let keys = TrustedKeys::read_one(key)?;
    match keys.verify_sums(what, sums, Some(&signature)) {
        Err(SignatureError::UnknownKey(_)) if keys.is_empty() => Ok(()),
        Ok(_) => Ok(()),
        Err(why) => Err(PackRefusal(why.to_string())),
    }
}

fn read(path: &Path, max: usize) -> Result<Vec<u8>, PackRefusal> {
    let read = Opener::of_command().read(path, max);
    read.map_err(|error| PackRefusal(error.to_string()))
}

fn damaged(what: &str, path: &str) -> PackRefusal {
    PackRefusal(format!(
        "{what}: {path} is not as it was signed: it was changed or is damaged; install the pack again"
    ))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::{
        content::tests::{pack, read_spec},
        installed::Decisions,
        signature::{SecretKey, Signer},
    };

    struct Site {
        home: tempfile::TempDir,
        packs: Packs,
    }

    impl Site {
        fn new() -> Self {
            let home = tempfile::tempdir().unwrap();
            let packs = Packs::of(home.path());
            let key = SecretKey::generate().unwrap();
            let public = home.path().join("acme.pub");
            fs::write(&public, key.public()).unwrap();
            let mut pack = pack();
            pack.sign(&key);
            let signer = Signer {
                key: public.display().to_string(),
                comment: String::new(),
            };
            let decisions = Decisions {
                approved: true,
                ..Decisions::default()
            };
            packs.install(&pack, Some(&signer), decisions).unwrap();
            Self { home, packs }
        }

        fn spec(&self) -> PathBuf {
            self.packs.folder().join("acme.yaml")
        }

        fn verify(&self) -> Result<InstalledPack, PackRefusal> {
            InstalledPack::verify(&self.packs, &self.spec())
        }

        /// Changes a file, asks, and changes it back.
        fn damage_after(&self, path: &Path, change: impl Fn(&str) -> String) -> String {
            let before = fs::read_to_string(path).unwrap();
            fs::write(path, change(&before)).unwrap();
            let message = match self.verify() {
                Ok(pack) => {
                    let mut damage = pack.damage();
                    let entries = pack.check_entries(&read_spec(&self.spec()).plugins);
                    damage.extend(entries.err().map(|PackRefusal(why)| why));
                    damage.join("; ")
                }
                Err(PackRefusal(why)) => why,
            };
            fs::write(path, before).unwrap();
            message
        }
    }

    #[test]
    fn each_changed_file_is_named() {
        let site = Site::new();
        let pack = site.verify().unwrap();
        assert_eq!(pack.damage(), Vec::<String>::new());
        pack.check_entries(&read_spec(&site.spec()).plugins)
            .unwrap();
        for name in ["fans.wasm", "README.md", MANIFEST_FILE, SUMS_FILE] {
            let message = site.damage_after(&pack.folder.join(name), |text| format!("{text} "));
            assert!(
                message.contains(&format!("pack acme 1.0.0: {name} is not as")),
                "{message}"
            );
        }
        let message = site.damage_after(&pack.folder.join(SIGNATURE_FILE), |text| {
            text.replace("trusted comment: gpud", "trusted comment: evil")
        });
        assert!(message.contains("signature is bad"), "{message}");
        fs::remove_file(pack.folder.join("fans.wasm")).unwrap();
        let damage = site.verify().unwrap().damage();
        assert!(damage[0].contains("fans.wasm: no such file"), "{damage:?}");
    }

    /// Somebody who swaps a file can write other digests, but cannot sign them.
    #[test]
    fn grants_and_digests_that_were_not_signed_are_refused() {
        let site = Site::new();
        let more = |text: &str| text.replace("\"kmsg\":true", "\"exec\":\"bash\"");
        let message = site.damage_after(&site.spec(), more);
        assert!(
            message.contains("is not what the signed pack.yaml says, plugin acme-fans"),
            "{message}"
        );
        let more = |text: &str| text.replace("\"kmsg\": true", "\"exec\": \"bash\"");
        let message = site.damage_after(&site.spec(), more);
        assert!(message.contains("was edited"), "{message}");

        let pack = site.verify().unwrap();
        let fans = pack.folder.join("fans.wasm");
        let old = hex(&fs::read(&fans).unwrap());
        fs::write(&fans, "evil").unwrap();
        let sums = fs::read_to_string(pack.folder.join(SUMS_FILE)).unwrap();
        let sums = sums.replace(&old, &hex(b"evil"));
        fs::write(pack.folder.join(SUMS_FILE), &sums).unwrap();
        let digest = hex(sums.as_bytes());
        let moved = site.packs.folder().join(below("acme", &digest));
        fs::rename(&pack.folder, moved).unwrap();
        let spec = fs::read_to_string(site.spec()).unwrap();
        let spec = spec.replace(&pack.record.digest, &digest);
        fs::write(
            site.spec(),
            spec.replace(&pack.below, &below("acme", &digest)),
        )
        .unwrap();
        let message = site.verify().unwrap_err().to_string();
        assert!(message.contains("its signature is bad"), "{message}");
        // Without the key nothing can be proved.
        fs::remove_file(site.home.path().join("acme.pub")).unwrap();
        site.verify().unwrap();
    }
}
