//! The flags of `gpud notify`.

use clap::{Args, Subcommand};

use super::NO_CONTROL_PLANE;
use crate::cli::{
    args::CommonArgs,
    command::{Arguments, Plan},
    exit::Exit,
    unavailable::NothingToDo,
};

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

impl Arguments for NotifyArgs {
    fn plan(self, _: &mut Vec<String>) -> Result<Plan, Exit> {
        let (NotifyEvent::Startup(args) | NotifyEvent::Shutdown(args)) = self.event;
        Ok(Plan::new(args.common, NothingToDo(NO_CONTROL_PLANE)))
    }
}
