//! Whether an array has lost more devices than its level can do without. Kernels before 6.x do not say so: they call such
//! an array active, and fail every access.

use crate::mdstat::Array;

/// Whether its data are gone.
pub fn is_lost(array: &Array) -> bool {
    let Some((all, working)) = array.devices else {
        return false;
    };
    let missing = all.saturating_sub(working);
    match array.level.as_str() {
        "raid1" => all > 0 && working == 0,
        "raid4" | "raid5" => missing > 1,
        "raid6" => missing > 2,
        "raid10" => lacks_a_block(array, all, missing),
        _ => false,
    }
}

/// Whether all copies of some block are missing, of raid10. The near copies of a block are on neighbouring devices; each
/// far copy is on the devices after those of the copy before.
fn lacks_a_block(array: &Array, all: u64, missing: u64) -> bool {
    let (near, far) = array.copies;
    let (near, far) = (near.max(1), far.max(1));
    let copies = near.saturating_mul(far).min(all).max(1);
    let count = array.places.len() as u64;
    if count != all || all == 0 {
        // Which places are empty is not known: gone for sure only where fewer are left than one of each group.
        return missing > all - all.div_ceil(copies);
    }
    let works = |place: u64| {
        let place = usize::try_from(place % all).unwrap_or_default();
        array.places.get(place).copied().unwrap_or(true)
    };
    // The first devices of the blocks: each group begins where the one before ended.
    (0..all).any(|group| {
        let first = group.saturating_mul(near);
        (0..copies).all(|copy| !works(first.saturating_add(copy)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mdstat;
    use proptest::prelude::*;

    fn lost(level: &str, layout: &str, places: &str) -> bool {
        let working = places.bytes().filter(|place| *place == b'U').count();
        let text = format!(
            "md0 : active {level} sda[0]\n      1 blocks super 1.2 {layout} [{}/{working}] [{places}]\n",
            places.len()
        );
        is_lost(&mdstat::parse(&text)[0])
    }

    #[test]
    fn by_level() {
        for (level, layout, places, expected) in [
            ("raid1", "", "U_", false),
            ("raid1", "", "__", true),
            ("raid4", "", "UU_", false),
            (
                "raid5",
                "level 5, 512k chunk, algorithm 2",
                "UUUUUUU_U_UU",
                true,
            ),
            ("raid5", "level 5, 512k chunk, algorithm 2", "UU_", false),
            ("raid5", "", "_____", true),
            ("raid6", "", "U__U", false),
            ("raid6", "", "U___", true),
            ("raid10", "512K chunks 2 near-copies", "U_U_", false),
            ("raid10", "512K chunks 2 near-copies", "__UU", true),
            ("raid10", "512K chunks 2 near-copies", "U__U", false),
            (
                "raid10",
                "4096K chunks 2 near-copies",
                "UUUUUUUUUUUUUUUUU_U_UU",
                false,
            ),
            // An odd number of devices: the pairs overlap.
            ("raid10", "512K chunks 2 near-copies", "U__", true),
            ("raid10", "512K chunks 2 near-copies", "UU_", false),
            ("raid10", "512K chunks 2 far-copies", "U__U", true),
            ("raid10", "512K chunks 2 far-copies", "U_U_", false),
            ("raid10", "512K chunks 2 offset-copies", "_UU_", true),
            ("raid10", "512K chunks 3 near-copies", "__UUUU", false),
            ("raid10", "512K chunks 3 near-copies", "___UUU", true),
            ("raid0", "", "U_", false),
        ] {
            assert_eq!(
                lost(level, layout, places),
                expected,
                "{level} {layout} {places}"
            );
        }
    }

    #[test]
    fn without_the_places_only_what_is_sure() {
        let of = |devices: &str| {
            let text =
                format!("md0 : active raid10 sda[0]\n      1 blocks 2 near-copies [{devices}]\n");
            is_lost(&mdstat::parse(&text)[0])
        };
        assert!(!of("4/2") && of("4/1") && !of("0/0"));
    }

    proptest! {
        #[test]
        fn more_devices_never_lose_more(level in "raid(1|4|5|6|10)", places in "[U_]{1,12}", at in 0usize..12) {
            let mut more = places.clone().into_bytes();
            let at = at % more.len();
            more[at] = b'U';
            let more = String::from_utf8(more).unwrap();
            let layout = "2 near-copies";
            prop_assert!(lost(&level, layout, &places) || !lost(&level, layout, &more));
        }
    }
}
