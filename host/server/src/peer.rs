//! The identity of the client of a connection. Determined once, when the connection is accepted and before a byte of it
//! is read; an address is never looked up again later, when another user may have it.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::node::{
    socket_owner,
    stream::{Link, Stream},
    subordinate_ids,
};

/// The client of a connection.
#[derive(Debug, Clone)]
pub struct Peer {
    identity: Identity,
    group: Identity,
    local_socket: bool,
    link: Link,
}

/// The known facts about a client, and whose share of connections and turns it uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Identity {
    /// A user of this machine, according to the kernel.
    User(u32),
    /// On this machine; the kernel did not say whose the connection is.
    Unknown,
    /// Elsewhere: an IPv4 address, or a network of 64 bits of IPv6.
    Address(IpAddr),
}

impl Peer {
    /// Learns who the client of a connection is. `None` if the client is gone. Blocks for as long as the kernel takes to
    /// answer.
    ///
    /// The kernel is asked by addresses. A client that is reset while it waits to be accepted leaves its port to somebody
    /// else, so that the answer counts only if the connection was still open afterwards: as long as it is, no other has the
    /// same addresses.
    pub fn identify(stream: &Stream) -> Option<Self> {
        let link = stream.link();
        // Asking for connections that are gone would be work for nothing.
        if !link.is_open() {
            return None;
        }
        let user = stream.unix_user();
        let identity = match (user, stream.ends()) {
            (Some(uid), _) => Identity::User(uid),
            // Also by an address of its networks, or one user would have a share for each of them.
            (None, Some((local, remote))) => match socket_owner::uid(local, remote) {
                Some(uid) => Identity::User(uid),
                None if remote.ip().to_canonical().is_loopback() => Identity::Unknown,
                None => Identity::of_address(remote.ip()),
            },
            (None, None) => return None,
        };
        let group = match identity {
            Identity::User(uid) => Identity::User(subordinate_ids::owner(uid)),
            other => other.block(),
        };
        link.is_open().then_some(Self {
            identity,
            group,
            local_socket: user.is_some(),
            link,
        })
    }

    /// Returns what is known of the client.
    pub fn identity(&self) -> Identity {
        self.identity
    }

    /// Returns who counts together with this client when there is not enough for all: a user with its subordinate numbers,
    /// the addresses that one site can have.
    pub fn group(&self) -> Identity {
        self.group
    }

    /// Returns whether the client is root or gpud's own user, on this machine.
    pub fn is_owner(&self) -> bool {
        matches!(self.identity, Identity::User(uid) if uid == 0 || uid == socket_owner::own_uid())
    }

    /// Returns whether the client came over the Unix socket.
    pub fn is_local_socket(&self) -> bool {
        self.local_socket
    }

    /// Returns whether the connection is still open.
    pub fn is_connected(&self) -> bool {
        self.link.is_open()
    }

    /// Returns a client that is not connected to anything.
    #[cfg(test)]
    pub fn disconnected(identity: Identity, local_socket: bool) -> Self {
        Self {
            identity,
            group: identity.block(),
            local_socket,
            link: Link::default(),
        }
    }
}

/// Bits of an IPv6 network that is one client, and of the block that a site has at least, with 65,536 such networks.
const IPV6_NETWORK: u32 = 64;
const IPV6_BLOCK: u32 = 48;
/// Bits of a block of IPv4 addresses.
const IPV4_BLOCK: u32 = 24;

impl Identity {
    /// Returns who an address elsewhere is: an IPv4 address, or a network of IPv6.
    pub(super) fn of_address(address: IpAddr) -> Self {
        Self::Address(first_bits(address, u32::BITS, IPV6_NETWORK))
    }

    /// Returns the block that an address is in; others are for themselves.
    fn block(self) -> Self {
        match self {
            Self::Address(address) => Self::Address(first_bits(address, IPV4_BLOCK, IPV6_BLOCK)),
            other => other,
        }
    }
}

fn first_bits(address: IpAddr, of_ipv4: u32, of_ipv6: u32) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V4(address) => {
            let mask = u32::MAX.checked_shr(of_ipv4).unwrap_or_default();
            IpAddr::V4(Ipv4Addr::from_bits(address.to_bits() & !mask))
        }
        IpAddr::V6(address) => {
            let mask = u128::MAX.checked_shr(of_ipv6).unwrap_or_default();
            IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & !mask))
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::net::{TcpListener, TcpSocket, TcpStream, UnixStream};

    use super::*;

    #[tokio::test]
    async fn who_connects_is_known() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap());
        let (client, accepted) = tokio::join!(client, listener.accept());
        let stream = Stream::tcp(accepted.unwrap().0);
        let peer = Peer::identify(&stream).unwrap();
        let me = socket_owner::own_uid();
        assert_eq!(peer.identity(), Identity::User(me));
        assert!(peer.is_owner() && peer.is_connected() && !peer.is_local_socket());
        drop(client);
        while peer.is_connected() {
            tokio::task::yield_now().await;
        }
        assert!(Peer::identify(&stream).is_none());
        let (client, server) = UnixStream::pair().unwrap();
        let peer = Peer::identify(&Stream::unix(server)).unwrap();
        assert!(peer.is_owner() && peer.is_local_socket());
        drop(client);
    }

    /// The port of a client that was reset before it was accepted, used by another client.
    #[tokio::test]
    async fn a_port_that_somebody_else_uses_now_proves_nothing() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let server = listener.local_addr().unwrap();
        let connect = async |port: u16| {
            let socket = TcpSocket::new_v4().unwrap();
            socket.set_reuseaddr(true).unwrap();
            socket.set_zero_linger().unwrap();
            socket.bind(([127, 0, 0, 1], port).into()).unwrap();
            socket.connect(server).await.unwrap()
        };
        let first = connect(0).await;
        let port = first.local_addr().unwrap().port();
        first.writable().await.unwrap();
        assert_eq!(first.try_write(b"queued").unwrap(), 6);
        drop(first);
        let second = connect(port).await;
        let reset = Stream::tcp(listener.accept().await.unwrap().0);
        let live = Stream::tcp(listener.accept().await.unwrap().0);
        assert!(Peer::identify(&reset).is_none());
        assert!(Peer::identify(&live).unwrap().is_owner());
        drop(second);
    }

    #[test]
    fn hosts_of_one_network_are_one_client_and_networks_of_one_block_count_together() {
        let identity = |address: &str| Identity::of_address(address.parse().unwrap());
        for (address, client, block) in [
            ("2001:db8:1:2::3", "2001:db8:1:2::", "2001:db8:1::"),
            ("::ffff:192.0.2.1", "192.0.2.1", "192.0.2.0"),
            ("192.0.2.255", "192.0.2.255", "192.0.2.0"),
        ] {
            let found = identity(address);
            assert_eq!(found, Identity::Address(client.parse().unwrap()));
            assert_eq!(found.block(), Identity::Address(block.parse().unwrap()));
        }
        assert_eq!(Identity::Unknown.block(), Identity::Unknown);
        assert_eq!(Identity::User(1).block(), Identity::User(1));
    }
}
