//! What changes with time or with calls.

use serde::Deserialize;

use super::gpu::GpuPatch;
use super::selector::{OneOrMany, call_matches};

/// One step. Steps are laid over the GPUs in the order of the file, each while it is in force.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// From when on, milliseconds since the file was read.
    #[serde(default)]
    pub after_ms: Option<u64>,
    /// Until when.
    #[serde(default)]
    pub until_ms: Option<u64>,
    /// From when on: after this call was made …
    #[serde(default)]
    pub after_call: Option<String>,
    /// … so many times (1 if absent), over all GPUs.
    #[serde(default)]
    pub calls: Option<u64>,
    /// Which GPUs `set` is for; absent: all.
    #[serde(default)]
    pub gpu: Option<OneOrMany<u32>>,
    /// New number of GPUs.
    #[serde(default)]
    pub gpus: Option<u32>,
    /// New readings.
    #[serde(default)]
    pub set: GpuPatch,
}

impl Step {
    pub(crate) fn check(&self) -> Result<(), String> {
        if self.gpus.is_some_and(|gpus| gpus > super::MAX_GPUS) {
            return Err(format!("`gpus` is more than {}", super::MAX_GPUS));
        }
        if let Some(call) = self
            .after_call
            .as_ref()
            .filter(|call| !crate::functions::any_fits(call))
        {
            return Err(format!("no function is called `{call}`"));
        }
        match (self.after_ms, &self.after_call) {
            (None, None) => Err("says no time: give `after_ms` or `after_call`".to_owned()),
            (Some(_), Some(_)) => Err("`after_ms` and `after_call` exclude each other".to_owned()),
            (None, Some(_)) | (Some(_), None)
                if self.calls.is_some() && self.after_call.is_none() =>
            {
                Err("`calls` needs `after_call`".to_owned())
            }
            _ => Ok(()),
        }
    }

    /// Is it in force? `count` says how often calls were made that fit a pattern.
    #[must_use]
    pub fn in_force(&self, now_ms: u64, count: impl Fn(&dyn Fn(&str) -> bool) -> u64) -> bool {
        let begun = match &self.after_call {
            Some(call) => count(&|name| call_matches(call, name)) >= self.calls.unwrap_or(1),
            None => self.after_ms.is_none_or(|after| after <= now_ms),
        };
        begun && self.until_ms.is_none_or(|until| now_ms < until)
    }

    /// Is it for this GPU?
    #[must_use]
    pub fn is_for(&self, gpu: u32) -> bool {
        self.gpu.as_ref().is_none_or(|gpus| gpus.has(&gpu))
    }
}
