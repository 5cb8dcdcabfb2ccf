//! Asks every GPU the same questions.

use gpud_builtin_shared::driver::Driver;
use gpud_sdk::nvml::{self, Answers, Question};
use gpud_sdk::{AccessError, CheckContext, Error, Health, HealthState, RepairAction, Report};

use crate::{Gpu, mig};

/// A question that a GPU did not answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Failure {
    /// What was tried, in words that end before a colon (`failed to get device memory info`); may be empty.
    pub trying: &'static str,
    /// Why there is no answer.
    pub error: AccessError,
}

impl Failure {
    /// In words.
    pub fn text(&self) -> String {
        match self.trying {
            "" => self.error.text(),
            trying => format!("{trying}: {}", self.error.text()),
        }
    }
}

impl From<AccessError> for Failure {
    fn from(error: AccessError) -> Self {
        Self { trying: "", error }
    }
}

/// Adds to an error of the host what was tried.
pub trait ErrorContext<T> {
    /// Adds what was tried.
    ///
    /// # Errors
    /// The same one.
    fn trying(self, what: &'static str) -> Result<T, Failure>;
}

impl<T> ErrorContext<T> for Result<T, AccessError> {
    fn trying(self, what: &'static str) -> Result<T, Failure> {
        self.map_err(|error| Failure {
            trying: what,
            error,
        })
    }
}

/// A GPU and its answer.
#[derive(Debug, Clone, PartialEq)]
pub struct GpuAnswer<T> {
    /// The GPU.
    pub gpu: Gpu,
    /// Its answer.
    pub answer: Result<T, Failure>,
}

impl<T> GpuAnswer<T> {
    /// The GPU with its answer, if it gave one.
    pub fn answered(&self) -> Option<(&Gpu, &T)> {
        Some((&self.gpu, self.answer.as_ref().ok()?))
    }
}

/// The answers of all GPUs in NVML's order.
#[derive(Debug, Clone, PartialEq)]
pub struct GpuReadings<T> {
    /// Product name of the first GPU as NVML gives it; empty when it could not be asked.
    pub product: String,
    /// The GPUs.
    pub gpus: Vec<GpuAnswer<T>>,
}

impl<T> GpuReadings<T> {
    /// What these GPUs of this driver answered, as `ask` understands it.
    pub fn of(
        driver: Driver,
        gpus: &[Answers],
        ask: impl Fn(&Answers) -> Result<T, Failure>,
    ) -> Self {
        let gpus = gpus.iter().map(|gpu| GpuAnswer {
            gpu: gpu.into(),
            answer: ask(gpu),
        });
        Self {
            gpus: gpus.collect(),
            product: driver.product.unwrap_or_default(),
        }
    }

    /// Those that answered.
    pub fn answered(&self) -> impl Iterator<Item = (&Gpu, &T)> {
        self.gpus.iter().filter_map(GpuAnswer::answered)
    }
}

/// The questions to all GPUs, asked in one call.
pub struct Questions<'a> {
    first: &'a [Question],
    further: &'a dyn Fn(&Answers) -> Vec<Question>,
}

impl<'a> Questions<'a> {
    /// These.
    pub fn of(first: &'a [Question]) -> Self {
        Self {
            first,
            further: &|_| Vec::new(),
        }
    }

    /// And those that the answers of a GPU lead to. They go to all GPUs, in a second call: the GPUs of a machine are
    /// alike.
    pub fn then(self, further: &'a dyn Fn(&Answers) -> Vec<Question>) -> Self {
        Self { further, ..self }
    }

    /// Asks them.
    ///
    /// # Errors
    /// When the GPUs cannot be listed.
    pub fn ask(&self) -> Result<Vec<Answers>, AccessError> {
        let mut gpus = nvml::ask(self.first)?;
        let further = gpus.iter().map(self.further);
        let most = further.max_by_key(Vec::len).unwrap_or_default();
        if !most.is_empty() {
            nvml::ask_more(&mut gpus, &most)?;
        }
        Ok(gpus)
    }
}

