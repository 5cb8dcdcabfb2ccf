//! The checks of NVIDIA GPUs, as scans and in a daemon, over a shared library that speaks NVML's C interface.

use std::{collections::BTreeMap, fs, path::Path};

use gpud_nvml_mock::install::{built, install};
use http::Method;
use serde_json::Value;

use crate::daemon::{Start, eventually, gpud};

/// Checks that ask each GPU, and what they say when all is well.
const OF_GPUS: [(&str, &str); 15] = [
    (
        "clock-speed",
        "all 8 GPU(s) were checked, no clock speed issue found",
    ),
    ("ecc", "all 8 GPU(s) were checked, no ECC issue found"),
    (
        "fabric-manager",
        "NVIDIA-H100-80GB-HBM3 checked fabric state; ",
    ),
    ("gpm", "all 8 GPU(s) were checked, no GPM issue found"),
    ("hw-slowdown", "no clock events found"),
    ("memory", "all 8 GPU(s) were checked, no memory issue found"),
    (
        "nvlink",
        "scanned kmsg(s); all 8 GPU(s) were checked, no nvlink issue found",
    ),
    (
        "pcie-link",
        "all 8 GPU(s) were checked, no PCIe link issue found",
    ),
    (
        "persistence-mode",
        "all 8 GPU(s) were checked, no persistence mode issue found",
    ),
    ("power", "all 8 GPU(s) were checked, no power issue found"),
    (
        "processes",
        "all 8 GPU(s) were checked, no process issue found",
    ),
    (
        "recovery-action",
        "all 8 GPU(s) were checked, no recovery action needed",
    ),
    (
        "remapped-rows",
        "8 devices support remapped rows and found no issue",
    ),
    (
        "temperature",
        "all 8 GPU(s) were checked, no temperature issue found",
    ),
    (
        "utilization",
        "all 8 GPU(s) were checked, no utilization issue found",
    ),
];

/// What a scan of a machine with this scenario says of each component of NVIDIA GPUs.
fn scan(scenario: &str, arguments: &[&str]) -> BTreeMap<String, Value> {
    let folder = tempfile::tempdir().unwrap();
    let library = install(&built().unwrap(), scenario, folder.path()).unwrap();
    let output = gpud()
        .args(["scan", "--json", "--nvml-library"])
        .arg(library)
        .args(arguments)
        .env("KMSG_FILE_PATH", "/dev/null")
        .output()
        .unwrap();
    let found: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&output.stderr)));
    found["components"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|found| {
            let name = found["component"].as_str()?;
            let name = name.strip_prefix("accelerator-nvidia-")?;
            Some((name.to_owned(), found["states"][0].clone()))
        })
        .collect()
}

/// A state in one line: health, actions, reason.
pub fn line(state: &Value) -> String {
    let actions = &state["suggested_actions"]["repair_actions"];
    let actions = match actions.as_array() {
        Some(actions) => format!(
            " {}",
            actions
                .iter()
                .filter_map(Value::as_str)
                .collect::<Vec<_>>()
                .join("+")
        ),
        None => String::new(),
    };
    let text = |key: &str| state[key].as_str().unwrap_or_default().to_owned();
    format!("{}{actions}: {}", text("health"), text("reason"))
}

#[track_caller]
fn expect(found: &BTreeMap<String, Value>, component: &str, line_begins: &str) {
    let state = found.get(component).unwrap_or(&Value::Null);
    assert!(
        line(state).starts_with(line_begins),
        "{component}: {line_begins:?}, but it says {:?}",
        line(state)
    );
}

#[test]
fn a_healthy_machine() {
    let found = scan("product: h100-sxm\n", &[]);
    for (component, reason) in OF_GPUS {
        expect(&found, component, &format!("Healthy: {reason}"));
    }
    expect(
        &found,
        "gpu-counts",
        "Healthy: GPU count thresholds not set, skipping",
    );
}

