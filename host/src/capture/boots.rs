//! Where one boot of a machine ends and the next begins.

use super::reader::Entry;

/// A stamp that is earlier by more than this is of another boot; processors log out of order by far less. Microseconds.
const BACK: u64 = 10_000_000;
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
    ids: Vec<u128>,
}

impl BootIds {
    /// The number of an id. journald 251 gave kernel messages an id of zeros (systemd issue 24950), which is none.
    pub fn number(&mut self, id: Option<u128>) -> BootNumber {
        let Some(id) = id.filter(|id| *id != 0) else {
            return NO_BOOT;
        };
        // Nearly always the one that was named last.
        let known = self.ids.iter().rposition(|known| *known == id);
        let at = known.unwrap_or_else(|| {
            self.ids.push(id);
            self.ids.len() - 1
        });
        u32::try_from(at + 1).unwrap_or(NO_BOOT)
    }
}

/// Returns where each boot begins in the messages of one host, as numbers of messages.
pub(super) fn starts<'a>(entries: impl Iterator<Item = &'a Entry>) -> Vec<usize> {
    let mut boots = Boots::default();
    for (at, entry) in entries.enumerate() {
        boots.take(at, entry);
    }
    boots.starts
}

#[derive(Debug, Default)]
struct Boots {
    starts: Vec<usize>,
    id: BootNumber,
    micros: Option<u64>,
    sequence: u64,
}

impl Boots {
    fn take(&mut self, at: usize, entry: &Entry) {
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
        if at == 0 || announced || self.begins_one(at, entry) {
            self.starts.push(at);
            self.micros = None;
        }
        self.micros = entry.micros.or(self.micros);
        self.sequence = entry.message.sequence;
    }

    fn begins_one(&self, at: usize, entry: &Entry) -> bool {
        let text = entry.message.text.as_str();
        let banner = BANNERS.iter().any(|banner| text.starts_with(banner));
        match (self.micros, entry.micros) {
            (Some(last), Some(micros)) if micros < last => {
                banner || last - micros > BACK || entry.message.sequence < self.sequence
            }
            (_, Some(_)) => false,
            // The two banners of one boot.
            _ => banner && self.starts.last().is_some_and(|start| at > start + 1),
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
