//! Kernel lines of `amdgpu` (`drivers/gpu/drm/amd`).
//!
//! A line begins `amdgpu ‹id›: [amdgpu: ]`, or `amdgpu: ` (compute, `amdkfd`, without the GPU's name in older kernels),
//! or `[drm:‹function› [amdgpu]] *ERROR* ` (older kernels). Before the text there may be `[drm] `, `*ERROR* ` and the
//! number of a RAS event, `{12}`. The texts:
//!
//! | text | source |
//! |---|---|
//! | `GPU reset begin!` | `amdgpu_device.c`, `amdgpu_device_gpu_recover` |
//! | `GPU reset(‹n›) succeeded!`, `GPU reset(‹n›) failed`, `GPU reset end with ret = ‹n›` | same |
//! | `VRAM is lost due to GPU reset!` | same |
//! | `GPU Recovery Failed: ‹n›` | `amdgpu_job.c`, `amdgpu_job_timedout` |
//! | `ring ‹name› timeout, signaled seq=‹n›, emitted seq=‹n›`, `ring ‹name› timeout, but soft recovered` | same |
//! | `device lost from bus!` | `amdgpu_device.c`, `amdgpu_device_health_check` |
//! | `device wedged, needs recovery`, `device wedged, but …` | `drivers/gpu/drm/drm_drv.c`, `drm_dev_wedged_event` |
//! | `[‹hub›] [no-retry \|retry ]page fault (src_id:‹n› ring:‹n› vmid:‹n› pasid:‹n›` | `gmc_v9_0.c`, `gmc_v10_0.c` and later |
//! | `GPU fault detected: ‹n› 0x‹data›` | `gmc_v6_0.c` to `gmc_v8_0.c` |
//! | `MES[(‹n›)] failed to respond to msg=‹name›` | `mes_v11_0.c`, `mes_v12_0.c` |
//! | `MES might be in unrecoverable state, issue a GPU reset` | `kfd_device_queue_manager.c` |
//! | `qcm fence wait loop timeout expired` | same, `amdkfd_fence_wait_timeout` |
//! | `The cp might be in an unrecoverable state due to an unsuccessful queues preemption` | same |
//! | `SMU: I'm not done with your previous command…`, `SMU: No response msg_reg: ‹n› resp_reg: ‹n›` | `pm/swsmu/smu_cmn.c` |
//! | `Msg issuing pre-check failed(0x‹n›) and SMU may be not in the right state!` | same, older kernels |
//! | `[socket: ‹n›, die: ‹n›, ]‹n› [new ]uncorrectable hardware errors detected in ‹block› block`, before 5.11 without `hardware` | `amdgpu_ras.c`, `amdgpu_ras_query_error_status` and what it calls |
//! | `Uncorrectable error detected in UMC inst: ‹n›, chan_idx: ‹n›` | `amdgpu_ras.c`, `amdgpu_bad_page_notifier` |
//! | `uncorrectable hardware error(ERREVENT_ATHUB_INTERRUPT) detected!`, `RAS event of type ERREVENT_ATHUB_INTERRUPT detected!` | `amdgpu_ras.c`, `amdgpu_ras_global_ras_isr` |
//! | `GPU reset for ‹block› RAS poison consumption is issued!` | `amdgpu_ras.c` |
//! | `RAS poison consumption, fall back to gpu reset flow: client id ‹n›`, `…, unmap queue flow succeeded: …` | `kfd_int_process_v9.c` and later |
//! | `RAS records:‹n› exceed threshold:‹n›`, `RAS records:‹n› exceeds 90% of threshold:‹n›` | `amdgpu_ras_eeprom.c` |
//! | `Saved bad pages ‹n› reaches threshold value ‹n›` | same |
//! | `XGMI PCS ‹error› detected`, also `WAFL PCS`, `XGMI3X16 PCS` | `amdgpu_xgmi.c`, `amdgpu_xgmi_query_pcs_error_status` |
//! | `XGMI: Set topology failure on device ‹id›, hive ‹id›, ret ‹n›` | `amdgpu_xgmi.c`, `amdgpu_xgmi_update_topology` |
//! | `XGMI: Get topology failure on device ‹id›, hive ‹id›, ret ‹n›` | same, `amdgpu_xgmi_add_device` |
//! | `PSP firmware loading failed` | `amdgpu_psp.c`, `psp_hw_init` |
//! | `hw_init of IP block <‹name›> failed ‹n›` | `amdgpu_device.c` |
//! | `Fatal error during GPU init` | `amdgpu_kms.c`, later `amdgpu_device.c` |
//!
//! Not read: `Poison is created, no user action is needed.`, corrected errors, and `psp gfx command … failed`, which
//! sound machines print, too.

