//! The time for which each reason held a GPU's clocks back: counters of the driver, in nanoseconds since it was loaded.

use gpud_builtin_nvidia_common::fields::Fields;
use gpud_sdk::AccessError;

use crate::evaluate::ThrottleTimes;

/// Counters whose numbers are the same with all drivers: `NVML_FI_DEV_PERF_POLICY_…`.
const OLD_COUNTERS: [(u32, &str); 2] = [(74, "sw_power_cap"), (76, "sync_boost")];
/// Those behind [`Fields::slowdowns`], in their order.
const SLOWDOWNS: [&str; 3] = [
    "sw_thermal_slowdown",
    "hw_thermal_slowdown",
    "hw_power_brake_slowdown",
];

/// The groups of counters of a driver.
fn groups(of: Fields) -> [Vec<(u32, &'static str)>; 2] {
    let newer = of.slowdowns.into_iter();
    let newer = newer.flat_map(|first| (first..).zip(SLOWDOWNS));
    [OLD_COUNTERS.into(), newer.collect()]
}

/// Fields of the first counter of each group.
pub fn first(of: Fields) -> Vec<u32> {
    let groups = groups(of);
    let firsts = groups.iter().filter_map(|group| group.first());
    firsts.map(|(field, _)| *field).collect()
}

/// Fields of the others, of groups whose first one a GPU counts.
pub fn further(of: Fields, counts: impl Fn(u32) -> bool) -> Vec<u32> {
    let groups = groups(of);
    let counted = groups.iter().filter_map(|group| {
        let (first, others) = group.split_first()?;
        counts(first.0).then_some(others)
    });
    counted.flatten().map(|(field, _)| *field).collect()
}

/// Reads them: `read` gives a field, or nothing where the GPU does not count it. One that does not count the first of a
/// group is not asked for the others.
///
/// # Errors
/// Those of `read`.
pub fn count(
    of: Fields,
    mut read: impl FnMut(u32) -> Result<Option<u64>, AccessError>,
) -> Result<ThrottleTimes, AccessError> {
    let mut counted = ThrottleTimes::new();
    for group in groups(of) {
        for (field, reason) in group {
            match read(field)? {
                Some(nanoseconds) => counted.insert(reason, nanoseconds),
                None => break,
            };
        }
    }
    Ok(counted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_asked_of_which_driver() {
        for (driver, known, asked, counted) in [
            (
                "535.161.08",
                0..300,
                &[74, 76][..],
                &["sw_power_cap", "sync_boost"][..],
            ),
            (
                "575.51.02",
                0..300,
                &[74, 76, 251, 252, 253],
                &[
                    "hw_power_brake_slowdown",
                    "hw_thermal_slowdown",
                    "sw_power_cap",
                    "sw_thermal_slowdown",
                    "sync_boost",
                ],
            ),
            (
                "580.82.07",
                74..271,
                &[74, 76, 269, 270, 271],
                &[
                    "hw_thermal_slowdown",
                    "sw_power_cap",
                    "sw_thermal_slowdown",
                    "sync_boost",
                ],
            ),
            ("580.82.07", 0..0, &[74, 269], &[]),
            ("580.82.07", 74..75, &[74, 76, 269], &["sw_power_cap"]),
        ] {
            let mut questions = Vec::new();
            let read = |field: u32| {
                questions.push(field);
                Ok(known.contains(&field).then_some(u64::from(field)))
            };
            let found = count(Fields::of_driver(driver), read).unwrap();
            assert_eq!(questions, asked, "{driver} {known:?}");
            // What is asked of all GPUs at once is what is read then.
            let of = Fields::of_driver(driver);
            let mut together = first(of);
            together.extend(further(of, |field| known.contains(&field)));
            together.sort_unstable();
            assert_eq!(together, asked, "{driver} {known:?}");
            let mut counted: Vec<&str> = counted.to_vec();
            counted.sort_unstable();
            assert_eq!(found.keys().copied().collect::<Vec<_>>(), counted);
        }
        let lost = AccessError::SourceLost("x".into());
        let found = count(Fields::default(), |_| Err(lost.clone()));
        assert_eq!(found, Err(lost));
    }
}
