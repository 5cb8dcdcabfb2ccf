//! From readings and the kernel's complaint to a report.

use gpud_builtin_nvidia_common::{
    GpuFinding, GpuReadings, product, state, text, trouble, with_data,
};
use gpud_sdk::boots::is_of_this_boot;
use gpud_sdk::history::StoredEvent;
use gpud_sdk::{AccessError, CheckContext, Evidence, HealthState, Recovery, RepairAction, Report};

use crate::config::Config;
use crate::document::Document;
use crate::kmsg::{EVENT_NAME, MESSAGE};
use crate::reading::{Pair, Reading};
use crate::rising::{self, Rises};

/// 0 or 1.
pub const SUPPORTED: &str = "accelerator_nvidia_nvlink_supported";
/// 0 or 1.
pub const ENABLED: &str = "accelerator_nvidia_nvlink_feature_enabled";
/// Sum over links.
pub const REPLAY: &str = "accelerator_nvidia_nvlink_replay_errors";
/// Sum over links.
pub const RECOVERY: &str = "accelerator_nvidia_nvlink_recovery_errors";
/// Sum over links.
pub const CRC: &str = "accelerator_nvidia_nvlink_crc_errors";

/// How long after the kernel's complaint good readings do not yet clear it.
const SETTLE_MS: u64 = 120_000;
/// How long a call to a GPU may hang before the driver is suspected.
const STUCK_MS: u64 = 120_000;
/// Kernel log records given as evidence.
const MAX_EVIDENCE: usize = 16;

/// The result of the readings. Lists are sorted.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Summary<'a> {
    /// GPUs whose links are all up.
    pub active: Vec<&'a str>,
    /// GPUs with links that are not.
    pub inactive: Vec<&'a str>,
    /// GPUs without links.
    pub unsupported: Vec<&'a str>,
    /// Pairs that could be asked.
    pub probed: usize,
    /// Pairs.
    pub pairs: usize,
    /// Pairs with a way over NVLink.
    pub ok_pairs: usize,
    /// GPUs in such pairs.
    pub ok_gpus: Vec<&'a str>,
    /// Codes of pairs.
    pub codes: Vec<&'a str>,
    /// Are there several GPUs of a product whose machines have NVLink?
    pub system_expected: bool,
}

impl<'a> Summary<'a> {
    /// Sums up.
    pub fn new(seen: &'a GpuReadings<Reading>, pairs: &'a [Pair]) -> Self {
        let mut summary = Self {
            probed: pairs.iter().filter(|pair| pair.status.is_some()).count(),
            pairs: pairs.len(),
            ok_pairs: pairs.iter().filter(|pair| pair.is_ok()).count(),
            codes: pairs.iter().filter_map(Pair::code).collect(),
            system_expected: seen.gpus.len() > 1
                && (product::has_fabric_manager(&seen.product)
                    || product::has_fabric_state(&seen.product)),
            ..Self::default()
        };
        for (gpu, reading) in seen.answered() {
            let list = match (reading.supported(), reading.active()) {
                (false, _) => &mut summary.unsupported,
                (true, true) => &mut summary.active,
                (true, false) => &mut summary.inactive,
            };
            list.push(&gpu.uuid);
        }
        let ok = pairs.iter().filter(|pair| pair.is_ok());
        summary.ok_gpus = ok.flat_map(|pair| [&*pair.a, &*pair.b]).collect();
        for list in [
            &mut summary.active,
            &mut summary.inactive,
            &mut summary.unsupported,
            &mut summary.ok_gpus,
            &mut summary.codes,
        ] {
            list.sort_unstable();
            list.dedup();
        }
        summary
    }

    fn no_way(&self) -> bool {
        self.probed > 0 && self.ok_pairs == 0
    }

