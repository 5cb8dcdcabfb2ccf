use super::*;
use crate::{GpuIdentity, Inventory};

fn settings(more: &str) -> Settings {
    serde_yaml::from_str(&format!("{{cluster: c1, stdout: true{more}}}")).unwrap()
}

fn snapshot(serials: &[&str], chassis: &str, machine: &str) -> Snapshot {
    let gpu = |serial: &&str| GpuIdentity {
        serial: (*serial).to_owned(),
        ..GpuIdentity::default()
    };
    Snapshot {
        node: NodeIdentity {
            hostname: "h".into(),
            machine_id: machine.into(),
        },
        inventory: Inventory {
            chassis_serial: chassis.into(),
            gpus: serials.iter().map(gpu).collect(),
            ..Inventory::default()
        },
        ..Snapshot::default()
    }
}

#[test]
fn dual_die_modules_are_there_once() {
    let snapshot = snapshot(&["2", "2", "1", "", "1"], "C9", "m1");
    let readings = of_snapshot(&snapshot, &settings(""), "n1", 1_790_000_000_123);
    let columns: Vec<_> = readings.iter().map(Reading::columns).collect();
    assert_eq!(
        columns,
        [
            ["c1", "n1", "m1", "gpud", "C9", "2", "2026-09-21T14:13:20Z"],
            ["c1", "n1", "m1", "gpud", "C9", "1", "2026-09-21T14:13:20Z"],
        ]
    );
    let json = serde_json::to_string(&readings[0]).unwrap();
    assert_eq!(
        json,
        r#"{"cluster":"c1","node":"n1","machine":"m1","source":"gpud","chassis":"C9","gpu":"2","time":"2026-09-21T14:13:20Z"}"#
    );
}

#[test]
fn what_is_not_known_has_gpuids_words() {
    let read = of_snapshot(&snapshot(&["1"], "", ""), &settings(""), "n", 0);
    assert_eq!(read[0].columns()[2..5], ["na", "gpud", "unknown"]);
    let named = settings(", machine: i-1, source: ns/pod");
    let read = of_snapshot(&snapshot(&["1"], "", "m"), &named, "n", 0);
    assert_eq!(read[0].columns()[2..5], ["i-1", "ns/pod", "unknown"]);
}

#[test]
fn looks_are_compared_without_their_times() {
    let read =
        |serials: &[&str], time| of_snapshot(&snapshot(serials, "", ""), &settings(""), "n", time);
    assert!(are_same(&read(&["1", "2"], 0), &read(&["1", "2"], 9000)));
    assert!(!are_same(&read(&["1", "2"], 0), &read(&["1", "3"], 0)));
    assert!(!are_same(&read(&["1", "2"], 0), &read(&["1"], 0)));
}
