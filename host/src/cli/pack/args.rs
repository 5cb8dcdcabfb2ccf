//! The flags of `gpud pack`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::{Installation, PackAction};
use crate::cli::{
    args::{CommonArgs, path},
    command::{Arguments, Plan},
    data_dir::data_dir,
    exit::Exit,
};

/// Vendor packs: signed archives of plugins.
#[derive(Debug, Args)]
#[command(subcommand_required = true)]
pub struct PackArgs {
    #[command(subcommand)]
    pub command: PackCommand,
}

#[derive(Debug, Subcommand)]
pub enum PackCommand {
    /// Make the folder of a new pack, with one plugin
    New(NewPackArgs),
    /// Make a key to sign packs with
    Keygen(KeygenArgs),
    /// Make the archive of a pack, and sign it
    Build(BuildPackArgs),
    /// Sign an archive
    Sign(SignArgs),
    /// Say whether a pack is whole, who signed it, and what it asks for
    Verify(VerifyArgs),
    /// Install a pack, or another version of it; a running daemon loads it
    Install(InstallArgs),
    /// List installed packs
    List(ListArgs),
    /// Remove an installed pack; a running daemon ends its plugins
    Remove(RemoveArgs),
    /// Send a pack to an OCI registry
    Push(PushArgs),
    /// Fetch a pack from an OCI registry
    Pull(PullArgs),
}

/// Where trusted keys lie.
#[derive(Debug, Args)]
pub struct TrustArgs {
    /// Folder with public keys of minisign, *.pub
    #[arg(long, value_name = "FOLDER", value_parser = path, default_value = crate::pack::signature::TRUSTED_KEYS)]
    pub trusted_keys: PathBuf,
    /// Take a pack that nobody signed, or somebody who is not trusted
    #[arg(long)]
    pub allow_unsigned: bool,
}

/// How to talk to a registry.
#[derive(Debug, Args)]
pub struct RegistryArgs {
    /// Name to log in with
    #[arg(
        long,
        value_name = "NAME",
        default_value = "",
        hide_default_value = true
    )]
    pub username: String,
    /// File with the password or token to log in with
    #[arg(long, value_name = "FILE", value_parser = path)]
    pub password_file: Option<PathBuf>,
    /// Talk HTTP to the registry, without TLS
    #[arg(long)]
    pub plain_http: bool,
    /// Follow the registry to other hosts, also to log in
    #[arg(long)]
    pub allow_redirects: bool,
}

#[derive(Debug, Args)]
pub struct NewPackArgs {
    #[command(flatten)]
    pub common: CommonArgs,
    /// The language of its plugin; `gpud plugin new` lists them
    #[arg(long, value_name = "LANGUAGE", default_value = "rust")]
    pub lang: String,
    /// Where it goes [default: a folder of its name]
    #[arg(long, value_name = "FOLDER", value_parser = path)]
    pub folder: Option<PathBuf>,
    /// Its name, such as acme-boards
    #[arg(value_name = "NAME")]
    pub name: String,
}

#[derive(Debug, Args)]
pub struct KeygenArgs {
    #[command(flatten)]
    pub common: CommonArgs,
    /// Begin of the files' names: NAME.key is secret, NAME.pub is for the machines that trust it
    #[arg(value_name = "NAME", value_parser = path)]
    pub name: PathBuf,
}

#[derive(Debug, Args)]
pub struct BuildPackArgs {
    #[command(flatten)]
    pub common: CommonArgs,
    /// Where the archive goes [default: NAME-VERSION.tar]
    #[arg(long, short = 'o', value_name = "FILE", value_parser = path)]
    pub output: Option<PathBuf>,
    /// Secret key of minisign, without password
    #[arg(long, value_name = "FILE", value_parser = path)]
    pub key: Option<PathBuf>,
    /// Without --key: replace an archive that is signed
    #[arg(long)]
    pub replace: bool,
    /// Print one JSON document instead of text
    #[arg(long)]
    pub json: bool,
    /// Folder with pack.yaml and what it names
    #[arg(value_name = "FOLDER", value_parser = path)]
    pub folder: PathBuf,
}

#[derive(Debug, Args)]
pub struct SignArgs {
    #[command(flatten)]
    pub common: CommonArgs,
    /// Secret key of minisign, without password
    #[arg(long, value_name = "FILE", value_parser = path)]
    pub key: Option<PathBuf>,
    /// A signature that minisign made over the pack's SHA256SUMS
    #[arg(long, value_name = "FILE", value_parser = path)]
    pub signature: Option<PathBuf>,
    /// The archive
    #[arg(value_name = "FILE", value_parser = path)]
    pub file: PathBuf,
}

#[derive(Debug, Args)]
pub struct VerifyArgs {
    #[command(flatten)]
    pub common: CommonArgs,
    #[command(flatten)]
    pub trust: TrustArgs,
    /// Print one JSON document instead of text
    #[arg(long)]
    pub json: bool,
    /// The archive, or a folder that holds one unpacked
    #[arg(value_name = "FILE", value_parser = path)]
    pub file: PathBuf,
}

