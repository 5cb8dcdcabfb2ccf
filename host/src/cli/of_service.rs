//! From flags to plain values for the commands about the service and what it keeps.

use super::{
    args::{CommonArgs, MachineInfoArgs},
    data_dir::data_dir,
    exit::Exit,
    metadata::MetadataOptions,
    options::{Action, is_json},
    service::UpOptions,
    service_args::{MetadataArgs, UpArgs},
};

/// What `gpud notify` says.
pub const NO_CONTROL_PLANE: &str = "nobody to notify: this build has no control plane";
/// What `gpud release` says.
pub const NO_SIGNING: &str = "this build has no tools to sign releases";

/// `gpud up`.
///
/// # Errors
/// An empty token, an unknown session protocol, no data folder.
pub fn up(args: UpArgs, notes: &mut Vec<String>) -> Result<(CommonArgs, Action), String> {
    notes.extend(args.hosted.note()?);
    let is_folder_named = args
        .data_dir
        .as_ref()
        .is_some_and(|folder| !folder.as_os_str().is_empty());
    let data_dir = data_dir(args.data_dir)?;
    let listen_address = args.listen_address.map(|address| address.trim().to_owned());
    let options = UpOptions {
        // The service is started in another folder.
        data_dir: std::path::absolute(&data_dir)
            .map_err(|error| format!("data folder {}: {error}", data_dir.display()))?,
        is_folder_named,
        db_in_memory: args.db_in_memory,
        listen_address: listen_address.filter(|address| !address.is_empty()),
        install_root: args.install_root,
    };
    Ok((args.common, Action::Up(options)))
}

/// `gpud metadata`.
///
/// # Errors
/// An unknown output format, no data folder.
pub fn metadata(args: MetadataArgs) -> Result<(CommonArgs, Action), Exit> {
    let json = args.json || is_json(&args.output_format).map_err(Exit::failure)?;
    let data_dir = data_dir(args.data_dir)
        .map_err(|error| Exit::failure(error).in_json(json, "failed_to_get_state_file"))?;
    // One without the other changes nothing, as in GPUd.
    let set = !args.set_key.is_empty() && !args.set_value.is_empty();
    let options = MetadataOptions {
        data_dir,
        json,
        reboot_history: args.reboot_history,
        set: set.then_some((args.set_key, args.set_value)),
    };
    Ok((args.common, Action::Metadata(options)))
}

/// `gpud machine-info`.
///
/// # Errors
/// An unknown output format, no data folder.
pub fn machine_info(args: MachineInfoArgs) -> Result<(CommonArgs, Action), Exit> {
    let json = args.json || is_json(&args.output_format).map_err(Exit::failure)?;
    let data_dir = data_dir(args.data_dir)
        .map_err(|error| Exit::failure(error).in_json(json, "failed_to_get_state_file"))?;
    Ok((args.common, Action::MachineInfo { data_dir, json }))
}
