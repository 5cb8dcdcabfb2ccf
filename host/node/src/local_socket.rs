//! The Unix socket for local administration: made where no other user can put or change anything, and found again by
//! clients that check whose it is.

use std::{
    fs::File,
    io,
    os::{
        fd::{AsFd as _, OwnedFd},
        unix::fs::MetadataExt as _,
    },
    path::{Path, PathBuf},
};

use rustix::{
    fs::{
        AtFlags, FileType, FlockOperation, Mode, OFlags, chmodat, flock, open, openat, statat,
        unlinkat,
    },
    io::Errno,
    net::{
        AddressFamily, SocketAddrUnix, SocketFlags, SocketType, bind as bind_to, listen,
        socket_with,
    },
};
use tokio::net::{UnixListener, UnixStream};

use super::{
    socket_owner::own_uid,
    trusted::{self, Opener, TrustError},
};

/// Connections that wait until they are accepted.
const BACKLOG: i32 = 128;
/// Its owner and its group may connect.
const MODE: u32 = 0o660;
/// The mode of a folder that is made for the socket: every user may reach the socket, and none may list the folder.
const FOLDER_MODE: u32 = 0o711;

/// Why there is no socket.
#[derive(Debug, thiserror::Error)]
pub enum SocketError {
    /// Another daemon serves it.
    #[error("{}: another gpud serves this socket; give this one its own with --local-socket", .0.display())]
    Taken(PathBuf),
    /// Others could replace it.
    #[error("{}: {} can be changed by others than root and gpud's user; choose another folder with --local-socket", path.display(), folder.display())]
    Exposed {
        /// The socket.
        path: PathBuf,
        /// The folder in question.
        folder: PathBuf,
    },
    /// Something else has its name.
    #[error("{}: there is something that is not a socket of gpud; remove it or choose another path with --local-socket", .0.display())]
    Occupied(PathBuf),
    /// The system refuses.
    #[error("{}: {source}", path.display())]
    System {
        /// The socket.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
}

/// A socket that this process serves. Dropped, it is removed.
#[derive(Debug)]
pub struct LocalSocket {
    // Before the listener: fields are dropped in this order, and a name that nobody serves is not left behind.
    place: SocketPath,
    listener: UnixListener,
}

/// A socket that is made, and accepts connections that nobody answers yet. Dropped, it is removed.
#[derive(Debug)]
pub struct BoundSocket {
    place: SocketPath,
    socket: OwnedFd,
}

/// The place of a socket in the file system. Dropped, it is free.
#[derive(Debug)]
struct SocketPath {
    path: PathBuf,
    folder: File,
    name: PathBuf,
    identity: (u64, u64),
    /// Held for as long as the socket is served; the kernel releases it when this process ends.
    _lock: File,
}

impl LocalSocket {
    /// Makes the socket as [`BoundSocket::bind`] does, and serves it. Blocks.
    ///
    /// # Errors
    /// As [`SocketError`] lists them.
    pub fn bind(path: &Path) -> Result<Self, SocketError> {
        BoundSocket::bind(path)?.serve()
    }

    /// Returns its path.
    pub fn path(&self) -> &Path {
        &self.place.path
    }

