//! Describes GPUs that did not answer.
//!
//! A GPU that is lost or wants a reset is broken, and so says the driver. One that does not come back is not to be trusted
//! with work, but nobody knows why. A call that fails otherwise proves nothing about the hardware, so no action is
//! suggested; and where it was a matter of permission, of this program's limits, or of a driver that was just unloaded, the
//! state is only Degraded: nobody looks at the GPU, which is no fault of it.

use std::collections::BTreeSet;

use gpud_builtin_shared::time::rfc3339;
use gpud_sdk::types::TimeoutInfo;
use gpud_sdk::{AccessError, Health, RepairAction};

use crate::{Failure, Gpu, GpuAnswer, GpuFinding, text};

/// Words for a GPU that fell off the bus.
pub const LOST: &str = "GPU lost";
/// Words for a GPU that wants a reset.
pub const NEEDS_RESET: &str = "GPU requires reset";

/// Kinds of trouble, the worst first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Lost,
    NeedsReset,
    NotAnswering,
    Failed,
    NotAllowed,
}

const KINDS: [Kind; 5] = [
    Kind::Lost,
    Kind::NeedsReset,
    Kind::NotAnswering,
    Kind::Failed,
    Kind::NotAllowed,
];

impl Kind {
    fn of(error: &AccessError) -> Self {
        match error {
            AccessError::SourceLost(_) => Self::Lost,
            AccessError::NeedsReset(_) => Self::NeedsReset,
            AccessError::TimedOut(_) => Self::NotAnswering,
            AccessError::NotSupported(_) | AccessError::Other(_) => Self::Failed,
            AccessError::Denied(_)
            | AccessError::NotFound(_)
            | AccessError::TooLarge(_)
            | AccessError::InvalidArgument(_)
            | AccessError::OverBudget(_) => Self::NotAllowed,
        }
    }
}

/// One finding for each kind of trouble that there is, the worst first. `getting` is the reason for a failure that says
/// nothing of the GPU, such as `error getting power`.
pub fn findings<T>(asked: &[GpuAnswer<T>], getting: &str) -> Vec<GpuFinding> {
    findings_by(asked, |_| getting)
}

