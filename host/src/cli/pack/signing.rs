//! Makes keys, signs packs, and verifies them.

use std::{
    fmt::Write as _,
    path::{Path, PathBuf},
};

use gpud_author::pack_components;
use serde_json::json;

use super::{
    Trust, described,
    files::{read_text, write_new, write_whole},
};
use crate::{
    cli::{
        VERSION,
        plugin::compilation,
        terminal::{Terminal, printable, shown},
    },
    pack::{
        Manifest, Pack, PackRefusal, archive, beyond,
        signature::{SecretKey, SignatureError, Signer, TrustedKeys},
    },
};

/// Makes a secret key and its public key.
pub(super) fn keygen(name: &Path, stdout: Terminal) -> Result<String, PackRefusal> {
    let key = SecretKey::generate()?;
    let (secret, public) = (with_suffix(name, "key"), with_suffix(name, "pub"));
    write_new(&secret, key.encode().as_bytes(), 0o600)?;
    write_new(&public, key.public().as_bytes(), 0o644)?;
    Ok(format!(
        "{} key {}\n  {}: secret; it has no password, so keep it where only you can read it\n  {}: for the folder of trusted keys of the machines \
         that install your packs\n",
        stdout.good(),
        key.name(),
        shown(&secret),
        shown(&public)
    ))
}

pub(super) fn with_suffix(name: &Path, suffix: &str) -> PathBuf {
    let mut name = name.as_os_str().to_owned();
    name.push(".");
    name.push(suffix);
    name.into()
}

pub(super) fn secret_key(path: &Path) -> Result<SecretKey, PackRefusal> {
    let text = read_text(path, 4096)?;
    SecretKey::decode(&text)
        .map_err(|PackRefusal(why)| PackRefusal(format!("{}: {why}", path.display())))
}

/// Signs an archive with a key, or puts a signature into it.
pub(super) fn sign(
    file: &Path,
    key: Option<&Path>,
    signature: Option<&Path>,
    stdout: Terminal,
) -> Result<String, PackRefusal> {
    let mut pack = archive::read(file)?;
    match (key, signature) {
        (Some(key), None) => pack.sign(&secret_key(key)?),
        (None, Some(signature)) => pack.signature = Some(read_text(signature, 8 << 10)?),
        _ => {
            return Err(PackRefusal::new(
                "either --key or --signature says how to sign",
            ));
        }
    }
    write_whole(file, &archive::to_bytes(&pack)?)?;
    Ok(format!("{} {} is signed\n", stdout.good(), shown(file)))
}

/// Returns the signer of a pack; `None` where no signature is required.
pub(super) fn signer(pack: &Pack, trust: &Trust) -> Result<Option<Signer>, PackRefusal> {
    let keys = TrustedKeys::read(&trust.keys)?;
    match keys.verify(pack) {
        Ok(signer) => Ok(Some(signer)),
        // A signature of a known key that does not match is no missing signature: the pack was changed.
        Err(SignatureError::Bad(why)) => Err(PackRefusal(why)),
        Err(_) if trust.unsigned => Ok(None),
        Err(why) => Err(PackRefusal(format!(
            "{why} (--allow-unsigned takes it all the same)"
        ))),
    }
}

/// Verifies an archive as an installation would.
pub(super) async fn verify(
    file: &Path,
    trust: &Trust,
    json: bool,
    stdout: Terminal,
) -> Result<String, PackRefusal> {
    let pack = archive::read(file)?;
    let signer = signer(&pack, trust)?;
    pack.manifest.check_gpud(VERSION)?;
    pack_components::check(&pack, &compilation()).await?;
    if json {
        let document = json!({
            "manifest": pack.manifest,
            "digest": pack.digest(),
            "signed_by": signer,
        });
        return Ok(format!("{document}\n"));
    }
    let mut text = format!("{} {}", stdout.good(), described(&pack.manifest));
    let _ = writeln!(text, "  digest {}", pack.digest());
    let _ = writeln!(text, "  {}", signed(signer.as_ref()));
    text.push_str(&asks(&pack.manifest));
    Ok(text)
}

/// Says who signed a pack.
pub(super) fn signed(signer: Option<&Signer>) -> String {
    match signer {
        Some(signer) => format!("signed by {} ({})", signer.key, printable(&signer.comment)),
        None => "not signed by anybody who is trusted".to_owned(),
    }
}

fn asks(manifest: &Manifest) -> String {
    let nothing = Manifest {
        plugins: Vec::new(),
        ..manifest.clone()
    };
    let mut text = String::from("  asks for:\n");
    for line in beyond(&nothing, manifest) {
        let _ = writeln!(text, "    {}", printable(&line));
    }
    text
}
