//! The state that is retained from check to check: what is open, and how many checks in a row saw what.

use std::collections::BTreeMap;

use gpud_sdk::findings::Memory;
use gpud_sdk::{AccessError, state};
use serde_json::json;

/// The key of the stored streaks.
const KEY: &str = "streaks";
/// Most streaks that are kept; the host takes 64 KiB.
const MAX_STREAKS: usize = 1_024;

/// Checks in a row that saw the same, by key.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Streaks(pub BTreeMap<String, u32>);

impl Streaks {
    /// From what [`Streaks::save`] gave in this boot; anything else is nothing.
    pub fn restore(saved: Option<&str>, boot_id: &str) -> Self {
        let saved: Option<(String, BTreeMap<String, u32>)> =
            saved.and_then(|saved| serde_json::from_str(saved).ok());
        let of_this_boot = saved.filter(|(boot, _)| boot == boot_id);
        Self(of_this_boot.map(|(_, streaks)| streaks).unwrap_or_default())
    }

    /// As text.
    pub fn save(&self, boot_id: &str) -> String {
        let kept: BTreeMap<_, _> = self.0.iter().take(MAX_STREAKS).collect();
        json!([boot_id, kept]).to_string()
    }

    /// How many checks saw it before this one.
    pub fn of(&self, key: &str) -> u32 {
        self.0.get(key).copied().unwrap_or(0)
    }
}

/// The state that AMD checkers retain between checks.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RetainedState {
    /// The findings that were open at the last check.
    pub open: Memory,
    /// The findings of the last checks of this boot.
    pub streaks: Streaks,
}

impl RetainedState {
    /// Out of the component's values.
    ///
    /// # Errors
    /// When the store does not answer.
    pub fn load(boot_id: &str) -> Result<Self, AccessError> {
        Ok(Self {
            open: Memory::load()?,
            streaks: Streaks::restore(state::get_string(KEY)?.as_deref(), boot_id),
        })
    }

    /// Into the component's values, where it changed.
    ///
    /// # Errors
    /// When the store does not answer.
    pub fn keep(&self, before: &Self, boot_id: &str) -> Result<(), AccessError> {
        self.open.keep(&before.open)?;
        if self.streaks != before.streaks {
            state::set(KEY, self.streaks.save(boot_id).as_bytes())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn of_one_boot() {
        let streaks = Streaks(BTreeMap::from([("a".to_owned(), 2)]));
        let saved = streaks.save("b-1");
        assert_eq!(Streaks::restore(Some(&saved), "b-1"), streaks);
        assert_eq!(Streaks::restore(Some(&saved), "b-2"), Streaks::default());
        for saved in [None, Some(""), Some("[]"), Some(r#"["b-1",{"a":-1}]"#)] {
            assert_eq!(Streaks::restore(saved, "b-1"), Streaks::default());
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]

        #[test]
        fn any_text_is_survived(text in "\\PC{0,80}") {
            Streaks::restore(Some(&text), "b-1");
        }
    }
}
