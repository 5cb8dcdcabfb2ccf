use super::*;
use crate::testing::NO_SRAM_ERRORS;
use std::cell::Cell;

/// A GPU that answers with numbers of its own, but for what is wrong.
struct Gpu {
    mode: Result<bool, AccessError>,
    total: Result<u64, AccessError>,
    place: Result<u64, AccessError>,
    sram: Result<u64, AccessError>,
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

    fn sram(&self) -> Result<SramEccStatus, AccessError> {
        let status = |parity| SramEccStatus {
            volatile_uncorrectable_parity: parity,
            volatile_uncorrectable_sec_ded: 1,
            ..NO_SRAM_ERRORS
        };
        self.sram.clone().map(status)
    }
}

fn gpu() -> Gpu {
    Gpu {
        mode: Ok(true),
        total: Ok(10),
        place: Ok(7),
        sram: Ok(5),
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
    assert_eq!(reading.sram, whole.sram().ok());
    assert_eq!(reading.uncorrected_since_reset(), Some(13));
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
        assert_eq!(reading.sram.is_some(), asked > 0, "{:?}", gpu.mode);
        assert!(reading.counts());
    }
}

#[test]
fn a_missing_ability_of_a_gpu_is_no_failure() {
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
fn errors_of_on_chip_memory_may_be_missing_and_may_exceed_the_total() {
    let denied = || Err(AccessError::Denied("x".into()));
    for sram in [unsupported(), other(), denied()] {
        let gpu = Gpu { sram, ..gpu() };
        let reading = ask(&gpu).unwrap();
        assert_eq!(reading.sram, None);
        assert_eq!(reading.uncorrected_since_reset(), Some(13));
    }
    let many = Gpu {
        sram: Ok(20),
        ..gpu()
    };
    assert_eq!(ask(&many).unwrap().uncorrected_since_reset(), Some(21));
    let lost = Gpu {
        sram: Err(AccessError::SourceLost("x".into())),
        ..gpu()
    };
    assert_eq!(ask(&lost).unwrap_err().text(), "x: lost");
}

#[test]
fn failures_name_the_attempted_call() {
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