#[test]
fn without_a_driver_nothing_is_said() {
    let output = gpud()
        .args([
            "scan",
            "--json",
            "--nvml-library",
            "/nonexistent/libnvidia-ml.so.1",
        ])
        .env("KMSG_FILE_PATH", "/dev/null")
        .output()
        .unwrap();
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    for (component, _) in OF_GPUS {
        let name = format!("accelerator-nvidia-{component}");
        let all = found["components"].as_array().unwrap();
        assert!(
            all.iter().all(|found| found["component"] != *name),
            "{name}"
        );
    }
}

#[test]
fn a_gpu_that_is_lost_or_wants_a_reset_is_named_by_every_check() {
    let found = scan(
        "product: h100-sxm\ngpu: {3: {state: lost_after_lookup}}\n",
        &[],
    );
    for (component, _) in OF_GPUS {
        let state = found.get(component).unwrap_or(&Value::Null);
        let line = line(state);
        assert!(
            line.starts_with("Unhealthy REBOOT_SYSTEM: "),
            "{component}: {line}"
        );
        assert!(line.contains("GPU lost"), "{component}: {line}");
    }
    let found = scan(
        "product: h100-sxm\ngpu: {5: {state: needs_reset, recovery_action: 1, uuid: GPU-five}}\n",
        &[],
    );
    for (component, _) in OF_GPUS {
        let state = found.get(component).unwrap_or(&Value::Null);
        let line = line(state);
        assert!(
            line.starts_with("Unhealthy REBOOT_SYSTEM: "),
            "{component}: {line}"
        );
        if component != "recovery-action" {
            assert!(line.contains("GPU requires reset"), "{component}: {line}");
        }
        assert!(
            state.to_string().contains("GPU-five"),
            "{component}: {line}"
        );
    }
}

#[test]
fn each_trouble_shows_in_its_component_and_in_no_other() {
    let found = scan(
        "product: h100-sxm
gpu:
  1: {remapped_rows: {uncorrectable: 1, pending: true}}
  2: {remapped_rows: {failed: true}}
  3: {uuid: GPU-three, recovery_action: 2}
  4: {uuid: GPU-four, nvlink: {link: {5: {active: false}}}}
  5: {uuid: GPU-five, ecc: {sram_threshold_exceeded: true, aggregate_uncorrected: {sram: 7}, sram: {l2: 4, sm: 3}}}
  6: {uuid: GPU-six, temperature: {gpu: 95}, persistence_mode: false}
  7: {uuid: GPU-seven, fabric: {state: 3, status: 999}}
",
        &[
            "--gpu-count=9",
            "--nvlink-expected-link-states={\"at_least_gpus_with_all_links_feature_enabled\":8}",
            "--threshold-celsius-slowdown-margin=10",
        ],
    );
    let troubles = [
        ("ecc", "Unhealthy HARDWARE_INSPECTION: GPU-five "),
        (
            "fabric-manager",
            "Unhealthy: NVIDIA-H100-80GB-HBM3 with unhealthy fabric state: GPU GPU-seven: ",
        ),
        (
            "gpu-counts",
            "Unhealthy: nvidia gpu count mismatch (found 8, expected 9)",
        ),
        (
            "nvlink",
            "Unhealthy REBOOT_SYSTEM: nvlink threshold violated: require >=8 GPUs with all links active; got 7",
        ),
        (
            "persistence-mode",
            "Unhealthy: GPU-six persistence mode supported but not enabled",
        ),
        ("recovery-action", "Unhealthy REBOOT_SYSTEM: GPU GPU-three "),
        ("remapped-rows", "Unhealthy HARDWARE_INSPECTION: "),
        (
            "temperature",
            "Degraded: GPU temperature anomalies detected: GPU-six ",
        ),
    ];
    for (component, line) in troubles {
        expect(&found, component, line);
    }
    for (component, reason) in OF_GPUS {
        if troubles.iter().all(|(name, _)| *name != component) {
            expect(&found, component, &format!("Healthy: {reason}"));
        }
    }
}

