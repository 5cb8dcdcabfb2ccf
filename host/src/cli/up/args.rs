//! The flags of `up`, `down`, `status` and `metadata`: gpud as a service of this machine, and what it keeps.

use std::path::PathBuf;

use clap::Args;

use super::{
    args::{CommonArgs, path},
    run_args::{ControlPlane, session_protocol},
};

#[derive(Debug, Args)]
pub struct UpArgs {
    #[command(flatten)]
    pub common: CommonArgs,
    /// Folder of the state file [default: as before, else /var/lib/gpud]
    #[arg(long, value_name = "FOLDER", value_parser = path)]
    pub data_dir: Option<PathBuf>,
    /// Keep everything in memory; it is lost when gpud ends
    #[arg(long)]
    pub db_in_memory: bool,
    /// Where to listen, as host:port; `:15132` is every address of this machine [default: as before]
    #[arg(long, value_name = "ADDRESS")]
    pub listen_address: Option<String>,
    /// Put everything below this folder instead of /, for images and tests
    #[arg(long, hide = true, value_parser = path)]
    pub install_root: Option<PathBuf>,
    #[command(flatten)]
    pub hosted: UpHostedArgs,
}

/// Flags for joining a hosted platform. They are taken and not used: installers written for GPUd give them.
#[derive(Debug, Args)]
pub struct UpHostedArgs {
    #[arg(long, hide = true)]
    pub token: Option<String>,
    #[arg(long, hide = true)]
    pub endpoint: Option<String>,
    #[arg(long, hide = true)]
    pub private_ip: Option<String>,
    #[arg(long, hide = true)]
    pub public_ip: Option<String>,
    #[arg(long, hide = true)]
    pub region: Option<String>,
    #[arg(long, hide = true)]
    pub node_group: Option<String>,
    #[arg(long, hide = true)]
    pub node_labels: Option<String>,
    #[arg(long, hide = true)]
    pub gpu_count: Option<String>,
    #[arg(long, hide = true)]
    pub session_protocol: Option<String>,
    #[arg(long, hide = true)]
    pub machine_id: Option<String>,
    #[arg(long, hide = true)]
    pub machine_id_overwrite: bool,
    #[arg(long, hide = true)]
    pub refresh_session_token: bool,
}

impl UpHostedArgs {
    /// One line about the flags that were given, if any.
    ///
    /// # Errors
    /// A token that is empty, or a session protocol that does not exist.
    pub fn note(&self) -> Result<Option<String>, String> {
        if self.token.as_deref() == Some("") {
            return Err("token is empty".to_owned());
        }
        let protocol = session_protocol(self.session_protocol.as_deref())?;
        let mut given = ControlPlane::default();
        for (name, value) in [
            ("token", &self.token),
            ("endpoint", &self.endpoint),
            ("private-ip", &self.private_ip),
            ("public-ip", &self.public_ip),
            ("region", &self.region),
            ("node-group", &self.node_group),
            ("node-labels", &self.node_labels),
            ("gpu-count", &self.gpu_count),
            ("machine-id", &self.machine_id),
        ] {
            given.flag(name, value.is_some());
        }
        given.flag("machine-id-overwrite", self.machine_id_overwrite);
        given.flag("refresh-session-token", self.refresh_session_token);
        given.flag("session-protocol", protocol);
        Ok(given.note())
    }
}

#[derive(Debug, Args)]
pub struct DownArgs {
    #[command(flatten)]
    pub common: CommonArgs,
    /// Folder of the state file [default: /var/lib/gpud]
    #[arg(long, value_name = "FOLDER", value_parser = path)]
    pub data_dir: Option<PathBuf>,
    /// Also forget what a hosted platform gave (a table that only GPUd fills); events and metrics stay
    #[arg(long)]
    pub reset_state: bool,
}

#[derive(Debug, Args)]
pub struct StatusArgs {
    #[command(flatten)]
    pub common: CommonArgs,
    /// Folder of the state file, by which the daemon is found
    #[arg(long, value_name = "FOLDER", value_parser = path)]
    pub data_dir: Option<PathBuf>,
    /// Base URL of the daemon [default: of the one that uses the folder, else https://localhost:15132]
    #[arg(
        long,
        value_name = "URL",
        default_value = "",
        hide_default_value = true
    )]
    pub server: String,
    /// Show the components again every 3 seconds until interrupted
    #[arg(long, short = 'w')]
    pub watch: bool,
    /// Print one JSON document instead of text; with --watch one line each time
    #[arg(long)]
    pub json: bool,
    /// Print in GPUd's layout
    #[arg(long)]
    pub classic: bool,
}

#[derive(Debug, Args)]
pub struct MetadataArgs {
    #[command(flatten)]
    pub common: CommonArgs,
    /// Folder of the state file
    #[arg(long, value_name = "FOLDER", value_parser = path)]
    pub data_dir: Option<PathBuf>,
    /// plain or json
    #[arg(long, value_name = "FORMAT", default_value = "plain")]
    pub output_format: String,
    /// The same as --output-format json
    #[arg(long)]
    pub json: bool,
    /// Also list the reboots of this machine
    #[arg(long)]
    pub reboot_history: bool,
    /// Set the value of this name; needs --set-value
    #[arg(
        long,
        value_name = "NAME",
        default_value = "",
        hide_default_value = true
    )]
    pub set_key: String,
    /// The value
    #[arg(
        long,
        value_name = "TEXT",
        default_value = "",
        hide_default_value = true
    )]
    pub set_value: String,
}
