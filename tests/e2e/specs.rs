//! The specs in `specs/`: what they say on machines that are well and on machines that are not (`tests/specs-tools/`).

mod machine;

use std::{
    fs,
    path::{Path, PathBuf},
};

use serde_json::Value;

use crate::daemon::gpud;
use machine::{PYTHON, bare, healthy, repository, run, unhealthy};

#[test]
fn nvidia_throttle() {
    let spec = |tools| run("nvidia-throttle", tools).edit("pause=1 ", "pause=0 ");
    let bad = |status| unhealthy("nvidia-throttle").says("status", status);
    spec("nvidia-healthy").gives(&[healthy("nvidia-throttle").says("detail", "2 GPUs")]);
    spec("nvidia-old-driver").gives(&[healthy("nvidia-throttle").says("detail", "1 GPUs")]);
    spec("nvidia-spike").gives(&[healthy("nvidia-throttle")]);
    spec("nvidia-spike")
        .edit("samples=3", "samples=1")
        .gives(&[bad("throttled").suggests("HARDWARE_INSPECTION", "hw-thermal-slowdown")]);
    spec("nvidia-throttled").gives(&[bad("throttled").suggests(
        "HARDWARE_INSPECTION",
        "GPU 1 GPU-c3a7d2e9-77b4-4f0a-8a34-6d1f4e5b9a22: hw-slowdown hw-thermal-slowdown",
    )]);
    spec("nvidia-unreadable").gives(&[bad("unreadable").says("detail", "[N/A]")]);
    spec("nvidia-reset").gives(&[bad("gpu-lost").suggests("REBOOT_SYSTEM", "GPU requires reset")]);
    spec("nvidia-lost").gives(&[bad("gpu-lost").suggests("REBOOT_SYSTEM", "GPU is lost")]);
    let lost = "Unable to determine the device handle for GPU1: 0000:34:00.0";
    spec("nvidia-no-handle").gives(&[bad("gpu-lost").suggests("REBOOT_SYSTEM", lost)]);
    spec("nvidia-only-without-handle").gives(&[
        bad("gpu-lost").suggests("REBOOT_SYSTEM", "device handle for GPU0: 0000:01:00.0")
    ]);
    spec("nvidia-inforom").gives(&[bad("unreadable").says("detail", "infoROM is corrupted")]);
    spec("nvidia-no-device").gives(&[bad("no-device")]);
    spec("nvidia-no-driver").gives(&[bad("failed").says("detail", "ended with 9: NVIDIA-SMI")]);
    spec("nvidia-hangs")
        .edit("limit=15", "limit=1")
        .gives(&[bad("no-answer").says("detail", "within 1 s")]);
}

#[test]
fn dcgmi_health() {
    let bad = |status| unhealthy("dcgmi-health").says("status", status);
    // The kernel's list with the host engine of root. Another service, a connection of a user and another port do not count.
    let roots = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n   \
                 0: 0100007F:15B3 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 4711 1\n   \
                 1: 0100007F:0016 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1001        0 4712 1\n   \
                 2: 0100007F:15B3 0100007F:9C40 01 00000000:00000000 00:00000000 00000000  1001        0 4713 1\n";
    let run = |spec, tools| run(spec, tools).files("/proc/net", &[("tcp", roots)]);
    run("dcgmi-health", "dcgmi-healthy").gives(&[healthy("dcgmi-health").says("status", "ok")]);
    run("dcgmi-health", "dcgmi-warning")
        .gives(&[bad("warning").says("detail", "replays per minute for GPU 0: 13")]);
    run("dcgmi-health", "dcgmi-warning")
        .edit("'^ok$'", "'^(ok|warning)$'")
        .gives(&[healthy("dcgmi-health").says("status", "warning")]);
    run("dcgmi-health", "dcgmi-power").gives(&[bad("warning")
        .says("detail", "GPU 0")
        .says("detail", "power violation")]);
    run("dcgmi-health", "dcgmi-failure").gives(&[bad("failure").suggests(
        "HARDWARE_INSPECTION",
        "A DBE (\"double bit error\") was detected on GPU 3 in volatile memory.",
    )]);
    run("dcgmi-health", "dcgmi-watches-off")
        .gives(&[bad("watches-off").says("detail", "dcgmi health -g 0 -s a")]);
    run("dcgmi-health", "dcgmi-no-engine")
        .gives(&[bad("failed").says("detail", "Unable to connect to host engine")]);
}

