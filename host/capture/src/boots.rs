//! Where one boot of a machine ends and the next begins.

use std::collections::HashMap;

use super::reader::Entry;

/// A stamp that is earlier by more than this is of another boot; processors log out of order by far less. Microseconds.
const BACK: u64 = 10_000_000;
/// The most boot ids that are distinguished.
const MAX_IDS: usize = 100_000;
/// What a kernel says first; on Arm the second comes before the first.
const BANNERS: [&str; 2] = ["Linux version ", "Booting Linux on physical CPU"];

/// The number of a boot id within a capture; [`NO_BOOT`] where none is named.
pub(super) type BootNumber = u32;
/// No boot id.
pub(super) const NO_BOOT: BootNumber = 0;
/// Another boot, of which no id is known.
pub(super) const UNNAMED: BootNumber = u32::MAX;

/// Numbers boot ids, so that a message carries four bytes of them.
#[derive(Debug, Default)]
pub(super) struct BootIds {
    ids: HashMap<u128, BootNumber>,
    last: (u128, BootNumber),
}

impl BootIds {
    /// The number of an id. journald 251 gave kernel messages an id of zeros (systemd issue 24950), which is none.
    pub fn number(&mut self, id: Option<u128>) -> BootNumber {
        let Some(id) = id.filter(|id| *id != 0) else {
            return NO_BOOT;
        };
        // Nearly always the one that was named last.
        if self.last.0 == id {
            return self.last.1;
        }
        let number = match self.ids.get(&id) {
            Some(number) => *number,
            None if self.ids.len() >= MAX_IDS => return NO_BOOT,
            None => {
                let number = BootNumber::try_from(self.ids.len() + 1).unwrap_or(NO_BOOT);
                self.ids.insert(id, number);
                number
            }
        };
        self.last = (id, number);
        number
    }
}

/// Finds where boots begin in the messages of one host.
#[derive(Debug, Default)]
pub(super) struct Boots {
    began: bool,
    id: BootNumber,
    micros: Option<u64>,
    sequence: u64,
    /// The last message was a banner: on Arm, one of two of the same boot.
    after_banner: bool,
}

impl Boots {
    /// Takes the next message; true if a boot begins with it. The first message begins one.
    pub fn take(&mut self, entry: &Entry) -> bool {
        let mut announced = false;
        if entry.announced == UNNAMED {
            announced = true;
            self.id = NO_BOOT;
        } else if entry.announced != NO_BOOT && entry.announced != self.id {
            announced = true;
            self.id = entry.announced;
        }
        if entry.boot != NO_BOOT && entry.boot != self.id {
            announced |= self.id != NO_BOOT;
            self.id = entry.boot;
        }
        let text = entry.message.text.as_str();
        let banner = BANNERS.iter().any(|banner| text.starts_with(banner));
        let is_first = !std::mem::replace(&mut self.began, true);
        let begins = is_first || announced || self.begins_one(entry, banner);
        if begins {
            self.micros = None;
        }
        self.micros = entry.micros.or(self.micros);
        self.sequence = entry.message.sequence;
        self.after_banner = banner;
        begins
    }

    fn begins_one(&self, entry: &Entry, banner: bool) -> bool {
        match (self.micros, entry.micros) {
            (Some(last), Some(micros)) if micros < last => {
                banner || last - micros > BACK || entry.message.sequence < self.sequence
            }
            (_, Some(_)) => false,
            _ => banner && !self.after_banner,
        }
    }
}

/// The id in a line such as `-- Boot 0123…cdef --`, and in the field `_BOOT_ID`.
pub(super) fn boot_id(hex: &[u8]) -> Option<u128> {
    if hex.len() != 32 {
        return None;
    }
    u128::from_str_radix(str::from_utf8(hex).ok()?, 16).ok()
}
