//! Sizes, offsets and version tags, against the numbers of NVIDIA's header (as NVIDIA's own Python binding states them).

use std::mem::offset_of;

use gpud_nvml_mock::struct_version;
use nvml_wrapper_sys::bindings::*;

/// Version tags: ours, and those of the header.
const VERSION_TAGS: &[(&str, u32, u32)] = &[
    (
        "nvmlMemory_v2",
        struct_version::<nvmlMemory_v2_t>(2),
        0x0200_0028,
    ),
    (
        "nvmlPciInfoExt_v1",
        struct_version::<nvmlPciInfoExt_v1_t>(1),
        0x0100_0040,
    ),
    (
        "nvmlMarginTemperature_v1",
        struct_version::<nvmlMarginTemperature_v1_t>(1),
        0x0100_0008,
    ),
    (
        "nvmlTemperature_v1",
        struct_version::<nvmlTemperature_v1_t>(1),
        0x0100_000c,
    ),
    (
        "nvmlFanSpeedInfo_v1",
        struct_version::<nvmlFanSpeedInfo_v1_t>(1),
        0x0100_000c,
    ),
    ("nvmlPdi_v1", struct_version::<nvmlPdi_v1_t>(1), 0x0100_0010),
    (
        "nvmlRepairStatus_v1",
        struct_version::<nvmlRepairStatus_v1_t>(1),
        0x0100_000c,
    ),
    (
        "nvmlDeviceAddressingMode_v1",
        struct_version::<nvmlDeviceAddressingMode_v1_t>(1),
        0x0100_0008,
    ),
    (
        "nvmlDeviceCapabilities_v1",
        struct_version::<nvmlDeviceCapabilities_v1_t>(1),
        0x0100_0008,
    ),
    (
        "nvmlEccSramErrorStatus_v1",
        struct_version::<nvmlEccSramErrorStatus_v1_t>(1),
        0x0100_0068,
    ),
    (
        "nvmlPlatformInfo_v1",
        struct_version::<nvmlPlatformInfo_v1_t>(1),
        0x0100_002c,
    ),
    (
        "nvmlPlatformInfo_v2",
        struct_version::<nvmlPlatformInfo_v2_t>(2),
        0x0200_002c,
    ),
    (
        "nvmlGpuFabricInfo_v2",
        struct_version::<nvmlGpuFabricInfo_v2_t>(2),
        0x0200_0024,
    ),
    (
        "nvmlGpuFabricInfo_v3",
        struct_version::<nvmlGpuFabricInfo_v3_t>(3),
        0x0300_0028,
    ),
    (
        "nvmlGpmSupport, as GPUd asks",
        struct_version::<nvmlGpmSupport_t>(1),
        0x0100_0008,
    ),
    (
        "nvmlProcessesUtilizationInfo_v1",
        struct_version::<nvmlProcessesUtilizationInfo_v1_t>(1),
        0x0100_0018,
    ),
];

#[test]
fn version_tags_are_those_of_the_header() {
    for &(name, ours, header) in VERSION_TAGS {
        assert_eq!(
            ours, header,
            "{name}: {ours:#x}, the header says {header:#x}"
        );
    }
}

