//! Whether the components of a pack are what its manifest says: of this contract, content with the grants that are asked
//! for, and with configurations that fit.

use std::{path::PathBuf, sync::Arc};

use crate::{
    capability::Grants,
    component::config,
    component_file::{Compilation, ComponentFile},
    node::Node,
    pack::{Pack, PackRefusal},
    runtime::Limits,
};

/// Loads all of them, and lets them describe themselves; nothing else of them runs.
///
/// # Errors
/// [`PackRefusal`], naming the file.
pub async fn check(pack: &Pack, compilation: &Compilation) -> Result<(), PackRefusal> {
    let node = Node::live()
        .await
        .map_err(|error| PackRefusal(error.to_string()))?;
    let runtime = compilation.start(Arc::new(node)).map_err(PackRefusal)?;
    for plugin in &pack.manifest.plugins {
        let bytes = pack
            .file(&plugin.file)
            .ok_or_else(|| PackRefusal(format!("{} is not in the pack", plugin.file)))?;
        let file = ComponentFile {
            path: PathBuf::from(&plugin.file),
            bytes: bytes.to_vec(),
        };
        let wrong = |why: String| PackRefusal(format!("plugin {:?}: {why}", plugin.name));
        let grants = Grants::parse(&plugin.grants.clone().into())
            .map_err(|error| wrong(error.to_string()))?;
        let loaded = file
            .load(&runtime, grants, Limits::default())
            .await
            .map_err(|error| wrong(error.to_string()))?;
        for described in loaded.components() {
            config::check(described, &plugin.config.clone().into(), runtime.program())
                .await
                .map_err(|mismatch| wrong(format!("its defaults: {}", mismatch.message)))?;
        }
    }
    Ok(())
}
