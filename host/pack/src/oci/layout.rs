//! The manifest of a pack in a registry.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::reference::is_digest;
use crate::{MAX_BYTES, MAX_FILE_BYTES, MAX_FILES, Pack, PackRefusal, check_path};

/// Of a manifest.
pub(crate) const MANIFEST_TYPE: &str = "application/vnd.oci.image.manifest.v1+json";
/// Of the config of a WebAssembly artifact.
pub(crate) const CONFIG_TYPE: &str = "application/vnd.wasm.config.v0+json";
/// Of a component.
const WASM_TYPE: &str = "application/wasm";
/// Of anything else in a pack.
const FILE_TYPE: &str = "application/vnd.gpud.pack.file.v1";
/// Largest manifest, bytes: the distribution specification asks registries to take as much.
pub(crate) const MAX_MANIFEST: usize = 4 << 20;
/// Where a layer's path stands.
const TITLE: &str = "org.opencontainers.image.title";

/// A manifest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct OciManifest {
    schema_version: u32,
    #[serde(default)]
    media_type: String,
    /// What it is.
    pub(crate) config: Descriptor,
    /// The files.
    pub(crate) layers: Vec<Descriptor>,
    #[serde(default)]
    annotations: BTreeMap<String, String>,
}

/// A piece of content, and what it has to be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Descriptor {
    media_type: String,
    /// `sha256:` and 64 digits.
    pub(crate) digest: String,
    /// Bytes.
    pub(crate) size: u64,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    annotations: BTreeMap<String, String>,
}

/// A manifest and all content that it names.
pub(crate) struct Artifact {
    /// The manifest, as it is stored.
    pub(crate) manifest: Vec<u8>,
    /// Config and layers, by digest.
    pub(crate) blobs: Vec<(String, Vec<u8>)>,
}

impl Descriptor {
    fn of(media_type: &str, content: &[u8]) -> Self {
        Self {
            media_type: media_type.to_owned(),
            digest: digest(content),
            size: content.len() as u64,
            annotations: BTreeMap::new(),
        }
    }

    /// Its path in the pack.
    ///
    /// # Errors
    /// [`PackRefusal`]: it has none, or one that leads elsewhere.
    pub(crate) fn path(&self) -> Result<&str, PackRefusal> {
        let path = self.annotations.get(TITLE).ok_or_else(|| {
            PackRefusal(format!(
                "layer {} has no title: this is no pack of gpud",
                self.digest
            ))
        })?;
        check_path(path)?;
        Ok(path)
    }

    /// Whether content is what this says.
    ///
    /// # Errors
    /// [`PackRefusal`].
    pub(crate) fn check(&self, content: &[u8]) -> Result<(), PackRefusal> {
        if content.len() as u64 == self.size && digest(content) == self.digest {
            return Ok(());
        }
        Err(PackRefusal(format!(
            "the registry's content of {} is something else; nothing of it is used",
            self.digest
        )))
    }
}

/// `sha256:` and the digits.
pub(crate) fn digest(content: &[u8]) -> String {
    format!("sha256:{}", crate::content::hex(content))
}

/// A pack as an artifact; always the same for the same pack.
///
/// # Errors
/// Never with these types; serde wants it said.
pub(crate) fn artifact(pack: &Pack) -> serde_json::Result<Artifact> {
    let files = pack.all_files();
    let is_component = |path: &String| {
        pack.manifest
            .plugins
            .iter()
            .any(|plugin| plugin.file == *path)
    };
    let (components, others): (Vec<_>, Vec<_>) =
        files.into_iter().partition(|(path, _)| is_component(path));
    let mut layers = Vec::new();
    let mut blobs = Vec::new();
    let typed = components.into_iter().map(|file| (WASM_TYPE, file));
    // The layout wants the first layer to be WebAssembly.
    for (media_type, (path, content)) in
        typed.chain(others.into_iter().map(|file| (FILE_TYPE, file)))
    {
        let mut layer = Descriptor::of(media_type, &content);
        layer.annotations.insert(TITLE.to_owned(), path);
        blobs.push((layer.digest.clone(), content));
        layers.push(layer);
    }
    let digests: Vec<_> = layers.iter().map(|layer| &layer.digest).collect();
    let config = serde_json::to_vec(
        &json!({"architecture": "wasm", "os": "wasip2", "layerDigests": digests}),
    )?;
    let facts = &pack.manifest;
    let manifest = OciManifest {
        schema_version: 2,
        media_type: MANIFEST_TYPE.to_owned(),
        config: Descriptor::of(CONFIG_TYPE, &config),
        layers,
        annotations: BTreeMap::from([
            (TITLE.to_owned(), facts.name.clone()),
            (
                "org.opencontainers.image.vendor".to_owned(),
                facts.vendor.clone(),
            ),
            (
                "org.opencontainers.image.version".to_owned(),
                facts.version.clone(),
            ),
        ]),
    };
    blobs.push((manifest.config.digest.clone(), config));
    Ok(Artifact {
        manifest: serde_json::to_vec(&manifest)?,
        blobs,
    })
}

