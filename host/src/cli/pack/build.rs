//! Builds the archive of a pack.

use std::path::{Path, PathBuf};

use gpud_author::pack_components;
use serde_json::json;

use super::{
    file_name,
    files::{keep_signed, write_whole},
    signing::secret_key,
};
use crate::{
    cli::{
        plugin::compilation,
        sizes::iec,
        terminal::{Terminal, shown},
    },
    pack::{PackRefusal, archive},
};

/// Builds an archive of a folder, and signs it if there is a key.
pub(super) async fn build(
    folder: &Path,
    output: Option<&Path>,
    key: Option<&Path>,
    replace: bool,
    json: bool,
    stdout: Terminal,
) -> Result<String, PackRefusal> {
    let mut pack = archive::sources(folder)?;
    pack_components::check(&pack, &compilation()).await?;
    if let Some(key) = key {
        pack.sign(&secret_key(key)?);
    }
    let bytes = archive::to_bytes(&pack)?;
    let output = output.map_or_else(|| PathBuf::from(file_name(&pack)), Path::to_owned);
    let signed = pack.signature.is_some();
    if !signed && !replace {
        keep_signed(&output)?;
    }
    write_whole(&output, &bytes)?;
    if json {
        let document = json!({"file": output.display().to_string(), "size": bytes.len(), "digest": pack.digest(), "signed": signed});
        return Ok(format!("{document}\n"));
    }
    let note = match signed {
        true => "signed",
        false => "not signed: `gpud pack sign`, or --key",
    };
    Ok(format!(
        "{} {}: {}, digest {}, {note}\n",
        stdout.good(),
        shown(&output),
        iec(bytes.len() as u64),
        pack.digest()
    ))
}