/// A user who listens on the port of a host engine that is down says that all is well.
#[test]
fn dcgmi_health_believes_no_user() {
    let bad = |status| unhealthy("dcgmi-health").says("status", status);
    let listens = |user: u32| {
        format!(
            "   0: 0100007F:15B3 00000000:0000 0A 00000000:00000000 00:00000000 00000000 {user:5}        0 4711 1\n"
        )
    };
    let healthy =
        |files: &[(&str, &str)]| run("dcgmi-health", "dcgmi-healthy").files("/proc/net", files);
    let (root, user) = (listens(0), listens(1001));
    healthy(&[("tcp", &user)])
        .gives(&[bad("foreign-engine").says("detail", "user 1001 listens on port 5555")]);
    // Beside the host engine, for another address.
    healthy(&[("tcp", &root), ("tcp6", &user)]).gives(&[bad("foreign-engine")]);
    healthy(&[("tcp", "")]).gives(&[bad("no-engine")]);
    healthy(&[]).gives(&[bad("no-engine")]);
}

#[test]
fn ibstat() {
    let bad = |status| unhealthy("ibstat").says("status", status);
    run("ibstat", "ibstat-healthy").gives(&[healthy("ibstat").says("detail", "3 of 3 ports")]);
    run("ibstat", "ibstat-healthy")
        .edit("layer=''", "layer=InfiniBand")
        .edit("min_rate=0", "min_rate=400")
        .gives(&[healthy("ibstat").says("detail", "2 of 2 ports")]);
    run("ibstat", "ibstat-down").gives(&[healthy("ibstat").says("detail", "2 of 4 ports")]);
    run("ibstat", "ibstat-down")
        .edit("ports_up=1", "ports_up=4")
        .edit("min_rate=0", "min_rate=400")
        .gives(&[bad("ports-down")
            .says("detail", "1 of 4 ports are up, 4 must be")
            .says("detail", "mlx5_1/1: Initializing, LinkUp, 400 Gb/s")
            .says("detail", "mlx5_3/1: Active, LinkUp, 100 Gb/s")
            .suggests("HARDWARE_INSPECTION", "mlx5_2/1: Down, Polling")]);
    run("ibstat", "ibstat-two-down").gives(&[bad("ports-down")
        .says("detail", "mlx4_0/1: Down, Polling, 10 Gb/s, InfiniBand")
        .suggests(
            "HARDWARE_INSPECTION",
            "mlx4_0/2: Down, Disabled, 40 Gb/s, Ethernet",
        )]);
    run("ibstat", "ibstat-no-device")
        .gives(&[bad("no-device").suggests("HARDWARE_INSPECTION", "0 of 0 ports")]);
}

#[test]
fn ipmitool_sensors() {
    let spec = |tools| run("ipmitool-sensors", tools);
    let bad = |status| unhealthy("ipmitool-sensors").says("status", status);
    spec("ipmitool-healthy").gives(&[healthy("ipmitool-sensors").says("detail", "6 sensors")]);
    spec("ipmitool-healthy")
        .edit("bad=' cr nr '", "bad=' nc cr nr '")
        .gives(&[bad("critical").suggests("HARDWARE_INSPECTION", "PSU1 Input: 232 Volts (nc)")]);
    spec("ipmitool-critical").gives(&[bad("critical").suggests(
        "HARDWARE_INSPECTION",
        "Fan1: 0 RPM (nr); Exhaust Temp: 79 degrees C (cr)",
    )]);
    spec("ipmitool-critical")
        .edit("ignore=' '", "ignore='|Fan1|Exhaust Temp|'")
        .gives(&[healthy("ipmitool-sensors")]);
    spec("ipmitool-two-fans").gives(&[bad("critical").suggests(
        "HARDWARE_INSPECTION",
        "Fan3B: 0 RPM (cr); Fan4B: 0 RPM (cr)",
    )]);
    spec("ipmitool-bar")
        .gives(&[bad("critical").suggests("HARDWARE_INSPECTION", "P1|Fan 2: 0 RPM (cr)")]);
    spec("ipmitool-ilo2").gives(&[healthy("ipmitool-sensors").says("detail", "3 sensors")]);
    spec("ipmitool-no-device").gives(&[bad("no-device")]);
}