use gpud_builtin_amd_common::pci::is_id;

use crate::kinds::Kind;

/// What the host delivers: no narrower than [`find`].
pub const PATTERNS: [&str; 9] = [
    r"^(amdgpu|\[drm:).*(GPU reset|GPU Recovery Failed|VRAM is lost|device lost from bus)",
    r"^(amdgpu|\[drm:).*(device wedged, |ring [^ ]+ timeout, )",
    r"^(amdgpu|\[drm:).*(page fault \(src_id:|GPU fault detected: )",
    r"^(amdgpu|\[drm:).*SMU(: I'm not done|: No response| may be not in the right)",
    r"^(amdgpu|\[drm:).*(MES(\([^)]*\))? failed to respond|MES might be in|qcm fence wait loop|The cp might be in)",
    r"^(amdgpu|\[drm:).*([Uu]ncorrectable (hardware )?error|ERREVENT_ATHUB|RAS poison consumption)",
    r"^(amdgpu|\[drm:).*(RAS records:|Saved bad pages )",
    r"^(amdgpu|\[drm:).*( PCS [A-Za-z0-9]+ detected|XGMI: [SG]et topology failure)",
    r"^(amdgpu|\[drm:).*(PSP firmware loading failed|hw_init of IP block|Fatal error during GPU init)",
];

/// Without a name, the driver stands for its GPUs.
const DRIVER: &str = "amdgpu";
/// Parts before a text that are taken away, one after the other.
const MAX_PREFIXES: usize = 6;

/// A kernel line that the checker knows, with its facts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MatchedLine<'a> {
    /// What happened.
    pub kind: Kind,
    /// To which GPU: its PCI id, or `amdgpu`.
    pub device: &'a str,
    /// Facts by name.
    pub facts: Vec<(&'static str, &'a str)>,
}

/// Reads a line.
pub fn find(line: &str) -> Option<MatchedLine<'_>> {
    let (device, text) = split(line)?;
    let (kind, facts) = reset(text)
        .or_else(|| hang(text))
        .or_else(|| damage(text))
        .or_else(|| link(text))
        .or_else(|| start(text))?;
    Some(MatchedLine {
        kind,
        device,
        facts,
    })
}

/// The GPU and the text.
fn split(line: &str) -> Option<(&str, &str)> {
    let (device, rest) = if let Some(rest) = line.strip_prefix("[drm:") {
        let (function, rest) = rest.split_once(" [amdgpu]] *ERROR* ")?;
        if function.contains(' ') {
            return None;
        }
        (DRIVER, rest)
    } else if let Some(rest) = line.strip_prefix("amdgpu: ") {
        (DRIVER, rest)
    } else {
        let (device, rest) = line.strip_prefix("amdgpu ")?.split_once(": ")?;
        (Some(device).filter(|id| is_id(id))?, rest)
    };
    Some((device, without_prefixes(rest)))
}

fn without_prefixes(mut text: &str) -> &str {
    for _ in 0..MAX_PREFIXES {
        let shorter = ["amdgpu: ", "[drm] ", "*ERROR* "]
            .iter()
            .find_map(|prefix| text.strip_prefix(prefix))
            .or_else(|| drm_function(text))
            .or_else(|| event_number(text));
        match shorter {
            Some(shorter) => text = shorter,
            None => break,
        }
    }
    text
}

/// `[drm:amdgpu_ring_test_helper [amdgpu]] `.
fn drm_function(text: &str) -> Option<&str> {
    let (function, rest) = text.strip_prefix("[drm:")?.split_once(" [amdgpu]] ")?;
    (!function.contains(' ')).then_some(rest)
}

