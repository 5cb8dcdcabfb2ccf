//! NVML's return codes (`nvmlReturn_t`): numbers, names for scenario files, texts of `nvmlErrorString`.

use std::ffi::CStr;
use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, Visitor};

/// A return code. Any number is allowed, so that a scenario can give back one that no header knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Code(pub u32);

macro_rules! codes {
    ($($constant:ident = $number:literal, $name:literal, $text:literal;)*) => {
        impl Code {
            $(#[doc = concat!("`", $name, "`: ", stringify!($number))] pub const $constant: Code = Code($number);)*
        }
        /// Number, name in scenario files, text.
        const CODES: &[(u32, &str, &CStr)] = &[$(($number, $name, $text)),*];
    };
}

// Numbers: the driver's nvml.h. Texts up to 20, 25 and 27 as the driver gives them; those of 21 to 24, 26 and 28 to 30
// have no public source and are ours.
codes! {
    SUCCESS = 0, "success", c"Success";
    UNINITIALIZED = 1, "uninitialized", c"Uninitialized";
    INVALID_ARGUMENT = 2, "invalid_argument", c"Invalid Argument";
    NOT_SUPPORTED = 3, "not_supported", c"Not Supported";
    NO_PERMISSION = 4, "no_permission", c"Insufficient Permissions";
    ALREADY_INITIALIZED = 5, "already_initialized", c"Already Initialized";
    NOT_FOUND = 6, "not_found", c"Not Found";
    INSUFFICIENT_SIZE = 7, "insufficient_size", c"Insufficient Size";
    INSUFFICIENT_POWER = 8, "insufficient_power", c"Insufficient External Power";
    DRIVER_NOT_LOADED = 9, "driver_not_loaded", c"Driver Not Loaded";
    TIMEOUT = 10, "timeout", c"Timeout";
    IRQ_ISSUE = 11, "irq_issue", c"Interrupt Request Issue";
    LIBRARY_NOT_FOUND = 12, "library_not_found", c"NVML Shared Library Not Found";
    FUNCTION_NOT_FOUND = 13, "function_not_found", c"Function Not Found";
    CORRUPTED_INFOROM = 14, "corrupted_inforom", c"Corrupted infoROM";
    GPU_IS_LOST = 15, "gpu_is_lost", c"GPU is lost";
    RESET_REQUIRED = 16, "reset_required", c"GPU requires reset";
    OPERATING_SYSTEM = 17, "operating_system", c"GPU access blocked by the operating system";
    LIB_RM_VERSION_MISMATCH = 18, "lib_rm_version_mismatch", c"Driver/library version mismatch";
    IN_USE = 19, "in_use", c"In use by another client";
    MEMORY = 20, "memory", c"Insufficient Memory";
    NO_DATA = 21, "no_data", c"No data";
    VGPU_ECC_NOT_SUPPORTED = 22, "vgpu_ecc_not_supported", c"ECC not supported on this vGPU";
    INSUFFICIENT_RESOURCES = 23, "insufficient_resources", c"Insufficient Resources";
    FREQ_NOT_SUPPORTED = 24, "freq_not_supported", c"Frequency not supported";
    ARGUMENT_VERSION_MISMATCH = 25, "argument_version_mismatch", c"Argument version mismatch";
    DEPRECATED = 26, "deprecated", c"Deprecated";
    NOT_READY = 27, "not_ready", c"System is not in ready state";
    GPU_NOT_FOUND = 28, "gpu_not_found", c"GPU not found";
    INVALID_STATE = 29, "invalid_state", c"Invalid state";
    RESET_TYPE_NOT_SUPPORTED = 30, "reset_type_not_supported", c"Reset type not supported";
    UNKNOWN = 999, "unknown", c"Unknown Error";
}

impl Code {
    /// All codes of the header.
    pub fn all() -> impl Iterator<Item = Code> {
        CODES.iter().map(|(number, ..)| Code(*number))
    }

    /// What `nvmlErrorString` says; `Unknown Error` for a number that no header knows.
    #[must_use]
    pub fn text(self) -> &'static CStr {
        CODES
            .iter()
            .find(|(number, ..)| *number == self.0)
            .map_or(c"Unknown Error", |(_, _, text)| text)
    }

    /// Reads a name of a scenario file, for example `gpu_is_lost` or `NVML_ERROR_GPU_IS_LOST`.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Code> {
        let name = name.to_ascii_lowercase();
        let name = name
            .strip_prefix("nvml_error_")
            .or_else(|| name.strip_prefix("nvml_"))
            .unwrap_or(&name);
        CODES
            .iter()
            .find(|(_, known, _)| *known == name)
            .map(|(number, ..)| Code(*number))
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

impl<'de> Deserialize<'de> for Code {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Read;
        impl Visitor<'_> for Read {
            type Value = Code;
            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                write!(
                    f,
                    "an NVML return code, by number or by name (gpu_is_lost, not_supported, …)"
                )
            }
            fn visit_u64<E: Error>(self, value: u64) -> Result<Code, E> {
                u32::try_from(value)
                    .map(Code)
                    .map_err(|_| E::custom(format!("return code {value} does not fit 32 bits")))
            }
            fn visit_i64<E: Error>(self, value: i64) -> Result<Code, E> {
                u32::try_from(value)
                    .map(Code)
                    .map_err(|_| E::custom(format!("return code {value} does not fit 32 bits")))
            }
            fn visit_str<E: Error>(self, value: &str) -> Result<Code, E> {
                Code::from_name(value)
                    .ok_or_else(|| E::custom(format!("no NVML return code is called `{value}`")))
            }
        }
        deserializer.deserialize_any(Read)
    }
}
