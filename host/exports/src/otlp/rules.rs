//! The table: which metric of gpud becomes which of the conventions.

use super::hardware::{Conversion, HardwarePart, Instrument, Kind, instrument};

const TEMPERATURE: Instrument = instrument(
    "hw.temperature",
    "Cel",
    Kind::Gauge,
    "temperature of a part of the machine",
);
const TEMPERATURE_LIMIT: Instrument = instrument(
    "hw.temperature.limit",
    "Cel",
    Kind::Gauge,
    "temperature that a part of the machine should stay below",
);
const POWER: Instrument = instrument(
    "hw.power",
    "W",
    Kind::Gauge,
    "power that a part of the machine draws now",
);
const ERRORS: Instrument = instrument(
    "hw.errors",
    "{error}",
    Kind::Counter,
    "errors of a part of the machine",
);
const GPU_UTILIZATION: Instrument = instrument(
    "hw.gpu.utilization",
    "1",
    Kind::Gauge,
    "part of the time in which the GPU worked",
);
const MEMORY_LIMIT: Instrument = instrument(
    "hw.gpu.memory.limit",
    "By",
    Kind::UpDownCounter,
    "memory of the GPU",
);
const MEMORY_USAGE: Instrument = instrument(
    "hw.gpu.memory.usage",
    "By",
    Kind::UpDownCounter,
    "memory of the GPU in use",
);
const MEMORY_UTILIZATION: Instrument = instrument(
    "hw.gpu.memory.utilization",
    "1",
    Kind::Gauge,
    "part of the GPU's memory that is in use",
);
const ENDURANCE: Instrument = instrument(
    "hw.physical_disk.endurance_utilization",
    "1",
    Kind::Gauge,
    "part of the disk's endurance that is left",
);
const FAN: Instrument = instrument("hw.fan.speed", "rpm", Kind::Gauge, "speed of a fan");
const VOLTAGE: Instrument = instrument(
    "hw.voltage",
    "V",
    Kind::Gauge,
    "voltage at a sensor of the machine",
);
/// A metric of gpud, and its place in the conventions.
#[derive(Debug)]
pub struct MetricRule {
    pub source: &'static str,
    pub instrument: Instrument,
    pub part: HardwarePart,
    pub conversion: Conversion,
    /// Further attributes of each point.
    pub further: &'static [(&'static str, &'static str)],
}

const fn rule(
    source: &'static str,
    instrument: Instrument,
    part: HardwarePart,
    conversion: Conversion,
    further: &'static [(&'static str, &'static str)],
) -> MetricRule {
    MetricRule {
        source,
        instrument,
        part,
        conversion,
        further,
    }
}

/// Returns the rule for a metric of gpud.
pub fn rule_for(source: &str) -> Option<&'static MetricRule> {
    RULES.iter().find(|rule| rule.source == source)
}

const CORRECTED: &[(&str, &str)] = &[("error.type", "corrected")];
const UNCORRECTED: &[(&str, &str)] = &[("error.type", "uncorrected")];
const ON_GPU: &[(&str, &str)] = &[("hw.sensor_location", "gpu")];
const ON_MEMORY: &[(&str, &str)] = &[("hw.sensor_location", "memory")];