/// `{12}`.
fn event_number(text: &str) -> Option<&str> {
    let (number, rest) = text.strip_prefix('{')?.split_once('}')?;
    is_number(number).then(|| rest.trim_start())
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

type LineMatch<'a> = Option<(Kind, Vec<(&'static str, &'a str)>)>;

fn without_facts<'a>(kind: Kind) -> LineMatch<'a> {
    Some((kind, Vec::new()))
}

fn because(kind: Kind, text: &str) -> LineMatch<'_> {
    Some((kind, vec![("cause", text.trim_end())]))
}

fn reset(text: &str) -> LineMatch<'_> {
    if text.starts_with("GPU reset begin!") {
        return without_facts(Kind::Reset);
    }
    if let Some(rest) = text.strip_prefix("GPU reset(") {
        let (number, rest) = rest.split_once(") ")?;
        return match is_number(number) {
            true if rest.starts_with("succeeded!") => without_facts(Kind::Recovered),
            true if rest.starts_with("failed") => because(Kind::ResetFailed, text),
            _ => None,
        };
    }
    let failed = ["GPU reset end with ret = ", "GPU Recovery Failed: "];
    if failed.iter().any(|form| text.starts_with(form)) {
        return because(Kind::ResetFailed, text);
    }
    if let Some(rest) = text.strip_prefix("device wedged, ") {
        return match rest.starts_with("needs recovery") {
            true => because(Kind::ResetFailed, text),
            false if rest.starts_with("but ") => without_facts(Kind::Recovered),
            false => None,
        };
    }
    if text.starts_with("VRAM is lost due to GPU reset!") {
        return without_facts(Kind::VramLost);
    }
    text.starts_with("device lost from bus!")
        .then_some((Kind::OffBus, Vec::new()))
}

fn hang(text: &str) -> LineMatch<'_> {
    if let Some(rest) = text.strip_prefix("ring ") {
        let (ring, rest) = rest.split_once(" timeout, ")?;
        let kind = match () {
            () if ring.is_empty() || ring.contains(' ') => return None,
            () if rest.starts_with("signaled seq=") => Kind::RingTimeout,
            () if rest.starts_with("but soft recovered") => Kind::RingRecovered,
            () => return None,
        };
        return Some((kind, vec![("ring", ring)]));
    }
    if let Some(rest) = text.strip_prefix("MES") {
        let rest = match rest.strip_prefix('(') {
            Some(pipe) => pipe.split_once(')')?.1,
            None => rest,
        };
        let hangs = [
            " failed to respond to msg=",
            " might be in unrecoverable state",
        ];
        return match hangs.iter().any(|form| rest.starts_with(form)) {
            true => because(Kind::SchedulerHang, text),
            false => None,
        };
    }
    for (form, kind) in [
        ("qcm fence wait loop timeout expired", Kind::SchedulerHang),
        (
            "The cp might be in an unrecoverable state",
            Kind::SchedulerHang,
        ),
        (
            "SMU: I'm not done with your previous command",
            Kind::SmuTimeout,
        ),
        ("SMU: No response msg_reg: ", Kind::SmuTimeout),
    ] {
        if text.starts_with(form) {
            return because(kind, text);
        }
    }
    if text.starts_with("Msg issuing pre-check failed(")
        && text.contains(" and SMU may be not in the right state!")
    {
        return because(Kind::SmuTimeout, text);
    }
    page_fault(text)
}

fn page_fault(text: &str) -> LineMatch<'_> {
    if text.starts_with("GPU fault detected: ") {
        return without_facts(Kind::PageFault);
    }
    let (hub, rest) = text.strip_prefix('[')?.split_once("] ")?;
    let rest = ["no-retry ", "retry "]
        .iter()
        .find_map(|prefix| rest.strip_prefix(prefix))
        .unwrap_or(rest);
    let is_hub = !hub.is_empty() && hub.len() <= 32 && !hub.contains([' ', '[']);
    let rest = rest
        .strip_prefix("page fault (src_id:")
        .filter(|_| is_hub)?;
    let mut facts = vec![("hub", hub)];
    // Later kernels have a line of its own for it.
    let process = rest.split_once(" for process ").map(|(_, process)| process);
    if let Some((process, _)) = process.and_then(|process| process.split_once(" pid ")) {
        facts.push(("process", process));
    }
    Some((Kind::PageFault, facts))
}

