//! Finds the user at the other end of a connection on this machine, in the kernel's table of sockets (`sock_diag`, else
//! `Documentation/networking/proc_net_tcp.rst`). Unlike a token, this cannot be read by others, forgotten, or leaked.

use std::{
    io::{self, Read},
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket},
    sync::atomic::{AtomicBool, Ordering},
};

use super::{
    port_holder,
    sock_diag::{self, DiagAnswer},
};

/// Most of a table that is read, bytes: about 400,000 connections.
const MAX_TABLE: u64 = 64 << 20;

/// The kernel has answered a question of `sock_diag`, so that its "not found" means what it says.
static HAS_DIAGNOSTICS: AtomicBool = AtomicBool::new(false);

/// Returns whether an address is one of this machine, of its loopback or of a network: only such can be bound. If the kernel says
/// neither, it counts as one: a user may hold all ports of an address.
pub fn is_own_address(address: SocketAddr) -> bool {
    let mut address = match address {
        // With its scope: a link-local address is one of an interface.
        SocketAddr::V6(own) if own.ip().to_ipv4_mapped().is_none() => address,
        _ => plain(address),
    };
    address.set_port(0);
    let is_elsewhere = |error: io::Error| error.kind() == io::ErrorKind::AddrNotAvailable;
    address.ip().is_loopback() || !UdpSocket::bind(address).is_err_and(is_elsewhere)
}

/// The holder of a socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Holder {
    /// A process of this user.
    User(u32),
    /// No process yet: a connection that the one that listens has not accepted.
    NotAccepted,
    /// The kernel does not say, or says two things.
    Unknown,
}

/// Returns the user that owns the socket at `remote` which is connected to `local`, both on this machine. `None` when it is
/// not known, and for connections from elsewhere. Blocks for as long as the kernel takes to answer.
///
/// Addresses can be used again: the answer belongs to a connection only if that connection is still open after it was given
/// (`Link::is_open`).
pub fn uid(local: SocketAddr, remote: SocketAddr) -> Option<u32> {
    match holder(local, remote) {
        Holder::User(uid) => Some(uid),
        Holder::NotAccepted | Holder::Unknown => None,
    }
}

/// Returns the same for the server of a connection that this process has made and holds: also while the server has not
/// accepted it, when it is the user that listens. Takes long then where there are many connections.
pub fn server_uid(local: SocketAddr, remote: SocketAddr) -> Option<u32> {
    match holder(local, remote) {
        Holder::User(uid) => return Some(uid),
        Holder::Unknown => return None,
        Holder::NotAccepted => {}
    }
    // In this order: a connection that waits after it is known who listens waits for that one. Otherwise another user could
    // accept it, and leave the port to root in between.
    let listener = port_holder::user(remote);
    match holder(local, remote) {
        Holder::User(uid) => Some(uid),
        Holder::NotAccepted => listener,
        Holder::Unknown => None,
    }
}

fn holder(local: SocketAddr, remote: SocketAddr) -> Holder {
    if !is_own_address(remote) {
        return Holder::Unknown;
    }
    let (local, remote) = (plain(local), plain(remote));
    let diagnosed = match sock_diag::owner(remote, local) {
        DiagAnswer::Owner(uid) => Some(Holder::User(uid)),
        DiagAnswer::NotAccepted => Some(Holder::NotAccepted),
        DiagAnswer::Nobody => return Holder::Unknown,
        // Reading the tables takes long where there are many connections.
        DiagAnswer::NotFound if HAS_DIAGNOSTICS.load(Ordering::Relaxed) => return Holder::Unknown,
        DiagAnswer::NotFound | DiagAnswer::Unavailable => None,
    };
    if let Some(diagnosed) = diagnosed {
        HAS_DIAGNOSTICS.store(true, Ordering::Relaxed);
        return diagnosed;
    }
    // A client with an IPv6 socket may be connected by IPv4.
    let tables = ["/proc/net/tcp", "/proc/net/tcp6"];
    let tables = tables.into_iter().filter_map(read_table);
    let rows = tables.flat_map(|table| rows(&table, remote, local));
    judge(rows)
}

/// The user that this process acts as.
pub fn own_uid() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// Reads one of the kernel's tables of sockets.
pub(super) fn read_table(table: &str) -> Option<String> {
    let mut bytes = Vec::new();
    let file = std::fs::File::open(table).ok()?;
    file.take(MAX_TABLE).read_to_end(&mut bytes).ok()?;
    // Users name Unix sockets, in any bytes.
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// State of a socket whose owner still holds it: the kernel shows one that was closed as root's.
const ESTABLISHED: &str = "01";
/// State of a connection whose server waits for the last step of the handshake.
const SYN_RECEIVED: &str = "03";

/// Returns user and inode of each socket with these ends that is established, or about to be.
fn rows(table: &str, own: SocketAddr, peer: SocketAddr) -> Vec<(u32, u64)> {
    let rows = table.lines().skip(1).filter_map(|line| {
        let mut words = line.split_ascii_whitespace().skip(1);
        let ends = (address(words.next()?)?, address(words.next()?)?);
        let state = words.next()?;
        if ![ESTABLISHED, SYN_RECEIVED].contains(&state) || ends != (own, peer) {
            return None;
        }
        let uid = words.nth(3)?.parse().ok()?;
        let inode = words.nth(1)?.parse().ok()?;
        Some((uid, if state == ESTABLISHED { inode } else { 0 }))
    });
    rows.collect()
}

/// Judges the rows of one connection. A table that changes while it is read can show a row twice; rows that differ say
/// nothing.
fn judge(rows: impl IntoIterator<Item = (u32, u64)>) -> Holder {
    let mut rows = rows.into_iter();
    let Some(first) = rows.next() else {
        return Holder::Unknown;
    };
    match first {
        _ if rows.any(|row| row != first) => Holder::Unknown,
        (_, 0) => Holder::NotAccepted,
        (uid, _) => Holder::User(uid),
    }
}

/// `0100007F:1F90`: the address in words of the machine's byte order, the port as it is.
pub(super) fn address(text: &str) -> Option<SocketAddr> {
    let (ip, port) = text.split_once(':')?;
    let port = u16::from_str_radix(port, 16).ok()?;
    let word = |at: usize| -> Option<[u8; 4]> {
        let word = u32::from_str_radix(ip.get(at * 8..at * 8 + 8)?, 16).ok()?;
        Some(word.to_ne_bytes())
    };
    let ip: IpAddr = match ip.len() {
        8 => Ipv4Addr::from(word(0)?).into(),
        32 => {
            let words = [word(0)?, word(1)?, word(2)?, word(3)?];
            let mut octets = [0; 16];
            for (octet, byte) in octets.iter_mut().zip(words.as_flattened()) {
                *octet = *byte;
            }
            Ipv6Addr::from(octets).into()
        }
        _ => return None,
    };
    Some(plain(SocketAddr::new(ip, port)))
}

/// An IPv4 address inside an IPv6 one as what it is.
fn plain(address: SocketAddr) -> SocketAddr {
    SocketAddr::new(address.ip().to_canonical(), address.port())
}

#[cfg(test)]
mod tests;
