//! The hosts that lines name.

use std::collections::HashMap;

/// The most hosts of a file.
pub(super) const MAX_HOSTS: usize = 1024;
/// The longest name in bytes; DNS allows 253.
const MAX_NAME: usize = 253;

/// The number of a host within a capture; [`NO_HOST`] where a line names none.
pub(super) type HostId = u32;
/// The host of a line that names none.
pub(super) const NO_HOST: HostId = 0;

/// Numbers hosts in the order in which they appear, from 1.
#[derive(Debug, Default)]
pub(super) struct Hosts {
    names: Vec<String>,
    numbers: HashMap<String, HostId>,
    last: HostId,
    /// A line named one more than [`MAX_HOSTS`].
    pub too_many: bool,
}

impl Hosts {
    /// The number of the host that a word names; [`NO_HOST`] if it cannot be a host's name.
    pub fn number(&mut self, word: &[u8]) -> HostId {
        if let Some(last) = self.name(self.last)
            && last.as_bytes() == word
        {
            return self.last;
        }
        let Some(name) = is_host(word).then(|| str::from_utf8(word).ok()).flatten() else {
            return NO_HOST;
        };
        if let Some(known) = self.numbers.get(name) {
            self.last = *known;
            return *known;
        }
        if self.names.len() >= MAX_HOSTS {
            self.too_many = true;
            return NO_HOST;
        }
        self.names.push(name.to_owned());
        self.last = HostId::try_from(self.names.len()).unwrap_or(NO_HOST);
        self.numbers.insert(name.to_owned(), self.last);
        self.last
    }

    /// The name of a host.
    pub fn name(&self, host: HostId) -> Option<&str> {
        let at = usize::try_from(host).ok()?.checked_sub(1)?;
        self.names.get(at).map(String::as_str)
    }
}

/// Whether a word can be the name or address of a host.
pub(super) fn is_host(word: &[u8]) -> bool {
    let inside = |byte: &u8| byte.is_ascii_alphanumeric() || b"._:-%@".contains(byte);
    word.len() <= MAX_NAME
        && word.first().is_some_and(u8::is_ascii_alphanumeric)
        && word.last().is_some_and(|last| *last != b':')
        && word.iter().all(inside)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_numbered_as_they_appear() {
        let mut hosts = Hosts::default();
        assert_eq!(hosts.number(b"n1"), 1);
        assert_eq!(hosts.number(b"n2.cluster.local"), 2);
        assert_eq!(hosts.number(b"n1"), 1);
        assert_eq!(hosts.number(b"10.0.0.1"), 3);
        for no_host in [&b""[..], b"-", b"n1:", b"In(05)", b"a b", b"\xff"] {
            assert_eq!(hosts.number(no_host), NO_HOST);
        }
        assert_eq!(hosts.name(2), Some("n2.cluster.local"));
        assert_eq!(hosts.name(NO_HOST), None);
        for number in 0..MAX_HOSTS {
            hosts.number(format!("many-{number}").as_bytes());
        }
        assert!(hosts.too_many);
    }
}
