use super::*;
use crate::{GpuIdentity, Inventory};

fn readings(serials: &[&str], settings: &Settings, time: UnixMillis) -> Vec<Reading> {
    let gpus = serials.iter().map(|serial| GpuIdentity {
        serial: (*serial).to_owned(),
        ..GpuIdentity::default()
    });
    let snapshot = Snapshot {
        inventory: Inventory {
            gpus: gpus.collect(),
            ..Inventory::default()
        },
        ..Snapshot::default()
    };
    reading::of_snapshot(&snapshot, settings, "n", time)
}

#[test]
fn it_looks_when_something_is_new_and_once_in_a_while() {
    let settings: Settings =
        serde_yaml::from_str("{cluster: c, stdout: true, interval: 1h}").unwrap();
    let mut export = InventoryExport::new(settings.clone());
    let mut waiting = |serials: &[&str], time| {
        let nothing_lost = export.look(readings(serials, &settings, time), time);
        (export.waiting.len(), nothing_lost)
    };
    assert_eq!(waiting(&[], 0), (0, true), "nothing is known yet");
    assert_eq!(waiting(&["1", "2"], 1_000), (1, true));
    assert_eq!(waiting(&["1", "2"], 5_000), (1, true));
    assert_eq!(waiting(&["1", "3"], 6_000), (2, true), "a GPU was replaced");
    assert_eq!(waiting(&["1", "3"], 3_606_000), (3, true), "an hour later");
    assert_eq!(waiting(&["1", "3"], 3_700_000), (3, true));
    for second in 0..200 {
        let serial = if second % 2 == 0 { "7" } else { "8" };
        let (count, nothing_lost) = waiting(&[serial], 4_000_000 + second);
        assert_eq!(nothing_lost, second + 4 <= MAX_WAITING as u64, "{second}");
        assert!(count <= MAX_WAITING);
    }
    assert_eq!(export.waiting.back().unwrap().time, 4_000_199);
}
