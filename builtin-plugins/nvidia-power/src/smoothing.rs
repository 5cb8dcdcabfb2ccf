//! Power smoothing of Blackwell GPUs.

use gpud_builtin_nvidia_common::fields::Fields;
use gpud_sdk::AccessError;
use serde::Serialize;

/// Power smoothing: circuits that fill dips of the load, so that the supply sees less of its changes. Numbers are the
/// driver's (`NVML_FI_PWR_SMOOTHING_…`); TMP is total module power. `None` is what the GPU does not tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Smoothing {
    /// Is it on?
    pub enabled: bool,
    /// How much of it this machine may see and set; given out of band (Redfish).
    pub privilege_level: Option<u64>,
    /// Does power fall at once when it is switched off: 0 or 1.
    pub immediate_ramp_down_enabled: Option<u64>,
    /// In force.
    pub applied_tmp_ceiling: Option<u64>,
    /// In force.
    pub applied_tmp_floor: Option<u64>,
    /// Highest that can be set.
    pub max_tmp_floor_percent: Option<u64>,
    /// Lowest that can be set.
    pub min_tmp_floor_percent: Option<u64>,
    /// Of its circuits.
    pub lifetime_remaining_percent: Option<u64>,
    /// Which of the preset profiles is active.
    pub active_preset_profile: Option<u64>,
}

/// Those of its fields that are read after the first.
const FURTHER: [u32; 8] = [1, 2, 3, 4, 5, 6, 7, 13];

/// Fields of a GPU that has the first one.
pub fn further(of: Fields, has: impl Fn(u32) -> bool) -> Vec<u32> {
    let first = of.smoothing.filter(|first| has(*first));
    first.map_or_else(Vec::new, |first| {
        FURTHER.iter().map(|offset| first + offset).collect()
    })
}

/// Reads it: `read` gives a field, or nothing where the GPU does not tell. Their order is NVML's: after the first come
/// privilege level, immediate ramp-down, ceiling and floor in force, highest and lowest floor, and the life of the
/// circuits; the active profile is the fourteenth. A GPU that does not tell the first is not asked for the others.
///
/// # Errors
/// Those of `read`.
pub fn read(
    of: Fields,
    mut read: impl FnMut(u32) -> Result<Option<u64>, AccessError>,
) -> Result<Option<Smoothing>, AccessError> {
    let Some(first) = of.smoothing else {
        return Ok(None);
    };
    let Some(enabled) = read(first)? else {
        return Ok(None);
    };
    let mut field = |offset: u32| read(first + offset);
    Ok(Some(Smoothing {
        enabled: enabled != 0,
        privilege_level: field(1)?,
        immediate_ramp_down_enabled: field(2)?,
        applied_tmp_ceiling: field(3)?,
        applied_tmp_floor: field(4)?,
        max_tmp_floor_percent: field(5)?,
        min_tmp_floor_percent: field(6)?,
        lifetime_remaining_percent: field(7)?,
        active_preset_profile: field(13)?,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_asked_of_which_driver() {
        for (driver, known, asked, found) in [
            ("565.57.01", true, vec![], false),
            ("580.82.07", false, vec![251], false),
            (
                "580.82.07",
                true,
                vec![251, 252, 253, 254, 255, 256, 257, 258, 264],
                true,
            ),
            (
                "580.65.06",
                true,
                vec![256, 257, 258, 259, 260, 261, 262, 263, 269],
                true,
            ),
        ] {
            let mut questions = Vec::new();
            let answer = |field: u32| {
                questions.push(field);
                Ok(known.then_some(u64::from(field)))
            };
            let smoothing = read(Fields::of_driver(driver), answer).unwrap();
            assert_eq!(smoothing.is_some(), found, "{driver} {known}");
            if let (Some(smoothing), Some(first)) = (smoothing, asked.first()) {
                let life = smoothing.lifetime_remaining_percent;
                assert_eq!(life, Some(u64::from(first + 7)));
            }
            assert_eq!(questions, asked);
            // What is asked of all GPUs at once is what is read then.
            let of = Fields::of_driver(driver);
            let mut together: Vec<u32> = of.smoothing.into_iter().collect();
            together.extend(further(of, |_| known));
            assert_eq!(together, asked);
        }
        let lost = AccessError::SourceLost("x".into());
        let found = read(Fields::of_driver("570.86.10"), |_| Err(lost.clone()));
        assert_eq!(found, Err(lost));
    }
}
