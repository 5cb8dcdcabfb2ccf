//! NVIDIA GPUs; see [`crate::bindings::gpud::plugin::nvml`] for all that can be asked. [`ask`] asks all GPUs at once, which
//! is many times cheaper than one after the other.
//!
//! ```no_run
//! use gpud_sdk::nvml::{self, IfSupported};
//!
//! # fn check() -> Result<(), gpud_sdk::Error> {
//! for gpu in nvml::ask(&[nvml::Question::RemappedRows])? {
//!     // `None` where the GPU cannot tell; all other trouble is the source's and passes through.
//!     if let Some(rows) = gpu.remapped_rows().if_supported()? {
//!         println!("{}: a remapping is pending: {}", gpu.bus_id, rows.pending);
//!     }
//! }
//! # Ok(())
//! # }
//! ```

mod answers;

pub use crate::bindings::gpud::plugin::nvml::*;
pub use answers::{Answers, ask, ask_more};

use crate::{GpuId, Subject};

/// NVML's own words for what went wrong, without what was asked: `GPU is lost`, `Not Supported`, `Unknown Error`.
pub fn text(error: &AccessError) -> &str {
    match error {
        AccessError::NotSupported(_) => "Not Supported",
        AccessError::Denied(_) => "Insufficient Permissions",
        AccessError::TimedOut(_) => "Timeout",
        AccessError::SourceLost(_) => "GPU is lost",
        AccessError::NeedsReset(_) => "GPU requires reset",
        AccessError::InvalidArgument(_) => "Invalid Argument",
        AccessError::TooLarge(info) => &info.what,
        AccessError::NotFound(text) | AccessError::Other(text) | AccessError::OverBudget(text) => {
            text.rsplit_once(": ").map_or(text, |(_, words)| words)
        }
    }
}

/// For answers that a GPU may be unable to give.
pub trait IfSupported<T> {
    /// `None` when it is not supported.
    ///
    /// # Errors
    /// All other errors.
    fn if_supported(self) -> Result<Option<T>, AccessError>;
}

impl<T> IfSupported<T> for Result<T, AccessError> {
    fn if_supported(self) -> Result<Option<T>, AccessError> {
        match self {
            Ok(value) => Ok(Some(value)),
            Err(AccessError::NotSupported(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

impl Identity {
    /// A further fact: `vbios`, `chassis-serial` and others.
    pub fn fact(&self, name: &str) -> Option<&str> {
        let mut facts = self.extra.iter();
        facts
            .find(|(key, _)| key == name)
            .map(|(_, value)| value.as_str())
    }

    /// As the subject of a state or an event.
    pub fn subject(&self) -> Subject {
        let known = |text: &String| (!text.is_empty()).then(|| text.clone());
        Subject::Gpu(GpuId {
            uuid: known(&self.uuid),
            serial: self.serial.clone(),
            pci_id: known(&self.bus_id),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::TimeoutInfo;

    #[test]
    fn the_words_of_nvml() {
        let other = |text: &str| AccessError::Other(text.into());
        for (error, words) in [
            (
                other("nvmlDeviceGetX of GPU 0 (GPU-1): Unknown Error"),
                "Unknown Error",
            ),
            (other("without a colon"), "without a colon"),
            (
                AccessError::SourceLost("nvmlDeviceGetX of GPU 0".into()),
                "GPU is lost",
            ),
            (
                AccessError::TimedOut(TimeoutInfo {
                    what: "x".into(),
                    after_ms: 1,
                    last_good: None,
                }),
                "Timeout",
            ),
        ] {
            assert_eq!(text(&error), words);
        }
    }

    #[test]
    fn what_is_not_supported_is_none_and_the_rest_passes() {
        let unsupported: Result<u8, _> = Err(AccessError::NotSupported("x".into()));
        assert_eq!(unsupported.if_supported(), Ok(None));
        assert_eq!(Ok(1).if_supported(), Ok(Some(1)));
        let lost: Result<u8, _> = Err(AccessError::SourceLost("x".into()));
        assert!(lost.if_supported().is_err());
    }
}
