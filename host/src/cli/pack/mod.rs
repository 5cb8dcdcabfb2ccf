//! `gpud pack`: makes, signs, verifies, installs, sends and fetches vendor packs.
#![allow(
    clippy::disallowed_methods,
    reason = "files that the user named on the command line"
)]

mod args;
mod files;
mod list;
mod new;

use std::{
    fmt::Write as _,
    path::{Path, PathBuf},
};

use gpud_author::pack_components;
use serde_json::json;

use self::{
    args::{PackArgs, RegistryArgs, TrustArgs},
    files::{keep_signed, read_text, write_new, write_whole},
};
use super::{
    VERSION,
    command::{Action, Command, CommandContext},
    exit::Exit,
    plugin::compilation,
    sizes::iec,
    terminal::{Terminal, printable, shown},
};
use crate::{
    node::process::find_program,
    pack::{
        Manifest, Pack, PackRefusal, archive, beyond,
        installed::{Decisions, OwnConfig, Packs},
        oci::{Credentials, Reference, Registry},
        signature::{SecretKey, SignatureError, Signer, TrustedKeys},
    },
    spec::parse_configs,
};

/// The entry of the table of commands.
pub(super) const COMMAND: Command =
    Command::new::<PackArgs>("pack", "Make, verify and install packs of plugins");

/// Before a reference to a registry where a file could stand as well.
const OCI: &str = "oci://";
/// Largest file with an operator's own configurations, bytes.
const MAX_CONFIG: usize = 1 << 20;

/// An action of `gpud pack`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PackAction {
    /// Make the folder of a pack.
    New {
        /// The language of its plugin.
        language: String,
        /// Its name.
        name: String,
        /// Where.
        folder: Option<PathBuf>,
    },
    /// Make a key.
    Keygen(PathBuf),
    /// Make an archive.
    Build {
        /// Of this folder.
        folder: PathBuf,
        /// Where it goes.
        output: Option<PathBuf>,
        /// Signed with this key.
        key: Option<PathBuf>,
        /// A signed archive may be replaced by one that is not.
        replace: bool,
        /// Whether to print one JSON document.
        json: bool,
    },
    /// Sign an archive.
    Sign {
        /// The archive.
        file: PathBuf,
        /// The secret key,
        key: Option<PathBuf>,
        /// or a signature that exists already.
        signature: Option<PathBuf>,
    },
    /// Look at a pack.
    Verify {
        /// The pack.
        file: PathBuf,
        /// Whom to trust.
        trust: Trust,
        /// Whether to print one JSON document.
        json: bool,
    },
    /// Install a pack.
    Install(Box<Installation>),
    /// List what is installed.
    List {
        /// Folder of the state file.
        data_dir: PathBuf,
        /// Whether to print one JSON document.
        json: bool,
    },
    /// Remove a pack.
    Remove {
        /// Folder of the state file.
        data_dir: PathBuf,
        /// Its name.
        name: String,
    },
    /// Send a pack.
    Push {
        /// The archive.
        file: PathBuf,
        /// Where to.
        reference: String,
        /// How.
        access: Access,
    },
    /// Fetch a pack.
    Pull {
        /// From where.
        reference: String,
        /// Where the archive goes.
        output: Option<PathBuf>,
        /// A signed archive may be replaced by one that is not.
        replace: bool,
        /// How.
        access: Access,
    },
}

/// The pack to install, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Installation {
    /// An archive, or `oci://` and a reference.
    pub pack: String,
    /// Whom to trust.
    pub trust: Trust,
    /// How to talk to a registry.
    pub access: Access,
    /// Everything that the pack requests is granted.
    pub approve: bool,
    /// It may be older than the installed version.
    pub downgrade: bool,
    /// File with own configurations.
    pub config: Option<PathBuf>,
    /// Folder of the state file.
    pub data_dir: PathBuf,
    /// Whether to print one JSON document.
    pub json: bool,
}

/// Whom to trust.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trust {
    /// Folder with public keys.
    pub keys: PathBuf,
    /// Accepts also a pack without a signature, and one of an unknown signer.
    pub unsigned: bool,
}

/// How to talk to a registry.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Access {
    /// Name to log in with.
    pub username: String,
    /// File with the password.
    pub password_file: Option<PathBuf>,
    /// Whether to connect without TLS.
    pub plain_http: bool,
    /// Other hosts may be asked where the registry points to them.
    pub allow_redirects: bool,
}

impl From<TrustArgs> for Trust {
    fn from(args: TrustArgs) -> Self {
        Self {
            keys: args.trusted_keys,
            unsigned: args.allow_unsigned,
        }
    }
}

impl From<RegistryArgs> for Access {
    fn from(args: RegistryArgs) -> Self {
        Self {
            username: args.username,
            password_file: args.password_file,
            plain_http: args.plain_http,
            allow_redirects: args.allow_redirects,
        }
    }
}

impl Action for PackAction {
    async fn run(self, context: CommandContext) -> Result<Exit, Exit> {
        pack(&self, context.stdout).await
    }
}

