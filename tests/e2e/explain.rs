//! What a kernel line or a saved log means, without the machine it came from.

use std::process::Output;

use serde_json::Value;

use crate::daemon::gpud;

const LOG: &str = "\
[    0.000000] Linux version 6.8.0-45-generic (buildd@lcy02) (gcc 13.2.0) #45-Ubuntu SMP
[   12.345678] NVRM: loading NVIDIA UNIX x86_64 Kernel Module  570.133.20
[ 3600.000001] NVRM: Xid (PCI:0000:3b:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.
[ 3600.000002] NVRM: Xid (PCI:0000:3b:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.
[ 3700.500000] INFO: task nvidia-smi:1234 blocked for more than 120 seconds.
this is no line of a log
";

fn run(arguments: &[&str]) -> Output {
    gpud().args(arguments).output().unwrap()
}

fn text(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

#[test]
fn a_code_and_a_pasted_line_are_explained() {
    let line = "[ 3600.000001] NVRM: Xid (PCI:0000:3b:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.";
    for (arguments, device) in [
        (vec!["explain", line], "PCI:0000:3b:00"),
        (vec!["explain", &line[15..]], "PCI:0000:3b:00"),
    ] {
        let output = run(&arguments);
        let text = text(&output);
        assert!(output.status.success(), "{text}");
        for part in [
            "accelerator-nvidia-error-xid",
            "XID 79",
            device,
            "REBOOT_SYSTEM",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
    }
    let lost = text(&run(&[
        "explain",
        "nvme nvme2: Removing after probe failure status: -19",
    ]));
    for part in [
        "block-io",
        "nvme_removed",
        "means: The kernel gave an NVMe controller up; its disks are gone.",
        "to do: REBOOT_SYSTEM (",
    ] {
        assert!(lost.contains(part), "{part}: {lost}");
    }
    for nothing in [
        &["explain", "xid", "many"][..],
        &["explain"],
        &["explain", "usb 1-1: new high-speed USB device"],
        &["explain", "--file", "/nowhere"],
    ] {
        assert_eq!(run(nothing).status.code(), Some(1), "{nothing:?}");
    }
}

/// As people paste them: one line of several that the kernel writes.
#[test]
fn a_line_alone_is_explained_or_wants_those_around_it() {
    for (line, component, event) in [
        (
            "Kernel panic - not syncing: Fatal exception",
            "os",
            "kernel_panic",
        ),
        (
            "Out of memory: Killed process 123 (a) total-vm:1234kB, anon-rss:12kB",
            "memory",
            "victim process: a, pid: 123",
        ),
        (
            "oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),cpuset=/,mems_allowed=0,global_oom,task_memcg=/,task=a,pid=9,uid=0",
            "memory",
            "victim process: a, pid: 9",
        ),
        (
            "nouveau 0000:01:00.0: bus: MMIO read of 00000000 FAULT at 6013d4 [ PRIVRING ]",
            "device-loss",
            "nouveau_fault",
        ),
        (
            "XFS (nvme0n1p1): Filesystem has been shut down due to log error (0x2).",
            "block-io",
            "filesystem_shut_down",
        ),
        (
            "BUG: unable to handle page fault for address: ffffffffc0a1b2c3",
            "kernel-stalls",
            "kernel_oops",
        ),
        (
            "NETDEV WATCHDOG: eth0 (mlx5_core): transmit queue 3 timed out",
            "device-loss",
            "netdev_tx_timeout",
        ),
    ] {
        let output = run(&["explain", line]);
        let text = text(&output);
        assert!(output.status.success(), "{line}: {text}");
        for part in [component, event, "means: "] {
            assert!(text.contains(part), "{line}: {part}: {text}");
        }
    }
    for line in [
        "pcieport 0000:00:01.0: AER: Corrected error received: 0000:01:00.0",
        "python3 invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=0",
    ] {
        let output = run(&["explain", line]);
        assert_eq!(output.status.code(), Some(1), "{line}");
        assert!(text(&output).contains("together with those around them"));
    }
}

#[test]
fn a_saved_log_is_judged() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("dmesg.txt");
    std::fs::write(&file, LOG).unwrap();
    let file = file.to_str().unwrap();
    let shown = text(&run(&["explain", "--file", file]));
    for part in [
        "5 messages",
        "1 lines not understood",
        "XID 79",
        "2 times",
        "cpu",
        "REBOOT_SYSTEM",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    let output = run(&[
        "scan",
        "--kmsg-file",
        file,
        "--json",
        "--fail-on",
        "unhealthy",
    ]);
    assert_eq!(output.status.code(), Some(1));
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(found["messages"], 5);
    assert_eq!(found["unparsable"], 1);
    let xid = &found["components"][0];
    assert_eq!(xid["component"], "accelerator-nvidia-error-xid");
    assert_eq!(xid["states"][0]["health"], "Unhealthy");
    assert_eq!(xid["events"][0]["count"], 2);
    let only = run(&["scan", "--kmsg-file", file, "--components", "cpu", "--json"]);
    let found: Value = serde_json::from_slice(&only.stdout).unwrap();
    let names: Vec<_> = found["components"]
        .as_array()
        .unwrap()
        .iter()
        .map(|c| &c["component"])
        .collect();
    assert_eq!(names, ["cpu"]);
}

/// What stands below the first line.
fn below_the_title(text: &str) -> Vec<&str> {
    text.lines().skip(1).collect()
}

#[test]
fn both_views_of_a_code_are_shown() {
    let shown = text(&run(&["explain", "xid", "79"]));
    assert!(shown.starts_with("Xid 79: "), "{shown}");
    assert!(shown.contains("GPU has fallen off the bus\n"), "{shown}");
    assert_eq!(
        below_the_title(&shown),
        [
            "    severity: Fatal",
            "    likely causes: hardware, driver, corrupted system memory, the bus, heat",
            "    to do: REBOOT_SYSTEM",
            "    GPUd's view: Fatal, REBOOT_SYSTEM",
            "    NVIDIA's view: RESTART_BM, restart the host (Fatal, REBOOT_SYSTEM)",
            "    NVIDIA's next step: CONTACT_SUPPORT",
            "    reference: https://docs.nvidia.com/deploy/xid-errors/",
            "    component: accelerator-nvidia-error-xid",
        ],
        "{shown}"
    );
    let shown = text(&run(&["explain", "xid", "94"]));
    assert_eq!(
        below_the_title(&shown),
        [
            "    severity: Fatal",
            "    likely causes: hardware, driver, corrupted GPU memory",
            "    to do: REBOOT_SYSTEM",
            "    GPUd's view: Fatal, REBOOT_SYSTEM",
            "    NVIDIA's view: RESTART_APP, restart the application (Warning, CHECK_USER_APP_AND_GPU)",
            "    NVIDIA's next step: IGNORE (follows another)",
            "    the two views differ; gpud is used (--xid-catalog)",
            "    reference: https://docs.nvidia.com/deploy/xid-errors/",
            "    component: accelerator-nvidia-error-xid",
        ],
        "{shown}"
    );
    let switch = text(&run(&["explain", "sxid", "20012"]));
    for part in [
        "SXid 20012: ",
        "likely causes: an NVSwitch",
        "CHECK_MECHANICALS",
        "the two views differ",
        "fabric-manager-user-guide",
    ] {
        assert!(switch.contains(part), "{part}: {switch}");
    }
    // Where the default follows NVIDIA, GPUd's own view stands beside it.
    let shown = text(&run(&["explain", "xid", "109"]));
    for part in [
        "    severity: Fatal\n",
        "    GPUd's view: Warning, no action\n",
        "    default here: Fatal, REBOOT_SYSTEM\n",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    // NVLink errors, with their sub-codes and without.
    for (code, first, action) in [
        (
            "149.4",
            "Xid 149.4: NVLINK_NETIR_ERROR NETIR link event",
            "HARDWARE_INSPECTION",
        ),
        ("144", "Xid 144: NVLINK_SAW_ERROR NVLINK: SAW Error", ""),
    ] {
        let shown = text(&run(&["explain", "xid", code]));
        assert!(shown.starts_with(first), "{shown}");
        assert!(shown.contains(&format!("to do: {action}")), "{shown}");
    }
    assert_eq!(run(&["explain", "xid", "79.1"]).status.code(), Some(1));
    // No GPU, no process and no time is made up.
    for code in ["69", "74", "79"] {
        let arguments = ["explain", "xid", code, "--json"];
        let found: Value = serde_json::from_slice(&run(&arguments).stdout).unwrap();
        let shown = text(&run(&arguments[..3])) + &found.to_string();
        for part in ["0000:04:00", "python3", "2477", "\"time\""] {
            assert!(!shown.contains(part), "{part}: {shown}");
        }
        assert_eq!(found["code"]["number"].to_string(), code);
    }
    for code in ["9999", "500", "177"] {
        let output = run(&["explain", "xid", code]);
        assert_eq!(output.status.code(), Some(1), "{code}");
        let problem = String::from_utf8(output.stderr).unwrap();
        assert!(
            problem.contains(&format!("unknown code: Xid {code} is in no catalogue")),
            "{problem}"
        );
        let json = run(&["explain", "xid", code, "--json"]);
        assert_eq!(json.status.code(), Some(1));
        let failure: Value = serde_json::from_slice(&json.stdout).unwrap();
        assert_eq!(failure["error"]["code"], "failed_to_explain");
    }
}

/// The state of the first component of a JSON document.
fn judged(arguments: &[&str]) -> Value {
    let output = run(arguments);
    let found: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&output.stderr)));
    found["components"][0].clone()
}

#[test]
fn the_catalogue_is_chosen_by_flag_and_by_file() {
    let folder = tempfile::tempdir().unwrap();
    let site = folder.path().join("components.yaml");
    std::fs::write(
        &site,
        "accelerator-nvidia-error-xid: {xid_catalog: nvidia}\n",
    )
    .unwrap();
    let log = folder.path().join("dmesg.txt");
    std::fs::write(
        &log,
        "[ 3600.000001] NVRM: Xid (PCI:0000:3b:00): 94, pid=7, name=python3, Contained: SM (0x1)\n",
    )
    .unwrap();
    let (site, log) = (site.to_str().unwrap(), log.to_str().unwrap());
    for (more, health, action) in [
        (&[][..], "Unhealthy", "REBOOT_SYSTEM"),
        (&["--xid-catalog", "gpud"], "Unhealthy", "REBOOT_SYSTEM"),
        (
            &["--xid-catalog", "nvidia"],
            "Healthy",
            "CHECK_USER_APP_AND_GPU",
        ),
        (
            &["--component-configs-file", site],
            "Healthy",
            "CHECK_USER_APP_AND_GPU",
        ),
    ] {
        for command in [
            &["explain", "--file", log, "--json"][..],
            &["scan", "--kmsg-file", log, "--json"],
        ] {
            let component = judged(&[command, more].concat());
            let state = &component["states"][0];
            assert_eq!(state["health"], health, "{more:?} {state}");
            assert_eq!(
                state["suggested_actions"]["repair_actions"][0], action,
                "{more:?} {state}"
            );
            assert_eq!(state["extra_info"]["vendor_action"], "RESTART_APP");
            assert_eq!(component["events"][0]["extra_info"]["pid"], "7");
        }
    }
    let wrong = run(&["explain", "xid", "94", "--xid-catalog", "amd"]);
    assert_ne!(wrong.status.code(), Some(0));
}

#[test]
fn a_row_remapping_depends_on_the_product() {
    let shown = text(&run(&["explain", "xid", "63"]));
    assert!(shown.contains("--product"), "{shown}");
    for (product, health) in [
        ("NVIDIA H100 80GB HBM3", "Healthy"),
        ("Tesla V100-SXM2-16GB", "Unhealthy"),
    ] {
        let component = judged(&["explain", "xid", "63", "--json", "--product", product]);
        assert_eq!(component["states"][0]["health"], health, "{component}");
    }
}

#[test]
fn product_and_slot_are_taken_from_lines_of_the_boot() {
    let folder = tempfile::tempdir().unwrap();
    let log = |chip: &str| {
        let file = folder.path().join(chip);
        let text = format!(
            "[    1.000000] pci 0000:3a:00.0: PCI bridge to [bus 3b]\n\
             [    1.100000] pci 0000:3b:00.0: [10de:{chip}] type 00 class 0x030200 PCIe Endpoint\n\
             [    2.000000] pcieport 0000:3a:00.0: pciehp: Slot #5 AttnBtn- PwrCtrl- MRL- AttnInd-\n\
             [    9.000000] NVRM: GPU at PCI:0000:3b:00: GPU-11111111-2222-3333-4444-555555555555\n\
             [ 3600.000000] NVRM: Xid (PCI:0000:3b:00): 63, pid='<unknown>', name=<unknown>, unknown\n"
        );
        std::fs::write(&file, text).unwrap();
        file.to_str().unwrap().to_owned()
    };
    // H100 and V100.
    for (chip, health, words) in [
        ("2330", "Healthy", "takes effect with the next reset"),
        ("1db6", "Unhealthy", "does not remap rows"),
    ] {
        let component = judged(&["scan", "--json", "--kmsg-file", &log(chip)]);
        assert_eq!(component["states"][0]["health"], health, "{component}");
        let facts = &component["events"][0]["extra_info"];
        assert_eq!(
            facts["gpu"],
            "0000:3b:00.0, GPU-11111111-2222-3333-4444-555555555555, slot 5"
        );
        assert!(facts["note"].as_str().unwrap().contains(words), "{facts}");
    }
}

/// What the log tells is news of another machine.
#[test]
fn nothing_of_a_saved_log_goes_to_the_own_log() {
    let folder = tempfile::tempdir().unwrap();
    let lines = [xid(1, 0x3b, 79)];
    let file = long_log(folder.path(), lines.into_iter());
    let output = run(&["scan", "--kmsg-file", &file]);
    let logged = String::from_utf8_lossy(&output.stderr);
    assert!(!logged.contains("XID 79"), "{logged}");
}

const HOSTS: &str = "\
Nov 20 08:00:01 n1 kernel: NVRM: Xid (PCI:0000:3b:00): 31, pid=100, name=python3, Ch 00000008, intr 00000000. MMU Fault
Nov 20 08:00:05 n2 kernel: NVRM: Xid (PCI:0000:3b:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.
Nov 20 08:05:05 n1 kernel: Linux version 6.8.0-40-generic (buildd@x) (x86_64-linux-gnu-gcc-13) #40-Ubuntu SMP
Nov 20 08:06:05 n1 kernel: usb 1-1: new high-speed USB device
";

#[test]
fn a_boot_of_one_host_clears_nothing_of_another() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("cluster.log");
    std::fs::write(&file, HOSTS).unwrap();
    let file = file.to_str().unwrap();
    let output = run(&[
        "scan",
        "--kmsg-file",
        file,
        "--json",
        "--fail-on",
        "unhealthy",
    ]);
    assert_eq!(output.status.code(), Some(1));
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(found["hosts"][0]["boots"], 2);
    assert_eq!(found["hosts"][1]["host"], "n2");
    let xid: Vec<_> = found["components"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|component| component["component"] == "accelerator-nvidia-error-xid")
        .map(|component| (&component["host"], &component["states"][0]["health"]))
        .collect();
    assert_eq!(xid.len(), 2, "{found}");
    assert_eq!(
        (xid[1].0.as_str(), xid[1].1.as_str()),
        (Some("n2"), Some("Unhealthy"))
    );
    assert_ne!(xid[0].1.as_str(), Some("Unhealthy"));
    let shown = text(&run(&["explain", "--file", file]));
    for part in ["lines of 2 hosts", "host n2: ", "XID 79"] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
}

#[test]
fn a_prefix_of_any_kind_hides_no_fault() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("odd.log");
    let log = "\
kwi 15 07:56:59 gpu-d kernel: nvme nvme2: Removing after probe failure status: -19
> Jun 17 20:18:08 gpu-d kernel: XFS (dm-4): I/O Error Detected. Shutting down filesystem
nothing that can be read
";
    let mut packed = gzip(log);
    std::fs::write(&file, &packed).unwrap();
    for _ in 0..2 {
        let shown = text(&run(&["explain", "--file", file.to_str().unwrap()]));
        for part in [
            "2 messages",
            "nvme_removed",
            "filesystem_shut_down",
            "1 lines not understood, the first is line 3: nothing that can be read",
        ] {
            assert!(shown.contains(part), "{part}: {shown}");
        }
        packed = log.as_bytes().to_vec();
        std::fs::write(&file, &packed).unwrap();
    }
    let output = run(&["scan", "--kmsg-file", file.to_str().unwrap(), "--json"]);
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(found["first_unparsable"]["line"], 3);
}

/// Compressed with gzip.
fn gzip(text: &str) -> Vec<u8> {
    use std::io::Write as _;
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(text.as_bytes()).unwrap();
    packed.finish().unwrap()
}
/// A saved log of so many lines, ten milliseconds apart.
fn long_log(folder: &std::path::Path, lines: impl Iterator<Item = String>) -> String {
    let file = folder.join("long.log");
    let mut text = String::new();
    for (number, line) in lines.enumerate() {
        let (seconds, hundredths) = (number / 100, number % 100);
        text.push_str(&format!("[{seconds:>5}.{hundredths:02}0000] {line}\n"));
    }
    std::fs::write(&file, text).unwrap();
    file.to_str().unwrap().to_owned()
}

fn xid(n: u64, bus: u64, code: u32) -> String {
    format!(
        "NVRM: Xid (PCI:0000:{bus:02x}:00): {code}, pid={}, name=python3, Ch {n:08x}, MMU Fault: faulted @ 0x7f12_{n:08x}",
        n % 30_000
    )
}

#[test]
fn one_line_behind_a_flood_decides() {
    const LINES: u64 = 100_000;
    let folder = tempfile::tempdir().unwrap();
    let flood = (0..LINES).map(|n| xid(n, n % 8, 31));
    let lines = flood.chain([xid(1, 0x3b, 79)]);
    let file = long_log(folder.path(), lines);
    let output = run(&[
        "scan",
        "--kmsg-file",
        &file,
        "--json",
        "--fail-on",
        "degraded",
    ]);
    assert_eq!(output.status.code(), Some(1));
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(found["messages"], LINES + 1);
    assert_eq!(found["complete"], true);
    let component = &found["components"][0];
    assert_eq!(component["component"], "accelerator-nvidia-error-xid");
    assert_eq!(component["states"][0]["health"], "Unhealthy");
    let events = component["events"].as_array().unwrap();
    assert!(events.len() <= 1000, "{}", events.len());
    let newest = events[0]["message"].as_str().unwrap();
    assert!(newest.contains("79") && newest.contains("3b"), "{newest}");
    let counted: u64 = events
        .iter()
        .map(|event| event["count"].as_u64().unwrap())
        .sum();
    assert_eq!(counted, LINES + 1, "nothing is lost in counting");
}

#[test]
fn each_lost_gpu_is_a_trouble() {
    let folder = tempfile::tempdir().unwrap();
    let lines = [0x3b, 0x3c, 0x3d].map(|bus| xid(1, bus, 79));
    let file = long_log(folder.path(), lines.into_iter());
    let shown = text(&run(&["scan", "--kmsg-file", &file]));
    assert!(shown.contains("Unhealthy, 3 troubles"), "{shown}");
    for bus in ["3b", "3c", "3d"] {
        let trouble = format!("GPU 0000:{bus}:00.0");
        let lines = shown.lines().filter(|line| line.contains(&trouble));
        let mut lines = lines.filter(|line| line.starts_with("unhealthy "));
        assert!(lines.next().is_some(), "{bus}: {shown}");
    }
}

#[test]
fn a_file_without_kernel_messages_is_not_healthy() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("log");
    let file = file.to_str().unwrap();
    for content in [
        "",
        "nothing that can be read\nnor this\n",
        "Nov 20 08:00:00 h systemd[1]: Started x.\n",
    ] {
        std::fs::write(file, content).unwrap();
        let output = run(&["scan", "--kmsg-file", file]);
        assert_eq!(output.status.code(), Some(0), "{content}");
        let shown = text(&output);
        assert!(
            shown.contains("no kernel message was found, so nothing was judged"),
            "{shown}"
        );
        assert!(!shown.contains("healthy"), "{shown}");
        let output = run(&[
            "scan",
            "--kmsg-file",
            file,
            "--json",
            "--fail-on",
            "unhealthy",
        ]);
        assert_eq!(output.status.code(), Some(1), "{content}");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(said.contains("no kernel message was found"), "{said}");
        let found: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(found["complete"], false);
    }
}