#[test]
fn smart_nvme_health() {
    let spec = |tools| run("smart-nvme-health", tools);
    let smart = |status| unhealthy("smart-health").says("status", status);
    let nvme = |status| unhealthy("nvme-health").says("status", status);
    spec("storage-healthy").gives(&[
        healthy("smart-health").says("detail", "3 disks"),
        healthy("nvme-health").says("detail", "2 disks"),
    ]);
    spec("storage-text-healthy").gives(&[
        healthy("smart-health").says("detail", "2 disks"),
        healthy("nvme-health").says("detail", "1 disks"),
    ]);
    spec("storage-text-failing").gives(&[
        smart("failing").suggests(
            "HARDWARE_INSPECTION",
            "/dev/sda: DATA CHANNEL IMPENDING FAILURE DATA ERROR RATE TOO HIGH [asc=5d, ascq=32]; /dev/bus/0",
        ),
        nvme("failing").suggests("HARDWARE_INSPECTION", "/dev/nvme0n1: critical warning 4, spare 100%"),
    ]);
    spec("storage-failing").gives(&[
        smart("failing")
            .says("detail", "/dev/sda: no verdict, exit status 2")
            .says("inspect", "/dev/sdc: HARDWARE IMPENDING FAILURE")
            .suggests("HARDWARE_INSPECTION", "/dev/sdb: FAILED!"),
        nvme("failing")
            .says("detail", "/dev/nvme1n1: 108%")
            .says("detail", "/dev/nvme2n1: no SMART log")
            .suggests(
                "HARDWARE_INSPECTION",
                "/dev/nvme0n1: critical warning 1, spare 4%",
            ),
    ]);
    spec("storage-worn").gives(&[
        smart("unreadable").says("detail", "/dev/sda"),
        nvme("worn").suggests("HARDWARE_INSPECTION", "/dev/nvme0n1: 108%"),
    ]);
    spec("storage-empty").gives(&[smart("no-device"), nvme("no-device")]);
}

#[test]
fn filesystem_write_probe() {
    let folder = tempfile::tempdir().unwrap();
    // A folder whose name is shell syntax stays a name.
    let odd = folder.path().join("it's $(touch here); \"`x` & more");
    fs::create_dir(&odd).unwrap();
    let spec = || {
        bare("filesystem-write-probe").edit(
            "- write-probe-tmp:/tmp\n    - write-probe-var:/var/tmp\n",
            &format!("- |-\n      probe:{}\n", odd.display()),
        )
    };
    spec().gives(&[healthy("probe").says("detail", "65536 bytes")]);
    spec().on("read-only").gives(&[unhealthy("probe")
        .says("status", "failed")
        .suggests("HARDWARE_INSPECTION", "Read-only file system")]);
    spec().on("full").gives(&[unhealthy("probe")
        .says("status", "failed")
        .says("detail", "No space left on device")]);
    spec().on("bit-rot").gives(&[unhealthy("probe")
        .says("status", "corrupt")
        .suggests("HARDWARE_INSPECTION", "not what was written")]);
    let victim = odd.join("victim");
    fs::write(&victim, "important").unwrap();
    spec().on("link-in-place").gives(&[unhealthy("probe")
        .says("status", "failed")
        .says("detail", "File exists")]);
    assert_eq!(fs::read_to_string(&victim).unwrap(), "important");
    fs::remove_file(&victim).unwrap();
    assert_eq!(fs::read_dir(&odd).unwrap().count(), 0, "nothing stays");
    fs::remove_dir(&odd).unwrap();
    spec().gives(&[unhealthy("probe").says("status", "no-folder")]);
    bare("filesystem-write-probe").gives(&[healthy("write-probe-tmp"), healthy("write-probe-var")]);
}

