//! Whose the other end of a connection on this machine is, from the kernel's table of sockets
//! (`sock_diag`, else `Documentation/networking/proc_net_tcp.rst`). Unlike a token it cannot be read by others, forgotten, or leaked.

use std::{
    io::Read,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    sync::atomic::{AtomicBool, Ordering},
};

use super::sock_diag::{self, Answer};

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

/// Returns the user that owns the socket at `remote` which is connected to `local`, both on this machine. `None` when it is
/// not known, and for connections from elsewhere. Blocks for as long as the kernel takes to answer.
///
/// Addresses can be used again: the answer belongs to a connection only if that connection is still open after it was given
/// (`Link::is_open`).
pub fn uid(local: SocketAddr, remote: SocketAddr) -> Option<u32> {
    if !is_own_address(remote) {
        return None;
    }
    let (local, remote) = (plain(local), plain(remote));
    match sock_diag::owner(remote, local) {
        Answer::Owner(uid) => {
            HAS_DIAGNOSTICS.store(true, Ordering::Relaxed);
            return Some(uid);
        }
        Answer::Nobody => return None,
        // Reading the tables takes long where there are many connections.
        Answer::NotFound if HAS_DIAGNOSTICS.load(Ordering::Relaxed) => return None,
        Answer::NotFound | Answer::Unavailable => {}
    }
    // A client with an IPv6 socket may be connected by IPv4.
    ["/proc/net/tcp", "/proc/net/tcp6"]
        .into_iter()
        .find_map(|table| find(&read_table(table)?, remote, local))
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

/// The owner of the socket with these ends.
fn find(table: &str, own: SocketAddr, peer: SocketAddr) -> Option<u32> {
    table.lines().skip(1).find_map(|line| {
        let mut words = line.split_ascii_whitespace().skip(1);
        let ends = (address(words.next()?)?, address(words.next()?)?);
        let held = words.next()? == ESTABLISHED;
        (held && ends == (own, peer)).then(|| words.nth(3)?.parse().ok())?
    })
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

    #[cfg(target_endian = "little")]
    #[test]
    fn tables_are_read() {
        let table = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n\
            \x20  0: 0100007F:3B1C 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 1 1 0\n\
            \x20  1: 0100007F:D431 0100007F:3B1C 01 00000000:00000000 00:00000000 00000000  1000        0 2 1 0\n";
        let at = |port| SocketAddr::from(([127, 0, 0, 1], port));
        assert_eq!(find(table, at(0xd431), at(0x3b1c)), Some(1000));
        assert_eq!(find(table, at(0x3b1c), at(0xd431)), None);
        let closed = table.replace(" 01 ", " 05 ");
        assert_eq!(find(&closed, at(0xd431), at(0x3b1c)), None);
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
