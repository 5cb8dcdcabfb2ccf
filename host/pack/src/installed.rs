//! Packs in the data folder. `packs/‹name›.yaml` is the spec that the daemon runs; it points into `packs/‹name›/‹digest›/`,
//! where its files are. A version is written whole beside the one that runs, and one rename of the spec puts it in place:
//! whatever happens before that, the version of before runs on.
#![allow(clippy::disallowed_methods, reason = "gpud's own files")]

use std::{
    collections::BTreeMap,
    fs, io,
    io::Write as _,
    os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
};

use rustix::fs::{FlockOperation, OFlags, flock};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{Manifest, Pack, PackRefusal, beyond, signature::Signer};
use crate::node::trusted::{self, Opener, OwnFolder};

/// The folder of packs inside the data folder.
pub const FOLDER: &str = "packs";
/// Permissions of group and others.
const OTHERS: u32 = 0o077;
/// Where a version is written before it has its name.
const UNFINISHED: &str = ".unfinished-";
/// Before the record in a spec.
const RECORD: &str = "# gpud-pack: ";
/// Largest spec of a pack, bytes.
const MAX_SPEC: usize = 4 << 20;
/// How much of a digest names a folder.
const DIGEST_SHOWN: usize = 16;

/// An operator's own keys of configurations, by plugin.
pub type OwnConfig = BTreeMap<String, Map<String, Value>>;

/// What is noted of an installed pack.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// Name, vendor, version, and the grants that the operator approved.
    pub manifest: Manifest,
    /// SHA-256 of its digests.
    pub digest: String,
    /// The key that its signature was verified with; `None` where the operator took it without.
    pub signed_by: Option<String>,
    /// The operator's own keys of configurations.
    pub config: OwnConfig,
}

/// The installed packs of a data folder.
#[derive(Debug, Clone)]
pub struct Packs {
    folder: PathBuf,
}

/// What an operator decided.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Decisions {
    /// What the pack asks for is granted.
    pub approved: bool,
    /// The pack may be older than the installed version.
    pub downgrade: bool,
    /// Own keys of configurations; `None` keeps those of before.
    pub config: Option<OwnConfig>,
}

/// The outcome of an installation.
#[derive(Debug, Clone, PartialEq)]
pub struct Installed {
    /// What is installed now.
    pub record: Record,
    /// What was before.
    pub before: Option<Record>,
}

impl Packs {
    /// Those of a data folder.
    pub fn of(data_dir: &Path) -> Self {
        Self {
            folder: data_dir.join(FOLDER),
        }
    }