/// The document of a component.
fn data(found: &BTreeMap<String, Value>, component: &str) -> Value {
    let state = found.get(component).unwrap_or(&Value::Null);
    let text = state["extra_info"]["data"].as_str().unwrap_or_default();
    serde_json::from_str(text).unwrap_or_else(|_| panic!("{component}: {state}"))
}

#[test]
fn trouble_of_a_gpu_names_its_mig_devices() {
    let found = scan(
        "product: h100-sxm
gpu:
  0:
    uuid: GPU-zero
    temperature: {gpu: 95}
    mig:
      enabled: true
      devices: [{profile: 1g.10gb, gpu_instance: 9, slices: 1, multiprocessors: 14, memory_mib: 9856, uuid: MIG-part}]
  1: {uuid: GPU-one, temperature: {gpu: 95}}
",
        &[],
    );
    let parts = "{\"GPU-zero\":[\"MIG-part\"]}";
    let warm = &found["temperature"];
    assert_eq!(warm["extra_info"]["mig_devices"], parts, "{warm}");
    let well = &found["power"];
    assert_eq!(well["extra_info"]["mig_devices"], Value::Null, "{well}");
    let inventory = data(&found, "inventory");
    assert_eq!(inventory["gpus"][0]["mig_devices"][0]["uuid"], "MIG-part");
}

#[test]
fn what_holds_clocks_back_and_power_smoothing_are_shown() {
    let found = scan(
        "product: b200-sxm
gpu:
  1: {clocks: {violation_ns: 2500000000}, fields: {251: 1, 258: 97, 269: 5, 270: 0, 271: 7}}
",
        &[],
    );
    let clocks = data(&found, "clock-speed");
    let held_back = &clocks["clock_speeds"][1]["held_back_nanoseconds"];
    assert_eq!(held_back["sw_power_cap"], 2_500_000_000_u64, "{clocks}");
    assert_eq!(held_back["sw_thermal_slowdown"], 5, "{clocks}");
    assert_eq!(held_back["hw_power_brake_slowdown"], 7, "{clocks}");
    let powers = data(&found, "power");
    let smoothing = &powers["powers"][1]["power_smoothing"];
    assert_eq!(smoothing["enabled"], true, "{powers}");
    assert_eq!(smoothing["lifetime_remaining_percent"], 97, "{powers}");
    assert_eq!(powers["powers"][0]["power_smoothing"], Value::Null);
}

#[test]
fn what_cannot_be_read_is_neither_healthy_nor_the_hardwares_fault() {
    for (call, component) in [
        ("nvmlDeviceGetPowerUsage", "power"),
        ("nvmlDeviceGetTemperature", "temperature"),
        ("nvmlDeviceGetUtilizationRates", "utilization"),
        ("nvmlDeviceGetRemappedRows", "remapped-rows"),
        ("nvmlDeviceGetPersistenceMode", "persistence-mode"),
        ("nvmlDeviceGetEccMode", "ecc"),
    ] {
        let scenario =
            format!("product: h100-sxm\nfaults: [{{call: {call}, gpu: 2, error: 999}}]\n");
        let only = format!("--components=accelerator-nvidia-{component}");
        let found = scan(&scenario, &[&only]);
        let state = found.get(component).unwrap_or(&Value::Null);
        assert_ne!(state["health"], "Healthy", "{call}: {state}");
        assert_eq!(state["suggested_actions"], Value::Null, "{call}: {state}");
        let error = state["error"].as_str().unwrap_or_default();
        assert!(
            error.contains(call) && error.contains("Unknown Error"),
            "{call}: {state}"
        );
    }
}

#[test]
fn a_board_for_a_slot_is_not_compared_with_a_servers_board() {
    let found = scan(
        "product: rtx-6000-ada\ngpus: 2\nall: {persistence_mode: true}\n",
        &[],
    );
    for (component, state) in &found {
        // These read the kernel's modules and the libraries of this machine.
        if !["peermem", "infiniband"].contains(&component.as_str()) {
            assert_eq!(state["health"], "Healthy", "{component}: {}", line(state));
        }
    }
}

