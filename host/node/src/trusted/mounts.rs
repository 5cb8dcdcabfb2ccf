//! File systems that a user serves (FUSE): that user decides their owners and permissions.

use std::{
    fs,
    os::{fd::AsFd, unix::ffi::OsStrExt as _},
    path::Path,
};

use rustix::{
    fs::{AtFlags, StatxFlags, fstatfs, major, makedev, minor, statx},
    io::Errno,
};

/// `FUSE_SUPER_MAGIC`.
const FUSE: u64 = 0x6573_5546;
const MOUNTS: &str = "/proc/self/mountinfo";
/// The prefix of the types of file systems that a user can serve. Those of virtual machines' hosts (virtiofs) are
/// others.
const TYPES: &str = "fuse";
/// The mount option with the user that serves such a file system.
const SERVED_BY: &str = "user_id=";

/// Returns the number of the file system that a handle is of, without asking the file system: one of FUSE may never answer.
///
/// # Errors
/// The kernel's.
pub fn device(handle: impl AsFd) -> Result<u64, Errno> {
    let flags = AtFlags::EMPTY_PATH | AtFlags::STATX_DONT_SYNC;
    let facts = statx(handle, "", flags, StatxFlags::TYPE)?;
    Ok(makedev(facts.stx_dev_major, facts.stx_dev_minor))
}

/// Returns the user that serves the file system that a handle is of; root for the kernel's and the host's. `None` if that cannot be
/// found out. A file system in the table of mounts is not asked itself.
///
/// # Errors
/// The kernel's.
pub fn served_by(handle: impl AsFd) -> Result<Option<u32>, Errno> {
    let device = device(&handle)?;
    // Paths in it may be no UTF-8.
    let mounts = fs::read(MOUNTS).unwrap_or_default();
    let mounts = String::from_utf8_lossy(&mounts);
    if let Some(server) = find(&mounts, major(device), minor(device)) {
        return Ok(Some(server));
    }
    // A part of a file system that has a number of its own (btrfs).
    let system = fstatfs(handle)?;
    let is_fuse = u64::try_from(system.f_type).is_ok_and(|kind| kind == FUSE);
    Ok((!is_fuse).then_some(0))
}

/// Returns the user that serves what is mounted at a path without links, on top where there are several; root for the kernel's and the
/// host's file systems. `None` where nothing is.
pub fn served_at(path: &Path) -> Option<u32> {
    let mounts = fs::read(MOUNTS).ok()?;
    at(&mounts, path)
}

/// The same from the table, where blanks and the like of a path are written `\040`.
fn at(mounts: &[u8], path: &Path) -> Option<u32> {
    let mut escaped = Vec::new();
    for byte in path.as_os_str().as_bytes() {
        match byte {
            b' ' | b'\t' | b'\n' | b'\\' => escaped.extend(format!("\\{byte:03o}").bytes()),
            byte => escaped.push(*byte),
        }
    }
    let mut lines = mounts.rsplit(|byte| *byte == b'\n');
    let is_there =
        |line: &&[u8]| line.split(|byte| *byte == b' ').nth(4) == Some(escaped.as_slice());
    server(&String::from_utf8_lossy(lines.find(is_there)?))
}

/// Reads the table of mounts: `36 35 98:0 / /mnt rw - fuse.sshfs host: rw,user_id=1000,group_id=1000`.
fn find(mounts: &str, major: u32, minor: u32) -> Option<u32> {
    let device = format!("{major}:{minor}");
    let line = mounts
        .lines()
        .find(|line| line.split(' ').nth(2) == Some(device.as_str()))?;
    server(line)
}

/// Returns the server of the file system in a line of the table.
fn server(line: &str) -> Option<u32> {
    let (_, system) = line.split_once(" - ")?;
    if !system.starts_with(TYPES) {
        return Some(0);
    }
    let options = system.rsplit(' ').next()?;
    let user = options
        .split(',')
        .find_map(|option| option.strip_prefix(SERVED_BY));
    user?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_user_of_a_mount_is_found_by_its_device() {
        let mounts = "22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n\
            36 22 0:52 / /mnt/a\\040b rw,nosuid - fuse.sshfs alice@host:/ rw,user_id=1000,group_id=1000,allow_other\n\
            37 22 0:53 / /mnt/root rw - fuse x rw,user_id=0,group_id=0\n\
            38 22 0:54 / /mnt/host rw - virtiofs share rw";
        assert_eq!(find(mounts, 0, 52), Some(1000));
        assert_eq!(find(mounts, 0, 53), Some(0));
        assert_eq!(find(mounts, 0, 54), Some(0));
        assert_eq!(find(mounts, 0, 5), None);
        assert_eq!(find("", 0, 0), None);
        for (path, expected) in [
            ("/mnt/a b", Some(1000)),
            ("/mnt/root", Some(0)),
            ("/", Some(0)),
            ("/mnt", None),
        ] {
            assert_eq!(at(mounts.as_bytes(), Path::new(path)), expected, "{path}");
        }
        let twice = format!("{mounts}\n39 22 0:55 / /mnt/root rw - fuse y rw,user_id=7");
        assert_eq!(at(twice.as_bytes(), Path::new("/mnt/root")), Some(7));
    }
}
