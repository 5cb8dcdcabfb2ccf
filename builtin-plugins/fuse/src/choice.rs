//! Which connections are read: any user can make thousands of them, in namespaces of the user's own.

use std::collections::BTreeSet;

use gpud_sdk::AccessError;

use crate::mounts::{self, Mount};

/// Most connections that are read, three files each: what a call may ask of the host is bounded.
const MAX_CONNECTIONS: usize = 1_000;

/// Chooses among the folders that are listed. Those behind the machine's own mounts come first. Where there are too many
/// folders to be listed, these are all that is read.
///
/// # Errors
/// Why there is no list, where the mounts do not help either.
pub fn choose(
    listed: Result<Vec<String>, AccessError>,
    mountinfo: &str,
) -> Result<Vec<String>, AccessError> {
    let mounted: BTreeSet<String> = mounts::by_device(mountinfo)
        .iter()
        .filter(|(_, mount)| has_connection(mount))
        .map(|(device, _)| device.to_string())
        .collect();
    let mut names: Vec<String> = match listed {
        Err(AccessError::TooLarge(_)) if !mountinfo.is_empty() => mounted.iter().cloned().collect(),
        other => other?,
    };
    if names.len() > MAX_CONNECTIONS {
        names.sort_by_key(|name| !mounted.contains(name));
        names.truncate(MAX_CONNECTIONS);
    }
    Ok(names)
}

fn has_connection(mount: &Mount) -> bool {
    match mount.fstype.as_str() {
        "fuse" | "fuseblk" | "virtiofs" => true,
        other => other.starts_with("fuse."),
    }
}

#[cfg(test)]
mod tests {
    use gpud_sdk::types::SizeInfo;

    use super::*;

    const MOUNTINFO: &str = "21 27 0:30 / /sys/fs/fuse/connections rw - fusectl fusectl rw\n\
        40 27 0:5042 / /data rw - fuse.s3fs bucket rw\n41 27 8:1 / / rw - ext4 /dev/sda1 rw\n";

    fn too_many() -> Result<Vec<String>, AccessError> {
        Err(AccessError::TooLarge(SizeInfo {
            what: "entries".to_owned(),
            size: 4_097,
            limit: 4_096,
        }))
    }

    #[test]
    fn connections_of_a_user_hide_none_of_the_machine() {
        let listed: Vec<String> = (4_000..5_100)
            .map(|device: u32| device.to_string())
            .collect();
        let names = choose(Ok(listed), MOUNTINFO).unwrap();
        assert_eq!(names.len(), MAX_CONNECTIONS);
        assert_eq!(names[..3], ["5042", "4000", "4001"]);
        assert_eq!(choose(too_many(), MOUNTINFO).unwrap(), ["5042"]);
    }

    #[test]
    fn without_list_and_mounts_nothing_is_said() {
        assert_eq!(choose(too_many(), ""), too_many());
        let gone = || Err(AccessError::NotFound("x".to_owned()));
        assert_eq!(choose(gone(), MOUNTINFO), gone());
        assert_eq!(choose(Ok(Vec::new()), "").unwrap(), [""; 0]);
    }
}