/// Does it.
///
/// # Errors
/// The refusal, in the form that was asked for.
pub async fn pack(action: &PackAction, stdout: Terminal) -> Result<Exit, Exit> {
    let (json, done) = match action {
        PackAction::New {
            language,
            name,
            folder,
        } => (false, new::new(language, name, folder.as_deref())),
        PackAction::Keygen(name) => (false, keygen(name, stdout)),
        PackAction::Build {
            folder,
            output,
            key,
            replace,
            json,
        } => {
            let (output, key) = (output.as_deref(), key.as_deref());
            let built = build(folder, output, key, *replace, *json, stdout).await;
            (*json, built)
        }
        PackAction::Sign {
            file,
            key,
            signature,
        } => (
            false,
            sign(file, key.as_deref(), signature.as_deref(), stdout),
        ),
        PackAction::Verify { file, trust, json } => {
            (*json, verify(file, trust, *json, stdout).await)
        }
        PackAction::Install(installation) => {
            (installation.json, install(installation, stdout).await)
        }
        PackAction::List { data_dir, json } => {
            return list::list(&Packs::of(data_dir), *json, stdout);
        }
        PackAction::Remove { data_dir, name } => {
            let removed = Packs::of(data_dir).remove(name);
            let text = || format!("{} pack {name} is removed\n", stdout.good());
            (false, removed.map(|()| text()))
        }
        PackAction::Push {
            file,
            reference,
            access,
        } => (false, push(file, reference, access, stdout).await),
        PackAction::Pull {
            reference,
            output,
            replace,
            access,
        } => {
            let output = output.as_deref();
            (
                false,
                pull(reference, output, *replace, access, stdout).await,
            )
        }
    };
    done.map(Exit::success)
        .map_err(|refused| Exit::failure(refused).in_json(json, "pack_refused"))
}

fn keygen(name: &Path, stdout: Terminal) -> Result<String, PackRefusal> {
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

fn with_suffix(name: &Path, suffix: &str) -> PathBuf {
    let mut name = name.as_os_str().to_owned();
    name.push(".");
    name.push(suffix);
    name.into()
}

async fn build(
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

fn file_name(pack: &Pack) -> String {
    format!("{}-{}.tar", pack.manifest.name, pack.manifest.version)
}

fn secret_key(path: &Path) -> Result<SecretKey, PackRefusal> {
    let text = read_text(path, 4096)?;
    SecretKey::decode(&text)
        .map_err(|PackRefusal(why)| PackRefusal(format!("{}: {why}", path.display())))
}

fn sign(
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

/// The signer of a pack; `None` where nobody has to.
fn signer(pack: &Pack, trust: &Trust) -> Result<Option<Signer>, PackRefusal> {
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

async fn verify(
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

fn described(manifest: &Manifest) -> String {
    format!(
        "pack {} {} of {}{}\n",
        manifest.name,
        manifest.version,
        printable(&manifest.vendor),
        match manifest.description.trim() {
            "" => String::new(),
            text => format!(": {}", printable(text)),
        }
    )
}

fn signed(signer: Option<&Signer>) -> String {
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

async fn install(options: &Installation, stdout: Terminal) -> Result<String, PackRefusal> {
    let pack = match options.pack.strip_prefix(OCI) {
        Some(reference) => fetch(reference, &options.access).await?,
        None => archive::read(Path::new(&options.pack))?,
    };
    let signer = signer(&pack, &options.trust)?;
    pack.manifest.check_gpud(VERSION)?;
    pack_components::check(&pack, &compilation()).await?;
    let decisions = Decisions {
        approved: options.approve,
        downgrade: options.downgrade,
        config: options.config.as_deref().map(own_config).transpose()?,
    };
    let packs = Packs::of(&options.data_dir);
    let installed = packs.install(&pack, signer.as_ref(), decisions)?;
    let mut missing = Vec::new();
    for program in &pack.manifest.needs.programs {
        if find_program(program).await.is_err() {
            missing.push(program.clone());
        }
    }
    let before = installed.before.map(|before| before.manifest.version);
    if options.json {
        let document =
            json!({"record": installed.record, "before": before, "missing_programs": missing});
        return Ok(format!("{document}\n"));
    }
    let mut text = format!("{} installed {}", stdout.good(), described(&pack.manifest));
    if let Some(before) = before {
        let _ = writeln!(text, "  in the place of version {before}");
    }
    let _ = writeln!(text, "  {}", signed(signer.as_ref()));
    for program in missing {
        let _ = writeln!(
            text,
            "  ! it needs {}, which is not on this machine",
            printable(&program)
        );
    }
    text.push_str("  a daemon with this data folder loads it within seconds\n");
    Ok(text)
}

fn own_config(path: &Path) -> Result<OwnConfig, PackRefusal> {
    let text = read_text(path, MAX_CONFIG)?;
    parse_configs(&text, &path.display().to_string()).map_err(PackRefusal)
}

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

async fn push(
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

async fn fetch(reference: &str, access: &Access) -> Result<Pack, PackRefusal> {
    let (registry, reference) = registry(reference, access)?;
    registry.pull(&reference).await
}

async fn pull(
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

#[cfg(test)]
mod tests;