/// All rules.
pub static RULES: [MetricRule; 31] = [
    rule(
        "accelerator_nvidia_temperature_current_celsius",
        TEMPERATURE,
        HardwarePart::NvidiaGpu,
        Conversion::Measured,
        ON_GPU,
    ),
    rule(
        "accelerator_nvidia_temperature_current_hbm_celsius",
        TEMPERATURE,
        HardwarePart::NvidiaGpu,
        Conversion::Measured,
        ON_MEMORY,
    ),
    rule(
        "accelerator_nvidia_temperature_slowdown_threshold_celsius",
        TEMPERATURE_LIMIT,
        HardwarePart::NvidiaGpu,
        Conversion::Measured,
        &[
            ("hw.sensor_location", "gpu"),
            ("hw.limit_type", "high.degraded"),
        ],
    ),
    rule(
        "accelerator_nvidia_temperature_mem_max_threshold_celsius",
        TEMPERATURE_LIMIT,
        HardwarePart::NvidiaGpu,
        Conversion::Measured,
        &[
            ("hw.sensor_location", "memory"),
            ("hw.limit_type", "high.degraded"),
        ],
    ),
    rule(
        "accelerator_nvidia_power_current_usage_milli_watts",
        POWER,
        HardwarePart::NvidiaGpu,
        Conversion::MilliWatts,
        &[],
    ),
    rule(
        "accelerator_nvidia_utilization_gpu_util_percent",
        GPU_UTILIZATION,
        HardwarePart::NvidiaGpu,
        Conversion::Percent,
        &[("hw.gpu.task", "general")],
    ),
    rule(
        "accelerator_nvidia_memory_total_bytes",
        MEMORY_LIMIT,
        HardwarePart::NvidiaGpu,
        Conversion::Measured,
        &[],
    ),
    rule(
        "accelerator_nvidia_memory_used_bytes",
        MEMORY_USAGE,
        HardwarePart::NvidiaGpu,
        Conversion::Same,
        &[],
    ),
    rule(
        "accelerator_nvidia_memory_used_percent",
        MEMORY_UTILIZATION,
        HardwarePart::NvidiaGpu,
        Conversion::Percent,
        &[],
    ),
    rule(
        "accelerator_nvidia_ecc_aggregate_total_corrected",
        ERRORS,
        HardwarePart::NvidiaGpu,
        Conversion::Same,
        CORRECTED,
    ),
    rule(
        "accelerator_nvidia_ecc_aggregate_total_uncorrected",
        ERRORS,
        HardwarePart::NvidiaGpu,
        Conversion::Same,
        UNCORRECTED,
    ),
    rule(
        "accelerator_amd_temperature_celsius",
        TEMPERATURE,
        HardwarePart::AmdGpu,
        Conversion::Same,
        &[],
    ),
    rule(
        "accelerator_amd_temperature_critical_celsius",
        TEMPERATURE_LIMIT,
        HardwarePart::AmdGpu,
        Conversion::Same,
        &[("hw.limit_type", "high.degraded")],
    ),
    rule(
        "accelerator_amd_power_watts",
        POWER,
        HardwarePart::AmdGpu,
        Conversion::Same,
        &[],
    ),
    rule(
        "accelerator_amd_utilization_gpu_percent",
        GPU_UTILIZATION,
        HardwarePart::AmdGpu,
        Conversion::Percent,
        &[("hw.gpu.task", "general")],
    ),
    rule(
        "accelerator_amd_memory_total_bytes",
        MEMORY_LIMIT,
        HardwarePart::AmdGpu,
        Conversion::Same,
        &[],
    ),
    rule(
        "accelerator_amd_memory_used_bytes",
        MEMORY_USAGE,
        HardwarePart::AmdGpu,
        Conversion::Same,
        &[],
    ),
    rule(
        "accelerator_amd_memory_used_percent",
        MEMORY_UTILIZATION,
        HardwarePart::AmdGpu,
        Conversion::Percent,
        &[],
    ),
    rule(
        "accelerator_amd_ecc_corrected_errors",
        ERRORS,
        HardwarePart::AmdGpu,
        Conversion::Same,
        CORRECTED,
    ),
    rule(
        "accelerator_amd_ecc_uncorrected_errors",
        ERRORS,
        HardwarePart::AmdGpu,
        Conversion::Same,
        UNCORRECTED,
    ),
    rule(
        "disk_smart_temperature_celsius",
        TEMPERATURE,
        HardwarePart::Disk,
        Conversion::Same,
        &[],
    ),
    rule(
        "disk_smart_used_percent",
        ENDURANCE,
        HardwarePart::Disk,
        Conversion::PercentUsed,
        &[("hw.physical_disk.state", "remaining")],
    ),
    rule(
        "disk_smart_media_errors",
        ERRORS,
        HardwarePart::Disk,
        Conversion::Same,
        &[("error.type", "media")],
    ),
    rule(
        "accelerator_nvidia_infiniband_symbol_error",
        ERRORS,
        HardwarePart::Port,
        Conversion::Same,
        &[("error.type", "symbol")],
    ),
    rule(
        "accelerator_nvidia_infiniband_local_link_integrity_errors",
        ERRORS,
        HardwarePart::Port,
        Conversion::Same,
        &[("error.type", "local_link_integrity")],
    ),
    rule(
        "accelerator_nvidia_infiniband_port_rcv_errors",
        ERRORS,
        HardwarePart::Port,
        Conversion::Same,
        &[
            ("error.type", "packet"),
            ("network.io.direction", "receive"),
        ],
    ),
    rule(
        "memory_edac_corrected_errors",
        ERRORS,
        HardwarePart::Dimm,
        Conversion::Same,
        CORRECTED,
    ),
    rule(
        "memory_edac_uncorrected_errors",
        ERRORS,
        HardwarePart::Dimm,
        Conversion::Same,
        UNCORRECTED,
    ),
    rule(
        "sensor_temperature_celsius",
        TEMPERATURE,
        HardwarePart::Sensor("temperature"),
        Conversion::Same,
        &[],
    ),
    rule(
        "sensor_fan_rpm",
        FAN,
        HardwarePart::Sensor("fan"),
        Conversion::Same,
        &[],
    ),
    rule(
        "sensor_voltage_volts",
        VOLTAGE,
        HardwarePart::Sensor("voltage"),
        Conversion::Same,
        &[],
    ),
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn each_metric_has_one_rule_and_its_page_a_row() {
        let page = include_str!("../../../../docs/exports-otlp.md");
        let mut sources = BTreeSet::new();
        for rule in &RULES {
            assert!(sources.insert(rule.source), "{} twice", rule.source);
            let mut rows = page.lines().filter(|line| {
                line.contains(&format!("`{}`", rule.source))
                    && line.contains(&format!("`{}`", rule.instrument.name))
            });
            let row = rows.next();
            let row = row.unwrap_or_else(|| panic!("the page has no row for {}", rule.source));
            for (key, value) in rule.further {
                let text = format!("`{key}={value}`");
                assert!(row.contains(&text), "{}: {text} in {row}", rule.source);
            }
            assert!(page.contains(&format!("`{}`", rule.instrument.unit)));
        }
    }
}
