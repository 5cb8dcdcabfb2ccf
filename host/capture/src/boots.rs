//! Recognises where one boot of a machine ends and the next begins.

use std::collections::HashMap;

use super::reader::Entry;

/// A stamp that is earlier by more than this is of another boot; processors log out of order by far less. Microseconds.
const BACK: u64 = 10_000_000;
/// The most boot ids that are distinguished.
const MAX_IDS: usize = 100_000;
/// The first words of a kernel, before its version.
const VERSION: &str = "Linux version ";
/// The kernel's earlier words on Arm.
const ON_ARM: &str = "Booting Linux on physical CPU";

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
        let banner = text.starts_with(ON_ARM) || is_version(text);
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

/// `Linux version 6.8.0 (builder@host) …`. A process can be called `Linux version 6`, and what the kernel says of it begins
/// so too: behind it are a number, or other words.
fn is_version(text: &str) -> bool {
    let Some(rest) = text.strip_prefix(VERSION) else {
        return false;
    };
    let (version, rest) = rest.split_once(' ').unwrap_or((rest, "("));
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b".-+_~".contains(&byte);
    let is_builder = |rest: &str| !rest.starts_with(|first: char| first.is_ascii_digit());
    version.starts_with(|first: char| first.is_ascii_digit())
        && version.bytes().all(fits)
        && rest.strip_prefix('(').is_some_and(is_builder)
}

/// The id in a line such as `-- Boot 0123…cdef --`, and in the field `_BOOT_ID`.
pub(super) fn boot_id(hex: &[u8]) -> Option<u128> {
    if hex.len() != 32 {
        return None;
    }
    u128::from_str_radix(str::from_utf8(hex).ok()?, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::is_version;

    #[test]
    fn a_process_cannot_be_called_like_a_boot() {
        for (text, expected) in [
            (
                "Linux version 6.8.0-40-generic (buildd@host) (gcc) #1 SMP",
                true,
            ),
            ("Linux version 6", true),
            ("Linux version 5.10.0-rc4+ (root@b)", true),
            ("Linux version 6[311]: segfault at 0 ip 00007f", false),
            ("Linux version 6 invoked oom-killer: gfp_mask=0xcc0", false),
            (
                "Linux version 6 (311): Using mlock ulimits for SHM_HUGETLB is obsolete",
                false,
            ),
            (
                "Linux version 6/311: potentially unexpected fatal signal 11.",
                false,
            ),
            ("tmpfs: Unknown parameter 'Linux version 6.8.0 (x)'", false),
        ] {
            assert_eq!(is_version(text), expected, "{text}");
        }
    }
}