/// The same with reasons that depend on what was tried.
pub fn findings_by<'a, 'r, T>(
    asked: &'a [GpuAnswer<T>],
    getting: impl Fn(&'a Failure) -> &'r str,
) -> Vec<GpuFinding> {
    let failed: Vec<(&Gpu, &Failure)> = asked
        .iter()
        .filter_map(|asked| Some((&asked.gpu, asked.answer.as_ref().err()?)))
        .collect();
    match failed.is_empty() {
        true => Vec::new(),
        false => of_failures(&failed, &getting),
    }
}

/// Apart, and once for all checkers of a component: GPUs answer as a rule.
#[cold]
#[inline(never)]
fn of_failures<'a, 'r>(
    failed: &[(&'a Gpu, &'a Failure)],
    getting: &dyn Fn(&'a Failure) -> &'r str,
) -> Vec<GpuFinding> {
    let finding = |kind: Kind| {
        let of_kind = || {
            let failed = failed.iter();
            failed.filter(move |(_, failure)| Kind::of(&failure.error) == kind)
        };
        let gpus: Vec<Gpu> = of_kind().map(|(gpu, _)| (*gpu).clone()).collect();
        if gpus.is_empty() {
            return None;
        }
        let reasons = || -> BTreeSet<&'r str> {
            let reasons = of_kind().map(|(_, failure)| getting(failure));
            reasons.collect()
        };
        let finding = match kind {
            Kind::Lost => reboot(LOST),
            Kind::NeedsReset => reboot(NEEDS_RESET),
            Kind::NotAnswering => GpuFinding::unhealthy(text::join(
                of_kind().filter_map(|(gpu, failure)| not_answering(gpu, &failure.error)),
                ", ",
            )),
            Kind::Failed => GpuFinding::unhealthy(text::join(reasons(), ", ")),
            Kind::NotAllowed => GpuFinding::degraded(text::join(reasons(), ", ")),
        };
        let errors = of_kind().map(|(gpu, failure)| error(kind, gpu, &failure.text()));
        Some(finding.error(text::join(errors, "; ")).about(gpus))
    };
    KINDS.into_iter().filter_map(finding).collect()
}

fn reboot(words: &'static str) -> GpuFinding {
    GpuFinding::unhealthy(words).action(RepairAction::RebootSystem, words)
}

/// The technical side. What is well known is put first, since other programs look for it.
fn error(kind: Kind, gpu: &Gpu, text: &str) -> String {
    match kind {
        Kind::Lost => format!("{LOST}: {}: {text}", gpu.label()),
        Kind::NeedsReset => format!("{NEEDS_RESET}: {}: {text}", gpu.label()),
        _ => text.to_owned(),
    }
}

fn not_answering(gpu: &Gpu, error: &AccessError) -> Option<String> {
    let AccessError::TimedOut(TimeoutInfo {
        after_ms,
        last_good,
        ..
    }) = error
    else {
        return None;
    };
    let last = match last_good {
        Some(time) => format!(", last answer at {}", rfc3339(time / 1000)),
        None => String::new(),
    };
    Some(format!(
        "{} has not answered for {} s{last}",
        gpu.label(),
        after_ms / 1000
    ))
}

/// True for trouble that concerns the GPU as a whole, whatever it was asked.
fn is_of_the_gpu(error: &AccessError) -> bool {
    matches!(
        Kind::of(error),
        Kind::Lost | Kind::NeedsReset | Kind::NotAnswering
    )
}

/// The value of a reading that a verdict can do without. Where the GPU as a whole does not answer, or this program has
/// asked too much, that is passed on; whatever else is wrong is wrong with this reading only, which then is not there.
///
/// # Errors
/// As said.
pub fn if_readable<T>(answer: Result<T, AccessError>) -> Result<Option<T>, AccessError> {
    match answer {
        Ok(value) => Ok(Some(value)),
        Err(error @ AccessError::OverBudget(_)) => Err(error),
        Err(error) if is_of_the_gpu(&error) => Err(error),
        Err(_) => Ok(None),
    }
}

/// How bad a health is, for comparing.
pub(crate) fn rank(health: &Health) -> u8 {
    match health {
        Health::Healthy => 0,
        Health::Initializing => 1,
        Health::Degraded => 2,
        Health::Other(_) => 3,
        Health::Unhealthy => 4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{GPU_0, GPU_1, context, failing, gpu};
    use crate::{GpuAnswer, state};
    use gpud_sdk::HealthState;

    fn judge(errors: Vec<AccessError>) -> HealthState {
        let asked: Vec<GpuAnswer<()>> = errors
            .into_iter()
            .enumerate()
            .map(|(index, error)| failing(index, error))
            .collect();
        state(
            &context(),
            "all well",
            findings(&asked, "error getting power"),
        )
    }

    fn timed_out(last_good: Option<u64>) -> AccessError {
        AccessError::TimedOut(TimeoutInfo {
            what: "nvmlX of GPU 0: not answering".into(),
            after_ms: 65_400,
            last_good,
        })
    }

    #[test]
    fn each_kind_by_itself() {
        let x = || "nvmlX of GPU 0".to_owned();
        for (error, health, reason, action, text) in [
            (
                AccessError::SourceLost(x()),
                Health::Unhealthy,
                "GPU lost".to_owned(),
                Some("GPU lost"),
                format!("GPU lost: {GPU_0} (0000:0f:00.0): nvmlX of GPU 0: lost"),
            ),
            (
                AccessError::NeedsReset(x()),
                Health::Unhealthy,
                "GPU requires reset".to_owned(),
                Some("GPU requires reset"),
                format!(
                    "GPU requires reset: {GPU_0} (0000:0f:00.0): nvmlX of GPU 0: needs a reset"
                ),
            ),
            (
                timed_out(Some(1_740_824_430_999)),
                Health::Unhealthy,
                format!(
                    "{GPU_0} (0000:0f:00.0) has not answered for 65 s, last answer at 2025-03-01T10:20:30Z"
                ),
                None,
                "nvmlX of GPU 0: not answering: no answer for 65400 ms".to_owned(),
            ),
            (
                timed_out(None),
                Health::Unhealthy,
                format!("{GPU_0} (0000:0f:00.0) has not answered for 65 s"),
                None,
                "nvmlX of GPU 0: not answering: no answer for 65400 ms".to_owned(),
            ),
            (
                AccessError::Other("nvmlX of GPU 0: Unknown Error".into()),
                Health::Unhealthy,
                "error getting power".to_owned(),
                None,
                "nvmlX of GPU 0: Unknown Error".to_owned(),
            ),
            (
                AccessError::Denied(x()),
                Health::Degraded,
                "error getting power".to_owned(),
                None,
                "nvmlX of GPU 0: permission denied".to_owned(),
            ),
            (
                AccessError::NotFound("nvmlX of GPU 0: the driver was unloaded".into()),
                Health::Degraded,
                "error getting power".to_owned(),
                None,
                "nvmlX of GPU 0: the driver was unloaded: not found".to_owned(),
            ),
        ] {
            let state = judge(vec![error]);
            assert_eq!((state.health, state.reason), (health, reason));
            assert_eq!(state.error, Some(text));
            assert_eq!(state.subject, Some(gpu(0).subject()));
            let actions = state.suggested_actions;
            assert_eq!(
                actions.map(|actions| (actions.description, actions.repair_actions)),
                action.map(|words| (words.to_owned(), vec![RepairAction::RebootSystem]))
            );
        }
    }

    #[test]
    fn readings_that_are_not_needed() {
        let x = || "x".to_owned();
        for (answer, expected) in [
            (Ok(5), Ok(Some(5))),
            (Err(AccessError::NotSupported(x())), Ok(None)),
            (Err(AccessError::Other(x())), Ok(None)),
            (Err(AccessError::Denied(x())), Ok(None)),
            (
                Err(AccessError::OverBudget(x())),
                Err(AccessError::OverBudget(x())),
            ),
            (
                Err(AccessError::SourceLost(x())),
                Err(AccessError::SourceLost(x())),
            ),
            (
                Err(AccessError::NeedsReset(x())),
                Err(AccessError::NeedsReset(x())),
            ),
            (Err(timed_out(None)), Err(timed_out(None))),
        ] {
            assert_eq!(if_readable(answer), expected);
        }
    }

    #[test]
    fn the_worst_comes_first_and_nothing_is_hidden() {
        let state = judge(vec![
            AccessError::Denied("nvmlX of GPU 0".into()),
            AccessError::SourceLost("nvmlX of GPU 1".into()),
        ]);
        assert_eq!(state.health, Health::Unhealthy);
        assert_eq!(state.reason, "GPU lost; error getting power");
        assert_eq!(
            state.error.as_deref(),
            Some(
                format!("GPU lost: {GPU_1} (0000:1f:00.0): nvmlX of GPU 1: lost; nvmlX of GPU 0: permission denied")
                    .as_str()
            )
        );
        assert_eq!(state.subject, None, "two GPUs");
        let lost = || AccessError::SourceLost("x".into());
        let both = judge(vec![lost(), lost()]);
        assert_eq!((both.reason.as_str(), both.subject), ("GPU lost", None));
    }
}
