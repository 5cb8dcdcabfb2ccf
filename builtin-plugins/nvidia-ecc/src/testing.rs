//! Functions that the tests of this component share.

use gpud_sdk::nvml::SramEccStatus;

/// On-chip memory without errors.
pub const NO_SRAM_ERRORS: SramEccStatus = SramEccStatus {
    aggregate_uncorrectable_parity: 0,
    aggregate_uncorrectable_sec_ded: 0,
    aggregate_correctable: 0,
    volatile_uncorrectable_parity: 0,
    volatile_uncorrectable_sec_ded: 0,
    volatile_correctable: 0,
    aggregate_uncorrectable_l2: 0,
    aggregate_uncorrectable_sm: 0,
    aggregate_uncorrectable_pcie: 0,
    aggregate_uncorrectable_microcontroller: 0,
    aggregate_uncorrectable_other: 0,
    threshold_exceeded: false,
};

/// The same after seven uncorrectable errors, which the driver finds too many.
pub const SEVEN_SRAM_ERRORS: SramEccStatus = SramEccStatus {
    aggregate_uncorrectable_parity: 2,
    aggregate_uncorrectable_sec_ded: 5,
    volatile_uncorrectable_sec_ded: 3,
    aggregate_uncorrectable_l2: 4,
    aggregate_uncorrectable_sm: 3,
    threshold_exceeded: true,
    ..NO_SRAM_ERRORS
};
