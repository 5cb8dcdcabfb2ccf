//! The flags of `gpud update`.

use std::{path::PathBuf, time::Duration};

use clap::{Args, Subcommand};

use super::{NO_CHECK, UpdateOptions, health::Limits, source::ReleaseSource};
use crate::{
    cli::{
        args::{CommonArgs, path},
        command::{Arguments, Plan},
        exit::Exit,
        unavailable::Unavailable,
    },
    wire::GoDuration,
};

#[derive(Debug, Args)]
#[command(disable_help_subcommand = true, args_conflicts_with_subcommands = true)]
pub struct UpdateArgs {
    #[command(subcommand)]
    pub check: Option<UpdateCommand>,
    #[command(flatten)]
    pub common: CommonArgs,
    /// Folder, archive or URL of the release; nothing else is asked
    #[arg(
        long,
        alias = "url",
        value_name = "PLACE",
        default_value = "",
        hide_default_value = true
    )]
    pub from: String,
    /// Which version [default: the latest of the folder]
    #[arg(long, alias = "next-version", value_name = "VERSION")]
    pub version: Option<String>,
    /// Public key of minisign, which must have signed the release
    #[arg(
        long,
        value_name = "FILE",
        default_value = "/etc/gpud/release.pub",
        value_parser = path
    )]
    pub public_key: PathBuf,
    /// Also take an earlier version than the installed one
    #[arg(long)]
    pub allow_downgrade: bool,
    /// Check everything, say what would be done, and change nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Command that restarts the daemon, where systemd does not run it
    #[arg(long, value_name = "COMMAND")]
    pub restart: Option<String>,
    /// How long the new daemon may take to answer
    #[arg(long, value_name = "DURATION", default_value = "1m")]
    pub wait: GoDuration,
    /// How long it must then go on answering
    #[arg(long, value_name = "DURATION", default_value = "10s")]
    pub settle: GoDuration,
    /// Folder of the state file, by which the daemon is found [default: as the service has it]
    #[arg(long, value_name = "FOLDER", value_parser = path)]
    pub data_dir: Option<PathBuf>,
    /// Take everything below this folder instead of /, for tests
    #[arg(long, hide = true, value_parser = path)]
    pub install_root: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
pub enum UpdateCommand {
    /// Would ask for the latest version; this build asks nobody
    Check(BareArgs),
}

// No flags but those of every command.
#[derive(Debug, Args)]
pub struct BareArgs {
    #[command(flatten)]
    pub common: CommonArgs,
}

impl UpdateArgs {
    fn options(self) -> Result<(CommonArgs, UpdateOptions), String> {
        let length =
            |nanoseconds: i64| Duration::from_nanos(u64::try_from(nanoseconds).unwrap_or(0));
        let given = |text: String| Some(text.trim().to_owned()).filter(|text| !text.is_empty());
        let options = UpdateOptions {
            source: ReleaseSource::parse(&self.from)?,
            version: self.version.and_then(given),
            public_key: self.public_key,
            allow_downgrade: self.allow_downgrade,
            dry_run: self.dry_run,
            restart: self.restart.and_then(given),
            limits: Limits {
                wait: length(self.wait.0),
                settle: length(self.settle.0),
            },
            data_dir: self.data_dir.filter(|path| !path.as_os_str().is_empty()),
            install_root: self.install_root,
        };
        Ok((self.common, options))
    }
}

impl Arguments for UpdateArgs {
    fn plan(self, _: &mut Vec<String>) -> Result<Plan, Exit> {
        if let Some(UpdateCommand::Check(args)) = self.check {
            return Ok(Plan::new(args.common, Unavailable(NO_CHECK)));
        }
        let (common, options) = self.options().map_err(Exit::failure)?;
        Ok(Plan::new(common, options))
    }
}
