//! Verdicts on the saved kernel logs of `tests/kernel-logs/cases`, by GPUd's and by NVIDIA's view of Xids.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::kernel_log_cases::scan;

const XID: &str = "accelerator-nvidia-error-xid";
const SXID: &str = "accelerator-nvidia-error-sxid";
const RECOVERY: &str = "accelerator-nvidia-recovery-action";

/// File, component, health, and an action that is suggested (any or none where it is empty).
type Verdict = (&'static str, &'static str, &'static str, &'static str);

#[rustfmt::skip]
const VERDICTS: &[Verdict] = &[
    ("01", XID, "Unhealthy", "REBOOT_SYSTEM"),
    ("01", RECOVERY, "Unhealthy", "REBOOT_SYSTEM"),
    ("02", RECOVERY, "Unhealthy", "REBOOT_SYSTEM"),
    ("02", "device-loss", "Unhealthy", "REBOOT_SYSTEM"),
    ("03", XID, "Unhealthy", "REBOOT_SYSTEM"),
    ("03", "device-loss", "Unhealthy", "REBOOT_SYSTEM"),
    ("04", XID, "Unhealthy", "REBOOT_SYSTEM"),
    ("05", XID, "Unhealthy", "REBOOT_SYSTEM"),
    ("05", RECOVERY, "Degraded", "REBOOT_SYSTEM"),
    ("06", XID, "Unhealthy", "REBOOT_SYSTEM"),
    ("08", XID, "Unhealthy", "REBOOT_SYSTEM"),
    ("08", "device-loss", "Unhealthy", "REBOOT_SYSTEM"),
    ("11", XID, "Unhealthy", "REBOOT_SYSTEM"),
    ("11", RECOVERY, "Unhealthy", "REBOOT_SYSTEM"),
    ("12", XID, "Unhealthy", "REBOOT_SYSTEM"),
    ("12", RECOVERY, "Unhealthy", "REBOOT_SYSTEM"),
    ("13", XID, "Unhealthy", "REBOOT_SYSTEM"),
    ("16", SXID, "Unhealthy", "REBOOT_SYSTEM"),
    ("17", "device-loss", "Unhealthy", "REBOOT_SYSTEM"),
    ("17", "kernel-stalls", "Degraded", "REBOOT_SYSTEM"),
    ("19", "device-loss", "Degraded", "REBOOT_SYSTEM"),
    ("24", "machine-check", "Unhealthy", "REBOOT_SYSTEM"),
    ("25", "machine-check", "Unhealthy", "REBOOT_SYSTEM"),
    ("26", "block-io", "Unhealthy", "HARDWARE_INSPECTION"),
    ("27", "block-io", "Unhealthy", "REBOOT_SYSTEM"),
    ("29", "block-io", "Unhealthy", "HARDWARE_INSPECTION"),
    ("32", "kernel-stalls", "Degraded", ""),
    ("34", "ethernet", "Unhealthy", "HARDWARE_INSPECTION"),
    ("36", "accelerator-nvidia-nccl", "Healthy", ""),
    ("36", "device-loss", "Healthy", ""),
    ("37", XID, "Unhealthy", "REBOOT_SYSTEM"),
    ("40", "block-io", "Degraded", "HARDWARE_INSPECTION"),
    ("44", "block-io", "Unhealthy", "HARDWARE_INSPECTION"),
];

/// The same for `--xid-catalog nvidia`, and the types of Xids by a part of their messages.
#[rustfmt::skip]
const BY_NVIDIA: &[(Verdict, &[(&str, &str)])] = &[
    (("04", XID, "Unhealthy", "REBOOT_SYSTEM"), &[("XID 48 ", "Fatal"), ("XID 63 ", "Info"), ("XID 94 ", "Warning")]),
    (("07", XID, "Healthy", "CHECK_USER_APP_AND_GPU"), &[("XID 31 ", "Warning"), ("XID 43 ", "Info"), ("XID 94 ", "Warning")]),
    (("11", XID, "Unhealthy", "REBOOT_SYSTEM"), &[("XID 38 ", "Info"), ("XID 62 ", "Fatal"), ("XID 109 ", "Fatal"), ("XID 154 ", "Fatal")]),
    (("13", XID, "Unhealthy", "REBOOT_SYSTEM"), &[("XID 145.0 ", "Warning"), ("XID 149.37 ", "Fatal"), ("XID 149.33 ", "Fatal")]),
];