    /// The folder with their specs.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The specs of the installed packs, by name of the file. Where there is no folder, there is none.
    ///
    /// # Errors
    /// The folder cannot be read.
    pub fn specs(&self) -> io::Result<Vec<PathBuf>> {
        Opener::of_command().check_servers(&self.folder)?;
        let entries = match fs::read_dir(&self.folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let mut specs = Vec::new();
        for entry in entries {
            let path = entry?.path();
            if path
                .extension()
                .is_some_and(|extension| extension == "yaml")
            {
                specs.push(path);
            }
        }
        specs.sort();
        Ok(specs)
    }

    /// What is installed under a name.
    ///
    /// # Errors
    /// [`PackRefusal`]: its spec is there and not understood.
    pub(crate) fn get(&self, name: &str) -> Result<Option<Record>, PackRefusal> {
        let spec = self.spec(name);
        match fs::symlink_metadata(&spec) {
            Ok(_) => self.record(&spec).map(Some),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(PackRefusal(format!("{}: {error}", spec.display()))),
        }
    }

    /// Installs a pack, or puts it in the place of another version of it. The caller has determined `signer` before.
    ///
    /// # Errors
    /// [`PackRefusal`]: it asks for what was not approved, its configuration names what is not there, or the folder cannot be
    /// written. Whatever was installed before is then as it was.
    pub fn install(
        &self,
        pack: &Pack,
        signer: Option<&Signer>,
        decisions: Decisions,
    ) -> Result<Installed, PackRefusal> {
        let failed = |error: io::Error| {
            PackRefusal(format!(
                "{}: {error}; nothing was installed",
                self.folder.display()
            ))
        };
        self.open_folder()?;
        let _turn = self.turn().map_err(failed)?;
        self.clean();
        let name = &pack.manifest.name;
        let before = self.get(name)?;
        // It was approved for this signer.
        let signed_by = signer.map(|signer| signer.key.clone());
        let granted = before
            .as_ref()
            .filter(|before| before.signed_by == signed_by);
        let nothing = Manifest {
            plugins: Vec::new(),
            ..pack.manifest.clone()
        };
        let more = beyond(
            granted.map_or(&nothing, |granted| &granted.manifest),
            &pack.manifest,
        );
        if !more.is_empty() && !decisions.approved {
            return Err(PackRefusal(format!(
                "pack {name} {} asks for what it was not granted:\n  {}\n{}install it with --approve to grant it; until then nothing \
                 changes",
                pack.manifest.version,
                more.join("\n  "),
                other_signer(before.as_ref(), signed_by.as_deref()),
            )));
        }
        if let Some(before) = &before
            && pack.manifest.is_older_than(&before.manifest)
            && !decisions.downgrade
        {
            return Err(PackRefusal(format!(
                "pack {name} {} is older than the installed version {}: it can have faults that were fixed since; \
                 --allow-downgrade installs it all the same",
                pack.manifest.version, before.manifest.version
            )));
        }
        let kept = || granted.map(|granted| granted.config.clone());
        let config = decisions.config.or_else(kept).unwrap_or_default();
        let digest = pack.digest();
        let below = below(name, &digest);
        pack.manifest.entries(&below, &config)?;
        let record = Record {
            manifest: pack.manifest.clone(),
            digest,
            signed_by,
            config,
        };
        self.put(pack, &self.folder.join(&below)).map_err(failed)?;
        let text = text(&record, &below).map_err(|error| PackRefusal(error.to_string()))?;
        self.switch(name, &text).map_err(failed)?;
        self.forget_others(name, &[Some(&below), kept_folder(before.as_ref()).as_ref()]);
        Ok(Installed { record, before })
    }

    /// Ends a pack: its spec goes first, so that the daemon ends its plugins, then its files.
    ///
    /// # Errors
    /// [`PackRefusal`]: it is not installed, or cannot be removed.
    pub fn remove(&self, name: &str) -> Result<(), PackRefusal> {
        super::manifest::check_name(name).map_err(PackRefusal)?;
        let spec = self.spec(name);
        let failed = |error: io::Error| match error.kind() {
            io::ErrorKind::NotFound => PackRefusal(format!(
                "pack {name} is not installed in {}",
                self.folder.display()
            )),
            _ => PackRefusal(format!("{}: {error}", spec.display())),
        };
        let served = Opener::of_command().check_servers(&spec);
        served.map_err(|error| PackRefusal(error.to_string()))?;
        fs::symlink_metadata(&spec).map_err(failed)?;
        self.open_folder()?;
        let _turn = self.turn().map_err(failed)?;
        fs::remove_file(&spec).map_err(failed)?;
        sync_folder(&self.folder).map_err(failed)?;
        match fs::remove_dir_all(self.folder.join(name)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(failed(error)),
            _ => Ok(()),
        }
    }

    /// What is noted in a spec.
    ///
    /// # Errors
    /// [`PackRefusal`]: it cannot be read, is not trusted, or was written by somebody else.
    pub fn record(&self, spec: &Path) -> Result<Record, PackRefusal> {
        let bytes = Opener::of_command()
            .read(spec, MAX_SPEC)
            .map_err(|error| PackRefusal(error.to_string()))?;
        let text = String::from_utf8_lossy(&bytes);
        let line = text.lines().find_map(|line| line.strip_prefix(RECORD));
        let record = line.and_then(|line| serde_json::from_str(line).ok());
        record.ok_or_else(|| {
            PackRefusal(format!(
                "{} was not written by `gpud pack install`, or was edited since",
                spec.display()
            ))
        })
    }

    fn spec(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{name}.yaml"))
    }

    /// Makes the folder if it is missing, and closes it to others. A user who could change the way to it would choose where
    /// files are written and removed.
    fn open_folder(&self) -> Result<(), PackRefusal> {
        let data_dir = self.folder.parent().unwrap_or(Path::new("/"));
        trusted::make_folder(data_dir, 0o700)
            .and_then(|()| OwnFolder::open(&self.folder).map(drop))
            .map_err(|error| match error.is_of_open_folder(data_dir) {
                true => PackRefusal(format!(
                    "other users can change the data folder {}: start gpud, which closes it and sets aside what is in it; nothing \
                     was changed",
                    data_dir.display()
                )),
                false => PackRefusal(format!("{error}; nothing was changed")),
            })
    }

    /// One at a time: waits for other processes that change the folder.
    fn turn(&self) -> io::Result<fs::File> {
        let path = self.folder.join(".lock");
        let open = || {
            fs::File::options()
                .create(true)
                .truncate(false)
                .write(true)
                .mode(0o600)
                // Opening a pipe that nobody reads would wait for ever.
                .custom_flags(OFlags::NONBLOCK.bits().cast_signed())
                .open(&path)
        };
        let mut lock = open()?;
        // Others who could open it may hold it for ever.
        if lock.metadata()?.mode() & OTHERS != 0 {
            fs::remove_file(&path)?;
            lock = open()?;
        }
        flock(&lock, FlockOperation::LockExclusive)?;
        Ok(lock)
    }

    /// Removes what an installation that was killed left behind.
    fn clean(&self) {
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        for entry in entries {
            if entry.file_name().to_string_lossy().starts_with(UNFINISHED) {
                discard(&entry.path());
            }
        }
    }

    /// Writes the files of a pack to their place, as a whole.
    fn put(&self, pack: &Pack, place: &Path) -> io::Result<()> {
        let unfinished = self
            .folder
            .join(format!("{UNFINISHED}{}", uuid::Uuid::new_v4()));
        let written = self.write(pack, &unfinished).and_then(|()| {
            if let Some(parent) = place.parent() {
                make_folders(parent)?;
            }
            // A version that is installed again is written again: its files may have been damaged.
            if place.exists() {
                let aside = self
                    .folder
                    .join(format!("{UNFINISHED}{}", uuid::Uuid::new_v4()));
                fs::rename(place, &aside)?;
                fs::rename(&unfinished, place)?;
                discard(&aside);
            } else {
                fs::rename(&unfinished, place)?;
            }
            place.parent().map_or(Ok(()), sync_folder)
        });
        if written.is_err() {
            discard(&unfinished);
        }
        written
    }

    fn write(&self, pack: &Pack, folder: &Path) -> io::Result<()> {
        make_folders(folder)?;
        for (path, content) in pack.all_files() {
            let to = folder.join(path);
            if let Some(parent) = to.parent() {
                make_folders(parent)?;
            }
            let mut file = new_file(&to)?;
            file.write_all(&content)?;
            file.sync_all()?;
            to.parent().map_or(Ok(()), sync_folder)?;
        }
        sync_folder(folder)
    }

    fn switch(&self, name: &str, text: &str) -> io::Result<()> {
        let beside = self
            .folder
            .join(format!("{UNFINISHED}{}", uuid::Uuid::new_v4()));
        let mut file = new_file(&beside)?;
        let written = file
            .write_all(text.as_bytes())
            .and_then(|()| file.sync_all())
            .and_then(|()| fs::rename(&beside, self.spec(name)));
        if written.is_err() {
            let _ = fs::remove_file(&beside);
        }
        written.and_then(|()| sync_folder(&self.folder))
    }

    /// Removes the folders of versions that are neither installed nor the one before, which a daemon may still be reading.
    fn forget_others(&self, name: &str, keep: &[Option<&String>]) {
        let entries = fs::read_dir(self.folder.join(name))
            .into_iter()
            .flatten()
            .flatten();
        for entry in entries {
            let below = format!("{name}/{}", entry.file_name().to_string_lossy());
            if !keep.contains(&Some(&below)) {
                let _ = fs::remove_dir_all(entry.path());
            }
        }
    }
}

fn kept_folder(before: Option<&Record>) -> Option<String> {
    before.map(|before| below(&before.manifest.name, &before.digest))
}

/// The folder of a version, below that of the specs.
pub(super) fn below(name: &str, digest: &str) -> String {
    format!("{name}/{}", digest.get(..DIGEST_SHOWN).unwrap_or(digest))
}

/// Who signed the installed version and this one, if that is not the same.
fn other_signer(before: Option<&Record>, signed_by: Option<&str>) -> String {
    let words = |key: Option<&str>| {
        key.map_or_else(|| "not signed".to_owned(), |key| format!("signed by {key}"))
    };
    match before {
        Some(before) if before.signed_by.as_deref() != signed_by => format!(
            "the installed version {} is {}, and this one {}: nothing was granted to that, and the configuration of before is not \
             kept for it\n",
            before.manifest.version,
            words(before.signed_by.as_deref()),
            words(signed_by)
        ),
        _ => String::new(),
    }
}

/// The spec of a pack: its record in a comment, then its entries.
fn text(record: &Record, below: &str) -> serde_json::Result<String> {
    let entries = record.manifest.spec(below, &record.config);
    Ok(format!(
        "# Written by `gpud pack install`. What is edited here is lost with the next version: use `gpud pack install --config`.\n{RECORD}{}\n{}\n",
        serde_json::to_string(record)?,
        serde_json::to_string_pretty(&entries)?
    ))
}

/// Makes folders that others cannot change, whatever the umask of the command is.
fn make_folders(path: &Path) -> io::Result<()> {
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o755)
        .create(path)
}

/// Makes such a file, where there is none.
fn new_file(path: &Path) -> io::Result<fs::File> {
    fs::File::options()
        .write(true)
        .create_new(true)
        .mode(0o644)
        .open(path)
}

/// Removes a folder or a file that nobody needs any more. What cannot be removed now is removed by the next
/// installation.
fn discard(path: &Path) {
    let _ = fs::remove_dir_all(path).or_else(|_| fs::remove_file(path));
}

fn sync_folder(folder: &Path) -> io::Result<()> {
    fs::File::open(folder)?.sync_all()
}

#[cfg(test)]
mod tests;
