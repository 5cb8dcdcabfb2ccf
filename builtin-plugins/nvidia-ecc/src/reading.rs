//! What a GPU tells of its ECC.

use gpud_builtin_nvidia_common::trouble::if_readable;
use gpud_builtin_nvidia_common::{Asking, Failure};
use gpud_sdk::AccessError;
use gpud_sdk::nvml::{Device, EccError, EccPeriod, MemoryLocation};

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
/// Number of [`PLACES`].
pub const PLACE_COUNT: usize = PLACES.len();

/// Of one GPU; `None` is what it cannot tell.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Reading {
    /// On or off.
    pub mode: Option<Mode>,
    /// Since the board was made.
    pub aggregate: Counters,
    /// Since the last reset.
    pub volatile: Counters,
}

impl Reading {
    /// True if it counts errors at all.
    pub fn counts(&self) -> bool {
        let totals = [self.aggregate.total, self.volatile.total];
        totals
            .iter()
            .all(|total| total.corrected.is_some() || total.uncorrected.is_some())
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

/// Asks a GPU. The totals must be there, unless the GPU has none; counters of places are details, and of many GPUs there
/// are only some. With ECC off, there are none of these to ask for.
///
/// # Errors
/// The first failure.
pub fn ask(device: &Device) -> Result<Reading, Failure> {
    let mode = device.ecc_mode().if_supported().trying(TRYING_MODE)?;
    let mode = mode.map(|mode| Mode {
        current: mode.current,
        pending: mode.pending,
    });
    let total = |error, period, trying| {
        device
            .ecc_total(error, period)
            .if_supported()
            .trying(trying)
    };
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
            counters.places = places(device, period)?;
        }
    }
    Ok(reading)
}

fn places(device: &Device, period: EccPeriod) -> Result<[Pair; PLACE_COUNT], AccessError> {
    let count = |error, place| if_readable(device.ecc_count(error, period, place));
    let mut pairs = [Pair::default(); PLACE_COUNT];
    for (pair, place) in pairs.iter_mut().zip(PLACES) {
        *pair = Pair {
            corrected: count(EccError::Corrected, place)?,
            uncorrected: count(EccError::Uncorrected, place)?,
        };
    }
    Ok(pairs)
}
