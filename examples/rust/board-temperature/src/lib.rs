//! Temperatures of boards and devices against limits of the operator. This file asks; `judge` decides.

mod config;
mod judge;
mod sensors;

use config::Config;
use gpud_sdk::sysfs::FileContent;
use gpud_sdk::{AccessError, CheckContext, Checker, Descriptor, Error, Report, state, sysfs};
use judge::Hot;

/// Longest content of a sensor's file, bytes.
const MAX_FILE: u32 = 256;
/// Most sensors.
const MAX_FILES: u32 = 1024;
/// Key of the sensors that were too hot at the last check.
const HOT: &str = "hot";

struct BoardTemperature;

impl Checker for BoardTemperature {
    fn check(context: &CheckContext) -> Result<Report, Error> {
        let config = Config::parse(&gpud_sdk::config::document()).map_err(Error::failed)?;
        let sensors = sensors::find(files("temp*_input")?, files("temp*_label")?, files("name")?);
        let before = Hot::restore(&state::get_string(HOT)?.unwrap_or_default());
        let (report, after) = judge::judge(context, &config, &sensors, &before);
        if after != before {
            state::set(HOT, after.save().as_bytes())?;
        }
        Ok(report)
    }
}

fn files(name: &str) -> Result<Vec<FileContent>, AccessError> {
    sysfs::read_glob(
        &format!("/sys/class/hwmon/hwmon*/{name}"),
        MAX_FILE,
        MAX_FILES,
    )
}

gpud_sdk::export!(BoardTemperature:
    Descriptor::new("board-temperature", "Temperatures of boards and devices against limits")
        .metric(judge::METRIC, "Temperature by chip and sensor (degrees Celsius)")
        .config_schema(config::SCHEMA));
