//! The file `gpud.run` in the data folder, by which other commands find the daemon that uses it.
//!
//! The daemon holds a lock on it for as long as it lives, so that a file left behind by one that was killed is known to
//! be stale, even if another process has its process id now.

use std::{
    fs::{self, File},
    io::{self, Write as _},
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    os::unix::fs::{MetadataExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
    process,
};

use rustix::{
    fs::{FlockOperation, flock},
    io::Errno,
};
use serde::{Deserialize, Serialize};

use crate::{
    VERSION,
    node::{local_file, trusted::Opener},
};

/// Name of the file inside the data folder.
pub const RUN_FILE: &str = "gpud.run";
/// Largest file that is read, bytes.
const MAX_BYTES: u64 = 4096;

/// A daemon that runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DaemonPresence {
    /// Its process id, as it sees it itself (in a container, the container's).
    pub pid: u32,
    /// Where it listens.
    pub address: SocketAddr,
    /// Its version.
    pub version: String,
    /// Its Unix socket for local administration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub socket: Option<PathBuf>,
}

impl DaemonPresence {
    /// The base URL at which a client on this machine reaches it.
    pub fn url(&self) -> String {
        let ip = match self.address.ip() {
            ip if !ip.is_unspecified() => ip,
            IpAddr::V4(_) => Ipv4Addr::LOCALHOST.into(),
            IpAddr::V6(_) => Ipv6Addr::LOCALHOST.into(),
        };
        format!("https://{}", SocketAddr::new(ip, self.address.port()))
    }
}

/// The file while this process is the daemon. Dropped, it is removed.
#[derive(Debug)]
pub struct Presence {
    path: PathBuf,
    file: File,
}

impl Presence {
    /// Writes the file into the data folder, which must exist, and locks it. One that is there is replaced.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn announce(folder: &Path, address: SocketAddr, socket: Option<&Path>) -> io::Result<Self> {
        let running = DaemonPresence {
            pid: process::id(),
            address,
            version: VERSION.to_owned(),
            socket: socket.map(Path::to_owned),
        };
        let mut file = tempfile::Builder::new()
            .prefix(RUN_FILE)
            .permissions(fs::Permissions::from_mode(0o600))
            .tempfile_in(folder)?;
        serde_json::to_writer(&mut file, &running)?;
        file.write_all(b"\n")?;
        // Locked before it has its name: a process that sees it, sees it locked.
        flock(file.as_file(), FlockOperation::NonBlockingLockExclusive)?;
        let path = folder.join(RUN_FILE);
        let file = file.persist(&path)?;
        Ok(Self { path, file })
    }
}

impl Drop for Presence {
    fn drop(&mut self) {
        let identity = |facts: fs::Metadata| (facts.dev(), facts.ino());
        let named = fs::symlink_metadata(&self.path).map(identity).ok();
        // Another daemon may have put its own in place.
        if named.is_some() && named == self.file.metadata().map(identity).ok() {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// The daemon that runs on this data folder, if there is one.
pub fn find(folder: &Path) -> Option<DaemonPresence> {
    let path = folder.join(RUN_FILE);
    Opener::of_command().check_servers(&path).ok()?;
    let file = local_file::open(&path).ok()?;
    match flock(&file, FlockOperation::NonBlockingLockShared) {
        Err(Errno::WOULDBLOCK) => serde_json::from_reader(io::Read::take(file, MAX_BYTES)).ok(),
        // Left behind by one that was killed.
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_there_while_the_daemon_is() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(find(folder.path()), None);
        let address: SocketAddr = "127.0.0.1:7".parse().unwrap();
        let presence = Presence::announce(folder.path(), address, Some(Path::new("/s"))).unwrap();
        let found = find(folder.path()).unwrap();
        assert_eq!(
            (found.pid, found.address, found.version.as_str()),
            (process::id(), address, VERSION)
        );
        assert_eq!(found.socket, Some("/s".into()));
        let mode = fs::metadata(&presence.path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        drop(presence);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_stale_or_invalid_file_names_no_daemon() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(RUN_FILE);
        fs::write(&path, r#"{"pid":1,"address":"127.0.0.1:7","version":"1"}"#).unwrap();
        assert_eq!(find(folder.path()), None);
        fs::write(&path, "nonsense").unwrap();
        let locked = File::open(&path).unwrap();
        flock(&locked, FlockOperation::NonBlockingLockExclusive).unwrap();
        assert_eq!(find(folder.path()), None);
    }

    #[test]
    fn a_pipe_names_no_daemon() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join(RUN_FILE);
        let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
        rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, mode).unwrap();
        assert_eq!(find(folder.path()), None);
    }

    #[test]
    fn the_file_of_another_daemon_is_left() {
        let folder = tempfile::tempdir().unwrap();
        let first =
            Presence::announce(folder.path(), "127.0.0.1:1".parse().unwrap(), None).unwrap();
        let second =
            Presence::announce(folder.path(), "127.0.0.1:2".parse().unwrap(), None).unwrap();
        drop(first);
        assert_eq!(find(folder.path()).unwrap().address.port(), 2);
        drop(second);
    }

    #[test]
    fn clients_reach_a_daemon_that_listens_everywhere() {
        for (address, url) in [
            ("127.0.0.1:15132", "https://127.0.0.1:15132"),
            ("0.0.0.0:1", "https://127.0.0.1:1"),
            ("[::]:1", "https://[::1]:1"),
            ("10.0.0.2:1", "https://10.0.0.2:1"),
            ("[fd00::2]:1", "https://[fd00::2]:1"),
        ] {
            let running = DaemonPresence {
                pid: 1,
                address: address.parse().unwrap(),
                version: String::new(),
                socket: None,
            };
            assert_eq!(running.url(), url);
        }
    }
}
