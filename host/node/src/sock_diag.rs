//! One question to the kernel's socket diagnostics (`NETLINK_SOCK_DIAG`, `linux/inet_diag.h`): whose is the TCP socket
//! with these two addresses? The answer takes the same time however many sockets there are.

use std::net::{IpAddr, SocketAddr};

use rustix::{
    io::Errno,
    net::{
        AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType,
        netlink::{self, SocketAddrNetlink},
        recv, sendto, socket_with,
        sockopt::{Timeout, set_socket_timeout},
    },
};

/// `SOCK_DIAG_BY_FAMILY`: the type of the question and of its answer.
const BY_FAMILY: u16 = 20;
/// `NLM_F_REQUEST`.
const REQUEST: u16 = 1;
/// `NLMSG_ERROR`: an answer that holds a negative error number.
const ERROR: u16 = 2;
/// `-ENOENT`.
const NOT_FOUND: [u8; 4] = (-2_i32).to_ne_bytes();
const AF_INET: u8 = 2;
const AF_INET6: u8 = 10;
const IPPROTO_TCP: u8 = 6;
/// `TCP_ESTABLISHED`.
const ESTABLISHED: u8 = 1;
/// `TCP_SYN_RECV`: the server waits for the last step of the handshake.
const SYN_RECEIVED: u8 = 3;
/// Bytes of `nlmsghdr`.
const HEADER: usize = 16;
/// Bytes of `inet_diag_req_v2`.
const QUESTION: usize = 56;
/// The offsets of state, addresses, owner and inode in an answer (`inet_diag_msg`).
const STATE: usize = HEADER + 1;
const ID: usize = HEADER + 4;
const UID: usize = HEADER + 64;
const INODE: usize = HEADER + 68;
/// Bytes of ports and addresses at the start of `inet_diag_sockid`.
const ENDS: usize = 36;

/// The answer of the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DiagAnswer {
    /// The socket is established, and belongs to this user.
    Owner(u32),
    /// The socket is established, or about to be, and no process holds it: the one that listens has not accepted it yet. The
    /// kernel shows such a socket as root's.
    NotAccepted,
    /// The socket with these addresses is not established.
    Nobody,
    /// There is no such socket, or this kernel has no diagnostics of TCP: it answers the same in both cases.
    NotFound,
    /// This kernel does not answer such questions.
    Unavailable,
}

/// Asks for the socket whose own address is `own`, connected to `peer`.
pub(super) fn owner(own: SocketAddr, peer: SocketAddr) -> DiagAnswer {
    match ask(&question(own, peer)) {
        Ok(answer) => read(&answer, own, peer),
        Err(_) => DiagAnswer::Unavailable,
    }
}

fn ask(question: &[u8]) -> Result<Vec<u8>, Errno> {
    let socket = socket_with(
        AddressFamily::NETLINK,
        SocketType::DGRAM,
        SocketFlags::CLOEXEC,
        Some(netlink::SOCK_DIAG),
    )?;
    // The kernel answers before `sendto` returns; a limit all the same, so that nothing can wait for ever.
    let limit = Some(std::time::Duration::from_secs(1));
    set_socket_timeout(&socket, Timeout::Recv, limit)?;
    let kernel = SocketAddrNetlink::new(0, 0);
    sendto(&socket, question, SendFlags::empty(), &kernel)?;
    let mut answer = vec![0; 4096];
    let (_, bytes) = recv(&socket, answer.as_mut_slice(), RecvFlags::empty())?;
    answer.truncate(bytes);
    Ok(answer)
}

/// Ports and addresses as `inet_diag_sockid` begins: in network byte order.
fn ends(own: SocketAddr, peer: SocketAddr) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(ENDS);
    bytes.extend(own.port().to_be_bytes());
    bytes.extend(peer.port().to_be_bytes());
    for address in [own, peer] {
        match address.ip() {
            IpAddr::V4(ip) => {
                bytes.extend(ip.octets());
                bytes.extend([0; 12]);
            }
            IpAddr::V6(ip) => bytes.extend(ip.octets()),
        }
    }
    bytes
}

fn question(own: SocketAddr, peer: SocketAddr) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(HEADER + QUESTION);
    let length = u32::try_from(HEADER + QUESTION).unwrap_or_default();
    bytes.extend(length.to_ne_bytes());
    bytes.extend(BY_FAMILY.to_ne_bytes());
    bytes.extend(REQUEST.to_ne_bytes());
    // Sequence number and sender.
    bytes.extend([0; 8]);
    let family = match own.ip() {
        IpAddr::V4(_) => AF_INET,
        IpAddr::V6(_) => AF_INET6,
    };
    bytes.extend([family, IPPROTO_TCP, 0, 0]);
    // Every state.
    bytes.extend(u32::MAX.to_ne_bytes());
    bytes.extend(ends(own, peer));
    // Any interface, any cookie.
    bytes.extend(0_u32.to_ne_bytes());
    bytes.extend([0xff; 8]);
    bytes
}

/// The kernel may answer with a listening socket where there is no connection, so that state and addresses count.
fn read(answer: &[u8], own: SocketAddr, peer: SocketAddr) -> DiagAnswer {
    let kind = answer
        .get(4..6)
        .and_then(|bytes| bytes.try_into().ok())
        .map(u16::from_ne_bytes);
    let found = || {
        let number = |at: usize| -> Option<u32> {
            let bytes: [u8; 4] = answer.get(at..at + 4)?.try_into().ok()?;
            Some(u32::from_ne_bytes(bytes))
        };
        let state = *answer.get(STATE)?;
        let found = answer.get(ID..ID + ENDS)?;
        Some(((number(UID)?, number(INODE)?), state, found))
    };
    match (kind, found()) {
        (Some(BY_FAMILY), Some((holder, state, found))) if is_same(found, own, peer) => {
            match (state, holder) {
                (ESTABLISHED | SYN_RECEIVED, (_, 0)) => DiagAnswer::NotAccepted,
                (ESTABLISHED, (uid, _)) => DiagAnswer::Owner(uid),
                _ => DiagAnswer::Nobody,
            }
        }
        (Some(BY_FAMILY), Some(_)) => DiagAnswer::Nobody,
        (Some(ERROR), _) if answer.get(HEADER..HEADER + 4) == Some(NOT_FOUND.as_slice()) => {
            DiagAnswer::NotFound
        }
        _ => DiagAnswer::Unavailable,
    }
}

/// An IPv6 socket that is connected by IPv4 is shown with mapped addresses.
fn is_same(found: &[u8], own: SocketAddr, peer: SocketAddr) -> bool {
    let mapped = |address: SocketAddr| match address.ip() {
        IpAddr::V4(ip) => SocketAddr::new(ip.to_ipv6_mapped().into(), address.port()),
        IpAddr::V6(_) => address,
    };
    found == ends(own, peer) || found == ends(mapped(own), mapped(peer))
}

#[cfg(test)]
mod tests;
