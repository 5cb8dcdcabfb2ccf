//! The flags of `gpud up`.

use std::path::PathBuf;

use clap::Args;

use super::UpOptions;
use crate::cli::{
    args::{CommonArgs, path},
    command::{Arguments, Plan},
    control_plane::{ControlPlane, session_protocol},
    data_dir::data_dir,
    exit::Exit,
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

impl UpArgs {
    fn options(self) -> Result<(CommonArgs, UpOptions), String> {
        let is_folder_named = self
            .data_dir
            .as_ref()
            .is_some_and(|folder| !folder.as_os_str().is_empty());
        let data_dir = data_dir(self.data_dir)?;
        let listen_address = self.listen_address.map(|address| address.trim().to_owned());
        let options = UpOptions {
            // The service is started in another folder.
            data_dir: std::path::absolute(&data_dir)
                .map_err(|error| format!("data folder {}: {error}", data_dir.display()))?,
            is_folder_named,
            db_in_memory: self.db_in_memory,
            listen_address: listen_address.filter(|address| !address.is_empty()),
            install_root: self.install_root,
        };
        Ok((self.common, options))
    }
}

impl Arguments for UpArgs {
    fn plan(self, notes: &mut Vec<String>) -> Result<Plan, Exit> {
        notes.extend(self.hosted.note().map_err(Exit::failure)?);
        let (common, options) = self.options().map_err(Exit::failure)?;
        Ok(Plan::new(common, options))
    }
}
