//! The identity of the client of a connection. Determined once, when the connection is accepted and before a byte of it
//! is read; an address is never looked up again later, when another user may have it.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::node::{
    socket_owner,
    stream::{Stream, WeakStream},
    subordinate_ids,
};

/// The client of a connection.
#[derive(Debug, Clone)]
pub struct Peer {
    identity: Identity,
    group: Identity,
    local_socket: bool,
    weak: WeakStream,
}

/// The known facts about a client, and whose share of connections and turns it uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Identity {
    /// A user of this machine, according to the kernel.
    User(u32),
    /// A client on this machine; the kernel did not report the user of the connection.
    Unknown,
    /// A client on another machine: an IPv4 address, or an IPv6 network of 64 bits.
    Address(IpAddr),
}

impl Peer {
    /// Finds out who the client of a connection is. `None` if the client has closed it. Blocks for as long as the
    /// kernel takes to answer.
    ///
    /// The kernel is asked by addresses. A client that is reset while it waits to be accepted leaves its port to somebody
    /// else, so that the answer counts only if the connection was still open afterwards: as long as it is, no other has the
    /// same addresses.
    pub fn identify(stream: &Stream) -> Option<Self> {
        let weak = stream.downgrade();
        // A question about a closed connection would be useless work.
        if !weak.is_open() {
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
        weak.is_open().then_some(Self {
            identity,
            group,
            local_socket: user.is_some(),
            weak,
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
        self.weak.is_open()
    }

    /// Returns a client that is not connected to anything.
    #[cfg(test)]
    pub fn disconnected(identity: Identity, local_socket: bool) -> Self {
        Self {
            identity,
            group: identity.block(),
            local_socket,
            weak: WeakStream::default(),
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
mod tests;
