//! Access Control Services in a device's configuration space (PCI Express Base Specification §7.7.11; kernel:
//! `include/uapi/linux/pci_regs.h`, `PCI_ACS_*`).

use serde::Serialize;

/// Number of the extended capability.
const ACS: u32 = 0x000d;
/// Where extended capabilities begin.
const EXTENDED: usize = 0x100;
/// A list of capabilities cannot be longer in 4 KiB less the first 256 bytes, at 8 bytes each.
const MAX_CAPABILITIES: usize = 480;

/// Seven bits, in the order of the register.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Flags {
    /// Source validation, bit 0.
    pub src_valid: bool,
    /// Translation blocking, bit 1.
    pub trans_blk: bool,
    /// Peer-to-peer request redirection, bit 2.
    pub req_redir: bool,
    /// Peer-to-peer completion redirection, bit 3.
    pub cmplt_redir: bool,
    /// Upstream forwarding, bit 4.
    pub upstream_fwd: bool,
    /// Peer-to-peer egress control, bit 5.
    pub egress_ctrl: bool,
    /// Direct translated peer-to-peer, bit 6.
    pub direct_trans: bool,
}

/// The abilities of a device, and those that are switched on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Acs {
    /// The capability register.
    pub acs_cap: Flags,
    /// The control register.
    pub acs_ctl: Flags,
}

impl Flags {
    fn new(register: u16) -> Self {
        let bit = |number: u32| register & (1 << number) != 0;
        Self {
            src_valid: bit(0),
            trans_blk: bit(1),
            req_redir: bit(2),
            cmplt_redir: bit(3),
            upstream_fwd: bit(4),
            egress_ctrl: bit(5),
            direct_trans: bit(6),
        }
    }
}

/// ACS of a device by its configuration space, if it has it. A list that runs in circles or out of the space ends there.
pub fn find(config: &[u8]) -> Option<Acs> {
    let mut at = EXTENDED;
    for _ in 0..MAX_CAPABILITIES {
        let header = dword(config, at)?;
        // No capability, or no answer from the device.
        if header == 0 || header == u32::MAX {
            return None;
        }
        if header & 0xffff == ACS {
            return Some(Acs {
                acs_cap: Flags::new(word(config, at + 4)?),
                acs_ctl: Flags::new(word(config, at + 6)?),
            });
        }
        // The two lowest bits are reserved.
        at = (header >> 20) as usize & !3;
        if at < EXTENDED {
            return None;
        }
    }
    None
}

fn word(config: &[u8], at: usize) -> Option<u16> {
    let bytes = config.get(at..at.checked_add(2)?)?;
    Some(u16::from_le_bytes(bytes.try_into().ok()?))
}

fn dword(config: &[u8], at: usize) -> Option<u32> {
    let bytes = config.get(at..at.checked_add(4)?)?;
    Some(u32::from_le_bytes(bytes.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A configuration space with capabilities (place, number, next) and ACS registers at the end of the list.
    fn space(size: usize, list: &[(usize, u16, u32)], registers: [u16; 2]) -> Vec<u8> {
        let mut config = vec![0; size];
        for &(at, id, next) in list {
            let header = u32::from(id) | 1 << 16 | next << 20;
            config[at..at + 4].copy_from_slice(&header.to_le_bytes());
            if id == 0x0d {
                config[at + 4..at + 6].copy_from_slice(&registers[0].to_le_bytes());
                config[at + 6..at + 8].copy_from_slice(&registers[1].to_le_bytes());
            }
        }
        config
    }

    #[test]
    fn registers_are_read_behind_other_capabilities() {
        let list = [(0x100, 0x01, 0x148), (0x148, 0x03, 0x220), (0x220, 0x0d, 0)];
        let acs = find(&space(4096, &list, [0x5f, 0x1d])).unwrap();
        let cap = Flags {
            egress_ctrl: false,
            ..Flags::new(0x7f)
        };
        assert_eq!(acs.acs_cap, cap);
        let ctl = Flags {
            src_valid: true,
            req_redir: true,
            cmplt_redir: true,
            upstream_fwd: true,
            ..Flags::default()
        };
        assert_eq!(acs.acs_ctl, ctl);
    }

    #[test]
    fn every_bit_has_its_name() {
        let names = [
            "src_valid",
            "trans_blk",
            "req_redir",
            "cmplt_redir",
            "upstream_fwd",
            "egress_ctrl",
            "direct_trans",
        ];
        for (bit, name) in names.iter().enumerate() {
            let json = serde_json::to_string(&Flags::new(1 << bit)).unwrap();
            assert!(json.contains(&format!("\"{name}\":true")), "{json}");
            assert_eq!(json.matches("true").count(), 1);
            assert!(json.find(name) > json.find(names[bit.saturating_sub(1)]) || bit == 0);
        }
    }

    #[test]
    fn devices_without_it() {
        let first = [(0x100, 0x0d, 0)];
        for (config, why) in [
            (vec![], "nothing"),
            (vec![0xab; 64], "not root"),
            (vec![0xab; 256], "conventional PCI"),
            (vec![0; 4096], "no extended capability"),
            (vec![0xff; 4096], "a device that is gone"),
            (
                space(4096, &[(0x100, 0x01, 0)], [0; 2]),
                "another capability",
            ),
            (space(4096, &[(0x100, 0x01, 0x100)], [0; 2]), "a circle"),
            (
                space(4096, &[(0x100, 0x01, 0x40)], [0; 2]),
                "a way out of the extended space",
            ),
            (space(4096, &[(0x100, 0x01, 0xffc)], [0; 2]), "the end"),
            (space(4096, &first, [1; 2])[..0x106].to_vec(), "cut off"),
        ] {
            assert_eq!(find(&config), None, "{why}");
        }
        assert!(find(&space(4096, &first, [1; 2])).is_some());
    }

    proptest! {
        #[test]
        fn any_bytes_are_survived(bytes in prop::collection::vec(any::<u8>(), 0..600)) {
            find(&bytes);
        }

        #[test]
        fn any_list_ends(bytes in prop::collection::vec(prop::sample::select(vec![0u8, 1, 0x0d, 0x10, 0x11, 0x14]), 4096)) {
            find(&bytes);
        }
    }
}