/// A count of none, and the sum of all that newer kernels print beside the new ones, are no news.
fn damage(text: &str) -> LineMatch<'_> {
    let counted = [
        " uncorrectable hardware errors detected in ",
        " uncorrectable errors detected in ",
    ]
    .iter()
    .find_map(|form| text.split_once(form));
    if let Some((before, after)) = counted {
        let before = before.strip_suffix(" new").unwrap_or(before);
        let count = before.rsplit(' ').next()?;
        let block = after.split_once(" block").map(|(block, _)| block)?;
        let some = is_number(count) && count.bytes().any(|byte| byte != b'0');
        if !some || block.contains(' ') || block.is_empty() {
            return None;
        }
        return Some((
            Kind::Uncorrectable,
            vec![("errors", count), ("block", block)],
        ));
    }
    if text.starts_with("Uncorrectable error detected in UMC inst: ") {
        let facts = vec![("block", "umc"), ("cause", text.trim_end())];
        return Some((Kind::Uncorrectable, facts));
    }
    let fatal = [
        "uncorrectable hardware error(ERREVENT_ATHUB_INTERRUPT) detected!",
        "uncorrectable hardware error (ERREVENT_ATHUB_INTERRUPT) detected!",
        "Uncorrectable hardware error(ERREVENT_ATHUB_INTERRUPT) detected!",
        "RAS event of type ERREVENT_ATHUB_INTERRUPT detected!",
    ];
    if fatal.iter().any(|form| text.starts_with(form)) {
        return without_facts(Kind::FatalError);
    }
    if text.starts_with("RAS poison consumption, ") {
        return because(Kind::Poison, text);
    }
    if let Some(rest) = text.strip_prefix("GPU reset for ") {
        let (block, _) = rest.split_once(" RAS poison consumption is issued!")?;
        return Some((Kind::Poison, vec![("block", block)]));
    }
    bad_pages(text)
}

fn bad_pages(text: &str) -> LineMatch<'_> {
    if let Some(rest) = text.strip_prefix("RAS records:") {
        let (number, rest) = rest.split_once(' ')?;
        return match is_number(number) {
            true if rest.starts_with("exceed threshold:") => because(Kind::BadPages, text),
            true if rest.starts_with("exceeds 90% of threshold:") => {
                because(Kind::BadPagesNear, text)
            }
            _ => None,
        };
    }
    let (number, rest) = text.strip_prefix("Saved bad pages ")?.split_once(' ')?;
    match is_number(number) && rest.starts_with("reaches threshold value ") {
        true => because(Kind::BadPages, text),
        false => None,
    }
}

fn link(text: &str) -> LineMatch<'_> {
    let topology = [
        "XGMI: Set topology failure on ",
        "XGMI: Get topology failure on ",
    ];
    if topology.iter().any(|form| text.starts_with(form)) {
        return because(Kind::Xgmi, text);
    }
    let names = ["XGMI PCS ", "WAFL PCS ", "XGMI3X16 PCS "];
    let rest = names.iter().find_map(|name| text.strip_prefix(name))?;
    let (error, _) = rest.split_once(" detected")?;
    let is_error = !error.is_empty() && error.bytes().all(|byte| byte.is_ascii_alphanumeric());
    is_error.then(|| (Kind::Xgmi, vec![("cause", text.trim_end())]))
}

fn start(text: &str) -> LineMatch<'_> {
    if text.starts_with("PSP firmware loading failed") {
        return without_facts(Kind::Firmware);
    }
    if text.starts_with("Fatal error during GPU init") {
        return without_facts(Kind::InitFailed);
    }
    let (block, rest) = text
        .strip_prefix("hw_init of IP block <")?
        .split_once('>')?;
    rest.starts_with(" failed ").then(|| {
        (
            Kind::InitFailed,
            vec![("block", block), ("cause", text.trim_end())],
        )
    })
}

#[cfg(test)]
mod tests;
