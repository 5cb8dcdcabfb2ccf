//! The verdict.

use gpud_builtin_amd_common::check::nothing;
use gpud_builtin_amd_common::ras::{Counts, Growth, counts};
use gpud_builtin_amd_common::{Card, CardFile, RetainedState, Round};
use gpud_sdk::files::gauge;
use gpud_sdk::findings::{Finding, with_data};
use gpud_sdk::{CheckContext, RepairAction, Report};
use serde_json::{Value, json};

use crate::config::Config;
use crate::pages::Pages;

/// The files. A bad page is a line of 28 bytes, and HBM3 GPUs note 16 pages for each error.
pub const FILES: [CardFile; 3] = [
    CardFile::short("ras/features"),
    CardFile::short("ras/*_err_count"),
    CardFile {
        name: BAD_PAGES_FILE,
        max_bytes: 1 << 20,
    },
];
const BAD_PAGES_FILE: &str = "ras/gpu_vram_bad_pages";
/// The links between GPUs are the component `accelerator-amd-xgmi`'s.
const XGMI: &str = "xgmi_wafl";

const NO_RAS: &str = "no AMD GPU with error counters (RAS) on this machine";

/// Metric of uncorrected errors.
pub const UNCORRECTED: &str = "accelerator_amd_ecc_uncorrected_errors";
/// Metric of corrected errors.
pub const CORRECTED: &str = "accelerator_amd_ecc_corrected_errors";
/// Metric of deferred errors.
pub const DEFERRED: &str = "accelerator_amd_ecc_deferred_errors";
/// Metric of bad pages.
pub const BAD_PAGES: &str = "accelerator_amd_ecc_bad_pages";

const UNCORRECTED_ADVICE: &str = "The driver resets the GPU and takes bad memory out of use. Drain the machine and \
    reboot; if the errors come back, have the GPU looked at.";
const CORRECTED_ADVICE: &str =
    "No data was lost, but this many corrections announce worse: have the GPU looked at.";
const PENDING_ADVICE: &str = "Bad memory is still in use: end what runs on the GPU, or reboot, so that it is taken out \
    of use.";
const FAILED_ADVICE: &str = "Reboot, so that the bad memory is taken out of use before anything uses it; if that does \
    not help, have the GPU looked at.";
const PAGES_ADVICE: &str = "The memory of this GPU is wearing out: have it looked at.";

/// One GPU's readings.
struct Reading<'a> {
    card: &'a Card,
    blocks: Vec<(&'a str, Counts)>,
    pages: Option<Pages>,
}

impl<'a> Reading<'a> {
    /// Nothing of a GPU without RAS.
    fn of(card: &'a Card) -> Option<Self> {
        let blocks: Vec<_> = card
            .between("ras/", "_err_count")
            .filter(|(block, _)| *block != XGMI)
            .filter_map(|(block, text)| Some((block, counts(text)?)))
            .collect();
        let pages = card.text(BAD_PAGES_FILE).map(Pages::read);
        let has_ras = card.text("ras/features").is_some() || !blocks.is_empty() || pages.is_some();
        has_ras.then_some(Self {
            card,
            blocks,
            pages,
        })
    }

    fn document(&self) -> Value {
        let blocks: serde_json::Map<String, Value> = self
            .blocks
            .iter()
            .filter(|(_, counts)| *counts != Counts::default())
            .map(|(block, counts)| {
                let value = json!({
                    "uncorrected": counts.uncorrected,
                    "corrected": counts.corrected,
                    "deferred": counts.deferred,
                });
                ((*block).to_owned(), value)
            })
            .collect();
        let pages = self.pages.unwrap_or_default();
        json!({
            "bus_id": self.card.id,
            "product": self.card.product,
            "blocks": self.blocks.len(),
            "errors": blocks,
            "bad_pages": {"retired": pages.retired, "pending": pages.pending, "failed": pages.failed},
        })
    }
}

