//! The NVIDIA driver (`NVRM`), outside its Xids; from NVIDIA/open-gpu-kernel-modules.
//!
//! | text after `NVRM: ` | source |
//! |---|---|
//! | `GPU ‹id›: RmInitAdapter failed! (0x‹n›:0x‹n›:‹n›)` | `src/nvidia/arch/nvalloc/unix/src/osinit.c`, `RmInitAdapter` |
//! | `GPU ‹id›: rm_init_adapter failed, device minor number ‹n›` | `kernel-open/nvidia/nv.c`, `nv_start_device` |
//! | `GPU at ‹id› has fallen off the bus.`, `GPU has fallen off the bus.` | older drivers; the forms of later ones are Xid 79 |
//! | `[GPU‹n› ]_issueRpcAndWait: rpcRecvPoll timedout for fn ‹n›!`, `… failed with status 0x‹n› for fn ‹n›!` | `src/nvidia/src/kernel/vgpu/rpc.c`, `_issueRpcAndWait` |
//! | `[GPU‹n› ]_kgspIsHeartbeatTimedOut: Heartbeat timed out…`, `_kgspRpcRecvPoll: GSP RM heartbeat timed out`, also `LibOS heartbeat timed out` | `src/nvidia/src/kernel/gpu/gsp/kernel_gsp.c`, these functions, from 590 |
//! | `_kgspLogRpcTimeout: **** GSP Timeout ****`, `_kgspLogXid119: …` (below it the Xid) | same, these functions |
//! | `gpuWaitForGfwBootComplete_‹chip›: failed to wait for GFW_BOOT: (progress 0x‹n›)` | `src/nvidia/src/kernel/gpu/arch/turing/kern_gpu_tu102.c` |
//! | `kgspWaitForGfwBootOk_‹chip›: failed to wait for GFW boot complete: 0x‹n› VBIOS version ‹v›` | `src/nvidia/src/kernel/gpu/gsp/arch/turing/kernel_gsp_tu102.c` |
//! | `kgspInitRm_IMPL: cannot bootstrap riscv/gsp: 0x‹n›` | `kernel_gsp.c` |
//! | `RmInitAdapter: Cannot initialize GSP firmware RM` | `src/nvidia/arch/nvalloc/unix/src/osinit.c` |
//! | `nvGpuOpsReportFatalError: uvm encountered global fatal error 0x‹n›, requiring os reboot to recover.` | `src/nvidia/src/kernel/rmapi/nv_gpu_ops.c` |
//! | `[GPU‹n› ]nvAssertOkFailedNoLog: Assertion failed: Reset required [NV_ERR_RESET_REQUIRED] (0x00000062) returned from ‹what› @ ‹file›:‹line›`, also `nvCheckOkFailedNoLog: Check failed: …` | `src/nvidia/src/libraries/utils/nvassert.c`; the words of the status: `nvstatuscodes.h` |
//! | the same with `GPU lost from the bus [NV_ERR_GPU_IS_LOST]` | same |
//! | `Rate limiting GSP RPC error prints for GPU at PCI:‹id› (printing 1 of every ‹n›).  The GPU likely needs to be reset.` | `src/nvidia/src/kernel/gpu/gsp/kernel_gsp.c`, `_kgspRpcRecvPoll` |
//! | `krcWatchdog_IMPL: RC watchdog: GPU is probably locked!  Notify Timeout Seconds: ‹n›` | `src/nvidia/src/kernel/gpu/rc/kernel_rc_watchdog.c`, `krcWatchdog_IMPL` |
//! | `API mismatch: the client has the version ‹v›, but` … `this kernel module has the version ‹v›.`, over several lines; newer `the client '‹name›' (pid ‹n›)` … | `src/nvidia/arch/nvalloc/unix/src/osapi.c`, `rm_perform_version_check` |
//! | `The NVIDIA probe routine was not called for ‹n› device(s).` | `kernel-open/nvidia/nv.c`, `nvidia_init_module`, where `nouveau` or another driver has the GPU |
//! | `The NVIDIA probe routine failed for ‹n› device(s).` | same |
//!
//! Lines of one message stand in one record, line ends as `\x0a`.

use super::{Kind, MatchedLine, first_word, pci_id, split_digits};

