//! Checkers of AMD GPUs, in one component.
//!
//! Each is called by itself, in an instance of its own, with the grants of its own `manifest.json`: of an interface that
//! only others need, every call is refused.

use gpud_builtin_amd_ecc as ecc;
use gpud_builtin_amd_errors as errors;
use gpud_builtin_amd_gpu_counts as gpu_counts;
use gpud_builtin_amd_pcie_link as pcie_link;
use gpud_builtin_amd_power as power;
use gpud_builtin_amd_temperature as temperature;
use gpud_builtin_amd_utilization as utilization;
use gpud_builtin_amd_xgmi as xgmi;

gpud_sdk::export!(
    [
        ecc::Ecc,
        errors::Errors,
        gpu_counts::GpuCounts,
        pcie_link::PcieLink,
        power::Power,
        temperature::Temperature,
        utilization::Utilization,
        xgmi::Xgmi,
    ] + kmsg_watcher
        + scanner
);