#[test]
fn sizes_are_those_of_the_header() {
    let cases = [
        ("nvmlPciInfo_t", size_of::<nvmlPciInfo_t>(), 68),
        ("nvmlMemory_t", size_of::<nvmlMemory_t>(), 24),
        ("nvmlMemory_v2_t", size_of::<nvmlMemory_v2_t>(), 40),
        ("nvmlBAR1Memory_t", size_of::<nvmlBAR1Memory_t>(), 24),
        ("nvmlUtilization_t", size_of::<nvmlUtilization_t>(), 8),
        (
            "nvmlProcessInfo_v1_t",
            size_of::<nvmlProcessInfo_v1_t>(),
            16,
        ),
        (
            "nvmlProcessInfo_v2_t",
            size_of::<nvmlProcessInfo_v2_t>(),
            24,
        ),
        (
            "nvmlProcessUtilizationSample_t",
            size_of::<nvmlProcessUtilizationSample_t>(),
            32,
        ),
        (
            "nvmlProcessUtilizationInfo_v1_t",
            size_of::<nvmlProcessUtilizationInfo_v1_t>(),
            40,
        ),
        ("nvmlFieldValue_t", size_of::<nvmlFieldValue_t>(), 40),
        ("nvmlValue_t", size_of::<nvmlValue_t>(), 8),
        ("nvmlGpuFabricInfo_t", size_of::<nvmlGpuFabricInfo_t>(), 28),
        ("nvmlGpmMetric_t", size_of::<nvmlGpmMetric_t>(), 40),
        (
            "nvmlRowRemapperHistogramValues_t",
            size_of::<nvmlRowRemapperHistogramValues_t>(),
            20,
        ),
        (
            "nvmlDeviceAttributes_t",
            size_of::<nvmlDeviceAttributes_t>(),
            40,
        ),
        ("nvmlViolationTime_t", size_of::<nvmlViolationTime_t>(), 16),
        (
            "nvmlEccErrorCounts_t",
            size_of::<nvmlEccErrorCounts_t>(),
            32,
        ),
        ("nvmlC2cModeInfo_v1_t", size_of::<nvmlC2cModeInfo_v1_t>(), 4),
    ];
    for (name, ours, header) in cases {
        assert_eq!(ours, header, "{name}");
    }
}

#[test]
fn offsets_are_those_of_the_header() {
    let cases = [
        ("nvmlPciInfo_t.busId", offset_of!(nvmlPciInfo_t, busId), 36),
        (
            "nvmlMemory_v2_t.total",
            offset_of!(nvmlMemory_v2_t, total),
            8,
        ),
        (
            "nvmlProcessInfo_v2_t.usedGpuMemory",
            offset_of!(nvmlProcessInfo_v2_t, usedGpuMemory),
            8,
        ),
        (
            "nvmlProcessUtilizationSample_t.smUtil",
            offset_of!(nvmlProcessUtilizationSample_t, smUtil),
            16,
        ),
        (
            "nvmlFieldValue_t.timestamp",
            offset_of!(nvmlFieldValue_t, timestamp),
            8,
        ),
        (
            "nvmlFieldValue_t.nvmlReturn",
            offset_of!(nvmlFieldValue_t, nvmlReturn),
            28,
        ),
        (
            "nvmlFieldValue_t.value",
            offset_of!(nvmlFieldValue_t, value),
            32,
        ),
        (
            "nvmlGpuFabricInfo_v3_t.state",
            offset_of!(nvmlGpuFabricInfo_v3_t, state),
            28,
        ),
        (
            "nvmlGpuFabricInfo_v3_t.healthMask",
            offset_of!(nvmlGpuFabricInfo_v3_t, healthMask),
            32,
        ),
        (
            "nvmlGpmMetricsGet_t.sample1",
            offset_of!(nvmlGpmMetricsGet_t, sample1),
            8,
        ),
        (
            "nvmlGpmMetricsGet_t.metrics",
            offset_of!(nvmlGpmMetricsGet_t, metrics),
            24,
        ),
        (
            "nvmlGpmMetric_t.value",
            offset_of!(nvmlGpmMetric_t, value),
            8,
        ),
        (
            "nvmlPlatformInfo_v2_t.slotNumber",
            offset_of!(nvmlPlatformInfo_v2_t, slotNumber),
            36,
        ),
        (
            "nvmlDeviceAttributes_t.memorySizeMB",
            offset_of!(nvmlDeviceAttributes_t, memorySizeMB),
            32,
        ),
    ];
    for (name, ours, header) in cases {
        assert_eq!(ours, header, "{name}");
    }
}
