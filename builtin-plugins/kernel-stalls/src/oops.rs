//! Which lines belong to one oops.
//!
//! The kernel says what went wrong in up to three lines, of which only the last, with the oops' number (`[#1]`), always
//! comes; a line may be the first of its oops or not. What was seen last is kept as text under one key of `state`, since
//! the lines of one oops can come in several batches: the boot id on the first line, then when its first line came, in
//! unix milliseconds, and `numbered` once its last line came.

/// Longest time from the first line of an oops to its last, milliseconds. A serial console takes seconds.
const LASTS_MS: u64 = 60_000;
const NUMBERED: &str = "numbered";

/// The oops that was seen last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Oops {
    boot_id: String,
    last: Option<Last>,
    changed: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Last {
    began: u64,
    numbered: bool,
}

impl Oops {
    /// From what was kept. A new boot starts afresh, as does what cannot be read.
    pub fn restore(kept: Option<&str>, boot_id: &str) -> Self {
        let last = kept
            .and_then(|kept| kept.split_once('\n'))
            .filter(|(boot, _)| *boot == boot_id)
            .and_then(|(_, rest)| {
                let (began, state) = rest.split_once(' ')?;
                Some(Last {
                    began: began.parse().ok()?,
                    numbered: state == NUMBERED,
                })
            });
        Self {
            boot_id: boot_id.to_owned(),
            last,
            changed: false,
        }
    }

    /// Takes a line; says whether it is the first of its oops.
    pub fn is_first(&mut self, numbered: bool, time: u64) -> bool {
        self.changed = true;
        let open = self
            .last
            .filter(|last| !last.numbered && time.saturating_sub(last.began) <= LASTS_MS);
        self.last = Some(Last {
            began: open.map_or(time, |open| open.began),
            numbered,
        });
        open.is_none()
    }

    /// The state to retain, if there was a line.
    pub fn changed(&self) -> Option<String> {
        let last = self.last.filter(|_| self.changed)?;
        let state = if last.numbered { NUMBERED } else { "open" };
        Some(format!("{}\n{} {state}", self.boot_id, last.began))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_number_ends_an_oops() {
        let mut oops = Oops::restore(None, "b");
        let firsts = [
            (false, 1_000, true),
            (false, 1_001, false),
            (true, 1_002, false),
            // The next, at once: its last line alone.
            (true, 1_003, true),
            (false, 1_004, true),
            // Its last line never came.
            (false, 61_005, true),
        ];
        for (numbered, time, first) in firsts {
            assert_eq!(oops.is_first(numbered, time), first, "{time}");
        }
    }

    #[test]
    fn is_saved_between_batches_but_not_boots() {
        let mut first = Oops::restore(None, "b1");
        assert_eq!(first.changed(), None);
        assert!(first.is_first(false, 5));
        let kept = first.changed().unwrap();
        assert_eq!(kept, "b1\n5 open");
        let mut next = Oops::restore(Some(&kept), "b1");
        assert_eq!(next.changed(), None);
        assert!(!next.is_first(true, 6));
        let kept = next.changed().unwrap();
        assert_eq!(kept, "b1\n5 numbered");
        assert!(Oops::restore(Some(&kept), "b1").is_first(true, 7));
        assert!(Oops::restore(Some("b1\n5 open"), "b2").is_first(true, 6));
    }

    proptest! {
        #[test]
        fn reads_anything(kept in "b?\n?[0-9]{0,21} ?(open|numbered)?", time in any::<u64>()) {
            let mut oops = Oops::restore(Some(&kept), "b");
            oops.is_first(true, time);
            prop_assert!(oops.is_first(true, time));
        }
    }
}