/// What is wrong with the verdicts on a log.
pub fn problems(number: &str, document: &Value) -> Vec<String> {
    let of_log = VERDICTS.iter().filter(|(file, ..)| *file == number);
    of_log
        .filter_map(|verdict| problem(verdict, document))
        .collect()
}

fn problem(verdict: &Verdict, document: &Value) -> Option<String> {
    let (_, component, health, action) = verdict;
    let components = document["components"].as_array().unwrap();
    let found = components
        .iter()
        .find(|found| found["component"] == *component);
    let Some(state) = found.map(|found| &found["states"][0]) else {
        return Some(format!("{component}: silent"));
    };
    let actions = state["suggested_actions"]["repair_actions"].as_array();
    let asks = actions.is_some_and(|actions| actions.iter().any(|one| *one == *action));
    let is_right = state["health"] == *health && (action.is_empty() || asks);
    (!is_right).then(|| format!("{component}: {state} instead of {health}, {action}"))
}

fn log(number: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/kernel-logs/cases");
    let mut entries = std::fs::read_dir(folder).unwrap();
    let entry = entries.find_map(|entry| {
        let path = entry.unwrap().path();
        let name = path.file_name()?.to_str()?;
        name.starts_with(&format!("{number}-")).then_some(path)
    });
    entry.unwrap()
}

#[test]
fn nvidias_view_of_the_logs() {
    for (verdict, types) in BY_NVIDIA {
        let document = scan(&log(verdict.0), &["--xid-catalog", "nvidia"]);
        assert_eq!(problem(verdict, &document), None, "{}", verdict.0);
        let components = document["components"].as_array().unwrap();
        let xids = components.iter().find(|one| one["component"] == XID);
        let events = xids.unwrap()["events"].as_array().unwrap();
        for (part, kind) in *types {
            let mut of_code = events
                .iter()
                .filter(|event| event["message"].as_str().unwrap().starts_with(part))
                .peekable();
            assert!(of_code.peek().is_some(), "{}: no {part}", verdict.0);
            for event in of_code {
                assert_eq!(event["type"], *kind, "{}: {event}", verdict.0);
            }
        }
    }
}

/// Only n2 lost a GPU; it was rebooted since.
#[test]
fn each_host_has_its_own_verdict() {
    let document = scan(&log("38"), &[]);
    let components = document["components"].as_array().unwrap();
    let lost: Vec<&Value> = components
        .iter()
        .filter(|one| {
            let mut events = one["events"].as_array().unwrap().iter();
            events.any(|event| event["message"].as_str().unwrap().starts_with("XID 79 "))
        })
        .map(|one| &one["host"])
        .collect();
    assert_eq!(lost, ["n2"]);
    let of_host = |host: &str| {
        let mut components = components.iter();
        components.find(|one| one["component"] == XID && one["host"] == host)
    };
    assert_eq!(of_host("n2").unwrap()["states"][0]["health"], "Healthy");
    let actions = &of_host("n1").unwrap()["states"][0]["suggested_actions"]["repair_actions"];
    assert_eq!(*actions, serde_json::json!(["CHECK_USER_APP_AND_GPU"]));
    assert!(of_host("n3").is_none());
    let boots: Vec<u64> = document["hosts"]
        .as_array()
        .unwrap()
        .iter()
        .map(|host| host["boots"].as_u64().unwrap())
        .collect();
    assert_eq!(boots, [1, 2, 1]);
}
