//! NVMe drives whose firmware is not what it should be: another version than the operator allows for the model, or than
//! the other drives of the same model run. A fleet that was half updated, and a spare drive with the firmware that it
//! was bought with, show themselves so. This file asks; `judge` decides.

mod drives;
mod judge;

use gpud_sdk::sysfs::FileContent;
use gpud_sdk::{
    AccessError, CheckContext, Checker, Descriptor, Error, Report, config, state, sysfs,
};
use judge::Config;

/// Longest content of an attribute, bytes: a model has 40 characters, a serial number 20, a firmware revision 8 (NVM
/// Express Base Specification, Identify Controller).
const MAX_FILE: u32 = 256;
/// Most drives.
const MAX_DRIVES: u32 = 256;
/// Key of the firmware that each drive ran at the last check.
const SEEN: &str = "seen";

struct NvmeFirmware;

impl Checker for NvmeFirmware {
    fn check(context: &CheckContext) -> Result<Report, Error> {
        let config = Config::parse(&config::document()).map_err(Error::failed)?;
        let drives = drives::find(
            &attribute("model")?,
            &attribute("firmware_rev")?,
            &attribute("serial")?,
            &attribute("transport")?,
        );
        let before = judge::restore(&state::get_string(SEEN)?.unwrap_or_default());
        let (report, seen) = judge::judge(context, &config, &drives, &before);
        if seen != before {
            state::set(SEEN, judge::save(&seen).as_bytes())?;
        }
        Ok(report)
    }
}

fn attribute(name: &str) -> Result<Vec<FileContent>, AccessError> {
    sysfs::read_glob(
        &format!("/sys/class/nvme/nvme*/{name}"),
        MAX_FILE,
        MAX_DRIVES,
    )
}

gpud_sdk::export!(NvmeFirmware:
    Descriptor::new("nvme-firmware", "NVMe drives whose firmware is not what it should be")
        .tags(&["nvme", "storage"])
        .interval_seconds(600)
        .metric(judge::METRIC, "1 for each local NVMe drive, by device, model and firmware")
        .config_schema(judge::SCHEMA));
