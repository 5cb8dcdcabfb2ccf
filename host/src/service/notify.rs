//! Messages to systemd (`sd_notify(3)`): datagrams of `NAME=value` lines to the socket that `NOTIFY_SOCKET` names.

use std::{
    env,
    ffi::OsStr,
    io,
    os::{
        linux::net::SocketAddrExt as _,
        unix::{
            ffi::OsStrExt as _,
            net::{SocketAddr, UnixDatagram},
        },
    },
    process,
    time::Duration,
};

use super::Service;

/// The socket's path, or `@name` for one without a path.
const SOCKET: &str = "NOTIFY_SOCKET";
/// Microseconds within which systemd wants a sign of life.
const WATCHDOG: &str = "WATCHDOG_USEC";
/// The process whose sign of life systemd wants.
const WATCHDOG_PID: &str = "WATCHDOG_PID";

/// The way to systemd; without a socket nothing is sent.
#[derive(Debug, Default)]
pub struct Notifier {
    socket: Option<UnixDatagram>,
}

impl Notifier {
    /// Sends to this address: an absolute path, or `@name` for an abstract socket.
    ///
    /// # Errors
    /// It is neither, or nobody listens there.
    pub fn to(address: &OsStr) -> io::Result<Self> {
        let address = match address.as_bytes() {
            [b'@', name @ ..] if !name.is_empty() => SocketAddr::from_abstract_name(name)?,
            [b'/', ..] => SocketAddr::from_pathname(address)?,
            // systemd may also name a vsock, for virtual machines; nothing that runs inside a machine is given one.
            _ => return Err(io::ErrorKind::Unsupported.into()),
        };
        let socket = UnixDatagram::unbound()?;
        socket.connect_addr(&address)?;
        // systemd that does not read must not stop the daemon.
        socket.set_nonblocking(true)?;
        Ok(Self {
            socket: Some(socket),
        })
    }

    /// Whether systemd listens.
    pub fn is_connected(&self) -> bool {
        self.socket.is_some()
    }

    /// Sends these lines. A message that does not get through is logged at the level debug: there is nothing to be
    /// done.
    pub fn send(&self, lines: &str) {
        let Some(socket) = &self.socket else {
            return;
        };
        if let Err(error) = socket.send(lines.as_bytes()) {
            tracing::debug!("cannot send {lines:?} to systemd: {error}");
        }
    }

    /// The daemon answers.
    pub fn ready(&self, status: &str) {
        self.send(&format!("READY=1\nSTATUS={status}"));
    }

    /// Settings are being reloaded; [`Self::ready`] ends it.
    pub fn reloading(&self) {
        // The time is asked for by units of `Type=notify-reload`; others do not mind it.
        let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
        let micros = i128::from(now.tv_sec) * 1_000_000 + i128::from(now.tv_nsec) / 1000;
        self.send(&format!("RELOADING=1\nMONOTONIC_USEC={micros}"));
    }

    /// The end begins.
    pub fn stopping(&self) {
        self.send("STOPPING=1");
    }

    /// A sign of life.
    pub fn alive(&self) {
        self.send("WATCHDOG=1");
    }
}

/// Reads what systemd put into the environment and takes it out, so that programs that the daemon starts cannot speak
/// for it.
///
/// Call this before any thread is started. A socket that cannot be used gives a service that nobody watches, and the
/// reason.
pub fn take_from_environment() -> (Service, Option<String>) {
    let (socket, watchdog, pid) = (
        env::var_os(SOCKET),
        env::var(WATCHDOG).ok(),
        env::var(WATCHDOG_PID).ok(),
    );
    for name in [SOCKET, WATCHDOG, WATCHDOG_PID] {
        forget(name);
    }
    let Some(socket) = socket.filter(|socket| !socket.is_empty()) else {
        return (Service::default(), None);
    };
    match Notifier::to(&socket) {
        Ok(notifier) => {
            let service = Service {
                notifier: notifier.into(),
                watchdog: interval(watchdog.as_deref(), pid.as_deref(), process::id()),
                ..Service::default()
            };
            (service, None)
        }
        Err(error) => {
            let problem = format!("nothing is sent to systemd: {SOCKET}={socket:?}: {error}");
            (Service::default(), Some(problem))
        }
    }
}

/// The watchdog's interval, if it is this process that is watched.
fn interval(micros: Option<&str>, pid: Option<&str>, own_pid: u32) -> Option<Duration> {
    let micros: u64 = micros?.parse().ok().filter(|micros| *micros > 0)?;
    let ours = match pid {
        None | Some("") => true,
        Some(pid) => pid.parse() == Ok(own_pid),
    };
    ours.then(|| Duration::from_micros(micros))
}

#[expect(unsafe_code, reason = "there is no safe way to change the environment")]
fn forget(name: &str) {
    // SAFETY: called before any other thread is started, as the caller promises.
    unsafe { env::remove_var(name) };
}

#[cfg(test)]
mod tests {
    use super::*;

    fn receive(socket: &UnixDatagram) -> String {
        let mut buffer = [0; 1024];
        let length = socket.recv(&mut buffer).unwrap();
        String::from_utf8(buffer[..length].to_vec()).unwrap()
    }

    #[test]
    fn sockets_with_a_path_and_without() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("notify");
        let with_path = UnixDatagram::bind(&path).unwrap();
        let name = format!("gpud-test-{}", process::id());
        let address = SocketAddr::from_abstract_name(&name).unwrap();
        let without = UnixDatagram::bind_addr(&address).unwrap();
        for (notifier, socket) in [
            (Notifier::to(path.as_os_str()), with_path),
            (Notifier::to(OsStr::new(&format!("@{name}"))), without),
        ] {
            let notifier = notifier.unwrap();
            notifier.ready("serving");
            assert_eq!(receive(&socket), "READY=1\nSTATUS=serving");
            notifier.reloading();
            let text = receive(&socket);
            let micros = text.strip_prefix("RELOADING=1\nMONOTONIC_USEC=").unwrap();
            assert!(micros.parse::<u64>().unwrap() > 0, "{text}");
            notifier.alive();
            notifier.stopping();
            assert_eq!(receive(&socket), "WATCHDOG=1");
            assert_eq!(receive(&socket), "STOPPING=1");
        }
    }

    #[test]
    fn what_is_no_socket_is_refused_and_a_deaf_one_does_no_harm() {
        for address in ["", "@", "relative", "vsock:2:1", "/there/is/none"] {
            assert!(Notifier::to(OsStr::new(address)).is_err(), "{address}");
        }
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("notify");
        let socket = UnixDatagram::bind(&path).unwrap();
        let notifier = Notifier::to(path.as_os_str()).unwrap();
        // Nobody reads: the queue fills up, and nothing waits.
        for _ in 0..10_000 {
            notifier.alive();
        }
        drop(socket);
        notifier.stopping();
        Notifier::default().stopping();
    }

    #[test]
    fn the_watchdog_may_be_meant_for_another_process() {
        for (micros, pid, expected) in [
            (Some("2000000"), None, Some(2)),
            (Some("2000000"), Some("7"), Some(2)),
            (Some("2000000"), Some("8"), None),
            (Some("2000000"), Some("x"), None),
            (Some("0"), None, None),
            (Some("-1"), None, None),
            (None, Some("7"), None),
        ] {
            let found = interval(micros, pid, 7);
            assert_eq!(
                found,
                expected.map(Duration::from_secs),
                "{micros:?} {pid:?}"
            );
        }
    }
}
