//! `gpud pack`: makes, signs, verifies, installs, sends and fetches vendor packs.
#![allow(
    clippy::disallowed_methods,
    reason = "files that the user named on the command line"
)]

mod args;
mod build;
mod files;
mod install;
mod list;
mod new;
mod remote;
mod signing;

use std::path::PathBuf;

use self::{
    args::{PackArgs, RegistryArgs, TrustArgs},
    build::build,
    install::install,
    remote::{pull, push},
    signing::{keygen, sign, verify},
};
use super::{
    command::{Action, Command, CommandContext},
    exit::Exit,
    terminal::{Terminal, printable},
};
use crate::pack::{Manifest, Pack, installed::Packs};

/// The entry of the table of commands.
pub(super) const COMMAND: Command =
    Command::new::<PackArgs>("pack", "Make, verify and install packs of plugins");

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

fn file_name(pack: &Pack) -> String {
    format!("{}-{}.tar", pack.manifest.name, pack.manifest.version)
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

#[cfg(test)]
mod tests;
