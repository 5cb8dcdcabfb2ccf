//! How much of a check dead mounts may cost. A mount that does not answer takes the host's whole deadline once; while
//! that call still hangs, asking again fails at once, so that mounts known to be dead never use up the turn of others.

use gpud_sdk::AccessError;

/// Calls that may wait for the host's 5 s in one check.
const MAX_WAITS: usize = 3;
/// An answer that took longer than this many milliseconds is that of a call which hung before this check, and cost
/// nothing: the host's deadline is 5 s, and checks are further apart.
const LONGEST_WAIT_MS: u64 = 15_000;
/// Nor did one that was refused right away.
const SHORTEST_WAIT_MS: u64 = 1_000;

/// Counts what was waited for in vain.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Patience {
    waits: usize,
}

impl Patience {
    /// Whether nothing more may be asked in this check.
    pub fn is_over(self) -> bool {
        self.waits >= MAX_WAITS
    }

    /// Takes in an answer.
    pub fn take<T>(&mut self, answer: &Result<T, AccessError>) {
        if let Err(AccessError::TimedOut(info)) = answer {
            let waited = (SHORTEST_WAIT_MS..LONGEST_WAIT_MS).contains(&info.after_ms);
            self.waits += usize::from(waited);
        }
    }
}

#[cfg(test)]
mod tests {
    use gpud_sdk::types::TimeoutInfo;

    use super::*;

    fn silent(after_ms: u64) -> Result<(), AccessError> {
        Err(AccessError::TimedOut(TimeoutInfo {
            what: "statvfs /mnt".to_owned(),
            after_ms,
            last_good: None,
        }))
    }

    #[test]
    fn only_what_was_waited_for_counts() {
        let mut patience = Patience::default();
        for answer in [
            silent(61_000),
            silent(3_600_000),
            silent(0),
            Ok(()),
            Err(AccessError::NotFound("/mnt".to_owned())),
            silent(5_000),
            silent(5_001),
        ] {
            patience.take(&answer);
            assert!(!patience.is_over());
        }
        patience.take(&silent(5_000));
        assert!(patience.is_over());
    }
}
