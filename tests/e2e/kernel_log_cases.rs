//! Saved kernel logs of the field (`tests/kernel-logs/cases`), read with `gpud scan --kmsg-file`, against what a person
//! concluded from them.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use serde_json::Value;

use crate::daemon::gpud;
use crate::kernel_log_verdicts;

/// An event: its name, a part of its message, its type (or any), and how many rows there are (0: one or more).
type Expected = (&'static str, &'static str, &'static str, usize);

/// What a log must give for one component. Where `health` is empty, the component's verdict does not come from the log.
struct Case {
    file: &'static str,
    component: &'static str,
    health: &'static str,
    events: &'static [Expected],
}

const fn case(
    file: &'static str,
    component: &'static str,
    health: &'static str,
    events: &'static [Expected],
) -> Case {
    Case {
        file,
        component,
        health,
        events,
    }
}

const XID: &str = "accelerator-nvidia-error-xid";
const SXID: &str = "accelerator-nvidia-error-sxid";
const RECOVERY: &str = "accelerator-nvidia-recovery-action";
const INFINIBAND: &str = "accelerator-nvidia-infiniband";

#[rustfmt::skip]
const CASES: &[Case] = &[
    case("01", XID, "", &[("error_xid", "79", "Fatal", 1), ("error_xid", "154", "", 1)]),
    case("01", RECOVERY, "", &[("gpu_recovery_action_changed", "", "Critical", 1)]),
    case("02", XID, "", &[("error_xid", "51", "Warning", 1), ("error_xid", "154", "", 1)]),
    case("02", RECOVERY, "", &[("gpu_recovery_action_changed", "", "Critical", 1)]),
    case("02", "device-loss", "", &[("nvidia_reset_required", "GPU0", "Critical", 1)]),
    case("03", XID, "", &[("error_xid", "79", "Fatal", 1)]),
    case("03", "device-loss", "", &[("driver_probe_failed", "0000:b3:00.0", "Critical", 1)]),
    case("04", XID, "", &[("error_xid", "48", "Fatal", 1), ("error_xid", "63", "", 1), ("error_xid", "94", "", 1)]),
    case("05", XID, "", &[("error_xid", "171", "", 2), ("error_xid", "XID 48 ", "Fatal", 2), ("error_xid", "94", "", 1)]),
    case("05", RECOVERY, "", &[("gpu_recovery_action_changed", "Drain and Reset", "Warning", 1)]),
    case("06", XID, "", &[("error_xid", "64", "Fatal", 1)]),
    case("07", XID, "", &[("error_xid", "43", "Warning", 2), ("error_xid", "31", "Warning", 1), ("error_xid", "94", "", 1)]),
    case("08", XID, "", &[("error_xid", "PCI:0001:6c:00", "Fatal", 1), ("error_xid", "PCI:0001:96:00", "Fatal", 1)]),
    case("08", "device-loss", "", &[("nvidia_gsp_timeout", "", "Critical", 1)]),
    case("11", XID, "", &[("error_xid", "38", "", 1), ("error_xid", "62", "Fatal", 1), ("error_xid", "109", "", 1)]),
    case("12", XID, "", &[("error_xid", "120", "Fatal", 1), ("error_xid", "62", "Fatal", 1), ("error_xid", "45", "Warning", 1)]),
    case("13", XID, "", &[("error_xid", "PCI:0008:01:00", "", 0), ("error_xid", "PCI:0009:01:00", "", 0), ("error_xid", "PCI:0019:01:00", "", 0), ("error_xid", "PCI:0018:01:00", "", 0)]),
    case("16", SXID, "", &[("error_sxid", "22013", "Warning", 1), ("error_sxid", "12028", "", 1), ("error_sxid", "20034", "Fatal", 1), ("error_sxid", "24007", "Fatal", 1)]),
    // Two tries 41 s apart are one event, on whichever side of a window of the clock they fall.
    case("17", "device-loss", "", &[("nvidia_init_failed", "0000:0a:00.0", "Fatal", 1), ("nvidia_init_failed", "0000:13:00.0", "Fatal", 1), ("nvidia_boot_failed", "", "Fatal", 1)]),
    case("17", "kernel-stalls", "", &[("kernel_oops", "", "Critical", 1)]),
    case("19", INFINIBAND, "", &[("pci_power_insufficient", "", "Warning", 1), ("port_module_error", "Bus stuck", "Warning", 1), ("port_module_unplugged", "", "Info", 1), ("port_module_high_temperature", "", "Warning", 1)]),
    case("19", "device-loss", "", &[("mlx5_command_timeout", "0000:61:00.0", "Warning", 1)]),
    case("19", "ethernet", "Healthy", &[("nic_link_down", "ibs12", "Warning", 1)]),
    case("20", "pcie-aer", "", &[("pcie_dpc_containment", "", "Critical", 3), ("pcie_aer_recovered", "", "Info", 1), ("pcie_aer_recovery_failed", "", "", 1)]),
    case("20", "device-loss", "", &[("pcie_slot_link_down", "0000:97:02.0", "Warning", 1)]),
    case("21", "pcie-aer", "", &[("pcie_aer_fatal", "", "Fatal", 1), ("pcie_aer_recovery_failed", "", "", 1)]),
    case("21", "cpu-thermal", "", &[("cpu_thermal_throttled", "", "", 0)]),
    case("22", "pcie-aer", "", &[("pcie_aer_corrected", "", "Info", 0)]),
    case("23", "memory-edac", "", &[("memory_corrected_error", "", "", 0)]),
    case("24", "machine-check", "", &[("firmware_error_recoverable", "", "", 1), ("memory_failure", "", "", 1), ("firmware_error_corrected", "", "", 1)]),
    case("25", "machine-check", "", &[("machine_check_fatal", "", "Fatal", 1), ("machine_check_panic", "", "", 1), ("firmware_error_fatal", "", "Fatal", 1)]),
    case("25", "os", "", &[("kernel_panic", "", "", 1)]),
    // Its two I/O errors are 30 s apart: two events where a window of the clock ends between them.
    case("26", "block-io", "", &[("nvme_controller_down", "nvme0", "Critical", 1), ("disk_io_error", "nvme0n1", "Warning", 0), ("filesystem_shut_down", "nvme0n1p1", "Fatal", 1)]),
    case("26", "disk", "", &[("buffer_io_error", "", "Warning", 1), ("filesystem_read_only", "", "Warning", 1)]),
    case("27", "block-io", "", &[("nvme_command_timeout", "nvme1", "Warning", 1), ("nvme_command_timeout", "nvme3", "Warning", 1), ("nvme_not_ready", "nvme2", "Critical", 0), ("nvme_removed", "nvme2", "Fatal", 1)]),
    case("27", "disk", "", &[("nvme_controller_timeout", "", "Warning", 2), ("nvme_device_disabled", "", "Warning", 1)]),
    case("29", "block-io", "", &[("filesystem_shut_down", "dm-4", "Fatal", 1), ("filesystem_shut_down", "dm-11", "Fatal", 1), ("filesystem_error", "vda4", "Critical", 1), ("filesystem_error", "dm-7", "Critical", 1)]),
    case("31", "memory", "", &[("OOM", "uwsgi", "Warning", 1), ("OOM", "qemu-system-x86", "Warning", 1), ("OOM", "java", "Warning", 1), ("OOM", "python3", "Warning", 1)]),
    case("32", "cpu", "", &[("cpu_blocked_too_long", "more than 491 seconds (nvidia-smi:82351)", "Warning", 1), ("cpu_blocked_too_long", "", "Warning", 4)]),
    case("32", "kernel-stalls", "", &[("task_blocked_repeatedly", "nvidia-smi", "Warning", 0)]),
    case("32", "nfs", "", &[("nfs_server_not_responding", "files-a", "Warning", 1), ("nfs_server_ok", "files-a", "Warning", 1)]),
    case("32", "storage-clients", "Degraded", &[("storage_connection_lost", "scratch-MDT0000", "Warning", 1), ("storage_client_evicted", "scratch-MDT0000", "Critical", 1)]),
    case("34", "network-limits", "", &[("conntrack_table_full", "", "Warning", 1), ("neighbour_table_overflow", "arp_cache", "Warning", 1), ("tcp_out_of_memory", "", "Warning", 1)]),
    case("34", "os", "", &[("vfs_file_max_limit_reached", "", "Warning", 1)]),
    case("34", "device-loss", "", &[("netdev_tx_timeout", "ens1f0", "Warning", 1), ("netdev_tx_timeout", "0000:22:04.0", "Warning", 1)]),
    case("34", "ethernet", "Unhealthy", &[("bond_slave_down", "bond0/enp83s0f0np0", "Warning", 1), ("bond_down", "bond0", "Critical", 1), ("nic_link_down", "enp83s0f0np0", "Warning", 1), ("nic_link_down", "eno1", "Warning", 1)]),
    case("35", "ipmi", "", &[("bmc_interface_error", "", "Warning", 0), ("bmc_not_found", "", "Info", 1)]),
    case("36", "accelerator-nvidia-peermem", "", &[("nvidia_peermem_invalid_context", "", "Warning", 1)]),
    case("36", "accelerator-nvidia-nccl", "", &[("nvidia_nccl_segfault_in_libnccl", "", "Warning", 1)]),
    case("36", "device-loss", "", &[("iommu_fault", "0000:07:00.0", "Warning", 1)]),
    case("37", XID, "", &[("error_xid", "31", "Warning", 1), ("error_xid", "79", "Fatal", 1)]),
    case("37", "pcie-aer", "", &[("pcie_aer_corrected", "", "Info", 1)]),
    case("38", XID, "", &[("error_xid", "79", "Fatal", 1), ("error_xid", "31", "Warning", 1)]),
    case("38", "memory-edac", "", &[("memory_corrected_error", "", "", 1)]),
    case("40", "block-io", "", &[("filesystem_image_error", "loop1", "Info", 1), ("disk_io_error", "sdb", "Warning", 1), ("filesystem_error", "sdb1", "Critical", 1)]),
    case("41", "cpu", "", &[("cpu_blocked_too_long", "strat1_sim", "Warning", 1)]),
    case("41", "cpu-thermal", "", &[("cpu_thermal_throttled", "", "", 1)]),
    case("42", "memory", "", &[("OOM", "node", "Warning", 1)]),
    case("44", "block-io", "", &[("filesystem_shut_down", "dm-4", "Fatal", 1), ("filesystem_shut_down", "dm-11", "Fatal", 1), ("filesystem_error", "vda4", "Critical", 1), ("filesystem_error", "dm-7", "Critical", 1)]),
];

/// Logs in which nothing is above Info.
const BENIGN: [&str; 1] = ["39"];

fn logs() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/kernel-logs/cases");
    let mut logs: Vec<PathBuf> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    logs.sort();
    logs
}