#[test]
fn ntp_drift() {
    let spec = |tools| run("ntp-drift", tools);
    let bad = |status| unhealthy("ntp-drift").says("status", status);
    spec("chrony-synchronised").gives(&[healthy("ntp-drift").says("offset_ms", "-0.412")]);
    spec("chrony-synchronised")
        .edit("max_offset_ms=100 ", "max_offset_ms=0.4 ")
        .gives(&[bad("drift")]);
    // Text keeps the digits that a number would lose to an exponent.
    spec("chrony-drift").gives(&[bad("drift").says("offset_ms", "-1234567.890")]);
    spec("chrony-unsynchronised").gives(&[bad("unsynchronised")]);
    spec("chrony-stale").gives(&[bad("unsynchronised").says("detail", "not measured for 120 h")]);
    spec("chrony-stale")
        .edit("max_age_h=6 ", "max_age_h=240 ")
        .gives(&[healthy("ntp-drift")]);
    spec("chrony-dispersed").gives(&[bad("unsynchronised").says("detail", "dispersion 16.5")]);
    spec("chrony-down").gives(&[healthy("ntp-drift").says("detail", "offset unknown")]);
    spec("chrony-warning").gives(&[healthy("ntp-drift").says("offset_ms", "-0.412")]);
    spec("timedatectl-old").gives(&[healthy("ntp-drift").says("detail", "systemd: synchronised")]);
    spec("timedatectl-unsynchronised").gives(&[bad("unsynchronised")]);
}

#[test]
fn systemd_unit() {
    let containerd = |status| unhealthy("unit-containerd").says("status", status);
    let kubelet = |status| unhealthy("unit-kubelet").says("status", status);
    run("systemd-unit", "systemd-running").gives(&[
        healthy("unit-containerd").says("detail", "containerd.service: active (running)"),
        healthy("unit-kubelet").says("detail", "kubelet.service: active (running)"),
    ]);
    run("systemd-unit", "systemd-broken").gives(&[
        containerd("inactive").says(
            "detail",
            "activating (auto-restart), last result exit-code, 1317",
        ),
        kubelet("not-found"),
    ]);
    run("systemd-unit", "systemd-absent").gives(&[
        containerd("failed").says("detail", "Host is down"),
        kubelet("failed"),
    ]);
}

#[test]
fn process_count() {
    run("process-count", "processes-running").gives(&[
        healthy("process-kubelet").says("detail", "1 running"),
        healthy("process-sshd").says("detail", "2 running"),
    ]);
    run("process-count", "processes-wrong").gives(&[
        unhealthy("process-kubelet")
            .says("status", "too-many")
            .suggests(
                "CHECK_USER_APP_AND_GPU",
                "2 running, 1 of them stuck in the kernel, 1 zombies",
            ),
        unhealthy("process-sshd").says("status", "too-few"),
    ]);
}

#[test]
fn python_uv() {
    let bad = |status| unhealthy("python-uv").says("status", status);
    run("python-uv", "uv-no-python").gives(&[bad("failed").says("detail", "No interpreter found")]);
    if PYTHON.is_none() {
        eprintln!("left out: no python3 on this machine");
        return;
    }
    run("python-uv", "uv-full").gives(&[healthy("python-uv").says("detail", "2 GPUs")]);
    run("python-uv", "uv-narrow")
        .gives(&[bad("narrow").suggests("HARDWARE_INSPECTION", "0000:65:00.0: x4 instead of x16")]);
    run("python-uv", "uv-none").gives(&[bad("no-device")]);
}