#[derive(Debug, Args)]
pub struct InstallArgs {
    #[command(flatten)]
    pub common: CommonArgs,
    #[command(flatten)]
    pub trust: TrustArgs,
    #[command(flatten)]
    pub registry: RegistryArgs,
    /// Grant what the pack asks for
    #[arg(long)]
    pub approve: bool,
    /// Take a version that is older than the installed one
    #[arg(long)]
    pub allow_downgrade: bool,
    /// Own configurations, YAML: plugin names with keys that take the place of the pack's
    #[arg(long, value_name = "FILE", value_parser = path)]
    pub config: Option<PathBuf>,
    /// Folder of the state file
    #[arg(long, value_name = "FOLDER", value_parser = path)]
    pub data_dir: Option<PathBuf>,
    /// Print one JSON document instead of text
    #[arg(long)]
    pub json: bool,
    /// An archive, or oci://HOST/NAME:TAG
    #[arg(value_name = "PACK")]
    pub pack: String,
}

#[derive(Debug, Args)]
pub struct ListArgs {
    #[command(flatten)]
    pub common: CommonArgs,
    /// Folder of the state file
    #[arg(long, value_name = "FOLDER", value_parser = path)]
    pub data_dir: Option<PathBuf>,
    /// Print one JSON document instead of text
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct RemoveArgs {
    #[command(flatten)]
    pub common: CommonArgs,
    /// Folder of the state file
    #[arg(long, value_name = "FOLDER", value_parser = path)]
    pub data_dir: Option<PathBuf>,
    /// Its name
    #[arg(value_name = "NAME")]
    pub name: String,
}

#[derive(Debug, Args)]
pub struct PushArgs {
    #[command(flatten)]
    pub common: CommonArgs,
    #[command(flatten)]
    pub registry: RegistryArgs,
    /// The archive
    #[arg(value_name = "FILE", value_parser = path)]
    pub file: PathBuf,
    /// HOST/NAME:TAG
    #[arg(value_name = "REFERENCE")]
    pub reference: String,
}

#[derive(Debug, Args)]
pub struct PullArgs {
    #[command(flatten)]
    pub common: CommonArgs,
    #[command(flatten)]
    pub registry: RegistryArgs,
    /// Where the archive goes [default: NAME-VERSION.tar]
    #[arg(long, short = 'o', value_name = "FILE", value_parser = path)]
    pub output: Option<PathBuf>,
    /// Replace an archive that is signed by one that is not
    #[arg(long)]
    pub replace: bool,
    /// HOST/NAME:TAG or HOST/NAME@sha256:DIGEST
    #[arg(value_name = "REFERENCE")]
    pub reference: String,
}

impl PackArgs {
    fn action(self) -> Result<(CommonArgs, PackAction), String> {
        Ok(match self.command {
            PackCommand::New(args) => {
                let action = PackAction::New {
                    language: args.lang,
                    name: args.name,
                    folder: args.folder,
                };
                (args.common, action)
            }
            PackCommand::Keygen(args) => (args.common, PackAction::Keygen(args.name)),
            PackCommand::Build(args) => {
                let action = PackAction::Build {
                    folder: args.folder,
                    output: args.output,
                    key: args.key,
                    replace: args.replace,
                    json: args.json,
                };
                (args.common, action)
            }
            PackCommand::Sign(args) => {
                let action = PackAction::Sign {
                    file: args.file,
                    key: args.key,
                    signature: args.signature,
                };
                (args.common, action)
            }
            PackCommand::Verify(args) => {
                let (file, trust, json) = (args.file, args.trust.into(), args.json);
                (args.common, PackAction::Verify { file, trust, json })
            }
            PackCommand::Install(args) => {
                let installation = Installation {
                    pack: args.pack,
                    trust: args.trust.into(),
                    access: args.registry.into(),
                    approve: args.approve,
                    downgrade: args.allow_downgrade,
                    config: args.config,
                    data_dir: data_dir(args.data_dir)?,
                    json: args.json,
                };
                (args.common, PackAction::Install(Box::new(installation)))
            }
            PackCommand::List(args) => {
                let (data_dir, json) = (data_dir(args.data_dir)?, args.json);
                (args.common, PackAction::List { data_dir, json })
            }
            PackCommand::Remove(args) => {
                let (data_dir, name) = (data_dir(args.data_dir)?, args.name);
                (args.common, PackAction::Remove { data_dir, name })
            }
            PackCommand::Push(args) => {
                let action = PackAction::Push {
                    file: args.file,
                    reference: args.reference,
                    access: args.registry.into(),
                };
                (args.common, action)
            }
            PackCommand::Pull(args) => {
                let action = PackAction::Pull {
                    reference: args.reference,
                    output: args.output,
                    replace: args.replace,
                    access: args.registry.into(),
                };
                (args.common, action)
            }
        })
    }
}

impl Arguments for PackArgs {
    fn plan(self, _: &mut Vec<String>) -> Result<Plan, Exit> {
        let (common, action) = self.action().map_err(Exit::failure)?;
        Ok(Plan::new(common, action))
    }
}
