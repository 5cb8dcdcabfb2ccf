//! `storage-md`: arrays of the kernel's own RAID (md): those that run with fewer disks than they should, or not at all.
//!
//! `/proc/mdstat` says it; `mdadm --detail` is asked, where it is installed, which disk of an ailing array it is.

pub mod detail;
pub mod evaluate;
pub mod loss;
pub mod mdstat;

use std::collections::BTreeMap;

use gpud_pack_common::ask;
use gpud_sdk::findings::{self, Memory};
use gpud_sdk::{AccessError, CheckContext, Checker, Descriptor, Error, Report, sysfs};

use evaluate::{Config, SCHEMA, is_ailing};

const MDSTAT: &str = "/proc/mdstat";
/// An array of a hundred disks has some 3 KiB.
const MAX_BYTES: u32 = 256 * 1024;
const SECONDS: u32 = 5;
/// Ailing arrays that mdadm is asked about.
const MAX_ASKED: usize = 8;

struct StorageMd;

impl Checker for StorageMd {
    fn check(context: &CheckContext) -> Result<Report, Error> {
        let config = Config::parse(&gpud_sdk::config::document()).map_err(Error::failed)?;
        let arrays = match sysfs::read_to_string(MDSTAT, MAX_BYTES) {
            Ok(text) => Ok(mdstat::parse(&text)),
            // The module md_mod is not loaded.
            Err(AccessError::NotFound(_)) => Ok(Vec::new()),
            Err(error) => Err(error.text()),
        };
        let nothing = arrays.as_ref().is_ok_and(Vec::is_empty);
        if nothing && config.expected.is_empty() {
            return Ok(findings::unsupported(
                context,
                "no array of the kernel's RAID (md) on this machine",
            ));
        }
        let mut details = BTreeMap::new();
        let ailing = arrays.iter().flatten();
        let ailing = ailing.filter(|array| config.judges(&array.name) && is_ailing(array));
        for array in ailing.take(MAX_ASKED) {
            let device = format!("/dev/{}", array.name);
            let answer = ask::ask("mdadm", &["--detail", &device], SECONDS)?;
            if let Ok(text) = answer.output() {
                details.insert(array.name.clone(), detail::parse(&text));
            }
        }
        let before = Memory::load()?;
        let arrays = arrays.as_ref().map(Vec::as_slice).map_err(String::as_str);
        let (report, after) = evaluate::judge(context, &config, arrays, &details, &before);
        after.keep(&before)?;
        Ok(report)
    }
}

gpud_sdk::export!(StorageMd: Descriptor::new(
    "storage-md",
    "Arrays of the kernel's RAID (md) that lost disks or do not run",
)
.metric(evaluate::DEVICES, "Devices that an array should have (number), by array and level")
.metric(evaluate::WORKING, "Devices of an array that work (number), by array and level")
.metric(evaluate::PROGRESS, "How far a rebuild or check is (percent), by array and work")
.config_schema(SCHEMA));