/// Reads a manifest that a registry gave, before anything that it names is fetched.
///
/// # Errors
/// [`PackRefusal`]: not that of a pack, or beyond the bounds of one.
pub(crate) fn read(bytes: &[u8]) -> Result<OciManifest, PackRefusal> {
    let manifest: OciManifest = serde_json::from_slice(bytes)
        .map_err(|error| PackRefusal(format!("the registry's manifest is none of OCI: {error}")))?;
    if manifest.config.media_type != CONFIG_TYPE {
        return Err(PackRefusal(format!(
            "it is no WebAssembly artifact, but {:?}",
            manifest
                .config
                .media_type
                .chars()
                .take(100)
                .collect::<String>()
        )));
    }
    if manifest.layers.len() > MAX_FILES + 2 {
        return Err(PackRefusal(format!(
            "more than {MAX_FILES} files in the pack"
        )));
    }
    let mut left = MAX_BYTES as u64;
    for layer in &manifest.layers {
        layer.path()?;
        if !is_digest(&layer.digest) {
            return Err(PackRefusal("a layer's digest is not of SHA-256".to_owned()));
        }
        let fits = layer.size <= MAX_FILE_BYTES as u64;
        left = left
            .checked_sub(layer.size)
            .filter(|_| fits)
            .ok_or_else(|| {
                PackRefusal(format!(
                    "the registry's pack is larger than a pack may be ({MAX_BYTES} bytes)"
                ))
            })?;
    }
    Ok(manifest)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::content::tests::pack;

    #[test]
    fn a_pack_is_an_artifact_of_wasm() {
        let made = artifact(&pack()).unwrap();
        let manifest = read(&made.manifest).unwrap();
        assert_eq!(manifest.layers[0].media_type, WASM_TYPE);
        assert_eq!(manifest.layers[0].path().unwrap(), "fans.wasm");
        assert_eq!(made.manifest, artifact(&pack()).unwrap().manifest);
        for (digest, content) in &made.blobs {
            assert_eq!(*digest, super::digest(content));
        }
        assert_eq!(
            made.blobs.len(),
            5,
            "component, manifest, docs, digests, config"
        );
    }

    #[test]
    fn what_is_no_pack_is_refused_before_anything_is_fetched() {
        let good = String::from_utf8(artifact(&pack()).unwrap().manifest).unwrap();
        for (from, to, expected) in [
            (
                CONFIG_TYPE,
                "application/vnd.oci.image.config.v1+json",
                "no WebAssembly artifact",
            ),
            ("\"fans.wasm\"", "\"../../etc/x\"", "leads out of it"),
            (TITLE, "other", "has no title"),
            ("\"size\":4", "\"size\":99999999999", "larger than a pack"),
            ("sha256:", "sha512:", "not of SHA-256"),
            ("{", "[", "none of OCI"),
        ] {
            let changed = good.replace(from, to);
            assert_ne!(changed, good, "{from}");
            let error = read(changed.as_bytes()).unwrap_err().to_string();
            assert!(error.contains(expected), "{to}: {error}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_a_manifest_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            prop_assert!(read(&bytes).is_err());
        }
    }
}
