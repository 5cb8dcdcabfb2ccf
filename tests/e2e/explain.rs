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
        (vec!["explain", "xid", "79"], "PCI:0000:04:00"),
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
