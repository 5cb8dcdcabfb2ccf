//! How far away an address is: a registry may point outwards, never into the network that gpud is in.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Where an address is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scope {
    /// On the internet.
    Public,
    /// In a private network.
    Private,
    /// On the link, such as the metadata service of a cloud.
    Link,
    /// On this machine, or no address that could be connected to.
    Machine,
}

impl Scope {
    /// Of an address.
    pub(crate) fn of(address: IpAddr) -> Self {
        match address.to_canonical() {
            IpAddr::V4(address) => of_v4(address),
            IpAddr::V6(address) => of_v6(address),
        }
    }

    /// Whether a registry that is here may point there.
    pub(crate) fn may_point_to(self, there: Self) -> bool {
        there == Self::Public || there == self
    }
}

fn of_v4(address: Ipv4Addr) -> Scope {
    let [first, second, ..] = address.octets();
    if address.is_loopback() || address.is_multicast() || first == 0 || first >= 240 {
        Scope::Machine
    } else if address.is_link_local() {
        Scope::Link
    } else if address.is_private()
        // Shared by carriers (RFC 6598), and for benchmarks (RFC 2544).
        || (first == 100 && second & 0xc0 == 64)
        || (first == 198 && second & 0xfe == 18)
    {
        Scope::Private
    } else {
        Scope::Public
    }
}

fn of_v6(address: Ipv6Addr) -> Scope {
    let [first, second, ..] = address.segments();
    // IPv4 inside of IPv6: translated (RFC 6052) and tunnelled (RFC 3056).
    let inside = match (first, second) {
        (0x64, 0xff9b) => Some(address.to_bits()),
        (0x2002, _) => Some(address.to_bits() >> 80),
        _ => None,
    };
    if let Some(bits) = inside {
        let low = u32::try_from(bits & u128::from(u32::MAX)).unwrap_or_default();
        return of_v4(Ipv4Addr::from_bits(low));
    }
    if address.is_loopback() || address.is_unspecified() || address.is_multicast() {
        Scope::Machine
    } else if address.is_unicast_link_local() {
        Scope::Link
    } else if address.is_unique_local() || (first & 0xffc0) == 0xfec0 {
        Scope::Private
    } else {
        Scope::Public
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_have_a_scope_however_they_are_written() {
        for (address, scope) in [
            ("1.1.1.1", Scope::Public),
            ("100.63.0.1", Scope::Public),
            ("2606:4700::1", Scope::Public),
            ("10.1.2.3", Scope::Private),
            ("172.16.0.1", Scope::Private),
            ("192.168.0.1", Scope::Private),
            ("100.64.0.1", Scope::Private),
            ("fd00::1", Scope::Private),
            ("::ffff:10.0.0.1", Scope::Private),
            ("64:ff9b::10.0.0.1", Scope::Private),
            ("2002:0a00:0001::1", Scope::Private),
            ("169.254.169.254", Scope::Link),
            ("fe80::1", Scope::Link),
            ("::ffff:169.254.169.254", Scope::Link),
            ("127.0.0.1", Scope::Machine),
            ("0.0.0.0", Scope::Machine),
            ("::1", Scope::Machine),
            ("::", Scope::Machine),
            ("255.255.255.255", Scope::Machine),
        ] {
            assert_eq!(Scope::of(address.parse().unwrap()), scope, "{address}");
        }
    }

    #[test]
    fn a_registry_points_outwards_or_to_where_it_is() {
        for here in [Scope::Public, Scope::Private, Scope::Link, Scope::Machine] {
            assert!(here.may_point_to(Scope::Public) && here.may_point_to(here));
        }
        assert!(!Scope::Public.may_point_to(Scope::Link));
        assert!(!Scope::Machine.may_point_to(Scope::Private));
    }
}
