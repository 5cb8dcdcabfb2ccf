//! The disk part of the inventory: mounted block devices, network mounts, and the disk under the kubelet.

use std::{ffi::OsString, time::Duration};

use futures_util::future::join_all;

use super::{
    Commands, Complaints, df, lsblk,
    mounts::{self, Mount},
};
use crate::{
    node::{
        error::SourceError,
        files::Files,
        process::{self, Command, Output, Program},
    },
    wire::{BlockDevice, DiskInfo},
};

/// For one program.
const PROGRAM_LIMIT: Duration = Duration::from_secs(10);
/// Most output that is read, bytes; a machine with a thousand disks needs less.
const MAX_OUTPUT: usize = 8 << 20;
/// The folder whose disk the API calls the container root disk.
const KUBELET: &str = "/var/lib/kubelet";

/// Reads everything; what cannot be read is left out.
pub async fn read(files: &Files, commands: &Commands, complaints: &Complaints) -> DiskInfo {
    let (devices, mounts, container_root_disk) = tokio::join!(
        block_devices(commands.lsblk.as_deref()),
        mounts::read(files),
        container_root_disk(files, commands.findmnt.as_deref(), complaints),
    );
    let devices = complaints.ok("block devices", devices).unwrap_or_default();
    let mounts = complaints.ok("mounts", mounts).unwrap_or_default();
    let mut mounted = lsblk::mounted(&devices);
    for device in &mut mounted {
        if device.fs_type.is_empty() {
            // Without udev, as in containers, lsblk does not know.
            let mount = mounts
                .iter()
                .find(|mount| mount.point == device.mount_point);
            device.fs_type = mount.map(|mount| mount.fs_type.clone()).unwrap_or_default();
        }
    }
    match &commands.df {
        Some(command) => {
            let printed = run("df", Some(command), &df::ARGUMENTS).await;
            let printed = complaints.ok("network mounts", printed.and_then(succeeded));
            let rows = df::network_mounts(&printed.unwrap_or_default());
            let shown = rows
                .iter()
                .map(|(mount, space)| network_mount(mount, space.total, space.used));
            mounted.extend(shown);
        }
        None => {
            let network = mounts.iter().filter(|mount| mount.is_network());
            mounted.extend(join_all(network.map(|mount| measured(files, mount))).await);
        }
    }
    DiskInfo {
        block_devices: mounted,
        container_root_disk: container_root_disk.unwrap_or_default(),
    }
}

/// A dead server costs the sizes only.
async fn measured(files: &Files, mount: &Mount) -> BlockDevice {
    let usage = files.statvfs(&mount.point).await.ok();
    let (size, used) = usage.map_or((0, 0), |usage| {
        let used = usage.total_bytes.saturating_sub(usage.free_bytes);
        (usage.total_bytes, used)
    });
    network_mount(mount, size, used)
}

fn network_mount(mount: &Mount, size: u64, used: u64) -> BlockDevice {
    let bytes = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
    BlockDevice {
        name: mount.source.clone(),
        device_type: "nfs".to_owned(),
        size: bytes(size),
        used: bytes(used),
        mount_point: mount.point.clone(),
        fs_type: mount.fs_type.clone(),
        ..BlockDevice::default()
    }
}

async fn block_devices(command: Option<&str>) -> Result<Vec<lsblk::Device>, SourceError> {
    let output = run("lsblk", command, &lsblk::JSON_ARGUMENTS).await?;
    if let Some(devices) = lsblk::from_json(&output.stdout) {
        return Ok(devices);
    }
    // Before util-linux 2.27 there is no JSON, before 2.33 no FSUSED.
    let output = run("lsblk", command, &lsblk::PAIRS_ARGUMENTS).await?;
    lsblk::from_pairs(&String::from_utf8_lossy(&output.stdout)).ok_or_else(|| {
        let said = String::from_utf8_lossy(&output.stderr);
        let said: String = said.trim().chars().take(200).collect();
        SourceError::Other(format!("lsblk: its output is not understood: {said}"))
    })
}

/// Returns a command's output, if its exit status says that it is whole.
fn succeeded(output: Output) -> Result<String, SourceError> {
    if output.exit_code == Some(0) && !output.stdout_truncated {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let said: String = said.trim().chars().take(200).collect();
    Err(SourceError::Other(format!(
        "the command in place of df failed: {said}"
    )))
}

/// The source of the filesystem that holds the kubelet's folder; `None` where there is none.
async fn container_root_disk(
    files: &Files,
    command: Option<&str>,
    complaints: &Complaints,
) -> Option<String> {
    files.stat(KUBELET).await.ok()?;
    let arguments = ["--target", KUBELET, "--json", "--df"];
    let output = run("findmnt", command, &arguments).await;
    let output = complaints.ok("the container root disk", output)?;
    mounts::first_source(&output.stdout)
}

/// Runs a program with `arguments`, or the operator's command line in its place.
async fn run(
    program: &str,
    command: Option<&str>,
    arguments: &[&str],
) -> Result<Output, SourceError> {
    let program = match command {
        Some(command) => {
            let line = format!("{command} {}\n", arguments.join(" "));
            Program::BashStdin(line.into_bytes())
        }
        None => {
            let words = [program].into_iter().chain(arguments.iter().copied());
            Program::Argv(words.map(OsString::from).collect())
        }
    };
    let command = Command {
        max_output_bytes: MAX_OUTPUT,
        ..Command::new(program, PROGRAM_LIMIT)
    };
    process::run(command).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_operators_command_takes_the_programs_place_and_old_output_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let script = folder.path().join("old-lsblk");
        std::fs::write(
            &script,
            "case \"$*\" in *--json*) echo unknown column >&2; exit 1;; esac\n\
             echo 'NAME=\"/dev/sda\" TYPE=\"disk\" SIZE=\"10\" MOUNTPOINT=\"/\" FSTYPE=\"xfs\"'\n",
        )
        .unwrap();
        let command = format!("bash {}", script.display());
        let devices = block_devices(Some(&command)).await.unwrap();
        let mounted = lsblk::mounted(&devices);
        assert_eq!(
            (mounted[0].name.as_str(), mounted[0].size),
            ("/dev/sda", 10)
        );
    }

    #[tokio::test]
    async fn a_program_that_is_not_there_is_a_complaint_and_no_more() {
        let files = Files::live().unwrap();
        let complaints = Complaints::default();
        let commands = Commands {
            lsblk: Some("/nonexistent/lsblk".to_owned()),
            ..Commands::default()
        };
        let info = read(&files, &commands, &complaints).await;
        assert!(
            info.block_devices
                .iter()
                .all(|device| device.device_type == "nfs")
        );
        assert!(complaints.0.lock().unwrap().contains("block devices"));
    }

    #[tokio::test]
    async fn the_command_in_place_of_df_tells_network_mounts() {
        let files = Files::live().unwrap();
        let complaints = Complaints::default();
        let printing = |line: &str| Commands {
            lsblk: Some("true".to_owned()),
            df: Some(line.to_owned()),
            ..Commands::default()
        };
        let answering = printing("echo srv:/vol nfs4 5000 1000 4000 20% /host/nfs #");
        let info = read(&files, &answering, &complaints).await;
        let [device] = info.block_devices.as_slice() else {
            panic!("{info:?}");
        };
        assert_eq!(
            (device.name.as_str(), device.size, device.used),
            ("srv:/vol", 5000, 1000)
        );
        let broken = printing("echo no rights >&2; false");
        let info = read(&files, &broken, &complaints).await;
        assert!(info.block_devices.is_empty());
        assert!(complaints.0.lock().unwrap().contains("network mounts"));
    }
}
