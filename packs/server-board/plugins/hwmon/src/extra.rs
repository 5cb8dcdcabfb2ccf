//! What a chip says of a sensor besides its reading (kernel document `Documentation/hwmon/sysfs-interface.rst`):
//! `‹sensor›_fault`, 1 when a probe is open or a fan's signal is bad, and `pwm‹n›`, 0 when fan ‹n› is set to stand
//! still.

use std::collections::BTreeMap;

use gpud_builtin_board_sensors::sensor::Sensor;

/// The files, by chip.
pub const FILES: [&str; 3] = ["temp*_fault", "fan*_fault", "pwm[0-9]"];

/// What they say, by path.
#[derive(Debug, Clone, Default)]
pub struct Extra<'a>(BTreeMap<&'a str, &'a str>);

impl<'a> Extra<'a> {
    /// From files, path and text.
    pub fn new(files: &'a [(String, String)]) -> Self {
        Self(
            files
                .iter()
                .map(|(path, text)| (path.as_str(), text.as_str()))
                .collect(),
        )
    }

    /// Whether the chip calls the sensor broken; nothing where it does not tell.
    pub fn is_faulty(&self, sensor: &Sensor) -> Option<bool> {
        let path = sensor.path.strip_suffix("_input")?;
        let text = self.0.get(format!("{path}_fault").as_str())?;
        Some(*text == "1")
    }

    /// Whether a fan is set to stand still.
    pub fn is_switched_off(&self, fan: &Sensor) -> bool {
        let Some((folder, file)) = fan.path.rsplit_once('/') else {
            return false;
        };
        let number = file
            .strip_prefix("fan")
            .and_then(|rest| rest.strip_suffix("_input"));
        number.is_some_and(|number| {
            let path = format!("{folder}/pwm{number}");
            self.0.get(path.as_str()).is_some_and(|text| *text == "0")
        })
    }
}
