//! Sensors out of the files of `/sys/class/hwmon` (`Documentation/hwmon/sysfs-interface.rst`): temperatures in
//! thousandths of a degree Celsius, fans in revolutions per minute, voltages in millivolts, power in microwatts.

use std::collections::BTreeMap;

use gpud_sdk::files::segment;

/// The folder of the chips.
pub const ROOT: &str = "/sys/class/hwmon";
/// The files of a chip that are read. Alarm bits are not: on ordinary boards many of them belong to inputs that nothing is
/// connected to.
pub const FILES: [&str; 11] = [
    "name",
    "temp*_input",
    "temp*_label",
    "temp*_crit",
    "fan*_input",
    "fan*_label",
    "in*_input",
    "in*_label",
    "power*_input",
    "power*_average",
    "power*_label",
];

/// The kinds of measurement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Degrees Celsius.
    Temperature,
    /// Revolutions per minute.
    Fan,
    /// Volts.
    Voltage,
    /// Watts.
    Power,
}

impl Kind {
    fn of(sensor: &str) -> Option<(Self, f64)> {
        // Longest first: `in` begins no other name of the files that are read.
        [
            ("temp", Self::Temperature, 1e3),
            ("fan", Self::Fan, 1.0),
            ("power", Self::Power, 1e6),
            ("in", Self::Voltage, 1e3),
        ]
        .into_iter()
        .find(|(prefix, ..)| sensor.starts_with(prefix))
        .map(|(_, kind, divisor)| (kind, divisor))
    }

    /// Its unit.
    pub fn unit(self) -> &'static str {
        match self {
            Self::Temperature => "°C",
            Self::Fan => "RPM",
            Self::Voltage => "V",
            Self::Power => "W",
        }
    }

    /// The gauge.
    pub fn metric(self) -> &'static str {
        match self {
            Self::Temperature => "sensor_temperature_celsius",
            Self::Fan => "sensor_fan_rpm",
            Self::Voltage => "sensor_voltage_volts",
            Self::Power => "sensor_power_watts",
        }
    }
}

/// A chip's files: name to text and path.
type Files<'a> = BTreeMap<&'a str, (&'a str, &'a str)>;

/// One sensor.
#[derive(Debug, Clone, PartialEq)]
pub struct Sensor {
    /// Name of the chip's driver, for example `nvme`; with a number where there are several: `nvme`, `nvme.2`.
    pub chip: String,
    /// The driver alone.
    pub driver: String,
    /// Its label, or else its file's name, for example `temp1`.
    pub name: String,
    /// The kind of measurement.
    pub kind: Kind,
    /// In its kind's unit.
    pub value: f64,
    /// Critical value of a temperature, if the chip has one.
    pub critical: Option<f64>,
    /// The file.
    pub path: String,
}

impl Sensor {
    /// Returns its name in the configuration.
    pub fn key(&self) -> String {
        format!("{}/{}", self.chip, self.name)
    }
}

/// All sensors out of files (path, text); those without a readable value are left out. A power meter that gives an
/// average and a momentary value counts once.
pub fn all(files: &[(String, String)]) -> Vec<Sensor> {
    let mut chips: BTreeMap<(u32, &str), Files> = BTreeMap::new();
    for (path, text) in files {
        let (Some(folder), Some(file)) = (segment(path, 1), segment(path, 0)) else {
            continue;
        };
        let number = folder
            .trim_start_matches(|c: char| !c.is_ascii_digit())
            .parse();
        chips
            .entry((number.unwrap_or(u32::MAX), folder))
            .or_default()
            .insert(file, (text, path));
    }
    let mut seen: BTreeMap<&str, u32> = BTreeMap::new();
    let mut sensors = Vec::new();
    for files in chips.values() {
        let driver = files.get("name").map_or("unknown", |(name, _)| name);
        let count = seen.entry(driver).or_default();
        *count += 1;
        let chip = match *count {
            1 => driver.to_owned(),
            many => format!("{driver}.{many}"),
        };
        let values = files.keys().filter_map(|file| {
            let average = || {
                file.strip_suffix("_average")
                    .filter(|name| !files.contains_key(format!("{name}_input").as_str()))
            };
            let name = file.strip_suffix("_input").or_else(average)?;
            one(&chip, driver, name, file, files)
        });
        sensors.extend(values);
    }
    unique(&mut sensors);
    sensors
}

