//! Brings packs to a registry and back.

use std::path::{Path, PathBuf};

use super::{
    Access, described, file_name,
    files::{keep_signed, read_text, write_whole},
};
use crate::{
    cli::terminal::{Terminal, shown},
    pack::{
        Pack, PackRefusal, archive,
        oci::{Credentials, Reference, Registry},
    },
};

/// Before a reference to a registry where a file could stand as well.
pub(super) const OCI: &str = "oci://";

fn registry(reference: &str, access: &Access) -> Result<(Registry, Reference), PackRefusal> {
    let reference = Reference::parse(reference.strip_prefix(OCI).unwrap_or(reference))?;
    let password = match &access.password_file {
        Some(file) => read_text(file, 64 << 10)?.trim_end().to_owned(),
        None => String::new(),
    };
    let credentials = (!access.username.is_empty() || !password.is_empty()).then(|| Credentials {
        username: access.username.clone(),
        password,
    });
    Ok((
        Registry::new(
            &reference,
            access.plain_http,
            access.allow_redirects,
            credentials,
        )?,
        reference,
    ))
}

/// Sends an archive to a registry.
pub(super) async fn push(
    file: &Path,
    reference: &str,
    access: &Access,
    stdout: Terminal,
) -> Result<String, PackRefusal> {
    let pack = archive::read(file)?;
    let (registry, reference) = registry(reference, access)?;
    let digest = registry.push(&pack, &reference).await?;
    Ok(format!(
        "{} pushed {reference}\n  {digest}\n",
        stdout.good()
    ))
}

/// Fetches a pack from a registry.
pub(super) async fn fetch(reference: &str, access: &Access) -> Result<Pack, PackRefusal> {
    let (registry, reference) = registry(reference, access)?;
    registry.pull(&reference).await
}

/// Fetches a pack from a registry into an archive.
pub(super) async fn pull(
    reference: &str,
    output: Option<&Path>,
    replace: bool,
    access: &Access,
    stdout: Terminal,
) -> Result<String, PackRefusal> {
    let pack = fetch(reference, access).await?;
    let output = output.map_or_else(|| PathBuf::from(file_name(&pack)), Path::to_owned);
    if pack.signature.is_none() && !replace {
        keep_signed(&output)?;
    }
    write_whole(&output, &archive::to_bytes(&pack)?)?;
    Ok(format!(
        "{} {}: {}  its signature is looked at when it is verified or installed\n",
        stdout.good(),
        shown(&output),
        described(&pack.manifest)
    ))
}
