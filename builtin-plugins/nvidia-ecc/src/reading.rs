//! What a GPU tells of its ECC.

use gpud_builtin_nvidia_common::trouble::if_readable;
use gpud_builtin_nvidia_common::{Asking, Failure};
use gpud_sdk::AccessError;
use gpud_sdk::nvml::{Answers, EccError, EccPeriod, MemoryLocation, Question};

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
/// What every GPU is asked.
pub const QUESTIONS: [Question; 5] = [
    Question::EccMode,
    Question::EccTotal((EccError::Corrected, EccPeriod::Aggregate)),
    Question::EccTotal((EccError::Uncorrected, EccPeriod::Aggregate)),
    Question::EccTotal((EccError::Corrected, EccPeriod::Volatile)),
    Question::EccTotal((EccError::Uncorrected, EccPeriod::Volatile)),
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

/// What a GPU is asked.
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

/// Asks a GPU. The totals must be there, unless the GPU has none; counters of places are details, and of many GPUs there
/// are only some. With ECC off, there are none of these to ask for.
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
mod tests {
    use super::*;
    use std::cell::Cell;

    /// A GPU that answers with numbers of its own, but for what is wrong.
    struct Gpu {
        mode: Result<bool, AccessError>,
        total: Result<u64, AccessError>,
        place: Result<u64, AccessError>,
        places_asked: Cell<usize>,
    }

    impl Source for Gpu {
        fn mode(&self) -> Result<Mode, AccessError> {
            let mode = |current| Mode {
                current,
                pending: !current,
            };
            self.mode.clone().map(mode)
        }

        fn total(&self, error: EccError, period: EccPeriod) -> Result<u64, AccessError> {
            let add = u64::from(error == EccError::Uncorrected)
                + 2 * u64::from(period == EccPeriod::Volatile);
            self.total.clone().map(|total| total + add)
        }

        fn count(&self, _: EccError, _: EccPeriod, _: MemoryLocation) -> Result<u64, AccessError> {
            self.places_asked.set(self.places_asked.get() + 1);
            self.place.clone()
        }
    }

    fn gpu() -> Gpu {
        Gpu {
            mode: Ok(true),
            total: Ok(10),
            place: Ok(7),
            places_asked: Cell::new(0),
        }
    }

    fn unsupported<T>() -> Result<T, AccessError> {
        Err(AccessError::NotSupported("x".into()))
    }

    fn other<T>() -> Result<T, AccessError> {
        Err(AccessError::Other("nvmlX: Unknown Error".into()))
    }

    #[test]
    fn totals_and_places() {
        let whole = gpu();
        let reading = ask(&whole).unwrap();
        let pair = |corrected, uncorrected| Pair {
            corrected: Some(corrected),
            uncorrected: Some(uncorrected),
        };
        assert_eq!(reading.aggregate.total, pair(10, 11));
        assert_eq!(reading.volatile.total, pair(12, 13));
        assert_eq!(reading.volatile.places, [pair(7, 7); PLACE_COUNT]);
        assert_eq!(whole.places_asked.get(), 4 * PLACE_COUNT);
        assert!(reading.counts());
    }

    #[test]
    fn questions_are_asked_together() {
        let mode = |current| Mode {
            current,
            pending: false,
        };
        assert_eq!(further(&Ok(mode(true))).len(), 4 * PLACE_COUNT);
        assert!(further(&Ok(mode(false))).is_empty());
        assert!(further(&unsupported()).is_empty());
    }

    #[test]
    fn places_are_asked_only_with_ecc_on() {
        for (mode, asked) in [
            (Ok(true), 4 * PLACE_COUNT),
            (Ok(false), 0),
            (unsupported(), 0),
        ] {
            let gpu = Gpu { mode, ..gpu() };
            let reading = ask(&gpu).unwrap();
            assert_eq!(gpu.places_asked.get(), asked, "{:?}", gpu.mode);
            assert!(reading.counts());
        }
    }

    #[test]
    fn what_a_gpu_lacks_is_no_failure() {
        let bare = Gpu {
            mode: unsupported(),
            total: unsupported(),
            ..gpu()
        };
        let reading = ask(&bare).unwrap();
        assert_eq!((reading.mode, reading.counts()), (None, false));
        for place in [unsupported(), other()] {
            let gpu = Gpu { place, ..gpu() };
            let reading = ask(&gpu).unwrap();
            assert_eq!(reading.aggregate.places, [Pair::default(); PLACE_COUNT]);
        }
    }

    #[test]
    fn failures_say_what_was_tried() {
        let lost = || AccessError::SourceLost("x".into());
        for (gpu, text) in [
            (
                Gpu {
                    mode: other(),
                    ..gpu()
                },
                "failed to get current/pending ecc mode: nvmlX: Unknown Error",
            ),
            (
                Gpu {
                    total: other(),
                    ..gpu()
                },
                "(aggregate, corrected) failed to get total ecc errors: nvmlX: Unknown Error",
            ),
            (
                Gpu {
                    place: Err(lost()),
                    ..gpu()
                },
                "x: lost",
            ),
        ] {
            assert_eq!(ask(&gpu).unwrap_err().text(), text);
        }
    }
}
