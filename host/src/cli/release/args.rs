//! The flags of `gpud release`.

use clap::{Args, Subcommand};

use super::NO_SIGNING;
use crate::cli::{
    args::CommonArgs,
    command::{Arguments, Plan},
    exit::Exit,
    unavailable::Unavailable,
};

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

impl Arguments for ReleaseArgs {
    fn plan(self, _: &mut Vec<String>) -> Result<Plan, Exit> {
        Ok(Plan::new(self.tool.common(), Unavailable(NO_SIGNING)))
    }
}