fn number(log: &Path) -> String {
    let name = log.file_name().unwrap().to_str().unwrap();
    name.split('-').next().unwrap().to_owned()
}

/// What `gpud scan --json` makes of a saved log, with further flags.
pub fn scan(log: &Path, flags: &[&str]) -> Value {
    let cache = tempfile::tempdir().unwrap();
    let output = gpud()
        .args(["scan", "--json", "--kmsg-file"])
        .arg(log)
        .args(flags)
        .env("XDG_CACHE_HOME", cache.path())
        .output()
        .unwrap();
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{}: {error}: {output:?}", log.display()))
}

/// The problems with the answer for a log.
fn problems(number: &str, document: &Value) -> Vec<String> {
    let components = document["components"].as_array().unwrap();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let mut problems = kernel_log_verdicts::problems(number, document);
    for case in CASES.iter().filter(|case| case.file == number) {
        // One for each host that the log names.
        let found: Vec<&Value> = components
            .iter()
            .filter(|component| component["component"] == case.component)
            .collect();
        if found.is_empty() {
            problems.push(format!("{}: silent", case.component));
            continue;
        }
        for state in found.iter().map(|component| &component["states"][0]) {
            if !case.health.is_empty() && state["health"] != case.health {
                problems.push(format!("{}: {state}", case.component));
            }
        }
        let events = found
            .iter()
            .flat_map(|component| component["events"].as_array().unwrap());
        let events: Vec<&Value> = events.collect();
        for (name, part, kind, rows) in case.events {
            let matching: Vec<&&Value> = events
                .iter()
                .filter(|event| event["name"] == *name && text(&event["message"]).contains(part))
                .collect();
            let right_type = matching
                .iter()
                .all(|event| kind.is_empty() || event["type"] == *kind);
            let right_count = match rows {
                0 => !matching.is_empty(),
                rows => matching.len() == *rows,
            };
            if !right_type || !right_count {
                let all: Vec<String> = events
                    .iter()
                    .map(|event| {
                        format!("{} {}: {}", event["type"], event["name"], event["message"])
                    })
                    .collect();
                problems.push(format!(
                    "{}: {rows} of {kind} {name} with {part:?} in {all:#?}",
                    case.component
                ));
            }
        }
    }
    if BENIGN.contains(&number) {
        for component in components {
            for event in component["events"].as_array().unwrap() {
                if event["type"] != "Info" {
                    problems.push(format!("{}: {event}", component["component"]));
                }
            }
        }
    }
    problems
}

