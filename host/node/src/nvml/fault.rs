//! NVML's return codes, and what each means for the caller.

use std::time::Duration;

use crate::error::SourceError;

/// Invalid argument.
pub const INVALID_ARGUMENT: u32 = 2;
/// The GPU or the driver cannot do this.
pub const NOT_SUPPORTED: u32 = 3;
/// The user may not.
pub const NO_PERMISSION: u32 = 4;
/// The code for a missing object.
pub const NOT_FOUND: u32 = 6;
/// A buffer is too small.
pub const INSUFFICIENT_SIZE: u32 = 7;
/// The kernel module is not loaded.
pub const DRIVER_NOT_LOADED: u32 = 9;
/// The driver gave up waiting.
pub const TIMEOUT: u32 = 10;
/// A library is missing.
pub const LIBRARY_NOT_FOUND: u32 = 12;
/// The library lacks the function.
pub const FUNCTION_NOT_FOUND: u32 = 13;
/// The GPU fell off the bus.
pub const GPU_IS_LOST: u32 = 15;
/// The GPU wants a reset.
pub const RESET_REQUIRED: u32 = 16;
/// The driver that is loaded is not the one that the library is from.
pub const VERSION_MISMATCH: u32 = 18;
/// Anything.
pub const UNKNOWN: u32 = 999;

/// Why the driver gave no value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// The C function.
    pub call: &'static str,
    /// Its return code.
    pub code: u32,
    /// NVML's text for it.
    pub text: String,
}

/// The meaning of a code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Class {
    NotSupported,
    Denied,
    NotThere,
    TimedOut,
    Lost,
    NeedsReset,
    Other,
}

impl Fault {
    /// Makes a fault with the text that NVML has for the code, for drivers that are not NVML.
    pub fn new(call: &'static str, code: u32) -> Self {
        Self {
            call,
            code,
            text: text_of(code),
        }
    }

    /// Makes the fault of a function that this driver's library does not have.
    pub fn missing(call: &'static str) -> Self {
        Self {
            call,
            code: FUNCTION_NOT_FOUND,
            text: "Function Not Found".to_owned(),
        }
    }

    /// True when the GPU has fallen off the bus.
    pub fn is_lost(&self) -> bool {
        self.class() == Class::Lost
    }

    /// True when the GPU is there, but no good before a reset.
    pub fn needs_reset(&self) -> bool {
        self.class() == Class::NeedsReset
    }

    /// True when only this value cannot be determined.
    pub fn is_not_supported(&self) -> bool {
        self.class() == Class::NotSupported
    }

    /// True when there is no driver at all.
    pub fn is_no_driver(&self) -> bool {
        self.class() == Class::NotThere
    }

    /// By code, or by words in the text where a newer driver has a further code for the same thing. A mere "not
    /// supported" wins, since it says least about the hardware.
    fn class(&self) -> Class {
        let text = self.text.to_ascii_lowercase();
        let says = |words: &[&str]| words.iter().any(|word| text.contains(word));
        match self.code {
            NOT_SUPPORTED | FUNCTION_NOT_FOUND => Class::NotSupported,
            NO_PERMISSION => Class::Denied,
            DRIVER_NOT_LOADED | LIBRARY_NOT_FOUND => Class::NotThere,
            TIMEOUT => Class::TimedOut,
            GPU_IS_LOST => Class::Lost,
            RESET_REQUIRED => Class::NeedsReset,
            _ if says(&["not supported"]) => Class::NotSupported,
            _ if says(&["gpu lost", "gpu is lost", "gpu_is_lost"]) => Class::Lost,
            _ if says(&["gpu requires reset", "gpu reset"]) => Class::NeedsReset,
            _ if says(&["driver not loaded"]) => Class::NotThere,
            _ => Class::Other,
        }
    }

    /// Converts it into an error about `who`. `took` is how long the call took, `last_good` when this GPU last
    /// answered. NVML's text is left out where the kind of the error already says the same; [`SourceError::Other`] ends
    /// in `: ` and that text.
    pub fn to_source(&self, who: &str, took: Duration, last_good: Option<u64>) -> SourceError {
        let asked = format!("{} of {who}", self.call);
        let what = match self.text == text_of(self.code) {
            true => asked.clone(),
            false => format!("{asked} ({})", self.text),
        };
        match self.class() {
            Class::NotSupported => SourceError::NotSupported(what),
            Class::Denied => SourceError::Denied(what),
            Class::NotThere => SourceError::NotFound(format!("{asked}: {}", self.text)),
            Class::TimedOut => SourceError::TimedOut {
                what,
                after: took,
                last_good,
            },
            Class::Lost => SourceError::SourceLost(what),
            Class::NeedsReset => SourceError::NeedsReset(what),
            Class::Other => SourceError::Other(format!("{asked}: {}", self.text)),
        }
    }
}

/// NVML's own texts, as its library gives them; they are the same in all versions.
pub fn text_of(code: u32) -> String {
    let text = match code {
        0 => "Success",
        1 => "Uninitialized",
        2 => "Invalid Argument",
        3 => "Not Supported",
        4 => "Insufficient Permissions",
        5 => "Already Initialized",
        6 => "Not Found",
        7 => "Insufficient Size",
        8 => "Insufficient External Power",
        9 => "Driver Not Loaded",
        10 => "Timeout",
        11 => "Interrupt Request Issue",
        12 => "NVML Shared Library Not Found",
        13 => "Function Not Found",
        14 => "Corrupted infoROM",
        15 => "GPU is lost",
        16 => "GPU requires reset",
        17 => "GPU access blocked by the operating system",
        18 => "Driver/library version mismatch",
        19 => "In use by another client",
        20 => "Insufficient Memory",
        23 => "Insufficient Resources",
        25 => "Argument version mismatch",
        27 => "System is not in ready state",
        999 => "Unknown Error",
        _ => return format!("NVML error {code}"),
    };
    text.to_owned()
}

#[cfg(test)]
mod tests;