fn one(chip: &str, driver: &str, name: &str, file: &str, files: &Files) -> Option<Sensor> {
    let (kind, divisor) = Kind::of(name)?;
    let number = |file: &str| -> Option<f64> {
        let number: i64 = files.get(file)?.0.parse().ok()?;
        #[expect(clippy::cast_precision_loss, reason = "readings are small")]
        Some(number as f64 / divisor)
    };
    let label = files.get(format!("{name}_label").as_str());
    let label = label
        .map(|(text, _)| *text)
        .filter(|text| !text.is_empty() && text.len() <= 64);
    let value = number(file).filter(|value| is_reading(kind, *value))?;
    Some(Sensor {
        chip: chip.to_owned(),
        driver: driver.to_owned(),
        name: label.unwrap_or(name).to_owned(),
        kind,
        value,
        critical: number(&format!("{name}_crit")),
        path: files.get(file)?.1.to_owned(),
    })
}

/// What no part can show stands for no reading: -274 °C (`THERMAL_TEMP_INVALID`, kernel `include/linux/thermal.h`), and
/// 65,535 revolutions of a fan whose controller has not answered (`thinkpad_acpi`, `dell_smm_hwmon`).
fn is_reading(kind: Kind, value: f64) -> bool {
    match kind {
        Kind::Temperature => value > -273.15,
        Kind::Fan => value < 65_535.0,
        Kind::Voltage | Kind::Power => true,
    }
}

/// Two sensors of a chip can have the same label, a fan and a temperature of the processor for example; the configuration
/// calls them by it, so the second gets its file's name.
fn unique(sensors: &mut [Sensor]) {
    let mut seen = std::collections::BTreeSet::new();
    for sensor in sensors {
        if !seen.insert(sensor.key()) {
            let file = segment(&sensor.path, 0).unwrap_or_default();
            sensor.name = format!("{} ({file})", sensor.name);
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Files out of `hwmon0/name=nvme` and so on.
    pub(crate) fn files(lines: &str) -> Vec<(String, String)> {
        let pairs = lines.split(';').filter_map(|line| line.split_once('='));
        pairs
            .map(|(path, text)| (format!("{ROOT}/{path}"), text.to_owned()))
            .collect()
    }

    #[test]
    fn sensors() {
        let found = all(&files(
            "hwmon0/name=nvme;hwmon0/temp1_input=38850;hwmon0/temp1_label=Composite;hwmon0/temp1_crit=84850;\
             hwmon10/name=nvme;hwmon10/temp1_input=-1000;\
             hwmon2/name=nct6775;hwmon2/fan1_input=1200;hwmon2/in0_input=1010;hwmon2/in0_label=Vcore;\
             hwmon3/name=power_meter;hwmon3/power1_average=250000000;hwmon3/power1_input=1000000;hwmon3/temp9_input=x",
        ));
        let found: Vec<_> = found
            .iter()
            .map(|one| {
                format!(
                    "{} {} {} {:?}",
                    one.key(),
                    one.value,
                    one.kind.unit(),
                    one.critical
                )
            })
            .collect();
        assert_eq!(
            found,
            [
                "nvme/Composite 38.85 °C Some(84.85)",
                "nct6775/fan1 1200 RPM None",
                "nct6775/Vcore 1.01 V None",
                "power_meter/power1 1 W None",
                "nvme.2/temp1 -1 °C None",
            ]
        );
        let same = all(&files(
            "hwmon0/temp1_input=1;hwmon0/temp1_label=a;hwmon0/temp2_input=2;hwmon0/temp2_label=a",
        ));
        assert_eq!(same[1].key(), "unknown/a (temp2_input)");
        let two = "hwmon0/name=dell_smm;hwmon0/fan1_input=900;hwmon0/fan1_label=CPU;hwmon0/temp1_input=50000;hwmon0/temp1_label=CPU";
        let keys: Vec<_> = all(&files(two)).iter().map(Sensor::key).collect();
        assert_eq!(keys, ["dell_smm/CPU", "dell_smm/CPU (temp1_input)"]);
        for impossible in ["temp1_input=-274000", "fan1_input=65535"] {
            assert_eq!(all(&files(&format!("hwmon0/{impossible}"))), []);
        }
        let average = all(&files("hwmon3/name=p;hwmon3/power1_average=2000000"));
        assert_eq!(average[0].key(), "p/power1");
    }

    proptest! {
        #[test]
        fn any_files_are_survived(list in prop::collection::vec(("[ -~]{0,20}", "[ -~]{0,12}"), 0..20), number in any::<i64>()) {
            all(&list);
            all(&files(&format!("hwmon0/temp1_input={number};hwmon0/temp1_crit={number}")));
        }
    }
}
