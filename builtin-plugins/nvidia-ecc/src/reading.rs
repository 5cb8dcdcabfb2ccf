//! A GPU's answers about ECC.

use gpud_builtin_nvidia_common::trouble::if_readable;
use gpud_builtin_nvidia_common::{ErrorContext, Failure, IfSupported};
use gpud_sdk::AccessError;
use gpud_sdk::nvml::{Answers, EccError, EccPeriod, MemoryLocation, Question, SramEccStatus};

/// What was tried when the mode could not be read.
pub const TRYING_MODE: &str = "failed to get current/pending ecc mode";
/// Places with counters of their own, in the order of [`Counters::places`]. Device memory is NVML's other name for DRAM.
const PLACES: [MemoryLocation; 7] = [
    MemoryLocation::L1Cache,
    MemoryLocation::L2Cache,
    MemoryLocation::Dram,
    MemoryLocation::Sram,
    MemoryLocation::TextureMemory,
    MemoryLocation::TextureShared,
    MemoryLocation::RegisterFile,
];
const ERRORS: [EccError; 2] = [EccError::Corrected, EccError::Uncorrected];
const PERIODS: [EccPeriod; 2] = [EccPeriod::Aggregate, EccPeriod::Volatile];
/// The questions to every GPU.
pub const QUESTIONS: [Question; 5] = [
    Question::EccMode,
    Question::EccTotal((EccError::Corrected, EccPeriod::Aggregate)),
    Question::EccTotal((EccError::Uncorrected, EccPeriod::Aggregate)),
    Question::EccTotal((EccError::Corrected, EccPeriod::Volatile)),
    Question::EccTotal((EccError::Uncorrected, EccPeriod::Volatile)),
];
/// The call that the counters of places come from.
pub const COUNTS: &str = "nvmlDeviceGetMemoryErrorCounter";
/// The call that the errors of on-chip memory come from.
pub const SRAM_STATUS: &str = "nvmlDeviceGetSramEccErrorStatus";
/// Number of [`PLACES`].
pub const PLACE_COUNT: usize = PLACES.len();

/// Of one GPU; `None` is what it cannot tell.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Reading {
    /// On or off.
    pub mode: Option<Mode>,
    /// Since the board was made.
    pub aggregate: Counters,
    /// Since the last reset.
    pub volatile: Counters,
    /// Errors of on-chip memory by kind and unit; Ampere and later, with driver 550 or later.
    pub sram: Option<SramEccStatus>,
}

impl Reading {
    /// True if it counts errors at all.
    pub fn counts(&self) -> bool {
        let totals = [self.aggregate.total, self.volatile.total];
        totals
            .iter()
            .all(|total| total.corrected.is_some() || total.uncorrected.is_some())
    }

    /// Returns the uncorrected errors since the last reset.
    pub fn uncorrected_since_reset(&self) -> Option<u64> {
        let sram = self.sram.map(|sram| {
            let parity = sram.volatile_uncorrectable_parity;
            parity.saturating_add(sram.volatile_uncorrectable_sec_ded)
        });
        // The total does not count parity errors on each GPU.
        self.volatile.total.uncorrected.max(sram)
    }
}

/// ECC switched on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mode {
    /// Now.
    pub current: bool,
    /// After the next reset.
    pub pending: bool,
}

/// Errors of one period.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counters {
    /// All.
    pub total: Pair,
    /// By place: L1 cache, L2 cache, DRAM, SRAM, texture memory, texture shared memory, register file.
    pub places: [Pair; PLACE_COUNT],
}

/// Corrected and uncorrected errors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Pair {
    /// Corrected.
    pub corrected: Option<u64>,
    /// Uncorrected.
    pub uncorrected: Option<u64>,
}

/// The questions to a GPU.
pub trait Source {
    /// On or off, now and after the next reset.
    ///
    /// # Errors
    /// As `nvml`, and so for all that follow.
    fn mode(&self) -> Result<Mode, AccessError>;

    /// All errors of a period.
    ///
    /// # Errors
    /// See above.
    fn total(&self, error: EccError, period: EccPeriod) -> Result<u64, AccessError>;

    /// Those of one place.
    ///
    /// # Errors
    /// See above.
    fn count(
        &self,
        error: EccError,
        period: EccPeriod,
        place: MemoryLocation,
    ) -> Result<u64, AccessError>;

    /// Errors of on-chip memory by kind and unit.
    ///
    /// # Errors
    /// See above.
    fn sram(&self) -> Result<SramEccStatus, AccessError>;
}

impl Source for Answers {
    fn mode(&self) -> Result<Mode, AccessError> {
        self.ecc_mode().map(|mode| Mode {
            current: mode.current,
            pending: mode.pending,
        })
    }

    fn total(&self, error: EccError, period: EccPeriod) -> Result<u64, AccessError> {
        self.ecc_total(error, period)
    }

    fn count(
        &self,
        error: EccError,
        period: EccPeriod,
        place: MemoryLocation,
    ) -> Result<u64, AccessError> {
        self.ecc_count(error, period, place)
    }

    fn sram(&self) -> Result<SramEccStatus, AccessError> {
        self.sram_ecc_status()
    }
}

/// What a GPU with this mode is asked further.
pub fn further(mode: &Result<Mode, AccessError>) -> Vec<Question> {
    if !mode.as_ref().is_ok_and(|mode| mode.current) {
        return Vec::new();
    }
    let mut questions = Vec::new();
    for period in PERIODS {
        for place in PLACES {
            let of = |error| Question::EccCount((error, period, place));
            questions.extend(ERRORS.map(of));
        }
    }
    questions
}

/// Asks a GPU. The totals must be there, unless the GPU has none; counters of places and of on-chip memory are details, and
/// of many GPUs there are only some. With ECC off, there are none of these to ask for.
///
/// # Errors
/// The first failure.
pub fn ask(gpu: &impl Source) -> Result<Reading, Failure> {
    let mode = gpu.mode().if_supported().trying(TRYING_MODE)?;
    let total = |error, period, trying| gpu.total(error, period).if_supported().trying(trying);
    let mut reading = Reading {
        mode,
        ..Reading::default()
    };
    for (counters, period, trying) in [
        (
            &mut reading.aggregate,
            EccPeriod::Aggregate,
            [
                "(aggregate, corrected) failed to get total ecc errors",
                "(aggregate, uncorrected) failed to get total ecc errors",
            ],
        ),
        (
            &mut reading.volatile,
            EccPeriod::Volatile,
            [
                "(volatile, corrected) failed to get total ecc errors",
                "(volatile, uncorrected) failed to get total ecc errors",
            ],
        ),
    ] {
        let [corrected, uncorrected] = trying;
        counters.total = Pair {
            corrected: total(EccError::Corrected, period, corrected)?,
            uncorrected: total(EccError::Uncorrected, period, uncorrected)?,
        };
        if mode.is_some_and(|mode| mode.current) {
            counters.places = places(gpu, period)?;
        }
    }
    if mode.is_some_and(|mode| mode.current) {
        reading.sram = if_readable(gpu.sram())?;
    }
    Ok(reading)
}

fn places(gpu: &impl Source, period: EccPeriod) -> Result<[Pair; PLACE_COUNT], AccessError> {
    let count = |error, place| if_readable(gpu.count(error, period, place));
    let mut pairs = [Pair::default(); PLACE_COUNT];
    for (pair, place) in pairs.iter_mut().zip(PLACES) {
        *pair = Pair {
            corrected: count(EccError::Corrected, place)?,
            uncorrected: count(EccError::Uncorrected, place)?,
        };
    }
    Ok(pairs)
}

#[cfg(test)]
mod tests;
