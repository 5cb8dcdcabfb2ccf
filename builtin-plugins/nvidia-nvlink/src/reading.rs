//! The answers of each GPU about its links, and of each pair of GPUs about the path between them.

use gpud_builtin_nvidia_common::GpuAnswer;

use crate::counters::Values;

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
    /// All its counters, to be compared with those of the check before.
    pub counters: Values,
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

/// Most GPUs whose pairs are asked; the host's bound.
const MAX_PROBED: usize = 64;

/// Asks all pairs of GPUs that answered and are not in MIG mode, in the order of their UUIDs. `among` is asked with these,
/// and gives what there is of each pair: of the first and the second, the first and the third and so on.
pub fn pairs(
    gpus: &[GpuAnswer<Reading>],
    among: impl FnOnce(&[String]) -> Vec<Option<u32>>,
) -> Vec<Pair> {
    let peers = gpus.iter().filter(|asked| {
        let answer = asked.answer.as_ref();
        answer.is_ok_and(|reading| !reading.mig)
    });
    let mut peers: Vec<String> = peers.map(|asked| asked.gpu.uuid.clone()).collect();
    peers.sort();
    peers.truncate(MAX_PROBED);
    if peers.len() < 2 {
        return Vec::new();
    }
    let mut statuses = among(&peers).into_iter();
    let mut pairs = Vec::new();
    for (at, one) in peers.iter().enumerate() {
        for other in peers.iter().skip(at + 1) {
            pairs.push(Pair {
                a: one.clone(),
                b: other.clone(),
                status: statuses.next().flatten(),
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
        let uuid = |index| gpu(index).uuid;
        let found = pairs(&gpus, |among| {
            assert_eq!(among, [uuid(0), uuid(2), uuid(3)]);
            vec![Some(0), Some(0), None]
        });
        let names: Vec<_> = found
            .iter()
            .map(|pair| (&pair.a, &pair.b, pair.is_ok()))
            .collect();
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
