//! Whose the other end of a connection on this machine is, from the kernel's table of sockets
//! (`sock_diag`, else `Documentation/networking/proc_net_tcp.rst`). Unlike a token it cannot be read by others, forgotten, or leaked.

use std::{
    io::Read,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    sync::atomic::{AtomicBool, Ordering},
};

use super::{
    port_holder,
    sock_diag::{self, Answer},
};

/// Most of a table that is read, bytes: about 400,000 connections.
const MAX_TABLE: u64 = 64 << 20;

/// The kernel has answered a question of `sock_diag`, so that its "not found" means what it says.
static HAS_DIAGNOSTICS: AtomicBool = AtomicBool::new(false);

/// Returns whether an address is one of this machine, of its loopback or of a network: only such can be bound.
pub fn is_own_address(address: SocketAddr) -> bool {
    let mut address = match address {
        // With its scope: a link-local address is one of an interface.
        SocketAddr::V6(own) if own.ip().to_ipv4_mapped().is_none() => address,
        _ => plain(address),
    };
    address.set_port(0);
    address.ip().is_loopback() || std::net::UdpSocket::bind(address).is_ok()
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
        Answer::Owner(uid) => Some(Holder::User(uid)),
        Answer::NotAccepted => Some(Holder::NotAccepted),
        Answer::Nobody => return Holder::Unknown,
        // Reading the tables takes long where there are many connections.
        Answer::NotFound if HAS_DIAGNOSTICS.load(Ordering::Relaxed) => return Holder::Unknown,
        Answer::NotFound | Answer::Unavailable => None,
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
    let mut text = String::new();
    let file = std::fs::File::open(table).ok()?;
    file.take(MAX_TABLE).read_to_string(&mut text).ok()?;
    Some(text)
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
mod tests {
    use std::net::{TcpListener, TcpStream};

    use super::*;

    #[test]
    fn own_connections_are_ones_own() {
        for host in ["127.0.0.1:0", "[::1]:0"] {
            // A machine without IPv6 has only the first.
            let Ok(listener) = TcpListener::bind(host) else {
                continue;
            };
            let local = listener.local_addr().unwrap();
            let client = TcpStream::connect(local).unwrap();
            let (accepted, remote) = listener.accept().unwrap();
            assert_eq!(uid(local, remote), Some(own_uid()), "{host}");
            drop((client, accepted));
            let nobody = SocketAddr::new(local.ip(), 1);
            assert_eq!(uid(local, nobody), None, "{host}");
        }
        // Closed while what it sent waits to be read: still in the table, and no longer anybody's.
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let local = listener.local_addr().unwrap();
        let client = TcpStream::connect(local).unwrap();
        let (accepted, remote) = listener.accept().unwrap();
        drop(client);
        assert_eq!(uid(local, remote), None);
        drop(accepted);
        let elsewhere: SocketAddr = "192.0.2.1:80".parse().unwrap();
        assert_eq!(uid("127.0.0.1:1".parse().unwrap(), elsewhere), None);
    }

    #[test]
    fn a_server_is_known_before_and_after_it_accepts() {
        for host in ["127.0.0.1:0", "[::1]:0"] {
            // A machine without IPv6 has only the first.
            let Ok(listener) = TcpListener::bind(host) else {
                continue;
            };
            let server = listener.local_addr().unwrap();
            let client = TcpStream::connect(server).unwrap();
            let local = client.local_addr().unwrap();
            assert_eq!(uid(local, server), None, "{host}");
            assert_eq!(server_uid(local, server), Some(own_uid()), "{host}");
            let accepted = listener.accept().unwrap();
            assert_eq!(uid(local, server), Some(own_uid()), "{host}");
            assert_eq!(server_uid(local, server), Some(own_uid()), "{host}");
            drop((client, accepted));
        }
        let elsewhere = "192.0.2.1:80".parse().unwrap();
        assert_eq!(server_uid("127.0.0.1:1".parse().unwrap(), elsewhere), None);
    }

    #[test]
    fn rows_without_a_holder_and_rows_that_differ_are_never_roots() {
        for (rows, expected) in [
            (vec![], Holder::Unknown),
            (vec![(0, 0)], Holder::NotAccepted),
            (vec![(1000, 0)], Holder::NotAccepted),
            (vec![(0, 7)], Holder::User(0)),
            (vec![(1000, 7), (1000, 7)], Holder::User(1000)),
            (vec![(0, 7), (1000, 8)], Holder::Unknown),
            (vec![(0, 7), (0, 8)], Holder::Unknown),
            (vec![(0, 0), (0, 7)], Holder::Unknown),
        ] {
            assert_eq!(judge(rows.clone()), expected, "{rows:?}");
        }
    }

    #[cfg(target_endian = "little")]
    #[test]
    fn tables_are_read() {
        let table = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n\
            \x20  0: 0100007F:3B1C 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 1 1 0\n\
            \x20  1: 0100007F:D431 0100007F:3B1C 01 00000000:00000000 00:00000000 00000000  1000        0 2 1 0\n";
        let at = |port| SocketAddr::from(([127, 0, 0, 1], port));
        let find = |table: &str| rows(table, at(0xd431), at(0x3b1c));
        assert_eq!(find(table), [(1000, 2)]);
        assert!(rows(table, at(0x3b1c), at(0xd431)).is_empty());
        assert!(find(&table.replace(" 01 ", " 05 ")).is_empty());
        // Before the last step of the handshake no process can hold it.
        assert_eq!(find(&table.replace(" 01 ", " 03 ")), [(1000, 0)]);
        assert_eq!(
            address("00000000000000000000000001000000:0050"),
            Some("[::1]:80".parse().unwrap())
        );
        assert_eq!(
            address("0000000000000000FFFF00000100007F:0050"),
            Some("127.0.0.1:80".parse().unwrap())
        );
        for bad in [
            "",
            ":",
            "0100007F",
            "0100007F:",
            "xyz:1",
            "ä100007F:1",
            "0100007F:12345",
        ] {
            assert_eq!(address(bad), None, "{bad}");
        }
    }
}