    fn details(&self) -> String {
        let named = |what: &str, items: &[&str]| {
            (!items.is_empty()).then(|| format!("{what}={}", text::join(items, ",")))
        };
        let codes = if self.no_way() { &*self.codes } else { &[] };
        let parts: Vec<String> = [
            named("peer nvlink p2p statuses", codes),
            named("inactive nvlinks", &self.inactive),
            named("unsupported nvlinks", &self.unsupported),
        ]
        .into_iter()
        .flatten()
        .collect();
        match parts.is_empty() {
            true => String::new(),
            false => format!(" ({})", text::join(parts, "; ")),
        }
    }

    /// A reboot can bring back links that are down, and ways of which the driver knows nothing.
    fn finding(&self, reason: String, seen: &GpuReadings<Reading>) -> GpuFinding {
        let unknown = self.probed == self.pairs && self.no_way() && self.codes.contains(&"U");
        let down = seen.gpus.iter().map(|asked| &asked.gpu);
        let down = down.filter(|gpu| self.inactive.contains(&&*gpu.uuid));
        let finding = GpuFinding::unhealthy(format!("{reason}{}", self.details()))
            .about(down.cloned())
            .read_from("nvmlDeviceGetNvLinkState");
        match !self.inactive.is_empty() || unknown {
            true => finding.action(RepairAction::RebootSystem, ""),
            false => finding,
        }
    }
}

/// What links and pairs say: a finding, or the reason for being healthy.
fn judge(
    config: &Config,
    seen: &GpuReadings<Reading>,
    summary: &Summary<'_>,
) -> Result<String, Box<GpuFinding>> {
    let total = seen.gpus.len();
    // In MIG mode there is no way to other GPUs, and that is as it should be.
    let apart = seen.answered().filter(|(_, reading)| reading.mig).count();
    let peers = seen.answered().count() - apart;
    let expected = summary.system_expected && (apart == 0 || peers > 1);
    if expected && peers > 1 && summary.no_way() && summary.probed == summary.pairs {
        let reason = format!(
            "no GPU pairs report NVLink P2P connectivity on {total}-GPU NVLink-capable system"
        );
        return Err(Box::new(summary.finding(reason, seen)));
    }
    let (wanted, active) = (config.at_least_gpus, summary.active.len() as u64);
    if wanted == 0 {
        let none = peers > 0 && summary.active.is_empty() && summary.ok_gpus.is_empty();
        if expected && none {
            let reason =
                format!("no GPUs report active nvlink links on {total}-GPU NVLink-capable system");
            return Err(Box::new(summary.finding(reason, seen)));
        }
        return Ok(format!(
            "all {total} GPU(s) were checked, no nvlink issue found"
        ));
    }
    if seen.answered().next().is_none() {
        return Ok("no nvlink data (skipped evaluation)".to_owned());
    }
    let requires = format!("require >={wanted} GPUs with all links active; got {active}");
    if active >= wanted {
        return Ok(format!("nvlink threshold satisfied: {requires}"));
    }
    let reason = format!("nvlink threshold violated: {requires}");
    Err(Box::new(summary.finding(reason, seen)))
}

/// A call that hangs for long is more than a GPU that does not answer.
fn stuck(seen: &GpuReadings<Reading>) -> Option<GpuFinding> {
    let hanging = seen.gpus.iter().filter_map(|asked| {
        let error = &asked.answer.as_ref().err()?.error;
        match error {
            AccessError::TimedOut(info) if info.after_ms >= STUCK_MS => {
                Some((info.after_ms, asked))
            }
            _ => None,
        }
    });
    let (longest, asked) = hanging.max_by_key(|(after, _)| *after)?;
    let reason = format!(
        "NVIDIA NVLink health check has not completed for {}; NVIDIA driver may be unresponsive",
        duration((longest + 500) / 1000)
    );
    let finding = GpuFinding::unhealthy(reason).about([asked.gpu.clone()]);
    Some(finding.action(
        RepairAction::RebootSystem,
        "NVIDIA driver may be unresponsive",
    ))
}

/// Seconds as Go writes a duration: `2m5s`.
fn duration(seconds: u64) -> String {
    let (hours, minutes, rest) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
    match (hours, minutes) {
        (0, 0) => format!("{rest}s"),
        (0, minutes) => format!("{minutes}m{rest}s"),
        (hours, minutes) => format!("{hours}h{minutes}m{rest}s"),
    }
}