pub(super) fn find(body: &str) -> Option<MatchedLine<'_>> {
    // A client says its version itself: first, so that nothing in it is taken for another line.
    if body.starts_with("API mismatch: ") {
        return Some(mismatch(body));
    }
    // The Xid check's, with a process's own name in them.
    if body.starts_with("Xid ") {
        return None;
    }
    if let Some(rest) = body.strip_prefix("The NVIDIA probe routine ") {
        return probe_routine(rest);
    }
    if let Some(rest) = body.strip_prefix("Rate limiting GSP RPC error prints for GPU at ") {
        let device = pci_id(first_word(rest)).unwrap_or_default();
        return Some(MatchedLine::new(Kind::NvidiaGspTimeout, device));
    }
    let body = body.trim_start();
    if let Some(rest) = body.strip_prefix("GPU at ") {
        let (device, rest) = rest.split_once(' ')?;
        return rest
            .starts_with("has fallen off the bus")
            .then(|| MatchedLine::new(Kind::NvidiaOffBus, pci_id(device).unwrap_or_default()));
    }
    if body.starts_with("GPU has fallen off the bus") {
        return Some(MatchedLine::new(Kind::NvidiaOffBus, ""));
    }
    let (device, text) = device(body);
    let found = |kind| MatchedLine::new(kind, device.clone());
    if let Some(rest) = text.strip_prefix("RmInitAdapter failed!") {
        let code = rest.trim_start().strip_prefix('(');
        let code = code
            .and_then(|rest| rest.split_once(')'))
            .map_or("", |(code, _)| code);
        return Some(found(Kind::NvidiaInitFailed).fact("code", code));
    }
    if ["rm_init_adapter failed", "rm_init_adapter() failed"]
        .iter()
        .any(|form| text.starts_with(form))
    {
        return Some(found(Kind::NvidiaInitFailed));
    }
    // What follows names the function that prints, if the driver is built to.
    let text = text
        .split_once(": ")
        .filter(|(name, _)| is_function(name))
        .map_or(text, |(_, text)| text);
    if let Some(rest) = text.strip_prefix("rpcRecvPoll ") {
        if !rest.starts_with("timedout") && !rest.starts_with("failed") {
            return None;
        }
        let (function, _) = split_digits(rest.split_once(" for fn ").map_or("", |(_, rest)| rest));
        return Some(found(Kind::NvidiaGspTimeout).fact("function", function));
    }
    if text.starts_with("RC watchdog: GPU is probably locked!") {
        return Some(found(Kind::NvidiaLocked));
    }
    if let Some(rest) = text.strip_prefix("uvm encountered global fatal error ") {
        let (code, _) = rest.split_once(',').unwrap_or((rest, ""));
        return Some(found(Kind::NvidiaUvmFatal).fact("code", first_word(code)));
    }
    let kind = firmware(text).or_else(|| status(text))?;
    Some(found(kind))
}

/// Matches the driver's line about a system processor (GSP) that hangs or does not start.
fn firmware(text: &str) -> Option<Kind> {
    let hangs = ["Heartbeat timed out", "GSP RM heartbeat timed out"]
        .iter()
        .chain(&[
            "LibOS heartbeat timed out",
            "GSP RM / LibOS heartbeat timed out",
        ])
        .any(|form| text.starts_with(form));
    // A headline between stars.
    if hangs || text.trim_matches(['*', ' ']) == "GSP Timeout" {
        return Some(Kind::NvidiaGspTimeout);
    }
    [
        "failed to wait for GFW_BOOT",
        "failed to wait for GFW boot complete",
        "cannot bootstrap riscv/gsp",
        "Cannot initialize GSP firmware RM",
    ]
    .iter()
    .any(|form| text.starts_with(form))
    .then_some(Kind::NvidiaBootFailed)
}

/// Checks of the driver that failed since the GPU is gone or wants a reset.
fn status(text: &str) -> Option<Kind> {
    let text = ["Assertion failed: ", "Check failed: "]
        .iter()
        .find_map(|form| text.strip_prefix(form))?;
    if text.starts_with("Reset required [NV_ERR_RESET_REQUIRED]") {
        return Some(Kind::NvidiaResetRequired);
    }
    text.starts_with("GPU lost from the bus [NV_ERR_GPU_IS_LOST]")
        .then_some(Kind::NvidiaOffBus)
}

/// `GPU 0000:3b:00.0: `, `GPU3 ` or nothing before the text.
fn device(body: &str) -> (String, &str) {
    if let Some((id, rest)) = body
        .strip_prefix("GPU ")
        .and_then(|rest| rest.split_once(": "))
    {
        return (pci_id(id).unwrap_or_default(), rest);
    }
    if let Some((number, rest)) = body.strip_prefix("GPU").map(split_digits)
        && !number.is_empty()
        && let Some(rest) = rest.strip_prefix(' ')
    {
        return (format!("GPU{number}"), rest);
    }
    (String::new(), body)
}

fn is_function(text: &str) -> bool {
    !text.is_empty()
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

fn probe_routine(rest: &str) -> Option<MatchedLine<'_>> {
    let (kind, rest) = if let Some(rest) = rest.strip_prefix("was not called for ") {
        (Kind::NvidiaConflict, rest)
    } else {
        (Kind::ProbeFailed, rest.strip_prefix("failed for ")?)
    };
    let (devices, _) = split_digits(rest);
    let found = MatchedLine::new(kind, "").fact("devices", devices);
    Some(if kind == Kind::ProbeFailed {
        found.fact("driver", "nvidia")
    } else {
        found
    })
}

/// The versions, where the line says them: first the client's, then the module's; digits and dots only, since the first is
/// what the client says of itself.
fn mismatch(body: &str) -> MatchedLine<'_> {
    let mut versions = body.split("the version ").skip(1).map(|rest| {
        let length = rest
            .bytes()
            .take_while(|byte| byte.is_ascii_digit() || *byte == b'.')
            .count()
            .min(32);
        rest.get(..length).unwrap_or("").trim_end_matches('.')
    });
    let client = versions.next().unwrap_or("");
    MatchedLine::new(Kind::NvidiaMismatch, "")
        .fact("client_version", client)
        .fact("module_version", versions.next().unwrap_or(""))
}
