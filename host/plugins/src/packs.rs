//! Runs the plugins of installed packs beside those of the operator's spec file: each pack has a spec of its own in the data
//! folder. Spec, signed manifest, digests and components are looked at while the daemon runs. What differs from what was
//! signed is not loaded, and is loaded again once it is right.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use tokio::sync::Notify;

use super::{
    Plugins,
    file::{self, Stamps},
    trouble, wasm,
};
use crate::{
    node::{file_watch::FileWatch, trusted::Opener},
    pack::{PackRefusal, installed::Packs, integrity::InstalledPack},
    spec::PluginFile,
};

/// From a change to the look for the next one. A spec is put in place by renaming, so that what is seen is whole.
const LOOK: Duration = Duration::from_secs(1);

/// A pack's spec that was applied, and how it went.
struct AppliedSpec {
    /// Stamps of the spec and of every file that loading it depends on.
    stamps: Stamps,
    /// Why parts of it do not run.
    problems: Vec<String>,
}

/// A spec that was read, with stamps from before it was read.
struct ReadSpec {
    file: PluginFile,
    stamps: Stamps,
    pack: Result<Arc<InstalledPack>, PackRefusal>,
}

/// Loads packs that are installed, replaced, damaged or repaired, and ends those that are removed, for ever. `again`
/// asks for a look at once, in which packs with problems are tried again even if none of their files changed.
pub async fn run(plugins: Arc<Plugins>, packs: Packs, again: Arc<Notify>) {
    let mut applied: BTreeMap<PathBuf, AppliedSpec> = BTreeMap::new();
    let mut hurry = false;
    let watch = Arc::new(FileWatch::new());
    loop {
        let (here, watching) = (packs.clone(), Arc::clone(&watch));
        let watched: Vec<Stamps> = applied
            .values()
            .map(|applied| applied.stamps.clone())
            .collect();
        let before: BTreeMap<PathBuf, Stamps> = applied
            .iter()
            .filter(|(_, applied)| !hurry || applied.problems.is_empty())
            .map(|(spec, applied)| (spec.clone(), applied.stamps.clone()))
            .collect();
        let looking = tokio::task::spawn_blocking(move || {
            // First, so that no change falls between.
            watching.follow(watched.iter().flat_map(Stamps::files), [here.folder()]);
            look(&here, &before)
        });
        let Ok(found) = looking.await else {
            return;
        };
        let changed = match found {
            Ok(found) => follow(&plugins, &packs, &mut applied, &found).await,
            // Nothing is ended because a folder cannot be read for a while.
            Err(error) => {
                tracing::error!("installed packs cannot be looked at: {error}");
                false
            }
        };
        // The loaded specs depend on files that are not watched yet.
        let pause = match changed {
            true => LOOK,
            false => watch.pause(),
        };
        hurry = tokio::select! {
            () = tokio::time::sleep(pause) => false,
            () = watch.changed() => false,
            () = again.notified() => true,
        };
    }
}

/// The specs that are there, and whether each is new or anything of it has changed.
fn look(
    packs: &Packs,
    before: &BTreeMap<PathBuf, Stamps>,
) -> std::io::Result<BTreeMap<PathBuf, bool>> {
    let specs = packs.specs()?.into_iter();
    Ok(specs
        .map(|spec| {
            let changed = before
                .get(&spec)
                .is_none_or(|stamps| stamps.again() != *stamps);
            (spec, changed)
        })
        .collect())
}

/// Applies what is different. Returns whether anything was.
async fn follow(
    plugins: &Plugins,
    packs: &Packs,
    applied: &mut BTreeMap<PathBuf, AppliedSpec>,
    found: &BTreeMap<PathBuf, bool>,
) -> bool {
    let mut changed = false;
    for (spec, _) in found.iter().filter(|(_, changed)| **changed) {
        let now = take(plugins, packs, spec).await;
        for problem in &now.problems {
            tracing::error!("pack not loaded: {problem}");
        }
        applied.insert(spec.clone(), now);
        changed = true;
    }
    let gone: Vec<PathBuf> = applied
        .keys()
        .filter(|spec| !found.contains_key(*spec))
        .cloned()
        .collect();
    for spec in gone {
        applied.remove(&spec);
        if let Err(problem) = plugins.end_pack(&spec).await {
            tracing::error!("a removed pack could not be ended: {problem}");
        }
        changed = true;
    }
    if changed {
        let problems: Vec<String> = applied
            .values()
            .flat_map(|applied| applied.problems.clone())
            .collect();
        let what = "not all installed packs run";
        trouble::show_as(trouble::OF_PACKS, plugins.registry(), what, &problems);
    }
    changed
}

async fn take(plugins: &Plugins, packs: &Packs, spec: &Path) -> AppliedSpec {
    let (packs, owned) = (packs.clone(), spec.to_owned());
    let reading = tokio::task::spawn_blocking(move || read(&packs, &owned)).await;
    let read = reading.unwrap_or_else(|error| Err(error.to_string()));
    match read {
        Ok(ReadSpec { file, stamps, pack }) => AppliedSpec {
            problems: plugins.apply_pack(file, spec, &stamps, pack).await,
            stamps,
        },
        Err(problem) => AppliedSpec {
            stamps: Stamps::take([spec.to_owned()]),
            problems: vec![problem],
        },
    }
}

/// Reads the spec, and follows the chain from the vendor's key to it.
fn read(packs: &Packs, spec: &Path) -> Result<ReadSpec, String> {
    let first = Stamps::take([spec.to_owned()]);
    let file = file::read(spec, Opener::of_daemon())?;
    let folder = file::folder(spec);
    let entries = file.plugins.iter().filter_map(|p| p.spec.wasm.as_ref());
    let mut files: Vec<PathBuf> = entries
        .flat_map(|wasm| wasm::paths(wasm, &folder))
        .collect();
    files.extend(InstalledPack::control_files(packs, spec));
    files.push(spec.to_owned());
    let mut stamps = Stamps::take(files);
    if stamps.of(spec) != first.of(spec) {
        // It was replaced while it was read, which the next look sees.
        stamps = first;
    }
    let pack = InstalledPack::verify(packs, spec).and_then(|pack| {
        pack.check_entries(&file.plugins)?;
        Ok(Arc::new(pack))
    });
    Ok(ReadSpec { file, stamps, pack })
}
