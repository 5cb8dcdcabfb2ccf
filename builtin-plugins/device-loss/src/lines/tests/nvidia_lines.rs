//! Lines of NVIDIA's driver.

use super::*;

/// Lines of NVIDIA's driver.
const NVIDIA_LINES: &[Case] = &[
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
        &[],
    ),
    (
        "NVRM: GPU at 0000:02:00.0 has fallen off the bus.",
        Kind::NvidiaOffBus,
        "0000:02:00.0",
        &[],
    ),
    (
        "NVRM: GPU has fallen off the bus.",
        Kind::NvidiaOffBus,
        "",
        &[],
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
        &[],
    ),
    (
        "NVRM: GPU6 _kgspIsHeartbeatTimedOut: Heartbeat timed out",
        Kind::NvidiaGspTimeout,
        "GPU6",
        &[],
    ),
    (
        "NVRM: GPU0 _kgspRpcRecvPoll: GSP RM heartbeat timed out",
        Kind::NvidiaGspTimeout,
        "GPU0",
        &[],
    ),
    (
        "NVRM: _kgspLogRpcTimeout: ********************************* GSP Timeout **********************************",
        Kind::NvidiaGspTimeout,
        "",
        &[],
    ),
    (
        "NVRM: gpuWaitForGfwBootComplete_TU102: failed to wait for GFW_BOOT: (progress 0x3)",
        Kind::NvidiaBootFailed,
        "",
        &[],
    ),
    (
        "NVRM: RmInitAdapter: Cannot initialize GSP firmware RM",
        Kind::NvidiaBootFailed,
        "",
        &[],
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
        &[],
    ),
    (
        "NVRM: krcWatchdog_IMPL: RC watchdog: GPU is probably locked!  Notify Timeout Seconds: 7",
        Kind::NvidiaLocked,
        "",
        &[],
    ),
    (
        "NVRM: GPU0 krcWatchdog_IMPL: RC watchdog: GPU is probably locked!  Notify Timeout Seconds: 7",
        Kind::NvidiaLocked,
        "GPU0",
        &[],
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
];

#[test]
fn nvidia_lines() {
    hold(NVIDIA_LINES);
}