/// A whole check: the questions to the driver that come first, then one round over the GPUs, then the verdict, and whom
/// trouble reaches ([`mig`]).
///
/// # Errors
/// When the GPUs cannot be listed, or `evaluate` fails.
pub fn check<T>(
    context: &CheckContext,
    questions: &Questions<'_>,
    ask: impl Fn(&Answers) -> Result<T, Failure>,
    evaluate: impl FnOnce(&GpuReadings<T>) -> Result<Report, Error>,
) -> Result<Report, Error> {
    let (driver, gpus) = match open(context, questions)? {
        OpenedDriver::Gpus(driver, gpus) => (driver, gpus),
        OpenedDriver::Closed(report) => return Ok(report),
    };
    let seen = GpuReadings::of(driver, &gpus, ask);
    let report = evaluate(&seen)?;
    Ok(mig::extend(context, report, &seen.gpus))
}

/// The GPUs to ask, or a report if there are none.
enum OpenedDriver {
    Gpus(Driver, Vec<Answers>),
    Closed(Report),
}

/// Once for all checkers of a component, since it is the same for all: the processor has it at hand.
#[inline(never)]
fn open(context: &CheckContext, questions: &Questions<'_>) -> Result<OpenedDriver, AccessError> {
    let driver = Driver::ask();
    Ok(match closed(context, &driver) {
        Some(report) => OpenedDriver::Closed(report),
        None => OpenedDriver::Gpus(driver, questions.ask()?),
    })
}

/// The report of a machine on which there are no GPUs to ask: NVML fails, or is not there, or knows no GPU.
pub fn closed(context: &CheckContext, driver: &Driver) -> Option<Report> {
    if let Some(failed) = driver.failed(context) {
        // While nothing can be said yet, nothing is to be done either.
        return Some(Report::of(match failed.health {
            Health::Initializing => failed,
            _ => failed.action(RepairAction::RebootSystem, ""),
        }));
    }
    let reason = driver.missing()?;
    let state = HealthState::healthy(context, reason);
    Some(Report::unsupported(state))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{context, driver};
    use gpud_sdk::nvml::Library;

    #[test]
    fn the_questions_that_come_first() {
        let not_loaded = "NVIDIA NVML library is not loaded";
        let nameless = "NVIDIA NVML is loaded but GPU is not detected (missing product name)";
        for (driver, expected) in [
            (driver(Library::Loaded, "NVIDIA H200"), None),
            (
                driver(Library::Loaded, ""),
                Some((false, Health::Healthy, nameless)),
            ),
            (
                driver(Library::NotFound("libnvidia-ml.so.1".into()), ""),
                Some((false, Health::Healthy, not_loaded)),
            ),
            (
                driver(Library::Failed("Unknown Error".into()), ""),
                Some((
                    true,
                    Health::Unhealthy,
                    "NVML initialization error: Unknown Error",
                )),
            ),
            (
                driver(Library::Other("NVML has not answered yet".into()), ""),
                Some((true, Health::Initializing, "NVML has not answered yet")),
            ),
        ] {
            let report = closed(&context(), &driver);
            let found = report.as_ref().map(|report| {
                let state = &report.states[0];
                (
                    report.supported,
                    state.health.clone(),
                    state.reason.as_str(),
                )
            });
            assert_eq!(found, expected, "{driver:?}");
            let actions = report.and_then(|report| report.states[0].suggested_actions.clone());
            let failed = matches!(driver.library, Library::Failed(_));
            assert_eq!(
                actions.map(|actions| (actions.description, actions.repair_actions)),
                failed.then(|| (String::new(), vec![RepairAction::RebootSystem]))
            );
        }
    }

    #[test]
    fn failures_name_the_attempted_call() {
        let error = || AccessError::Other("nvmlX of GPU 0: Unknown Error".into());
        let failed: Result<u32, _> = Err(error());
        let failure = failed.trying("failed to get x").unwrap_err();
        assert_eq!(
            failure.text(),
            "failed to get x: nvmlX of GPU 0: Unknown Error"
        );
        assert_eq!(
            Failure::from(error()).text(),
            "nvmlX of GPU 0: Unknown Error"
        );
    }
}
