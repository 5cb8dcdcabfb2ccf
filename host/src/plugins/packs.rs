//! Runs the plugins of installed packs beside those of the operator's spec file: each pack has a spec of its own in the data
//! folder, taken whole or not at all, and looked at while the daemon runs.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use super::{Plugins, file, trouble, watch};
use crate::{
    node::local_file::{self, Stamp},
    pack::installed::Packs,
};

/// Between two looks. A spec is put in place by renaming, so that what is seen is whole.
const LOOK: Duration = Duration::from_secs(1);

/// What became of a spec.
struct Taken {
    stamp: Option<Stamp>,
    /// Why it was not taken, if so; the version of before runs on.
    problems: Vec<String>,
}

/// Takes up packs that are installed, replaced or removed, for ever.
pub async fn run(plugins: Arc<Plugins>, packs: Packs) {
    let mut taken: BTreeMap<PathBuf, Taken> = BTreeMap::new();
    loop {
        let here = packs.clone();
        let Ok(found) = tokio::task::spawn_blocking(move || look(&here)).await else {
            return;
        };
        match found {
            Ok(found) => follow(&plugins, &mut taken, &found).await,
            // Nothing is ended because a folder cannot be read for a while.
            Err(error) => tracing::error!("installed packs cannot be looked at: {error}"),
        }
        tokio::time::sleep(LOOK).await;
    }
}

fn look(packs: &Packs) -> std::io::Result<BTreeMap<PathBuf, Option<Stamp>>> {
    let specs = packs.specs()?.into_iter();
    Ok(specs
        .map(|spec| {
            let stamp = local_file::stamp(&spec);
            (spec, stamp)
        })
        .collect())
}

/// Applies what is different.
async fn follow(
    plugins: &Plugins,
    taken: &mut BTreeMap<PathBuf, Taken>,
    found: &BTreeMap<PathBuf, Option<Stamp>>,
) {
    let mut changed = false;
    for (spec, stamp) in found {
        if taken.get(spec).is_some_and(|taken| taken.stamp == *stamp) {
            continue;
        }
        let problems = take(plugins, spec).await.err().unwrap_or_default();
        for problem in &problems {
            tracing::error!("pack not taken up: {problem}");
        }
        taken.insert(
            spec.clone(),
            Taken {
                stamp: *stamp,
                problems,
            },
        );
        changed = true;
    }
    let gone: Vec<PathBuf> = taken
        .keys()
        .filter(|spec| !found.contains_key(*spec))
        .cloned()
        .collect();
    for spec in gone {
        taken.remove(&spec);
        let nothing = file::parse(b"", &spec.display().to_string());
        if let Err(problems) = plugins
            .apply(nothing, &spec, &file::Stamps::default())
            .await
        {
            tracing::error!(?problems, "a removed pack could not be ended");
        }
        changed = true;
    }
    if changed {
        let problems: Vec<String> = taken
            .values()
            .flat_map(|taken| taken.problems.clone())
            .collect();
        let what = "not all installed packs run";
        trouble::show_as(trouble::OF_PACKS, plugins.registry(), what, &problems);
    }
}

async fn take(plugins: &Plugins, spec: &Path) -> Result<(), Vec<String>> {
    let read = watch::read(spec.to_owned())
        .await
        .map_err(|problem| vec![problem])?;
    plugins.apply(read.file, spec, &read.stamps).await
}
