//! The flags of `notify` and `release`: commands of GPUd that this build answers with one line.

use clap::{Args, Subcommand};

use super::args::CommonArgs;

#[derive(Debug, Args)]
#[command(disable_help_subcommand = true)]
pub struct NotifyArgs {
    #[command(subcommand)]
    pub event: NotifyEvent,
}

#[derive(Debug, Subcommand)]
pub enum NotifyEvent {
    /// This machine has started
    Startup(NotifyEventArgs),
    /// This machine is about to stop
    Shutdown(NotifyEventArgs),
}

#[derive(Debug, Args)]
pub struct NotifyEventArgs {
    #[command(flatten)]
    pub common: CommonArgs,
    #[arg(long, hide = true)]
    pub data_dir: Option<String>,
}

// No flags but those of every command.
#[derive(Debug, Args)]
pub struct BareArgs {
    #[command(flatten)]
    pub common: CommonArgs,
}

#[derive(Debug, Args)]
#[command(disable_help_subcommand = true)]
pub struct ReleaseArgs {
    #[command(subcommand)]
    pub tool: ReleaseTool,
}

#[derive(Debug, Subcommand)]
pub enum ReleaseTool {
    /// Would make a pair of keys
    GenKey(ReleaseToolArgs),
    /// Would sign a signing key
    SignKey(ReleaseToolArgs),
    /// Would check the signature of a signing key
    VerifyKeySignature(ReleaseToolArgs),
    /// Would sign a package
    SignPackage(ReleaseToolArgs),
    /// Would check the signature of a package
    VerifyPackageSignature(ReleaseToolArgs),
}

// The flags of all tools together; none has an effect.
#[derive(Debug, Args)]
pub struct ReleaseToolArgs {
    #[command(flatten)]
    pub common: CommonArgs,
    #[arg(long, hide = true)]
    pub priv_path: Option<String>,
    #[arg(long, hide = true)]
    pub pub_path: Option<String>,
    #[arg(long, hide = true)]
    pub root: bool,
    #[arg(long, hide = true)]
    pub signing: bool,
    #[arg(long, hide = true)]
    pub root_priv_path: Option<String>,
    #[arg(long, hide = true)]
    pub root_pub_path: Option<String>,
    #[arg(long, hide = true)]
    pub sign_priv_path: Option<String>,
    #[arg(long, hide = true)]
    pub sign_pub_path: Option<String>,
    #[arg(long, hide = true)]
    pub sig_path: Option<String>,
    #[arg(long, hide = true)]
    pub package_path: Option<String>,
}

impl ReleaseTool {
    /// The flags that every command has.
    pub fn common(self) -> CommonArgs {
        match self {
            Self::GenKey(args)
            | Self::SignKey(args)
            | Self::VerifyKeySignature(args)
            | Self::SignPackage(args)
            | Self::VerifyPackageSignature(args) => args.common,
        }
    }
}
