//! What each GPU says of its links, and each pair of GPUs of the way between them.

use gpud_builtin_nvidia_common::{Asked, Gpu};

/// Counters of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Errors {
    /// Replays.
    pub replay: u64,
    /// Recoveries.
    pub recovery: u64,
    /// CRC errors of flow-control digits.
    pub crc: u64,
}

/// One link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Link {
    /// Its number, from 0.
    pub number: u32,
    /// Up?
    pub active: bool,
    /// Its counters; 0 where they cannot be read.
    pub errors: Errors,
}

/// One GPU.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Reading {
    /// Its links; `None` where it has none.
    pub links: Option<Vec<Link>>,
    /// In MIG mode it has no way to other GPUs, and (A100) its links are down.
    pub mig: bool,
}

impl Reading {
    /// Does it have links?
    pub fn supported(&self) -> bool {
        self.links.is_some()
    }

    /// Are all its links up?
    pub fn active(&self) -> bool {
        let links = self.links.as_deref().unwrap_or_default();
        !links.is_empty() && links.iter().all(|link| link.active)
    }
}

/// Two GPUs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pair {
    /// UUID of the first.
    pub a: String,
    /// UUID of the second.
    pub b: String,
    /// `nvmlGpuP2PStatus_t` over NVLink, if it could be asked.
    pub status: Option<u32>,
}

impl Pair {
    /// Is there a way over NVLink?
    pub fn is_ok(&self) -> bool {
        self.status == Some(0)
    }

    /// As `nvidia-smi topo -p2p n` writes it.
    pub fn code(&self) -> Option<&'static str> {
        Some(match self.status? {
            0 => "OK",
            1 => "CNS",
            2 => "GNS",
            3 => "TNS",
            4 => "DR",
            5 => "NS",
            _ => "U",
        })
    }
}

/// Most GPUs whose pairs are asked: a call may ask the host so often and no more.
const MAX_PROBED: usize = 64;

/// Asks all pairs of GPUs that answered and are not in MIG mode, in the order of their UUIDs. `status` is asked with
/// positions in the list.
pub fn pairs(gpus: &[Asked<Reading>], status: impl Fn(usize, usize) -> Option<u32>) -> Vec<Pair> {
    let peers = gpus.iter().enumerate();
    let mut peers: Vec<(usize, &Gpu)> = peers
        .filter(|(_, asked)| asked.answer.as_ref().is_ok_and(|reading| !reading.mig))
        .map(|(index, asked)| (index, &asked.gpu))
        .collect();
    peers.sort_by_key(|(_, gpu)| &gpu.uuid);
    peers.truncate(MAX_PROBED);
    let mut pairs = Vec::new();
    for (at, (a, one)) in peers.iter().enumerate() {
        for (b, other) in peers.iter().skip(at + 1) {
            pairs.push(Pair {
                a: one.uuid.clone(),
                b: other.uuid.clone(),
                status: status(*a, *b),
            });
        }
    }
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;
    use gpud_builtin_nvidia_common::testing::{gpu, lost, seen};

    #[test]
    fn all_pairs_of_those_that_can_have_a_way() {
        let mig = Reading {
            mig: true,
            ..Reading::default()
        };
        let mut gpus = seen([
            Reading::default(),
            mig,
            Reading::default(),
            Reading::default(),
        ])
        .gpus;
        gpus.push(lost(4));
        gpus.reverse();
        let found = pairs(&gpus, |a, b| (a + b != 3).then_some(0));
        let names: Vec<_> = found
            .iter()
            .map(|pair| (&pair.a, &pair.b, pair.is_ok()))
            .collect();
        let uuid = |index| gpu(index).uuid;
        // Positions are those of the reversed list: 4, 2 and 1.
        assert_eq!(
            names,
            [
                (&uuid(0), &uuid(2), true),
                (&uuid(0), &uuid(3), true),
                (&uuid(2), &uuid(3), false),
            ]
        );
    }

    #[test]
    fn codes() {
        for (status, code) in [
            (None, None),
            (Some(0), Some("OK")),
            (Some(1), Some("CNS")),
            (Some(2), Some("GNS")),
            (Some(3), Some("TNS")),
            (Some(4), Some("DR")),
            (Some(5), Some("NS")),
            (Some(6), Some("U")),
            (Some(99), Some("U")),
        ] {
            let pair = Pair {
                a: String::new(),
                b: String::new(),
                status,
            };
            assert_eq!(pair.code(), code);
        }
    }

    #[test]
    fn up_is_all_of_at_least_one() {
        let link = |active| Link {
            active,
            ..Link::default()
        };
        for (links, supported, active) in [
            (None, false, false),
            (Some(vec![]), true, false),
            (Some(vec![link(true), link(false)]), true, false),
            (Some(vec![link(true), link(true)]), true, true),
        ] {
            let reading = Reading { links, mig: false };
            assert_eq!((reading.supported(), reading.active()), (supported, active));
        }
    }
}
