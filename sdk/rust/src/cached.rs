//! Caches expensive answers that rarely change (programs, files that take the kernel long to write). They are stored in
//! the component's state, and queried again at a start, on demand, when what they depend on changed, and after a while.

use std::hash::{DefaultHasher, Hasher};

use crate::{AccessError, CheckContext, Trigger, state};

/// Bound of the host on one value, with some room. A longer answer is not cached, and every check asks again.
const MAX_BYTES: usize = 60 * 1024;

/// A cached answer, stored under one key of the component's state.
#[derive(Debug)]
pub struct CachedAnswer {
    key: &'static str,
    /// Boot, and what the answer depends on.
    of: String,
    now: u64,
    /// Whether an answer is stored, current or outdated.
    full: bool,
}

impl CachedAnswer {
    /// Returns the cached answer, if it is still valid. `depends` is any text that changes when the answer may have.
    ///
    /// # Errors
    /// As [`state::get`].
    pub fn load(
        context: &CheckContext,
        key: &'static str,
        every_ms: u64,
        depends: &str,
    ) -> Result<(Self, Option<String>), AccessError> {
        let of = of(context, depends);
        let saved = state::get_string(key)?;
        let cached = Self {
            key,
            now: context.now,
            full: saved.is_some(),
            of,
        };
        let answer = saved.and_then(|saved| fresh(context, &saved, &cached.of, every_ms));
        Ok((cached, answer))
    }

    /// Stores an answer.
    ///
    /// # Errors
    /// As [`state::set`].
    pub fn keep(&self, answer: &str) -> Result<(), AccessError> {
        let text = format!("{}\n{}\n{answer}", self.of, self.now);
        if text.len() > MAX_BYTES {
            return self.forget();
        }
        state::set(self.key, text.as_bytes())
    }

    /// Removes the stored answer, so that the next check asks again. For answers that are a failure.
    ///
    /// # Errors
    /// As [`state::delete`].
    pub fn forget(&self) -> Result<(), AccessError> {
        match self.full {
            true => state::delete(self.key),
            false => Ok(()),
        }
    }
}

fn of(context: &CheckContext, depends: &str) -> String {
    let mut hasher = DefaultHasher::new();
    hasher.write(depends.as_bytes());
    format!("{} {:x}", context.boot_id, hasher.finish())
}

/// Returns the answer in a saved text. `None` if it is of another boot or of other circumstances, too old, from the future
/// (the clock was set back), or garbage.
fn fresh(context: &CheckContext, saved: &str, of: &str, every_ms: u64) -> Option<String> {
    if !matches!(context.trigger, Trigger::Scheduled | Trigger::Event) {
        return None;
    }
    let rest = saved.strip_prefix(of)?.strip_prefix('\n')?;
    let (at, answer) = rest.split_once('\n')?;
    let age = context.now.checked_sub(at.parse().ok()?)?;
    (age < every_ms).then(|| answer.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: u64 = 60_000;

    fn context(now: u64, trigger: Trigger, boot_id: &str) -> CheckContext {
        CheckContext {
            component: "x".to_owned(),
            now,
            trigger,
            boot_id: boot_id.to_owned(),
            boot_time: 0,
            previous_check: None,
            extra: Vec::new(),
        }
    }

    #[test]
    fn an_answer_is_used_until_a_source_contradicts_it() {
        let at = 100 * MINUTE;
        let first = context(at, Trigger::Startup, "b");
        let saved = format!("{}\n{at}\nanswer\nof two lines", of(&first, "mounts"));
        for (now, trigger, boot_id, depends, used) in [
            (at, Trigger::Scheduled, "b", "mounts", true),
            (
                at + 10 * MINUTE - 1,
                Trigger::Scheduled,
                "b",
                "mounts",
                true,
            ),
            (at + MINUTE, Trigger::Event, "b", "mounts", true),
            (at + 10 * MINUTE, Trigger::Scheduled, "b", "mounts", false),
            (at - 1, Trigger::Scheduled, "b", "mounts", false),
            (at + MINUTE, Trigger::Manual, "b", "mounts", false),
            (at + MINUTE, Trigger::Startup, "b", "mounts", false),
            (at + MINUTE, Trigger::SetHealthy, "b", "mounts", false),
            (at + MINUTE, Trigger::Scheduled, "c", "mounts", false),
            (at + MINUTE, Trigger::Scheduled, "b", "other mounts", false),
        ] {
            let context = context(now, trigger, boot_id);
            let answer = fresh(&context, &saved, &of(&context, depends), 10 * MINUTE);
            let expected = used.then(|| "answer\nof two lines".to_owned());
            assert_eq!(answer, expected, "{context:?} {depends}");
        }
    }

    #[test]
    fn garbage_is_no_answer() {
        let context = context(MINUTE, Trigger::Scheduled, "b");
        let of = of(&context, "");
        for saved in [
            String::new(),
            "b".to_owned(),
            of.clone(),
            format!("{of}\n"),
            format!("{of}\nx\nanswer"),
            format!("{of}\n-1\nanswer"),
            format!("{of}\n1"),
        ] {
            assert_eq!(fresh(&context, &saved, &of, u64::MAX), None, "{saved:?}");
        }
    }
}