    /// Waits for the next connection.
    ///
    /// # Errors
    /// The system's.
    pub async fn accept(&self) -> io::Result<UnixStream> {
        Ok(self.listener.accept().await?.0)
    }
}

impl BoundSocket {
    /// Makes the socket, with mode 0660, and its folder, if need be, with mode 0711. A socket that a daemon left behind is
    /// replaced; one that is served is not, nor anything else that has this name. Blocks.
    ///
    /// # Errors
    /// As [`SocketError`] lists them.
    pub fn bind(path: &Path) -> Result<Self, SocketError> {
        let system = |source: io::Error| SocketError::System {
            path: path.to_owned(),
            source,
        };
        let errno = |error: Errno| system(error.into());
        let invalid = || system(io::ErrorKind::InvalidInput.into());
        let parent = path.parent().ok_or_else(invalid)?;
        let name = PathBuf::from(path.file_name().ok_or_else(invalid)?);
        let exposed = |error: TrustError| match error {
            TrustError::Refused(refusal) => SocketError::Exposed {
                path: path.to_owned(),
                folder: refusal.part,
            },
            error => system(error.into()),
        };
        trusted::make_folder(parent, FOLDER_MODE).map_err(exposed)?;
        Opener::of_daemon().check_folder(parent).map_err(exposed)?;
        let parent = parent.canonicalize().map_err(system)?;
        let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::RDONLY;
        let folder = File::from(open(&parent, flags, Mode::empty()).map_err(errno)?);
        let lock = lock(&folder, &name).map_err(|error| match error {
            Errno::WOULDBLOCK => SocketError::Taken(path.to_owned()),
            error => errno(error),
        })?;
        match statat(&folder, &name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(facts) if FileType::from_raw_mode(facts.st_mode) == FileType::Socket => {
                unlinkat(&folder, &name, AtFlags::empty()).map_err(errno)?;
            }
            Ok(_) => return Err(SocketError::Occupied(path.to_owned())),
            Err(Errno::NOENT) => {}
            Err(error) => return Err(errno(error)),
        }
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None);
        let socket = socket.map_err(errno)?;
        // Nobody can change what the folder's path leads to, so that binding by path is binding in this folder.
        let address = SocketAddrUnix::new(parent.join(&name)).map_err(errno)?;
        bind_to(&socket, &address).map_err(errno)?;
        // This is before the first client can connect, which needs `listen`.
        let mode = Mode::from_raw_mode(MODE);
        chmodat(&folder, &name, mode, AtFlags::empty()).map_err(errno)?;
        listen(&socket, BACKLOG).map_err(errno)?;
        let facts = statat(&folder, &name, AtFlags::SYMLINK_NOFOLLOW).map_err(errno)?;
        Ok(Self {
            socket,
            place: SocketPath {
                path: path.to_owned(),
                folder,
                name,
                identity: (facts.st_dev, facts.st_ino),
                _lock: lock,
            },
        })
    }

    /// Serves it, which takes an executor. To its clients it stays a socket of the user who made it.
    ///
    /// # Errors
    /// [`SocketError::System`].
    pub fn serve(self) -> Result<LocalSocket, SocketError> {
        let Self { socket, place } = self;
        match UnixListener::from_std(socket.into()) {
            Ok(listener) => Ok(LocalSocket { listener, place }),
            Err(source) => Err(SocketError::System {
                path: place.path.clone(),
                source,
            }),
        }
    }
}

impl Drop for SocketPath {
    fn drop(&mut self) {
        let facts = statat(&self.folder, &self.name, AtFlags::SYMLINK_NOFOLLOW);
        if facts.is_ok_and(|facts| (facts.st_dev, facts.st_ino) == self.identity) {
            // A socket that is left behind is replaced at the next start.
            let _ = unlinkat(&self.folder, &self.name, AtFlags::empty());
        }
    }
}

/// Takes the lock beside the socket: its holder serves the socket, also before it is bound.
fn lock(folder: &File, name: &Path) -> Result<File, Errno> {
    let mut beside = name.as_os_str().to_owned();
    beside.push(".lock");
    let flags =
        OFlags::CREATE | OFlags::RDWR | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let file = File::from(openat(folder, &beside, flags, Mode::RUSR | Mode::WUSR)?);
    flock(file.as_fd(), FlockOperation::NonBlockingLockExclusive)?;
    Ok(file)
}

/// Connects to the socket of a daemon that runs as root or as our own user. `None` where there is none, where it is not for
/// us, and where another user serves it. Links are not followed.
pub async fn connect(path: &Path) -> Option<UnixStream> {
    let facts = std::fs::symlink_metadata(path).ok()?;
    let socket = FileType::from_raw_mode(facts.mode()) == FileType::Socket;
    if !socket || !is_trusted(facts.uid()) {
        return None;
    }
    let stream = UnixStream::connect(path).await.ok()?;
    is_trusted(stream.peer_cred().ok()?.uid()).then_some(stream)
}

