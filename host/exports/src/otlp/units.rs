//! Units of metrics in UCUM's words.

/// Suffixes of names, and the unit that each means. A longer suffix is listed before one that it ends with.
const UNITS: [(&str, &str); 16] = [
    ("_milli_watts", "mW"),
    ("_watts", "W"),
    ("_joules", "J"),
    ("_volts", "V"),
    ("_bytes", "By"),
    ("_percent", "%"),
    ("_ratio", "1"),
    ("_celsius", "Cel"),
    ("_mhz", "MHz"),
    ("_hertz", "Hz"),
    ("_rpm", "{rpm}"),
    ("_milliseconds", "ms"),
    ("_ms", "ms"),
    ("_minutes", "min"),
    ("_seconds", "s"),
    ("_records", "{record}"),
];

/// Returns the unit that a metric's name ends with; empty if it names none.
pub fn of_name(name: &str) -> &'static str {
    let name = name.strip_suffix("_total").unwrap_or(name);
    let found = UNITS.iter().find(|(end, _)| name.ends_with(end));
    found.map_or("", |(_, unit)| unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_says_its_unit() {
        for (name, unit) in [
            ("accelerator_nvidia_power_current_usage_milli_watts", "mW"),
            ("accelerator_amd_power_watts", "W"),
            ("gpud_checker_bytes_total", "By"),
            ("gpud_checker_seconds_total", "s"),
            ("network_latency_edge_in_milliseconds", "ms"),
            ("cpu_used_percent", "%"),
            ("accelerator_nvidia_xid_errors_total", ""),
            ("gpud_component_last_check_timestamp_seconds", "s"),
            ("cpu_load_average", ""),
        ] {
            assert_eq!(of_name(name), unit, "{name}");
        }
        for (position, (end, _)) in UNITS.iter().enumerate() {
            let before = UNITS.iter().take(position);
            let mut hiding = before.filter(|(earlier, _)| end.ends_with(earlier));
            assert_eq!(hiding.next(), None, "{end}");
        }
    }
}
