//! GPM samples and the names of metrics.

use std::ffi::CStr;

/// What a sample keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sample {
    /// GPU that it was taken of.
    pub gpu: u32,
    /// When.
    pub at_ms: u64,
}

/// Ids above this are not known to any header.
pub const MAX_METRIC: u32 = 477;

/// Short name, long name and unit of a metric.
pub fn names(id: u32) -> (&'static CStr, &'static CStr, &'static CStr) {
    match id {
        1 => (c"Graphics Util", c"Graphics Utilization", c"%"),
        2 => (c"SM Util", c"SM Utilization", c"%"),
        3 => (c"SM Occupancy", c"SM Occupancy", c"%"),
        4 => (c"Integer Util", c"Integer Utilization", c"%"),
        5 => (c"Any Tensor Util", c"Any Tensor Utilization", c"%"),
        6 => (c"DFMA Tensor Util", c"DFMA Tensor Utilization", c"%"),
        7 => (c"HMMA Tensor Util", c"HMMA Tensor Utilization", c"%"),
        9 => (c"IMMA Tensor Util", c"IMMA Tensor Utilization", c"%"),
        10 => (c"DRAM BW Util", c"DRAM Bandwidth Utilization", c"%"),
        11 => (c"FP64 Util", c"FP64 Utilization", c"%"),
        12 => (c"FP32 Util", c"FP32 Utilization", c"%"),
        13 => (c"FP16 Util", c"FP16 Utilization", c"%"),
        20 => (c"PCIe TX", c"PCIe Traffic Sent", c"MiB/s"),
        21 => (c"PCIe RX", c"PCIe Traffic Received", c"MiB/s"),
        60 => (c"NVLink RX", c"NVLink Traffic Received", c"MiB/s"),
        61 => (c"NVLink TX", c"NVLink Traffic Sent", c"MiB/s"),
        _ => (c"Metric", c"Metric", c""),
    }
}