#[test]
fn logs_of_the_field() {
    let logs = Mutex::new(logs());
    let known: BTreeSet<&str> = CASES.iter().map(|case| case.file).chain(BENIGN).collect();
    let found = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some(log) = { logs.lock().unwrap().pop() } {
                    let number = number(&log);
                    assert!(
                        known.contains(&*number),
                        "{number}: nothing is expected of it"
                    );
                    let problems = problems(&number, &scan(&log, &[]));
                    found.lock().unwrap().push((number, problems));
                }
            });
        }
    });
    let mut found = found.into_inner().unwrap();
    found.sort();
    assert_eq!(found.len(), known.len(), "a log is missing");
    let mut wrong = String::new();
    for (number, problems) in found {
        if !problems.is_empty() {
            wrong.push_str(&format!("{number}: {}\n", problems.join("\n    ")));
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// Lines of real faults, each within a line in which any user can have the kernel print it, in the forms in which logs are
/// saved.
#[test]
fn forged_lines_are_not_believed() {
    const FAULTS: [&str; 10] = [
        "NVRM: Xid (PCI:0000:3b:00): 79, pid=1, name=x, GPU has fallen off the bus.",
        "NVRM: GPU 0000:3b:00.0: GPU has fallen off the bus.",
        "nvidia-nvswitch0: SXid (PCI:0000:c3:00.0): 20034, Fatal, Link 30 LTSSM Fault Up",
        "EXT4-fs (sda1): Remounting filesystem read-only",
        "nvme nvme0: Disabling device after reset failure: -19",
        "INFO: task x:1 blocked for more than 245 seconds.",
        "Kernel panic - not syncing: Fatal exception",
        "VFS: file-max limit 1048576 reached",
        "mlx5_core 0000:5c:00.0: Detected insufficient power on the PCIe slot (27W).",
        "nfs: server a not responding, still trying",
    ];
    const PLACES: [&str; 7] = [
        "tmpfs: Unknown parameter '{}'",
        "tmpfs: Unknown parameter 'kernel: {}'",
        "tmpfs: Unknown parameter '[    9.000001] {}'",
        "fuse: Unknown parameter 'x: {}'",
        "x[311]: segfault at 0 ip 00007f sp 00007f error 4 in {}[7f+1]",
        "audit: type=1400 audit(1.1:2): apparmor=\"DENIED\" name=\"{}\" pid=311",
        "NVRM: x[311]: segfault at 0 ip 00007f sp 00007f error 4 in {}[7f+1]",
    ];
    let folder = tempfile::tempdir().unwrap();
    for (number, prefix) in [
        "[  100.000001] ",
        "Nov 20 08:00:01 h kernel: ",
        "kern  :err   : ",
        "3,7,100000001,-;",
    ]
    .iter()
    .enumerate()
    {
        let within =
            |fault: &str| PLACES.map(|place| prefix.to_string() + &place.replace("{}", fault));
        let lines: Vec<String> = FAULTS.iter().flat_map(|fault| within(fault)).collect();
        let log = folder.path().join(number.to_string());
        std::fs::write(&log, lines.join("\n") + "\n").unwrap();
        let document = scan(&log, &[]);
        let events: Vec<&Value> = document["components"]
            .as_array()
            .unwrap()
            .iter()
            .flat_map(|component| component["events"].as_array().unwrap())
            .collect();
        assert!(events.is_empty(), "{prefix:?}: {events:#?}");
    }
}

/// A server that answered again needs no reboot; what a line asks for is reported until then.
#[test]
fn what_is_over_asks_for_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log");
    let silent = "[  100.000000] nfs: server a not responding, still trying\n";
    let other = "[  101.000000] nfs: server b not responding, still trying\n";
    let back = "[  106.000000] nfs: server a OK\n";
    let explain = |text: &str| {
        std::fs::write(&log, text).unwrap();
        let run = |json: &[&str]| {
            let output = gpud()
                .arg("explain")
                .args(json)
                .arg("--file")
                .arg(&log)
                .output()
                .unwrap();
            String::from_utf8(output.stdout).unwrap()
        };
        (
            run(&[]),
            serde_json::from_str::<Value>(&run(&["--json"])).unwrap(),
        )
    };
    let asks = "to do: REBOOT_SYSTEM";
    let (text, _) = explain(silent);
    assert!(text.contains(asks) && !text.contains("over: "), "{text}");
    let (text, json) = explain(&format!("{silent}{back}"));
    assert!(
        !text.contains(asks) && text.contains("over: nfs_server_ok"),
        "{text}"
    );
    let events = json["components"][0]["events"].as_array().unwrap();
    let ended = events
        .iter()
        .find(|event| event["name"] == "nfs_server_not_responding")
        .unwrap();
    assert!(ended["over_since"].is_string(), "{ended}");
    assert_eq!(ended["actions"], serde_json::json!([]));
    let (text, _) = explain(&format!("{silent}{other}{back}"));
    assert!(
        text.contains(asks) && text.contains("over: nfs_server_ok"),
        "{text}"
    );
}