/// Lays another scenario beside an installed library.
pub fn change(folder: &Path, scenario: &str) {
    fs::write(folder.join("new"), scenario).unwrap();
    fs::rename(folder.join("new"), folder.join("nvml-mock.yaml")).unwrap();
}

#[test]
fn a_daemon_follows_its_gpus() {
    let folder = tempfile::tempdir().unwrap();
    let library = install(&built().unwrap(), "product: h100-sxm\n", folder.path()).unwrap();
    let daemon = Start::new()
        .arguments(&["--nvml-library", library.to_str().unwrap()])
        .ready();
    let checked = |component: &str| {
        let (status, body) = daemon.send(
            Method::GET,
            &format!("/v1/components/trigger-check?componentName=accelerator-nvidia-{component}"),
        );
        assert_eq!(status, 200);
        let answer: Value = serde_json::from_slice(&body).unwrap();
        line(&answer[0]["states"][0])
    };
    let becomes = |component: &str, begins: &str| {
        eventually(&format!("{component} says {begins:?}"), || {
            checked(component).starts_with(begins).then_some(())
        });
    };
    becomes("persistence-mode", "Healthy: all 8 GPU(s)");
    let (_, metrics) = daemon.send(Method::GET, "/metrics");
    let metrics = String::from_utf8(metrics).unwrap();
    for name in [
        "accelerator_nvidia_temperature_current_celsius",
        "accelerator_nvidia_power_current_usage_milli_watts",
        "accelerator_nvidia_memory_used_bytes",
        "accelerator_nvidia_nvlink_feature_enabled",
        "accelerator_nvidia_ecc_volatile_total_uncorrected",
    ] {
        let of_gpus = metrics
            .lines()
            .filter(|line| line.starts_with(&format!("{name}{{")));
        assert!(of_gpus.count() >= 8, "{name}");
    }

    change(
        folder.path(),
        "product: h100-sxm\ngpu: {2: {persistence_mode: false}}\n# 1\n",
    );
    becomes(
        "persistence-mode",
        "Unhealthy: GPU-1582a755-bac3-4f01-a002-1582a755bac3 persistence mode supported but not enabled",
    );
    change(folder.path(), "product: h100-sxm\n# repaired\n");
    becomes("persistence-mode", "Healthy: all 8 GPU(s)");
    // One GPU that does not come back holds up no other, and the checks that need it say so.
    change(
        folder.path(),
        "product: h100-sxm\nfaults: [{call: nvmlDeviceGetTemperature, gpu: 4, hang: forever}]\n# another one\n",
    );
    for component in ["temperature", "power"] {
        eventually("a GPU does not answer", || {
            let state = daemon.state(&format!("accelerator-nvidia-{component}"));
            let error = state["error"].as_str().unwrap_or_default().to_owned();
            checked(component);
            (error.contains("GPU 4 (") && !error.contains("GPU 5 (")).then_some(())
        });
    }
    change(folder.path(), "product: h100-sxm\n");
    becomes("temperature", "Healthy: all 8 GPU(s)");
    fs::remove_file(&library).unwrap();
    eventually("the driver is gone", || {
        let found = checked("temperature");
        found.contains("NVML").then_some(())
    });
}