/// Do all links and ways work that could be asked?
fn all_good(seen: &GpuReadings<Reading>, summary: &Summary<'_>) -> bool {
    !summary.active.is_empty()
        && summary.inactive.is_empty()
        && summary.ok_pairs == summary.pairs
        && seen.gpus.iter().all(|asked| asked.answer.is_ok())
}

/// The kernel's complaints of this boot.
fn complaints<'a>(
    context: &'a CheckContext,
    events: &'a [StoredEvent],
) -> impl Iterator<Item = &'a StoredEvent> {
    let of_this_boot = |stored: &&StoredEvent| {
        stored.event.name == EVENT_NAME && is_of_this_boot(context, &stored.event)
    };
    events.iter().filter(of_this_boot)
}

/// The report. `rises` are the counters that rose since the last check; `events` are the component's own, newest first; `prefix` goes before the reason of a healthy state.
pub fn evaluate(
    context: &CheckContext,
    config: &Config,
    seen: &GpuReadings<Reading>,
    pairs: &[Pair],
    rises: &[Rises],
    events: &[StoredEvent],
    prefix: &str,
) -> Report {
    let summary = Summary::new(seen, pairs);
    let last = complaints(context, events)
        .map(|stored| stored.last_time)
        .max();
    let complaint = last.filter(|last| {
        let settled = context.now.saturating_sub(*last) >= SETTLE_MS;
        !(settled && all_good(seen, &summary))
    });
    let mut findings = Vec::new();
    if complaint.is_some() {
        findings.push(GpuFinding::unhealthy(MESSAGE).action(RepairAction::RebootSystem, MESSAGE));
    }
    findings.extend(stuck(seen));
    findings.extend(trouble::findings(&seen.gpus, "error getting nvlink"));
    let mut healthy = String::new();
    match judge(config, seen, &summary) {
        Ok(reason) => healthy = format!("{prefix}{reason}"),
        Err(finding) => findings.push(*finding),
    }
    findings.extend(rising::findings(rises, config));
    let mut state = state(context, healthy, findings);
    if complaint.is_some() {
        state = with_kernel(state, context, events);
    }
    if seen.answered().next().is_some() {
        let document = Document::new(seen.answered(), &summary, config.at_least_gpus);
        state = with_data(state, &document);
    }
    let mut report = Report::of(state);
    for (gpu, reading) in seen.answered() {
        let labels = [("uuid", gpu.uuid.as_str())];
        let links = || reading.links.iter().flatten();
        let flag = |yes: bool| if yes { 1.0 } else { 0.0 };
        for (name, value) in [
            (SUPPORTED, flag(reading.supported())),
            (ENABLED, flag(reading.active())),
            (REPLAY, links().map(|link| link.errors.replay as f64).sum()),
            (
                RECOVERY,
                links().map(|link| link.errors.recovery as f64).sum(),
            ),
            (CRC, links().map(|link| link.errors.crc as f64).sum()),
        ] {
            report.add_gauge(name, &labels, value);
        }
    }
    report
}

/// The report of a scan that could not read the kernel log, which it may read.
pub fn unread(context: &CheckContext, error: &AccessError) -> Report {
    Report::of(HealthState::unjudged(context, error))
}

fn with_kernel(
    mut state: HealthState,
    context: &CheckContext,
    events: &[StoredEvent],
) -> HealthState {
    let lines = complaints(context, events).flat_map(|stored| &stored.event.evidence);
    let lines = lines.filter(|evidence| matches!(evidence, Evidence::Kmsg(_)));
    state
        .evidence
        .splice(0..0, lines.take(MAX_EVIDENCE).cloned());
    state.evidence.truncate(64);
    // The complaint names no GPU that anybody could find.
    state.subject = None;
    state
        .clears_by(Recovery::Reboot)
        .clears_by(Recovery::SetHealthy)
}

#[cfg(test)]
mod tests;