fn is_trusted(uid: u32) -> bool {
    uid == 0 || uid == own_uid()
}

#[cfg(test)]
mod tests {
    use std::{
        fs::{self, Permissions},
        os::unix::fs::{PermissionsExt as _, symlink},
    };

    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::symlink_metadata(path).unwrap().mode() & 0o7777
    }

    #[tokio::test]
    async fn only_owner_and_group_connect_and_it_is_removed_at_the_end() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("gpud").join("gpud.sock");
        assert!(connect(&path).await.is_none());
        let socket = LocalSocket::bind(&path).unwrap();
        assert_eq!(mode(&path), 0o660);
        assert_eq!(mode(path.parent().unwrap()), 0o711);
        let (client, server) = tokio::join!(connect(&path), socket.accept());
        assert!(client.is_some());
        assert_eq!(server.unwrap().peer_cred().unwrap().uid(), own_uid());
        drop(socket);
        assert!(!path.exists());
    }

    #[tokio::test]
    async fn one_that_is_served_is_not_taken_and_a_stale_one_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("gpud.sock");
        let first = LocalSocket::bind(&path).unwrap();
        let second = LocalSocket::bind(&path);
        assert!(matches!(second, Err(SocketError::Taken(_))), "{second:?}");
        assert!(connect(&path).await.is_some());
        drop(first);
        // A killed daemon leaves such a socket.
        drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
        assert!(connect(&path).await.is_none());
        let again = LocalSocket::bind(&path).unwrap();
        assert!(connect(&path).await.is_some());
        assert_eq!(again.path(), path);
    }

    #[tokio::test]
    async fn links_and_files_are_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let (path, target) = (folder.path().join("s"), folder.path().join("t"));
        for lock in [false, true] {
            fs::write(&target, "precious").unwrap();
            let link = match lock {
                true => folder.path().join("s.lock"),
                false => path.clone(),
            };
            symlink(&target, &link).unwrap();
            let refused = LocalSocket::bind(&path);
            assert!(refused.is_err(), "{refused:?}");
            assert_eq!(fs::read_to_string(&target).unwrap(), "precious");
            assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
            fs::remove_file(&link).unwrap();
            let _ = fs::remove_file(folder.path().join("s.lock"));
        }
        // A link to a socket that is served is not one.
        let served = LocalSocket::bind(&folder.path().join("real")).unwrap();
        symlink(served.path(), &path).unwrap();
        assert!(connect(&path).await.is_none());
    }

    #[tokio::test]
    async fn a_folder_that_others_can_change_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let open = folder.path().join("open");
        for mode in [0o777, 0o1777, 0o775] {
            let inner = open.join("inner");
            fs::create_dir_all(&inner).unwrap();
            fs::set_permissions(&open, Permissions::from_mode(mode)).unwrap();
            let refused = LocalSocket::bind(&open.join("s"));
            assert!(
                matches!(&refused, Err(SocketError::Exposed { folder, .. }) if *folder == open.canonicalize().unwrap()),
                "{mode:o} {refused:?}"
            );
            // Below a folder with the sticky bit ours stays ours.
            let below = LocalSocket::bind(&inner.join("s"));
            assert_eq!(below.is_ok(), mode == 0o1777, "{mode:o} {below:?}");
        }
        // One that belongs to somebody else; making it takes root.
        let foreign = folder.path().join("foreign");
        fs::create_dir(&foreign).unwrap();
        if std::os::unix::fs::chown(&foreign, Some(12345), None).is_ok() && own_uid() == 0 {
            let refused = LocalSocket::bind(&foreign.join("s"));
            assert!(
                matches!(refused, Err(SocketError::Exposed { .. })),
                "{refused:?}"
            );
        }
    }
}
