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
mod tests {
    use super::*;
    use crate::testing::{GPU_0, GPU_1, NOW, context, failing, gpu};
    use crate::{GpuAnswer, GpuFinding, trouble};
    use gpud_sdk::AccessError;
    use proptest::prelude::*;

    fn parts(of: &[(&str, &[&str])]) -> Parts {
        of.iter()
            .map(|(uuid, parts)| {
                let parts = parts.iter().map(|&part| part.to_owned());
                ((*uuid).to_owned(), parts.collect())
            })
            .collect()
    }

    #[test]
    fn what_is_known_after_asking() {
        let before = parts(&[(GPU_0, &["MIG-a"]), (GPU_1, &["MIG-b"])]);
        for (asked, expected) in [
            // Lost: as it was.
            (None, before.clone()),
            // MIG was switched off.
            (Some(vec![]), parts(&[(GPU_1, &["MIG-b"])])),
            // Partitioned again.
            (
                Some(vec!["MIG-c", "MIG-d"]),
                parts(&[(GPU_0, &["MIG-c", "MIG-d"]), (GPU_1, &["MIG-b"])]),
            ),
        ] {
            let asked = asked.map(|asked| asked.into_iter().map(str::to_owned).collect());
            let now = learn(&before, [(GPU_0.to_owned(), asked)]);
            assert_eq!(now, expected);
        }
        let none = learn(&Parts::new(), [(GPU_0.to_owned(), Some(vec![]))]);
        assert_eq!(none, Parts::new());
    }

    #[test]
    fn saved_state_can_be_read_again() {
        for known in [
            Parts::new(),
            parts(&[(GPU_0, &["MIG-a", "MIG-b"]), (GPU_1, &["MIG-c"])]),
        ] {
            assert_eq!(read(&written(&known)), known);
        }
        assert_eq!(
            read("\n GPU-x \nGPU-y  MIG-z\n"),
            parts(&[("GPU-y", &["MIG-z"])])
        );
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]

        #[test]
        fn any_text_is_survived(text in "\\PC{0,100}|([GM]-[a-z]{1,3}[ \n]{1,2}){0,20}") {
            let known = read(&text);
            prop_assert_eq!(read(&written(&known)), known);
        }
    }

    #[test]
    fn once_in_ten_minutes() {
        for (previous, now, due) in [
            (None, NOW, true),
            (Some(599_000), 600_000, true),
            (Some(600_000), 660_000, false),
            (Some(600_000), 1_199_999, false),
            (Some(600_000), 9_000_000, true),
            // The clock was set back.
            (Some(9_000_000), 600_000, true),
        ] {
            let mut context = context();
            (context.previous_check, context.now) = (previous, now);
            assert_eq!(is_due(&context), due, "{previous:?} {now}");
        }
    }

    #[test]
    fn whom_a_state_is_about() {
        let lost: Vec<GpuAnswer<()>> = vec![failing(0, AccessError::SourceLost("x".into()))];
        let lost = trouble::findings(&lost, "");
        let warm = || GpuFinding::degraded("warm").read_from("nvmlDeviceGetTemperature");
        for (findings, answered, expected) in [
            // By the subject, or for want of an answer.
            (lost, [false, true], [true, false]),
            // By the subject.
            (vec![warm().about([gpu(1)])], [true, true], [false, true]),
            // By the evidence, of several GPUs.
            (
                vec![warm().about([gpu(0), gpu(1)])],
                [true, true],
                [true, true],
            ),
            (
                vec![GpuFinding::unhealthy("of none")],
                [true, true],
                [false, false],
            ),
        ] {
            let state = crate::state(&context(), "", findings);
            assert!(is_trouble(&state));
            let found = [0, 1].map(|index| concerns(&state, &gpu(index), answered[index]));
            assert_eq!(found, expected, "{state:?}");
        }
        assert!(!is_trouble(&HealthState::healthy(&context(), "")));
    }

    #[test]
    fn a_gpus_trouble_reaches_its_parts() {
        let state = || HealthState::unhealthy(&context(), "GPU lost");
        let known = parts(&[(GPU_0, &["MIG-a", "MIG-b"])]);
        let named = attach(state(), &known);
        assert_eq!(
            (named.reason.as_str(), named.error.as_deref()),
            ("GPU lost", None)
        );
        let info = format!(r#"{{"{GPU_0}":["MIG-a","MIG-b"]}}"#);
        assert_eq!(named.extra_info, [(KEY.to_owned(), info)]);
        let mut with_error = state();
        with_error.error = Some("nvmlX".into());
        assert_eq!(
            attach(with_error, &known).error.as_deref(),
            Some("nvmlX; MIG devices concerned: MIG-a, MIG-b")
        );
        assert_eq!(attach(state(), &Parts::new()), state());
    }

    #[test]
    fn many_parts_fit() {
        let many: Vec<String> = (0..2_000).map(|n| format!("MIG-{n:036}")).collect();
        let mut state = HealthState::unhealthy(&context(), "");
        state.error = Some("x".repeat(2_000));
        let state = attach(state, &[(GPU_0.to_owned(), many)].into());
        assert!(state.error.unwrap().len() <= 4_096);
        assert_eq!(state.extra_info, []);
    }
}