#[test]
fn lists_tags_and_exit_codes() {
    bare("tag-group").gives(&[
        healthy("echo-1").says("said", "one"),
        healthy("echo-2").says("said", "two"),
        healthy("echo-3").says("said", "three"),
    ]);
    bare("component-list")
        .edit(
            "mounted-sys#auto[kernel, mounts]:/sys ",
            "mounted-sys#auto[kernel]:/no such folder ",
        )
        .gives(&[
            healthy("mounted-root").says("detail", "/: "),
            healthy("mounted-proc").says("detail", "/proc: proc"),
            unhealthy("mounted-sys").says("status", "not-mounted"),
            healthy("mounted-dev"),
        ]);
    bare("component-list-file").gives(&[healthy("device-null"), healthy("device-zero")]);
    let list = bare("component-list-file");
    list.edit_file("component-list.txt", "/dev/null", "/dev");
    list.edit_file("component-list.txt", "/dev/zero", "/dev/no such device");
    list.gives(&[
        unhealthy("device-null").says("status", "not-a-device"),
        unhealthy("device-zero").says("status", "missing"),
    ]);
    bare("init-and-exit-codes").gives(&[
        healthy("init-check"),
        healthy("exit-0"),
        unhealthy("manual-exit-1")
            .because("error executing state plugin (exit code: 1)")
            .says("status", "failed")
            .suggests("REBOOT_SYSTEM", "the driver is stuck, reboot needed"),
    ]);
}

#[test]
fn a_missing_program_is_reported_as_missing() {
    for (spec, components) in [
        ("nvidia-throttle", &["nvidia-throttle"][..]),
        ("dcgmi-health", &["dcgmi-health"]),
        ("ibstat", &["ibstat"]),
        ("ipmitool-sensors", &["ipmitool-sensors"]),
        ("smart-nvme-health", &["smart-health", "nvme-health"]),
        ("ntp-drift", &["ntp-drift"]),
        ("systemd-unit", &["unit-containerd", "unit-kubelet"]),
        ("process-count", &["process-kubelet", "process-sshd"]),
        ("python-uv", &["python-uv"]),
    ] {
        let expected: Vec<_> = components
            .iter()
            .map(|&name| {
                unhealthy(name)
                    .says("status", "not-installed")
                    .says("detail", "in PATH")
            })
            .collect();
        bare(spec).gives(&expected);
    }
}

fn spec_files() -> Vec<PathBuf> {
    let mut files: Vec<_> = fs::read_dir(repository("specs"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|e| e == "yaml"))
        .collect();
    files.sort();
    files
}

/// The number of components of a spec file without a problem.
fn valid(file: &Path) -> usize {
    let output = gpud()
        .args(["cs", "--json"])
        .arg(file)
        .current_dir(repository("specs"))
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{}: {text}", file.display());
    let document: Value = serde_json::from_str(&text).unwrap();
    let problems = document["problems"].as_array().map_or(0, Vec::len);
    assert_eq!(problems, 0, "{}: {document:#}", file.display());
    document["plugins"].as_array().unwrap().len()
}

#[test]
fn specs_are_valid_alone_and_together() {
    let files = spec_files();
    assert!(!files.is_empty());
    let alone: usize = files.iter().map(|file| valid(file)).sum();
    let folder = tempfile::tempdir().unwrap();
    let together = folder.path().join("all.yaml");
    let texts: Vec<_> = files
        .iter()
        .map(|f| fs::read_to_string(f).unwrap())
        .collect();
    fs::write(&together, texts.concat()).unwrap();
    assert_eq!(valid(&together), alone);
}

#[test]
fn specs_are_documented() {
    let readme = fs::read_to_string(repository("specs/README.md")).unwrap();
    for file in spec_files() {
        let name = file.file_name().unwrap().to_string_lossy().into_owned();
        assert!(readme.contains(&format!("({name})")), "{name} in README.md");
        let text = fs::read_to_string(&file).unwrap();
        for heading in ["# Watches:", "# Needs:", "# Says:", "# Do:"] {
            assert!(text.contains(heading), "{name} has no {heading:?}");
        }
    }
}
