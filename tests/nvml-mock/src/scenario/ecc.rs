//! ECC counters, row remapping, page retirement.

use super::patch::readings;

readings! {
    /// ECC.
    Ecc, EccPatch {
        /// On now.
        current: bool,
        /// On after the next reset.
        pending: bool,
        /// On from the factory.
        default: bool,
        /// SRAM: uncorrectable errors passed the threshold of the driver.
        sram_threshold_exceeded: bool,
    } groups {
        /// Corrected since the last reset.
        volatile_corrected: EccCountsPatch,
        /// Uncorrected since the last reset.
        volatile_uncorrected: EccCountsPatch,
        /// Corrected over the life of the board.
        aggregate_corrected: EccCountsPatch,
        /// Uncorrected over the life of the board.
        aggregate_uncorrected: EccCountsPatch,
        /// SRAM: uncorrectable errors by kind and unit.
        sram: SramPatch,
    }
}

readings! {
    /// Errors by place (`nvmlMemoryLocation_t`).
    EccCounts, EccCountsPatch {
        /// The total; by default the sum of the places.
        total: u64,
        /// 0.
        l1: u64,
        /// 1.
        l2: u64,
        /// 2.
        dram: u64,
        /// 3.
        register_file: u64,
        /// 4.
        texture: u64,
        /// 5.
        texture_shared: u64,
        /// 6.
        cbu: u64,
        /// 7.
        sram: u64,
    }
}

readings! {
    /// Uncorrectable errors of SRAM, as `nvmlEccSramErrorStatus_t` has them.
    Sram, SramPatch {
        /// Parity errors over the life of the board; the others of the place `sram` are SEC-DED.
        aggregate_parity: u64,
        /// Parity errors since the last reset; the others of the place `sram` are SEC-DED.
        volatile_parity: u64,
        /// Over the life of the board: in the L2 cache. What is in none of these units is in others.
        l2: u64,
        /// In the streaming multiprocessors.
        sm: u64,
        /// In the PCIe unit.
        pcie: u64,
        /// In microcontrollers.
        microcontroller: u64,
    }
}

impl EccCounts {
    /// One place by its NVML number.
    #[must_use]
    pub fn at(&self, location: u32) -> Option<Option<u64>> {
        Some(match location {
            0 => self.l1,
            1 => self.l2,
            2 => self.dram,
            3 => self.register_file,
            4 => self.texture,
            5 => self.texture_shared,
            6 => self.cbu,
            7 => self.sram,
            _ => return None,
        })
    }

    /// The total as the driver would give it.
    #[must_use]
    pub fn sum(&self) -> Option<u64> {
        self.total.or_else(|| {
            let places = (0..8).filter_map(|location| self.at(location).flatten());
            places.reduce(u64::saturating_add)
        })
    }
}

impl Ecc {
    /// The counters of an error type (0 corrected, 1 uncorrected) and period (0 volatile, 1 aggregate).
    #[must_use]
    pub fn counts(&self, error: u32, period: u32) -> Option<&EccCounts> {
        match (error, period) {
            (0, 0) => Some(&self.volatile_corrected),
            (1, 0) => Some(&self.volatile_uncorrected),
            (0, 1) => Some(&self.aggregate_corrected),
            (1, 1) => Some(&self.aggregate_uncorrected),
            _ => None,
        }
    }
}

readings! {
    /// Row remapping.
    Rows, RowsPatch {
        /// Rows remapped after corrected errors.
        correctable: u32,
        /// Rows remapped after uncorrectable errors.
        uncorrectable: u32,
        /// A remapping waits for a reset.
        pending: bool,
        /// A remapping failed.
        failed: bool,
        /// Banks with max, high, partial, low, no spare rows.
        histogram: [u32; 5],
    }
}

readings! {
    /// Page retirement.
    Pages, PagesPatch {
        /// Addresses retired after several single-bit errors.
        single_bit: Vec<u64>,
        /// Addresses retired after a double-bit error.
        double_bit: Vec<u64>,
        /// A retirement waits for a reset.
        pending: bool,
    }
}
