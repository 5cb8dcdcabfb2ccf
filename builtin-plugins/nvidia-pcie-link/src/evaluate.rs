//! From links to a report.
//!
//! Lanes are not given up to save power, so fewer than there could be are lanes that failed. The generation is given up
//! while a GPU is idle, so it is judged of busy ones only. Both only after some checks in a row: a link may be training.

use gpud_builtin_nvidia_common::{Gpu, GpuFinding, GpuReadings, state, trouble, with_data};
use gpud_sdk::{CheckContext, RepairAction, Report};
use serde::Serialize;

use crate::config::Config;
use crate::memory::{Memory, Streak};

/// PCIe generation.
pub const GENERATION: &str = "accelerator_nvidia_pcie_link_generation";
/// Lanes.
pub const WIDTH: &str = "accelerator_nvidia_pcie_link_width";
/// PCIe generation.
pub const MAX_GENERATION: &str = "accelerator_nvidia_pcie_link_max_generation";
/// Lanes.
pub const MAX_WIDTH: &str = "accelerator_nvidia_pcie_link_max_width";

const ADVICE: &str = "Reseat the GPU or its riser and look at the slot; a link that trains again at a reboot may come back for a while.";
const DEMAND_ADVICE: &str =
    "Look at the slot and the machine's settings: the link cannot do what is asked of it.";

/// What a GPU says; `None` where it cannot tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Reading {
    /// PCIe generation now.
    pub generation: Option<u32>,
    /// Lanes now.
    pub width: Option<u32>,
    /// Highest generation that GPU and slot can do.
    pub max_generation: Option<u32>,
    /// Most lanes that GPU and slot can do.
    pub max_width: Option<u32>,
    /// Time in which a kernel ran.
    pub busy_percent: Option<u32>,
}

#[derive(Serialize)]
struct Document<'a> {
    pcie_links: Vec<Row<'a>>,
}

#[derive(Serialize)]
struct Row<'a> {
    uuid: &'a str,
    bus_id: &'a str,
    generation: Option<u32>,
    width: Option<u32>,
    max_generation: Option<u32>,
    max_width: Option<u32>,
    supported: bool,
}

/// Now and at best, where that is less; a best of 0 is none.
fn below(now: Option<u32>, best: Option<u32>) -> Option<(u32, u32)> {
    let (now, best) = (now?, best?);
    (now < best).then_some((now, best))
}

impl Reading {
    fn narrow(&self) -> Option<(u32, u32)> {
        below(self.width, self.max_width)
    }

    /// `None` also of an idle GPU.
    fn slow(&self, config: &Config) -> Option<(u32, u32)> {
        self.is_busy(config)?;
        below(self.generation, self.max_generation)
    }

    fn is_busy(&self, config: &Config) -> Option<()> {
        (u64::from(self.busy_percent?) >= config.busy_percent).then_some(())
    }

    /// The streak after one more check. An idle GPU proves nothing about its speed, unless that is full.
    fn streak(&self, config: &Config, before: Streak) -> Streak {
        let full = below(self.generation, self.max_generation).is_none();
        Streak {
            narrow: match self.narrow() {
                Some(_) => before.narrow.saturating_add(1).min(config.checks),
                None => 0,
            },
            slow: match self.slow(config) {
                Some(_) => before.slow.saturating_add(1).min(config.checks),
                None if full => 0,
                None => before.slow,
            },
        }
    }

    fn findings(&self, gpu: &Gpu, config: &Config, streak: Streak) -> Vec<GpuFinding> {
        let finding = |what: String, advice, reading| {
            GpuFinding::degraded(format!("GPU {} PCIe {what}", gpu.label()))
                .action(RepairAction::HardwareInspection, advice)
                .about([gpu.clone()])
                .read_from(reading)
        };
        let mut findings = Vec::new();
        if let Some((now, best)) = self.narrow()
            && streak.narrow >= config.checks
        {
            let what = format!("link has x{now} of x{best} lanes");
            findings.push(finding(what, ADVICE, "nvmlDeviceGetCurrPcieLinkWidth"));
        }
        if let Some((now, best)) = below(self.generation, self.max_generation)
            && streak.slow >= config.checks
        {
            let what = format!("link runs at generation {now} of {best}");
            findings.push(finding(what, ADVICE, "nvmlDeviceGetCurrPcieLinkGeneration"));
        }
        for (best, least, unit, reading) in [
            (
                self.max_width,
                config.min_width,
                "x",
                "nvmlDeviceGetMaxPcieLinkWidth",
            ),
            (
                self.max_generation,
                config.min_generation,
                "generation ",
                "nvmlDeviceGetMaxPcieLinkGeneration",
            ),
        ] {
            if let Some(best) = best.filter(|best| u64::from(*best) < least) {
                let what = format!("link can do {unit}{best}, expected {unit}{least}");
                findings.push(finding(what, DEMAND_ADVICE, reading));
            }
        }
        findings
    }
}

/// The report, and what to remember. `None` is a GPU without a PCIe link, or whose driver cannot tell.
pub fn evaluate(
    context: &CheckContext,
    config: &Config,
    seen: &GpuReadings<Option<Reading>>,
    before: &Memory,
) -> (Report, Memory) {
    let mut now = Memory {
        boot_id: context.boot_id.clone(),
        ..Memory::default()
    };
    let mut findings = trouble::findings(&seen.gpus, "error getting PCIe link");
    for asked in &seen.gpus {
        let uuid = &asked.gpu.uuid;
        let known = before.of(&context.boot_id, uuid);
        let streak = match &asked.answer {
            Ok(Some(reading)) => {
                let streak = reading.streak(config, known);
                findings.extend(reading.findings(&asked.gpu, config, streak));
                streak
            }
            Ok(None) => Streak::default(),
            // It was not looked at.
            Err(_) => known,
        };
        if streak != Streak::default() {
            now.streaks.insert(uuid.clone(), streak);
        }
    }
    let healthy = format!(
        "all {} GPU(s) were checked, no PCIe link issue found",
        seen.gpus.len()
    );
    let mut state = state(context, healthy, findings);
    let pcie_links: Vec<_> = seen
        .answered()
        .map(|(gpu, reading)| {
            let link = reading.unwrap_or_default();
            Row {
                uuid: &gpu.uuid,
                bus_id: &gpu.bus_id,
                generation: link.generation,
                width: link.width,
                max_generation: link.max_generation,
                max_width: link.max_width,
                supported: reading.is_some(),
            }
        })
        .collect();
    if !pcie_links.is_empty() {
        state = with_data(state, &Document { pcie_links });
    }
    let mut report = Report::of(state);
    for (gpu, reading) in seen.answered() {
        let Some(link) = reading else {
            continue;
        };
        for (name, value) in [
            (GENERATION, link.generation),
            (WIDTH, link.width),
            (MAX_GENERATION, link.max_generation),
            (MAX_WIDTH, link.max_width),
        ] {
            if let Some(value) = value {
                report.add_gauge(name, &[("uuid", gpu.uuid.as_str())], value.into());
            }
        }
    }
    (report, now)
}

#[cfg(test)]
mod tests;
