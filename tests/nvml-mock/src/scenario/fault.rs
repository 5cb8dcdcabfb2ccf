//! Calls that fail or hang.

use serde::Deserialize;

use super::selector::{OneOrMany, call_matches};
use crate::code::Code;

/// One fault.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fault {
    /// Which calls: C names, or `nvmlDeviceGetPower*`, or `*`.
    pub call: OneOrMany<String>,
    /// Which GPUs, by number; absent: all, and calls that ask no GPU.
    #[serde(default)]
    pub gpu: Option<OneOrMany<u32>>,
    /// Which first argument after the handle (sensor, link, threshold, index …); absent: any.
    #[serde(default)]
    pub arg: Option<OneOrMany<i64>>,
    /// What the call gives back.
    #[serde(default)]
    pub error: Option<Code>,
    /// The call does not come back until the fault is over (`until_ms`, or the file changes).
    #[serde(default)]
    pub hang: Option<Forever>,
    /// The call comes back this much later, then with `error` or its answer.
    #[serde(default)]
    pub hang_ms: Option<u64>,
    /// From when on.
    #[serde(default)]
    pub from_ms: u64,
    /// Until when.
    #[serde(default)]
    pub until_ms: Option<u64>,
    /// After this many calls that fit.
    #[serde(default)]
    pub after_calls: u64,
    /// For this many calls; absent: without end.
    #[serde(default)]
    pub times: Option<u64>,
}

/// `forever`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Forever {
    /// Until the fault is over.
    Forever,
}

/// The function and the device of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Key {
    /// C name.
    pub name: &'static str,
    /// GPU, by number.
    pub gpu: Option<u32>,
    /// First argument after the handle.
    pub arg: Option<i64>,
}

impl Fault {
    /// Does it say anything?
    pub(crate) fn check(&self) -> Result<(), String> {
        if let Some(call) = self
            .call
            .as_slice()
            .iter()
            .find(|call| !crate::functions::any_fits(call))
        {
            return Err(format!("no function is called `{call}`"));
        }
        if self.error.is_none() && self.hang.is_none() && self.hang_ms.is_none() {
            return Err(
                "says nothing that happens: give `error`, `hang: forever` or `hang_ms`".to_owned(),
            );
        }
        if self.hang.is_some() && self.hang_ms.is_some() {
            return Err("`hang` and `hang_ms` exclude each other".to_owned());
        }
        Ok(())
    }

    /// Is this the call it is about? Time and number are not looked at.
    #[must_use]
    pub fn is_about(&self, key: Key) -> bool {
        self.call
            .as_slice()
            .iter()
            .any(|pattern| call_matches(pattern, key.name))
            && self
                .gpu
                .as_ref()
                .is_none_or(|gpus| key.gpu.is_some_and(|gpu| gpus.has(&gpu)))
            && self
                .arg
                .as_ref()
                .is_none_or(|args| key.arg.is_some_and(|arg| args.has(&arg)))
    }

    /// Is it in force at this time, for the n-th call (from 1) that it is about?
    #[must_use]
    pub fn in_force(&self, now_ms: u64, call: u64) -> bool {
        let last = self
            .times
            .map(|times| self.after_calls.saturating_add(times));
        self.from_ms <= now_ms
            && self.until_ms.is_none_or(|until| now_ms < until)
            && call > self.after_calls
            && last.is_none_or(|last| call <= last)
    }
}
