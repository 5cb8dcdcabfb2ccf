use std::sync::LazyLock;

use regex::RegexSet;

use super::*;

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
fn mlx5_lines() {
    hold(&[
        (
            "mlx5_core 0000:17:00.0: poll_health:819:(pid 0): device's health compromised - reached miss count",
            Kind::MlxCompromised,
            "0000:17:00.0",
            &[],
        ),
        (
            "mlx5_core 0000:17:00.0: device's health compromised",
            Kind::MlxCompromised,
            "0000:17:00.0",
            &[],
        ),
        (
            "mlx5_core 0000:17:00.1: poll_health:801:(pid 0): Fatal error 1 detected",
            Kind::MlxFatal,
            "0000:17:00.1",
            &[("sensor", "1")],
        ),
        (
            "mlx5_core 0001:00:00.0: mlx5_error_sw_reset:209:(pid 3174): start",
            Kind::MlxFatal,
            "0001:00:00.0",
            &[("cause", "internal error state")],
        ),
        (
            "mlx5_core 0001:00:00.0: mlx5_enter_error_state:121:(pid 3174): start",
            Kind::MlxFatal,
            "0001:00:00.0",
            &[("cause", "internal error state")],
        ),
        (
            "mlx5_core 0000:61:00.1: print_health_info:431:(pid 0): PCI slot is unavailable",
            Kind::MlxFatal,
            "0000:61:00.1",
            &[("cause", "PCI slot is unavailable")],
        ),
        (
            "mlx5_core 0000:61:00.1: print_health_info:496:(pid 0): Health issue observed, firmware internal error, severity(3) ERROR:",
            Kind::MlxIssue,
            "0000:61:00.1",
            &[("cause", "firmware internal error"), ("severity", "3")],
        ),
        (
            "mlx5_core 0000:61:00.1: print_health_info:496:(pid 0): Health issue observed, High temperature, severity(4) WARNING:",
            Kind::MlxHot,
            "0000:61:00.1",
            &[("cause", "High temperature"), ("severity", "4")],
        ),
        (
            "mlx5_core 0000:61:00.1: print_health_info:520:(pid 0): synd 0x10: High temperature",
            Kind::MlxHot,
            "0000:61:00.1",
            &[("cause", "High temperature"), ("syndrome", "10")],
        ),
        (
            "mlx5_core 0000:61:00.1: temp_warn:171:(pid 0): High temperature on sensors with bit set 0 1",
            Kind::MlxHot,
            "0000:61:00.1",
            &[("sensors", "0 1")],
        ),
        (
            "mlx5_core 0000:61:00.1: print_health_info:424:(pid 0): synd 0x8: unrecoverable hardware error",
            Kind::MlxIssue,
            "0000:61:00.1",
            &[("cause", "unrecoverable hardware error"), ("syndrome", "8")],
        ),
        (
            "mlx5_core 0000:61:00.1: mlx5_health_try_recover:381:(pid 1): health recovery flow aborted, PCI reads still not working",
            Kind::MlxRecoveryFailed,
            "0000:61:00.1",
            &[(
                "cause",
                "health recovery flow aborted, PCI reads still not working",
            )],
        ),
        (
            "mlx5_core 0000:61:00.1: mlx5_fw_fatal_reporter_err_work:663:(pid 7): Driver is in error state. Unloading",
            Kind::MlxRecoveryFailed,
            "0000:61:00.1",
            &[("cause", "Driver is in error state. Unloading")],
        ),
        (
            "mlx5_core 0000:61:00.1: mlx5_health_try_recover:348:(pid 1): health recovery succeeded",
            Kind::MlxRecovered,
            "0000:61:00.1",
            &[],
        ),
        (
            "mlx5_core 0000:61:00.1: health recovery succeeded",
            Kind::MlxRecovered,
            "0000:61:00.1",
            &[],
        ),
        (
            "mlx5_core 0000:01:00.0: wait_func_handle_exec_timeout:1104:(pid 9): cmd[7]: DESTROY_EQ(0x302) timeout. Will cause a leak of a command resource",
            Kind::MlxCommandTimeout,
            "0000:01:00.0",
            &[("command", "DESTROY_EQ")],
        ),
        (
            "mlx5_core 0000:01:00.0: cb_timeout_handler:855:(pid 9): cmd[3]: CREATE_MKEY(0x200) Async, timeout. Will cause a leak of a command resource",
            Kind::MlxCommandTimeout,
            "0000:01:00.0",
            &[("command", "CREATE_MKEY")],
        ),
        (
            "mlx5_core 0000:01:00.0: wait_func:1004:(pid 9): ACCESS_REG(0x805) timeout. Will cause a leak of a command resource",
            Kind::MlxCommandTimeout,
            "0000:01:00.0",
            &[("command", "ACCESS_REG")],
        ),
    ]);
}

