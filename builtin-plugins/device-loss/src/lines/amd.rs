//! `amdgpu`, `drivers/gpu/drm/amd/amdgpu`.
//!
//! `amdgpu ‹id›: [amdgpu: ]‹text›`, or `[drm:‹function› [amdgpu]] *ERROR* ‹text›` in older kernels, with the texts
//!
//! | text | source |
//! |---|---|
//! | `GPU reset begin!` | `amdgpu_device.c`, `amdgpu_device_gpu_recover` |
//! | `GPU reset(‹n›) succeeded!`, `GPU reset(‹n›) failed`, `GPU reset end with ret = ‹n›` | same |
//! | `GPU Recovery Failed: ‹n›` | `amdgpu_job.c`, `amdgpu_job_timedout` |
//! | `ring ‹name› timeout, signaled seq=‹n›, emitted seq=‹n›` | same |
//! | `device lost from bus!` | `amdgpu_device.c`, `amdgpu_device_health_check` |
//! | `[drm] device wedged, needs recovery`, `[drm] device wedged, but recovered through reset` (later `… but no recovery needed`) | `drivers/gpu/drm/drm_drv.c`, `drm_dev_wedged_event`, from 6.15 |
//! | `[socket: ‹n›, die: ‹n›, ]‹n› [new ]uncorrectable hardware errors detected in ‹block› block` | `amdgpu_ras.c`, `amdgpu_ras_error_print_error_data` |

use super::{Found, Kind, of_driver};

pub(super) fn find(line: &str) -> Option<Found<'_>> {
    if let Some(rest) = line.strip_prefix("[drm:") {
        let (_, text) = rest.split_once(" [amdgpu]] *ERROR* ")?;
        return timeout(text, "amdgpu").or_else(|| failed(text, "amdgpu"));
    }
    let (device, rest) = of_driver(line, "amdgpu")?;
    let text = rest.strip_prefix("amdgpu: ").unwrap_or(rest);
    if text.starts_with("GPU reset begin!") {
        return Some(Found::new(Kind::AmdReset, device));
    }
    let succeeded = text.starts_with("GPU reset(") && text.contains(") succeeded!");
    let text = text.strip_prefix("[drm] ").unwrap_or(text);
    if succeeded || text.starts_with("device wedged, but ") {
        return Some(Found::new(Kind::AmdRecovered, device));
    }
    timeout(text, &device)
        .or_else(|| failed(text, &device))
        .or_else(|| uncorrectable(text, &device))
}

fn timeout<'a>(text: &'a str, device: &str) -> Option<Found<'a>> {
    let (ring, _) = text
        .strip_prefix("ring ")?
        .split_once(" timeout, signaled seq=")?;
    if ring.is_empty() || ring.contains(' ') {
        return None;
    }
    Some(Found::new(Kind::AmdRingTimeout, device).fact("ring", ring))
}

fn failed<'a>(text: &'a str, device: &str) -> Option<Found<'a>> {
    let forms = [
        "GPU reset end with ret = ",
        "GPU Recovery Failed: ",
        "device lost from bus!",
        "device wedged, needs recovery",
    ];
    let is_it = forms.iter().any(|form| text.starts_with(form))
        || text.starts_with("GPU reset(") && text.trim_end().ends_with(") failed");
    is_it.then(|| Found::new(Kind::AmdResetFailed, device).fact("cause", text))
}

/// A count of none, and the sum of all that newer kernels print beside the new ones, are no news.
fn uncorrectable<'a>(text: &'a str, device: &str) -> Option<Found<'a>> {
    let (before, after) = text.split_once(" uncorrectable hardware errors detected in ")?;
    let before = before.strip_suffix(" new").unwrap_or(before);
    let count = before.rsplit(' ').next()?;
    let block = after.split_once(" block").map(|(block, _)| block)?;
    let some =
        count.bytes().all(|byte| byte.is_ascii_digit()) && count.bytes().any(|byte| byte != b'0');
    if !some || block.contains(' ') || block.is_empty() {
        return None;
    }
    let found = Found::new(Kind::AmdUncorrectable, device);
    Some(found.fact("errors", count).fact("block", block))
}