#[test]
fn what_there_is_no_room_for_is_said_and_fails_a_gate() {
    let folder = tempfile::tempdir().unwrap();
    let offline = "sd 0:0:0:0: rejecting I/O to offline device".to_owned();
    let devices = (0..3000).map(|n| {
        let name = format!("{n:04}");
        let letters: String = name.bytes().map(|b| char::from(b - b'0' + b'a')).collect();
        format!(
            "I/O error, dev sd{letters}, sector 7 op 0x0:(READ) flags 0x0 phys_seg 1 prio class 2"
        )
    });
    let file = long_log(folder.path(), [offline].into_iter().chain(devices));
    let scan = ["scan", "--kmsg-file", &file, "--components", "block-io"];
    let output = run(&[&scan[..], &["--json", "--fail-on", "unhealthy"]].concat());
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        said.contains("not everything in the log could be judged, see block-io"),
        "{said}"
    );
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(found["complete"], false);
    let component = &found["components"][0];
    let events = component["events"].as_array().unwrap();
    let left_out = component["left_out"]["events"].as_u64().unwrap();
    assert_eq!(events.len() as u64 + left_out, 3001);
    assert!(left_out > 0);
    let output = run(&scan);
    assert_eq!(output.status.code(), Some(0));
    assert!(text(&output).contains("further events are left out"));
}

#[test]
fn a_later_piece_of_a_line_is_no_line() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("kmsg");
    // The name of a cgroup, which a user chose, behind `cpuset=`; another line came between.
    let log = "\
4,900,81000000000,-;oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=
6,901,81000000100,-;br0: port 1(veth0) entered blocking state
4,902,81000000200,c;NVRM: Xid (PCI:0000:3b:00): 79, pid=1, name=x, GPU has fallen off the bus.,mems_allowed=0
";
    let file = file.to_str().unwrap();
    for (log, is_believed) in [(log.to_owned(), false), (log.replace(",c;", ",-;"), true)] {
        std::fs::write(file, &log).unwrap();
        let shown = text(&run(&["explain", "--file", file]));
        assert_eq!(shown.contains("XID 79"), is_believed, "{shown}");
    }
}
