use std::sync::LazyLock;

use regex::RegexSet;

use super::*;

mod bus_lines;
mod network_lines;
mod nvidia_lines;
mod properties;

static DELIVERED: LazyLock<RegexSet> = LazyLock::new(|| RegexSet::new(PATTERNS).unwrap());

type Case = (
    &'static str,
    Kind,
    &'static str,
    &'static [(&'static str, &'static str)],
);

fn hold(cases: &[Case]) {
    for (line, kind, device, facts) in cases {
        let found = find(line).unwrap_or_else(|| panic!("{line}"));
        assert_eq!(
            (found.kind, found.device.as_str()),
            (*kind, *device),
            "{line}"
        );
        assert_eq!(found.facts, *facts, "{line}");
        assert!(DELIVERED.is_match(line), "{line}");
    }
}

#[test]
fn probes() {
    hold(&[
        (
            "nvidia: probe of 0000:82:00.0 failed with error -1",
            Kind::ProbeFailed,
            "0000:82:00.0",
            &[("driver", "nvidia"), ("error", "-1")],
        ),
        (
            "nvidia 0000:3B:00.0: probe with driver nvidia failed with error -1",
            Kind::ProbeFailed,
            "0000:3b:00.0",
            &[("driver", "nvidia"), ("error", "-1")],
        ),
        (
            "mlx5_core: probe of 0000:17:00.1 failed with error -110",
            Kind::ProbeFailed,
            "0000:17:00.1",
            &[("driver", "mlx5_core"), ("error", "-110")],
        ),
        (
            "amdgpu 0000:c1:00.0: probe with driver amdgpu failed with error -22",
            Kind::ProbeFailed,
            "0000:c1:00.0",
            &[("driver", "amdgpu"), ("error", "-22")],
        ),
    ]);
}

#[test]
fn nouveau() {
    let unit = |unit| [("unit", unit)];
    for (line, unit) in [
        (
            "nouveau 0000:01:00.0: bus: MMIO read of 00000000 FAULT at 6013d4 [ PRIVRING ]",
            unit("bus"),
        ),
        (
            "nouveau 0000:01:00.0: bus: MMIO write of 80000042 FAULT at 10eb14 [ TIMEOUT ]",
            unit("bus"),
        ),
        (
            "nouveau 0000:01:00.0: fifo: SCHED_ERROR 0a [CTXSW_TIMEOUT]",
            unit("fifo"),
        ),
        (
            "nouveau 0000:01:00.0: fifo: fault 00 [READ] at 0000000000000000 engine 00 [GR] client 0f",
            unit("fifo"),
        ),
        (
            "nouveau 0000:01:00.0: gr: TRAP ch 5 [00ff1c2000 glxgears[1801]]",
            unit("gr"),
        ),
    ] {
        let found = find(line).unwrap();
        assert_eq!(found.kind, Kind::NouveauFault, "{line}");
        assert_eq!(
            (found.device.as_str(), &found.facts[..]),
            ("0000:01:00.0", &unit[..])
        );
    }
    for line in [
        "nouveau 0000:01:00.0: bus: MMIO read of 00000000",
        "nouveau 0000:01:00.0: bios: version 90.04.5f.00.19",
        "nouveau 0000:01:00.0: fifo: channels: 4096",
        "nouveau somewhere: gr: TRAP ch 5",
        "nouveau: gr: TRAP ch 5",
    ] {
        assert_eq!(find(line), None, "{line}");
    }
}

#[test]
fn lookalikes() {
    for line in [
        "",
        "nvidia: probe of somewhere failed with error -1",
        "nouveau: probe of 0000:82:00.0 failed with error -1",
        "nvidia-gpu 0000:82:00.3: probe with driver nvidia-gpu failed with error -1",
        "nvidia 0000:3b:00.0: enabling device (0000 -> 0002)",
        "mlx5_core 0000:17:00.0: firmware version: 28.39.1002",
        "mlx5_core 0000:17:00.0: poll_health:819:(pid 0): Fatal error x detected",
        "mlx5_core 0000:17:00.0: mlx5_error_sw_reset:209:(pid 3174): end",
        "mlx5_core 0000:17:00.0: other_function:209:(pid 3174): start",
        "mlx5_core 0000:17:00.0: print_health_info:520:(pid 0): synd 0x0: unrecognized error",
        "mlx5_core 0000:17:00.0: print_health_info:520:(pid 0): ext_synd 0x0000",
        "mlx5_core 0000:17:00.0: mlx5_health_try_recover:338:(pid 1): starting health recovery flow",
        // The InfiniBand check's.
        "mlx5_core 0000:c3:00.0: mlx5_cmd_out_err:835:(pid 77): ACCESS_REG(0x805) op_mod(0x1) failed, status bad operation(0x2), syndrome (0x1c4d2e), err(-22)",
        "mlx5_core 0000:18:00.1: mlx5_port_module_event:1120:(pid 0): Port module event[error]: module 1, Cable error, High Temperature",
        // The Xid check's.
        "NVRM: Xid (PCI:0000:3b:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.",
        "NVRM: GPU 0000:3b:00.0: GPU has fallen off the bus.",
        "NVRM: Xid (PCI:0000:00:00): 119, pid=1, name=RmInitAdapter failed!, Timeout after 6s of waiting for RPC response from GPU0 GSP!",
        r"NVRM: The NVIDIA GPU 0000:04:00.0\x0aNVRM: (PCI ID: 10de:20b0) installed in this system has\x0aNVRM: fallen off the bus and is not responding to commands.",
        "NVRM: GPU at PCI:0000:3b:00: GPU-b850f46d-d5ea-c752-ddf3-c4453e44d3f7",
        "NVRM: GPU at 0000:01:00.0 has software scheduler DISABLED with policy BEST_EFFORT.",
        "NVRM: loading NVIDIA UNIX Open Kernel Module for x86_64  570.86.15",
        "NVRM: GPU0 RmInitAdapter: Initialized GSP firmware RM",
        "NVRM: nvAssertOkFailedNoLog: Assertion failed: Call timed out",
        "app: NVRM: GPU 0000:3b:00.0: RmInitAdapter failed! (0x26:0xffff:1474)",
        // Those of `accelerator-amd-errors`.
        "amdgpu 0000:c1:00.0: amdgpu: GPU reset begin!",
        "amdgpu 0000:05:00.0: amdgpu: GPU reset(2) failed",
        "amdgpu 0000:05:00.0: amdgpu: device lost from bus!",
        "amdgpu 0000:0b:00.0: amdgpu: 2 uncorrectable hardware errors detected in umc block",
        "[drm:amdgpu_job_timedout [amdgpu]] *ERROR* ring gfx timeout, signaled seq=1, emitted seq=3",
    ] {
        assert_eq!(find(line), None, "{line}");
    }
}

#[test]
fn pci_ids_in_one_spelling() {
    for (text, id) in [
        ("0000:3b:00.0", Some("0000:3b:00.0")),
        ("PCI:0000:3B:00", Some("0000:3b:00.0")),
        ("3b:00.1", Some("0000:3b:00.1")),
        ("00000018:01:00", Some("0018:01:00.0")),
        ("10000:01:00.0", Some("10000:01:00.0")),
        ("", None),
        ("nvidia", None),
        ("0000:0000:3b:00", None),
        ("3b:+0", None),
        ("bind", None),
    ] {
        assert_eq!(pci_id(text).as_deref(), id, "{text}");
    }
}
