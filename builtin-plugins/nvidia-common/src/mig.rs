//! MIG devices: what is wrong with a GPU is wrong with each of its parts.
//!
//! Schedulers of work on parts know them by their own UUIDs (`MIG-…`), and a state about a GPU names the GPU only. So
//! [`extend`] adds to a state that is not healthy which parts its GPUs have. They are asked for when there is trouble,
//! and, since a GPU that is lost names none, once in ten minutes besides, and kept.

use std::collections::BTreeMap;

use gpud_sdk::nvml::{self, Answers, Question};
use gpud_sdk::{AccessError, CheckContext, Evidence, Health, HealthState, Report, log, state};

use crate::{Gpu, GpuAnswer, text};

/// Key of the UUIDs in a state's extra info: JSON, `{"GPU-…":["MIG-…"]}`.
pub const KEY: &str = "mig_devices";
/// Key of the retained state.
const KEPT: &str = "mig";
/// How often GPUs are asked that are well.
const PERIOD_MS: u64 = 600_000;
/// Largest text under [`KEY`], bytes; some 300 parts.
const MAX_BYTES: usize = 16 << 10;

/// UUIDs of MIG devices by that of their GPU; GPUs without any are not in it.
pub type Parts = BTreeMap<String, Vec<String>>;

/// Asks all GPUs for their parts: for the parts only where one has any. Nobody knows any where they cannot be listed.
fn ask() -> Vec<Answers> {
    let mut gpus = nvml::ask(&[Question::MigEnabled]).unwrap_or_default();
    if gpus.iter().any(|gpu| gpu.mig_enabled() == Ok(true)) {
        // Those that did not come are asked for one by one.
        let _ = nvml::ask_more(&mut gpus, &[Question::MigDevices]);
    }
    gpus
}

/// The parts of a GPU; nothing if it does not say.
fn parts(gpu: &Answers) -> Option<Vec<String>> {
    match gpu.mig_enabled() {
        Ok(true) => {
            let devices = gpu.mig_devices().ok()?;
            Some(devices.into_iter().map(|part| part.uuid).collect())
        }
        Ok(false) | Err(AccessError::NotSupported(_)) => Some(Vec::new()),
        Err(_) => None,
    }
}

/// The known state after asking. A GPU that does not say has the parts that it had.
fn learn(known: &Parts, asked: impl IntoIterator<Item = (String, Option<Vec<String>>)>) -> Parts {
    let mut known = known.clone();
    for (uuid, parts) in asked {
        match parts {
            None => {}
            Some(parts) if parts.is_empty() => {
                known.remove(&uuid);
            }
            Some(parts) => {
                known.insert(uuid, parts);
            }
        }
    }
    known
}

/// Is it the first check of its ten minutes?
fn is_due(context: &CheckContext) -> bool {
    let period = |time: u64| time / PERIOD_MS;
    context
        .previous_check
        .is_none_or(|previous| period(previous) != period(context.now))
}

/// Is the state about this GPU?
fn concerns(state: &HealthState, gpu: &Gpu, answered: bool) -> bool {
    let is_named = |evidence: &Evidence| match evidence {
        Evidence::Nvml(reading) => !gpu.uuid.is_empty() && reading.ends_with(&gpu.uuid),
        _ => false,
    };
    !answered
        || state.subject.as_ref() == Some(&gpu.subject())
        || state.evidence.iter().any(is_named)
}

fn is_trouble(state: &HealthState) -> bool {
    !matches!(state.health, Health::Healthy | Health::Initializing)
}

/// Names the parts of GPUs in a state: under [`KEY`], and behind its error, if it has one.
fn attach(mut state: HealthState, parts: &Parts) -> HealthState {
    if parts.is_empty() {
        return state;
    }
    if let Some(error) = state.error.take() {
        let words = text::join(parts.values().flatten(), ", ");
        let words = format!("MIG devices concerned: {words}");
        state.error = Some(text::join([error, words], "; "));
    }
    match serde_json::to_string(parts) {
        Ok(text) if text.len() <= MAX_BYTES => state.info(KEY, text),
        _ => state,
    }
}

/// Adds to a report what its trouble means for MIG devices.
pub fn extend<T>(context: &CheckContext, report: Report, asked: &[GpuAnswer<T>]) -> Report {
    let trouble = report.states.first().filter(|state| is_trouble(state));
    let concerned: Vec<&Gpu> = trouble.map_or_else(Vec::new, |state| {
        let asked = asked.iter();
        asked
            .filter(|asked| concerns(state, &asked.gpu, asked.answer.is_ok()))
            .map(|asked| &asked.gpu)
            .collect()
    });
    match is_due(context) || !concerned.is_empty() {
        true => with_parts(report, &concerned),
        false => report,
    }
}

#[cold]
#[inline(never)]
fn with_parts(mut report: Report, concerned: &[&Gpu]) -> Report {
    let gpus = ask();
    let answered = gpus.iter().map(|gpu| (gpu.uuid.clone(), parts(gpu)));
    // In a scan nothing is kept.
    let before = kept();
    let known = learn(&before, answered);
    if known != before {
        keep(&known);
    }
    let parts: Parts = concerned
        .iter()
        .filter_map(|gpu| Some((gpu.uuid.clone(), known.get(&gpu.uuid)?.clone())))
        .collect();
    if let Some(state) = report.states.first_mut() {
        *state = attach(state.clone(), &parts);
    }
    report
}

fn kept() -> Parts {
    let text = state::get_string(KEPT).ok().flatten();
    text.map_or_else(Parts::new, |text| read(&text))
}

fn keep(known: &Parts) {
    if let Err(error) = state::set(KEPT, written(known).as_bytes()) {
        log!(warn, "MIG devices are not remembered: {}", error.text());
    }
}

/// A line for each GPU: its UUID, then those of its parts. Not JSON, whose parser most of these checkers do not need.
fn written(known: &Parts) -> String {
    let lines = known
        .iter()
        .map(|(uuid, parts)| format!("{uuid} {}\n", parts.join(" ")));
    lines.collect()
}

fn read(text: &str) -> Parts {
    let gpus = text.lines().filter_map(|line| {
        let mut words = line.split_whitespace().map(str::to_owned);
        let uuid = words.next()?;
        let parts: Vec<String> = words.collect();
        (!parts.is_empty()).then_some((uuid, parts))
    });
    gpus.collect()
}

#[cfg(test)]
mod tests;