/// The report, and what to keep.
pub fn evaluate(
    context: &CheckContext,
    config: &Config,
    cards: &[Card],
    before: &RetainedState,
    growth: &Growth,
) -> (Report, RetainedState, Growth) {
    let readings: Vec<Reading> = cards.iter().filter_map(Reading::of).collect();
    if readings.is_empty()
        && let Some((report, past)) = nothing(context, cards, NO_RAS)
    {
        return (report, past, Growth::default());
    }
    let mut grown = growth.clone();
    let mut round = Round::begin(cards, before);
    for reading in &readings {
        judge(context, config, reading, &mut grown, &mut round);
    }
    grown.retain(|key| cards.iter().any(|card| key.starts_with(&card.id)));
    let healthy = format!(
        "{} GPU(s) were checked, no more errors than allowed",
        readings.len()
    );
    let (report, after) = round.end(context, &healthy);
    let gpus: Vec<Value> = readings.iter().map(Reading::document).collect();
    let mut report = with_data(report, &json!({ "gpus": gpus }));
    for reading in &readings {
        report = measure(report, reading);
    }
    (report, after, grown)
}

fn judge(
    context: &CheckContext,
    config: &Config,
    reading: &Reading,
    grown: &mut Growth,
    round: &mut Round,
) {
    let card = reading.card;
    let hours = config.window_seconds / 3_600;
    for (block, counts) in &reading.blocks {
        let path = card.path(&format!("ras/{block}_err_count"));
        for (what, count, threshold, event, action, advice) in [
            (
                "uncorrected",
                counts.uncorrected,
                config.uncorrected_threshold,
                "amd_gpu_uncorrected_errors",
                RepairAction::RebootSystem,
                UNCORRECTED_ADVICE,
            ),
            (
                "corrected",
                counts.corrected,
                config.corrected_threshold,
                "amd_gpu_corrected_errors",
                RepairAction::HardwareInspection,
                CORRECTED_ADVICE,
            ),
        ] {
            let key = format!("{} {block} {what}", card.id);
            let new = grown.add(context, config.window_seconds, key.clone(), count);
            if new >= threshold {
                let text = format!(
                    "GPU {}: {new} {what} error(s) in {block} within {hours} h",
                    card.label()
                );
                let finding = Finding::degraded(key, event, text).action(action, advice);
                round.add(finding.subject(card.subject()).from_file(path.clone()));
            }
        }
    }
    let Some(pages) = reading.pages else { return };
    let finding = |what: &str, event, count: u64, action, advice| {
        let key = format!("{} {what} pages", card.id);
        let text = format!("GPU {}: {count} bad page(s) of memory {what}", card.label());
        let finding = Finding::degraded(key, event, text).action(action, advice);
        finding
            .subject(card.subject())
            .from_file(card.path(BAD_PAGES_FILE))
    };
    if pages.failed > 0 {
        round.add(finding(
            "could not be taken out of use",
            "amd_gpu_page_retirement_failed",
            pages.failed,
            RepairAction::RebootSystem,
            FAILED_ADVICE,
        ));
    }
    if pages.pending > 0 {
        round.add(finding(
            "still in use",
            "amd_gpu_page_retirement_pending",
            pages.pending,
            RepairAction::RebootSystem,
            PENDING_ADVICE,
        ));
    }
    if config.bad_pages_threshold > 0 && pages.all() >= config.bad_pages_threshold {
        round.add(finding(
            "in all",
            "amd_gpu_many_bad_pages",
            pages.all(),
            RepairAction::HardwareInspection,
            PAGES_ADVICE,
        ));
    }
}

fn measure(mut report: Report, reading: &Reading) -> Report {
    let id = reading.card.id.as_str();
    for (block, counts) in &reading.blocks {
        let labels = [("bus_id", id), ("block", *block)];
        report = report
            .gauge_with(UNCORRECTED, &labels, gauge(counts.uncorrected))
            .gauge_with(CORRECTED, &labels, gauge(counts.corrected))
            .gauge_with(DEFERRED, &labels, gauge(counts.deferred));
    }
    let Some(pages) = reading.pages else {
        return report;
    };
    for (state, count) in [
        ("retired", pages.retired),
        ("pending", pages.pending),
        ("failed", pages.failed),
    ] {
        report.add_gauge(BAD_PAGES, &[("bus_id", id), ("state", state)], gauge(count));
    }
    report
}

#[cfg(test)]
mod tests;