#[test]
fn nvidia_lines() {
    let none: &[(&str, &str)] = &[];
    hold(&[
        (
            "NVRM: GPU 0000:3b:00.0: RmInitAdapter failed! (0x26:0xffff:1474)",
            Kind::NvidiaInitFailed,
            "0000:3b:00.0",
            &[("code", "0x26:0xffff:1474")],
        ),
        (
            "NVRM: GPU 000F:01:00.0: RmInitAdapter failed! (0x62:0x65:2028)",
            Kind::NvidiaInitFailed,
            "000f:01:00.0",
            &[("code", "0x62:0x65:2028")],
        ),
        (
            "NVRM: RmInitAdapter failed! (0x62:0x65:2028)",
            Kind::NvidiaInitFailed,
            "",
            &[("code", "0x62:0x65:2028")],
        ),
        (
            "NVRM: GPU 0000:3b:00.0: rm_init_adapter failed, device minor number 0",
            Kind::NvidiaInitFailed,
            "0000:3b:00.0",
            none,
        ),
        (
            "NVRM: GPU at 0000:02:00.0 has fallen off the bus.",
            Kind::NvidiaOffBus,
            "0000:02:00.0",
            none,
        ),
        (
            "NVRM: GPU has fallen off the bus.",
            Kind::NvidiaOffBus,
            "",
            none,
        ),
        (
            "NVRM: _issueRpcAndWait: rpcRecvPoll timedout for fn 76!",
            Kind::NvidiaGspTimeout,
            "",
            &[("function", "76")],
        ),
        (
            "NVRM: GPU3 _issueRpcAndWait: rpcRecvPoll timedout for fn 10!",
            Kind::NvidiaGspTimeout,
            "GPU3",
            &[("function", "10")],
        ),
        (
            "NVRM: _issueRpcAndWait: rpcRecvPoll failed with status 0x0000000f for fn 103!",
            Kind::NvidiaGspTimeout,
            "",
            &[("function", "103")],
        ),
        (
            "NVRM: Rate limiting GSP RPC error prints for GPU at PCI:0000:A3:00 (printing 1 of every 30).  The GPU likely needs to be reset.",
            Kind::NvidiaGspTimeout,
            "0000:a3:00.0",
            none,
        ),
        (
            "NVRM: GPU6 _kgspIsHeartbeatTimedOut: Heartbeat timed out",
            Kind::NvidiaGspTimeout,
            "GPU6",
            none,
        ),
        (
            "NVRM: GPU0 _kgspRpcRecvPoll: GSP RM heartbeat timed out",
            Kind::NvidiaGspTimeout,
            "GPU0",
            none,
        ),
        (
            "NVRM: _kgspLogRpcTimeout: ********************************* GSP Timeout **********************************",
            Kind::NvidiaGspTimeout,
            "",
            none,
        ),
        (
            "NVRM: gpuWaitForGfwBootComplete_TU102: failed to wait for GFW_BOOT: (progress 0x3)",
            Kind::NvidiaBootFailed,
            "",
            none,
        ),
        (
            "NVRM: RmInitAdapter: Cannot initialize GSP firmware RM",
            Kind::NvidiaBootFailed,
            "",
            none,
        ),
        (
            "NVRM: nvGpuOpsReportFatalError: uvm encountered global fatal error 0x60, requiring os reboot to recover.",
            Kind::NvidiaUvmFatal,
            "",
            &[("code", "0x60")],
        ),
        (
            "NVRM: GPU0 nvAssertOkFailedNoLog: Assertion failed: Reset required [NV_ERR_RESET_REQUIRED] (0x00000062) returned from status @ kernel_channel.c:2874",
            Kind::NvidiaResetRequired,
            "GPU0",
            none,
        ),
        (
            "NVRM: krcWatchdog_IMPL: RC watchdog: GPU is probably locked!  Notify Timeout Seconds: 7",
            Kind::NvidiaLocked,
            "",
            none,
        ),
        (
            "NVRM: GPU0 krcWatchdog_IMPL: RC watchdog: GPU is probably locked!  Notify Timeout Seconds: 7",
            Kind::NvidiaLocked,
            "GPU0",
            none,
        ),
        (
            r"NVRM: API mismatch: the client has the version 470.161.03, but\x0aNVRM: this kernel module has the version 470.103.01.  Please\x0aNVRM: make sure that this kernel module and all NVIDIA driver\x0aNVRM: components have the same version.",
            Kind::NvidiaMismatch,
            "",
            &[
                ("client_version", "470.161.03"),
                ("module_version", "470.103.01"),
            ],
        ),
        (
            "NVRM: API mismatch: the client has the version 570.86.15, but",
            Kind::NvidiaMismatch,
            "",
            &[("client_version", "570.86.15"), ("module_version", "")],
        ),
        (
            r"NVRM: API mismatch: the client 'nvidia-smi' (pid 7)\x0aNVRM: has the version 580.173.02, but this kernel module has\x0aNVRM: the version 580.159.03.  Please make sure",
            Kind::NvidiaMismatch,
            "",
            &[
                ("client_version", "580.173.02"),
                ("module_version", "580.159.03"),
            ],
        ),
        (
            "NVRM: API mismatch: the client has the version NVRM: GPU 0000:3b:00.0: RmInitAdapter failed! (1), but",
            Kind::NvidiaMismatch,
            "",
            &[("client_version", ""), ("module_version", "")],
        ),
        (
            "NVRM: The NVIDIA probe routine was not called for 8 device(s).",
            Kind::NvidiaConflict,
            "",
            &[("devices", "8")],
        ),
        (
            "NVRM: The NVIDIA probe routine failed for 1 device(s).",
            Kind::ProbeFailed,
            "",
            &[("devices", "1"), ("driver", "nvidia")],
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
fn network_cards_that_do_not_send() {
    use Kind::TxTimeout;
    hold(&[
        (
            "NETDEV WATCHDOG: eth0 (mlx5_core): transmit queue 3 timed out",
            TxTimeout,
            "eth0",
            &[("interface", "eth0"), ("queue", "3")],
        ),
        (
            "NETDEV WATCHDOG: eth0 (e1000e): transmit queue 0 timed out 5000 ms",
            TxTimeout,
            "eth0",
            &[("interface", "eth0"), ("queue", "0")],
        ),
        (
            "eth0: NETDEV WATCHDOG: CPU: 3: transmit queue 0 timed out 5000 ms",
            TxTimeout,
            "eth0",
            &[("interface", "eth0"), ("queue", "0")],
        ),
        (
            "mlx5_core 0000:17:00.0 ens1np0: NETDEV WATCHDOG: CPU: 113: transmit queue 12 timed out 15500 ms",
            TxTimeout,
            "0000:17:00.0",
            &[("interface", "ens1np0"), ("queue", "12")],
        ),
        (
            "virtio_net virtio0 eth0: NETDEV WATCHDOG: CPU: 0: transmit queue 0 timed out 5000 ms",
            TxTimeout,
            "eth0",
            &[("interface", "eth0"), ("queue", "0")],
        ),
        (
            "mlx5_core 0000:17:00.0 eth0: TX timeout detected",
            TxTimeout,
            "0000:17:00.0",
            &[("interface", "eth0"), ("queue", "")],
        ),
    ]);
    for line in [
        "NETDEV WATCHDOG: ../x (y): transmit queue 3 timed out",
        "NETDEV WATCHDOG: sixteen-letters0 (y): transmit queue 3 timed out",
        "NETDEV WATCHDOG: eth0 (y): transmit queue 3",
        "NETDEV WATCHDOG: eth0: transmit queue 3 timed out",
        "eth0: NETDEV WATCHDOG: CPU: x: transmit queue 0 timed out 5000 ms",
        "eth0: TX timeout detected",
        "a b c eth0: TX timeout detected",
        "mlx5_core 0000:17:00.0 eth0: TX timeout on queue: 3, SQ: 0x12",
    ] {
        assert_eq!(find(line), None, "{line}");
    }
}

#[test]
fn slots_and_iommus() {
    use Kind::{Inaccessible, IommuFault, SlotLost, SlotPower};
    hold(&[
        (
            "pcieport 0000:00:01.0: pciehp: Slot(1): Power fault",
            SlotPower,
            "0000:00:01.0",
            &[("slot", "1"), ("cause", "Power fault")],
        ),
        (
            "nvidia 0000:3b:00.0: Unable to change power state from D3cold to D0, device inaccessible",
            Inaccessible,
            "0000:3b:00.0",
            &[
                ("driver", "nvidia"),
                (
                    "cause",
                    "Unable to change power state from D3cold to D0, device inaccessible",
                ),
            ],
        ),
        (
            "mlx5_core 0000:5e:00.1: can't change power state from D3hot to D0 (config space inaccessible)",
            Inaccessible,
            "0000:5e:00.1",
            &[
                ("driver", "mlx5_core"),
                (
                    "cause",
                    "can't change power state from D3hot to D0 (config space inaccessible)",
                ),
            ],
        ),
        (
            "vfio-pci 0000:3b:00.0: not ready 65535ms after FLR; giving up",
            Inaccessible,
            "0000:3b:00.0",
            &[
                ("driver", "vfio-pci"),
                ("cause", "not ready 65535ms after FLR; giving up"),
            ],
        ),
        (
            "pcieport 0000:00:01.0: pciehp: Slot(1): Link Down",
            SlotLost,
            "0000:00:01.0",
            &[("slot", "1"), ("cause", "Link Down")],
        ),
        (
            "pcieport 10000:00:01.0: pciehp: Slot(0-1): Card not present",
            SlotLost,
            "10000:00:01.0",
            &[("slot", "0-1"), ("cause", "Card not present")],
        ),
        (
            "DMAR: [DMA Read NO_PASID] Request device [3b:00.0] fault addr 0xfffff000 [fault reason 0x06] PTE Read access is not set",
            IommuFault,
            "0000:3b:00.0",
            &[("access", "DMA Read NO_PASID"), ("address", "0xfffff000")],
        ),
        (
            "DMAR: [DMA Read] Request device [3b:00.1] PASID ffffffff fault addr fffff000 [fault reason 06] PTE Read access is not set",
            IommuFault,
            "0000:3b:00.1",
            &[("access", "DMA Read"), ("address", "fffff000")],
        ),
        (
            "DMAR: [DMA Write PASID 0x1] Request device [0x3b:0x00.0] fault addr 0x1000 [fault reason 0x71] SM: Present bit in first-level paging entry is clear",
            IommuFault,
            "0000:3b:00.0",
            &[("access", "DMA Write PASID 0x1"), ("address", "0x1000")],
        ),
        (
            "DMAR: [INTR-REMAP] Request device [3b:00.0] fault index 0x9 [fault reason 0x26] Blocked an interrupt request due to source-id verification failure",
            IommuFault,
            "0000:3b:00.0",
            &[("access", "INTR-REMAP"), ("address", "")],
        ),
        (
            "AMD-Vi: Event logged [IO_PAGE_FAULT device=0001:3b:00.0 domain=0x0000 address=0x7f000000 flags=0x0]",
            IommuFault,
            "0001:3b:00.0",
            &[("address", "0x7f000000")],
        ),
        (
            "nvidia 0000:3b:00.0: AMD-Vi: Event logged [IO_PAGE_FAULT domain=0x0011 address=0x0 flags=0x0020]",
            IommuFault,
            "0000:3b:00.0",
            &[("address", "0x0")],
        ),
        (
            "arm-smmu-v3 arm-smmu-v3.0.auto: event 0x10 received:",
            IommuFault,
            "",
            &[("iommu", "arm-smmu-v3.0.auto")],
        ),
        (
            "arm-smmu-v3 arm-smmu-v3.9.auto: event: F_TRANSLATION client: 0009:01:00.0 sid: 0x100 ssid: 0x0 iova: 0x1000 ipa: 0x0",
            IommuFault,
            "0009:01:00.0",
            &[("access", "F_TRANSLATION"), ("iommu", "arm-smmu-v3.9.auto")],
        ),
    ]);
    for line in [
        "pcieport 0000:00:01.0: pciehp: Slot(1): Link Down/Up ignored",
        "pcieport 0000:00:01.0: pciehp: Slot(1): Link Down event queued; currently getting powered on",
        "pcieport 0000:00:01.0: pciehp: Slot(1): Link Up",
        "pcieport 0000:00:01.0: AER: Correctable error message received from 0000:01:00.0",
        "DMAR: DRHD: handling fault status reg 3",
        "DMAR: [DMA Read] Request device [x] fault addr 1 [fault reason 0x06] y",
        "DMAR: [Other] Request device [3b:00.0] fault addr 1 [fault reason 0x06] y",
        "AMD-Vi: Event logged [IO_PAGE_FAULT domain=0x0007 address=0xffffc02000 flags=0x0000]",
        "AMD-Vi: Event logged [ILLEGAL_DEV_TABLE_ENTRY device=3b:00.0 pasid=0x0 address=0x0]",
        "a nvidia 0000:3b:00.0: AMD-Vi: Event logged [IO_PAGE_FAULT domain=0x0011 address=0x0]",
        "arm-smmu-v3 arm-smmu-v3.0.auto: event 0x received:",
        "arm-smmu-v3 arm-smmu-v3.0.auto: event 0x10 sent:",
        "arm-smmu-v3 arm-smmu-v3.0.auto: EVTQ overflow detected -- events lost",
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
