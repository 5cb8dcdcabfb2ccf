//! Uncorrected errors of a GPU by place.

use gpud_builtin_nvidia_common::text;
use serde::{Deserialize, Serialize};

use crate::reading::{PLACE_COUNT, Reading};

/// Names of [`Uncorrected::places`].
const PLACES: [&str; PLACE_COUNT] = [
    "L1 cache",
    "L2 cache",
    "DRAM",
    SRAM,
    "texture memory",
    "texture shared memory",
    "register file",
];
const SRAM: &str = "SRAM";
/// Memory outside the chip, of which the driver can replace rows.
const DRAM: &str = "DRAM";
/// Names of [`Uncorrected::kinds`].
const KINDS: [&str; 2] = ["parity", "SEC-DED"];
/// Names of [`Uncorrected::units`].
const UNITS: [&str; 5] = ["L2 cache", "SM", "PCIe", "microcontroller", "other unit"];

/// Numbers of uncorrected errors; `None` is what the GPU does not count. All are over the life of the board, but where a
/// GPU counts a place only since its last reset.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Uncorrected {
    /// By place.
    places: [Option<u64>; PLACE_COUNT],
    /// Of on-chip memory (SRAM), by kind: parity, SEC-DED.
    kinds: [Option<u64>; 2],
    /// The same by unit: L2 cache, SM, PCIe, microcontroller, others.
    units: [Option<u64>; 5],
}

impl Uncorrected {
    /// Returns what a GPU counts.
    pub fn of(reading: &Reading) -> Self {
        let mut counted = Self::default();
        let (aggregate, volatile) = (reading.aggregate.places, reading.volatile.places);
        let pairs = aggregate.iter().zip(volatile);
        for (place, (aggregate, volatile)) in counted.places.iter_mut().zip(pairs) {
            *place = aggregate.uncorrected.or(volatile.uncorrected);
        }
        if let Some(sram) = reading.sram {
            counted.kinds = [
                sram.aggregate_uncorrectable_parity,
                sram.aggregate_uncorrectable_sec_ded,
            ]
            .map(Some);
            counted.units = [
                sram.aggregate_uncorrectable_l2,
                sram.aggregate_uncorrectable_sm,
                sram.aggregate_uncorrectable_pcie,
                sram.aggregate_uncorrectable_microcontroller,
                sram.aggregate_uncorrectable_other,
            ]
            .map(Some);
        }
        counted
    }

    /// Returns by how much each counter is larger than before. One that was not known before has not risen; one that is
    /// smaller than before has begun again at 0.
    pub fn since(&self, before: &Self) -> Self {
        fn rises<const N: usize>(
            now: &[Option<u64>; N],
            before: &[Option<u64>; N],
        ) -> [Option<u64>; N] {
            let mut rises = [None; N];
            for (rise, (now, before)) in rises.iter_mut().zip(now.iter().zip(before)) {
                *rise = now
                    .zip(*before)
                    .map(|(now, before)| now.checked_sub(before).unwrap_or(now));
            }
            rises
        }
        Self {
            places: rises(&self.places, &before.places),
            kinds: rises(&self.kinds, &before.kinds),
            units: rises(&self.units, &before.units),
        }
    }

    /// Returns the same with what was known before in place of what is not known now.
    pub fn or_before(&self, before: &Self) -> Self {
        fn filled<const N: usize>(
            now: &[Option<u64>; N],
            before: &[Option<u64>; N],
        ) -> [Option<u64>; N] {
            let mut filled = *now;
            for (now, before) in filled.iter_mut().zip(before) {
                *now = now.or(*before);
            }
            filled
        }
        Self {
            places: filled(&self.places, &before.places),
            kinds: filled(&self.kinds, &before.kinds),
            units: filled(&self.units, &before.units),
        }
    }

    /// Returns the places with errors, and how many there are. On-chip memory is counted twice on some GPUs, as a place and
    /// by kind: the larger number counts.
    fn with_errors(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let of_kinds = self.kinds.iter().flatten().copied();
        let of_kinds = of_kinds.fold(0, u64::saturating_add);
        let places = PLACES.into_iter().zip(self.places);
        let errors = places.map(move |(name, errors)| {
            let errors = errors.unwrap_or(0);
            match name {
                SRAM => (name, errors.max(of_kinds)),
                _ => (name, errors),
            }
        });
        errors.filter(|(_, errors)| *errors > 0)
    }

    /// Returns the sum over all places.
    pub fn sum(&self) -> u64 {
        let errors = self.with_errors().map(|(_, errors)| errors);
        errors.fold(0, u64::saturating_add)
    }

    /// Returns the errors in memory on the chip, which has no spare rows.
    pub fn on_chip(&self) -> Self {
        let mut on_chip = *self;
        for (errors, name) in on_chip.places.iter_mut().zip(PLACES) {
            if name == DRAM {
                *errors = None;
            }
        }
        on_chip
    }

    /// Returns the names of the places with errors.
    pub fn names(&self) -> String {
        text::join(self.with_errors().map(|(name, _)| name), ", ")
    }

    /// Returns all places with errors in words, with a sign before each number: `DRAM +1, SRAM +7 (SEC-DED +7; SM +7)`.
    pub fn words(&self, sign: &str) -> String {
        fn list(names: &[&str], errors: &[Option<u64>], sign: &str) -> String {
            let all = names.iter().zip(errors);
            let items = all.filter_map(|(name, errors)| {
                let errors = errors.filter(|errors| *errors > 0)?;
                Some(format!("{name} {sign}{errors}"))
            });
            text::join(items, ", ")
        }
        let details = [
            list(&KINDS, &self.kinds, sign),
            list(&UNITS, &self.units, sign),
        ];
        let details = text::join(details.iter().filter(|part| !part.is_empty()), "; ");
        let items = self.with_errors().map(|(name, errors)| match name {
            SRAM if !details.is_empty() => format!("{name} {sign}{errors} ({details})"),
            _ => format!("{name} {sign}{errors}"),
        });
        text::join(items, ", ")
    }
}

#[cfg(test)]
mod tests;