/// What a trigger says was read after the request came, and is the latest state and metric everywhere, also of a component
/// that has a scan of its own.
#[test]
fn a_trigger_reads_the_present() {
    let folder = tempfile::tempdir().unwrap();
    let library = install(&built().unwrap(), "product: h100-sxm\n", folder.path()).unwrap();
    let daemon = Start::new()
        .arguments(&["--nvml-library", library.to_str().unwrap()])
        .ready();
    let trigger = |component: &str| {
        let path = format!("/v1/components/trigger-check?componentName={component}");
        line(&daemon.get(&path)[0]["states"][0])
    };
    let is_down = |series: &str| series.contains("feature_enabled") && series.ends_with(" 0");
    for (scenario, begins, links_down) in [
        ("product: h100-sxm\n", "Healthy: ", 0),
        (
            "product: h100-sxm\ngpu: {2: {state: lost_after_lookup}}\n# lost\n",
            "Unhealthy REBOOT_SYSTEM: ",
            0,
        ),
        ("product: h100-sxm\n# healed\n", "Healthy: ", 0),
        (
            "product: h100-sxm\ngpu: {4: {nvlink: {link: {5: {active: false}}}}}\n# a link down\n",
            "Healthy: ",
            1,
        ),
    ] {
        change(folder.path(), scenario);
        for component in [
            "accelerator-nvidia-nvlink",
            "accelerator-nvidia-temperature",
        ] {
            let answer = trigger(component);
            assert!(answer.starts_with(begins), "{scenario}: {answer}");
            let state = line(&daemon.state(component));
            assert!(state.starts_with(begins), "{scenario}: {state}");
        }
        let (_, metrics) = daemon.send(Method::GET, "/metrics");
        let metrics = String::from_utf8(metrics).unwrap();
        let down = metrics
            .lines()
            .filter(|series| series.starts_with("accelerator_nvidia_nvlink") && is_down(series));
        assert_eq!(down.count(), links_down, "{scenario}");
    }
}

/// Seven errors of on-chip memory that the driver finds too many, beside a Healthy verdict until then.
#[test]
fn uncorrected_errors_are_events_with_gpu_and_place() {
    const COMPONENT: &str = "accelerator-nvidia-ecc";
    let folder = tempfile::tempdir().unwrap();
    let library = install(&built().unwrap(), "product: h100-sxm\n", folder.path()).unwrap();
    let daemon = Start::new()
        .arguments(&["--nvml-library", library.to_str().unwrap()])
        .ready();
    let trigger = || {
        let path = format!("/v1/components/trigger-check?componentName={COMPONENT}");
        line(&daemon.get(&path)[0]["states"][0])
    };
    assert_eq!(
        trigger(),
        "Healthy: all 8 GPU(s) were checked, no ECC issue found"
    );
    assert_eq!(daemon.events(COMPONENT), Vec::<Value>::new());
    for (scenario, verdict, newest) in [
        (
            "product: h100-sxm\ngpu: {2: {ecc: {aggregate_uncorrected: {dram: 1}}}}\n",
            "Healthy: all 8 GPU(s) were checked; GPU-1582a755-bac3-4f01-a002-1582a755bac3 ",
            "DRAM +1",
        ),
        (
            "product: h100-sxm\ngpu: {2: {ecc: {sram_threshold_exceeded: true, aggregate_uncorrected: {dram: 1, sram: 7}, sram: {l2: 7}}}}\n# more\n",
            "Unhealthy HARDWARE_INSPECTION: GPU-1582a755-bac3-4f01-a002-1582a755bac3 ",
            "SRAM +7 (SEC-DED +7; L2 cache +7)",
        ),
    ] {
        change(folder.path(), scenario);
        let found = trigger();
        assert!(found.starts_with(verdict), "{found}");
        assert!(!found.contains("no ECC issue"), "{found}");
        let text = format!("{:?}", daemon.events(COMPONENT));
        assert!(
            text.contains("GPU-1582a755-bac3-4f01-a002-1582a755bac3 (") && text.contains(newest),
            "{text}"
        );
    }
    let text = format!("{:?}", daemon.events(COMPONENT));
    assert!(text.contains("ecc_sram_threshold_exceeded"), "{text}");
    let (_, metrics) = daemon.send(Method::GET, "/metrics");
    let metrics = String::from_utf8(metrics).unwrap();
    let exceeded = metrics.lines().filter(|series| {
        series.starts_with("accelerator_nvidia_ecc_sram_threshold_exceeded{")
            && series.ends_with(" 1")
    });
    assert_eq!(exceeded.count(), 1, "{metrics}");
}

