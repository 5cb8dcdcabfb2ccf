//! Numbers of `nvmlFieldValue_t` that are not the same with every driver.
//!
//! Those from 251 to 273 were reassigned twice (headers of R570, R575 and R580 Update 1; NVML API reference, known
//! issues):
//!
//! | driver | power smoothing | counters of clock events |
//! |---|---|---|
//! | 570 | 251 to 268 | none |
//! | 575 to 580.81 | 256 to 273 | 251 to 253 |
//! | from 580.82 on | 251 to 268 | 269 to 271 |

use gpud_sdk::AccessError;
use gpud_sdk::nvml::{Answers, Question};

use crate::trouble::if_readable;

/// Where a driver has its fields. `None` is one that has none of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Fields {
    /// The first of the eighteen about power smoothing: whether it is on.
    pub smoothing: Option<u32>,
    /// The first of the three counters: software thermal, then hardware thermal, then hardware power brake slowdown.
    pub slowdowns: Option<u32>,
}

impl Fields {
    /// Of a driver's version, such as `570.133.20`. One that cannot be read has none.
    pub fn of_driver(version: &str) -> Self {
        let mut parts = version.trim().split('.').map(str::parse::<u32>);
        let (Some(Ok(major)), Some(Ok(minor))) = (parts.next(), parts.next()) else {
            return Self::default();
        };
        let (smoothing, slowdowns) = match (major, minor) {
            (..570, _) => (None, None),
            (570..575, _) => (Some(251), None),
            (575..580, _) | (580, ..82) => (Some(256), Some(251)),
            _ => (Some(251), Some(269)),
        };
        Self {
            smoothing,
            slowdowns,
        }
    }
}

/// The questions for these fields.
pub fn questions(fields: impl IntoIterator<Item = u32>) -> Vec<Question> {
    let fields = fields.into_iter();
    fields
        .map(|field| Question::FieldValue((field, 0)))
        .collect()
}

/// A field of a GPU as a whole number; `None` where the GPU does not have it, or says what is no number.
///
/// # Errors
/// When the GPU as a whole does not answer.
pub fn whole(gpu: &Answers, field: u32) -> Result<Option<u64>, AccessError> {
    let value = if_readable(gpu.field_value(field, 0))?;
    Ok(value.and_then(as_whole))
}

/// A value as a whole number; `None` for what was not counted.
pub fn as_whole(value: f64) -> Option<u64> {
    // Above this, a number is none that was counted.
    const MOST: f64 = 1e18;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "within bounds"
    )]
    (0.0..=MOST).contains(&value).then_some(value as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn by_driver() {
        for (version, smoothing, slowdowns) in [
            ("535.161.08", None, None),
            ("569.99", None, None),
            ("570.86.10", Some(251), None),
            ("570.211.01", Some(251), None),
            ("575.51.02", Some(256), Some(251)),
            ("580.65.06", Some(256), Some(251)),
            ("580.81", Some(256), Some(251)),
            ("580.82.07", Some(251), Some(269)),
            ("580.126.09", Some(251), Some(269)),
            ("590.44.01", Some(251), Some(269)),
            ("570", None, None),
            ("x.1", None, None),
            ("", None, None),
        ] {
            let expected = Fields {
                smoothing,
                slowdowns,
            };
            assert_eq!(Fields::of_driver(version), expected, "{version}");
        }
    }

    #[test]
    fn numbers() {
        for (value, whole) in [
            (0.0, Some(0)),
            (5e9, Some(5_000_000_000)),
            (-1.0, None),
            (1e19, None),
            (f64::NAN, None),
            (f64::INFINITY, None),
        ] {
            assert_eq!(as_whole(value), whole, "{value}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]

        #[test]
        fn any_version_will_do(version in "[0-9.x]{0,20}|\\PC{0,20}", value in any::<f64>()) {
            let _ = (Fields::of_driver(&version), as_whole(value));
        }
    }
}
