//! Where one boot of the machine ends and the next begins.

use super::line::Message;

/// A stamp that is earlier by more than this is of another boot; processors log out of order by far less. Microseconds.
const BACK: u64 = 10_000_000;
/// What a kernel says first; on Arm the second comes before the first.
const BANNERS: [&str; 2] = ["Linux version ", "Booting Linux on physical CPU"];

/// Watches for boots.
#[derive(Debug, Default)]
pub(super) struct Boots {
    /// Where each boot begins, as numbers of messages.
    pub starts: Vec<usize>,
    id: Option<u128>,
    micros: Option<u64>,
    sequence: u64,
    /// The capture said that the next message is of another boot.
    announced: bool,
}

impl Boots {
    /// A line between two boots that may name the second.
    pub fn announce(&mut self, id: Option<u128>) {
        // journald 251 gave kernel messages an id of zeros (systemd issue 24950).
        if id != Some(0) && (id.is_none() || id != self.id) {
            self.announced = true;
            self.id = id;
        }
    }

    /// Takes note of message number `at`.
    pub fn take(&mut self, at: usize, message: &Message) {
        if message
            .boot
            .is_some_and(|id| id != 0 && self.id != Some(id))
        {
            self.announced |= self.id.is_some();
            self.id = message.boot;
        }
        if at == 0 || self.announced || self.begins_one(at, message) {
            self.starts.push(at);
            self.micros = None;
        }
        self.announced = false;
        self.micros = message.micros.or(self.micros);
        self.sequence = message.message.sequence;
    }

    fn begins_one(&self, at: usize, message: &Message) -> bool {
        let text = message.message.text.as_str();
        let banner = BANNERS.iter().any(|banner| text.starts_with(banner));
        match (self.micros, message.micros) {
            (Some(last), Some(micros)) if micros < last => {
                banner || last - micros > BACK || message.message.sequence < self.sequence
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