/// The names of dcgm-exporter beside gpud's own: eight samples each, in its units, with its labels.
#[test]
fn metrics_under_the_names_of_dcgm_exporter() {
    let folder = tempfile::tempdir().unwrap();
    let scenario = "product: h100-sxm
gpu: {2: {temperature: {gpu: 61, memory: 58}, power: {usage: 345600}, remapped_rows: {correctable: 3, uncorrectable: 1}}}
";
    let library = install(&built().unwrap(), scenario, folder.path()).unwrap();
    let log = folder.path().join("kmsg");
    fs::write(&log, "").unwrap();
    let start = || {
        Start::new()
            .kernel_log(log.to_str().unwrap())
            .arguments(&["--nvml-library", library.to_str().unwrap()])
    };
    let daemon = start().arguments(&["--metrics-names", "dcgm"]).ready();
    let metrics = || String::from_utf8(daemon.send(Method::GET, "/metrics").1).unwrap();
    let samples = |text: &str, name: &str| -> Vec<String> {
        let begins = format!("{name}{{");
        let lines = text.lines().filter(|line| line.starts_with(&begins));
        lines.map(str::to_owned).collect()
    };
    for name in [
        "DCGM_FI_DEV_SM_CLOCK",
        "DCGM_FI_DEV_MEM_CLOCK",
        "DCGM_FI_DEV_MEMORY_TEMP",
        "DCGM_FI_DEV_GPU_TEMP",
        "DCGM_FI_DEV_POWER_USAGE",
        "DCGM_FI_DEV_GPU_UTIL",
        "DCGM_FI_DEV_MEM_COPY_UTIL",
        "DCGM_FI_DEV_XID_ERRORS",
        "DCGM_FI_DEV_FB_FREE",
        "DCGM_FI_DEV_FB_USED",
        "DCGM_FI_DEV_UNCORRECTABLE_REMAPPED_ROWS",
        "DCGM_FI_DEV_CORRECTABLE_REMAPPED_ROWS",
        "DCGM_FI_DEV_ROW_REMAP_FAILURE",
        "DCGM_FI_PROF_SM_OCCUPANCY",
        "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE",
        "DCGM_FI_PROF_PIPE_FP16_ACTIVE",
    ] {
        eventually(name, || {
            (samples(&metrics(), name).len() == 8).then_some(())
        });
    }
    let text = metrics();
    let hostname = fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
    let labels = format!(
        "{{Hostname=\"{}\",UUID=\"GPU-1582a755-bac3-4f01-a002-1582a755bac3\",device=\"nvidia2\",gpu=\"2\",modelName=\"NVIDIA H100 80GB HBM3\",pci_bus_id=\"00000000:3A:00.0\"}}",
        hostname.trim()
    );
    for (name, value) in [
        ("DCGM_FI_DEV_GPU_TEMP", "61"),
        ("DCGM_FI_DEV_MEMORY_TEMP", "58"),
        ("DCGM_FI_DEV_POWER_USAGE", "345.6"),
        ("DCGM_FI_DEV_CORRECTABLE_REMAPPED_ROWS", "3"),
        ("DCGM_FI_DEV_UNCORRECTABLE_REMAPPED_ROWS", "1"),
    ] {
        let expected = format!("{name}{labels} {value}");
        let found = samples(&text, name);
        assert!(found.contains(&expected), "{expected}\n{found:#?}");
    }
    assert!(text.contains("# TYPE DCGM_FI_DEV_CORRECTABLE_REMAPPED_ROWS counter\n"));
    assert!(text.contains("accelerator_nvidia_temperature_current_celsius{"));
    let none = format!("DCGM_FI_DEV_XID_ERRORS{labels} 0");
    assert!(text.contains(&none), "{none}");
    let line = "3,1,60000000,-;NVRM: Xid (PCI:0000:3a:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.\n";
    fs::write(&log, line).unwrap();
    let lost = format!("DCGM_FI_DEV_XID_ERRORS{labels} 79");
    eventually("the Xid shows", || metrics().contains(&lost).then_some(()));
    drop(daemon);

    let plain = start().ready();
    let (_, text) = plain.send(Method::GET, "/metrics");
    assert!(!String::from_utf8(text).unwrap().contains("DCGM_FI_"));
}
