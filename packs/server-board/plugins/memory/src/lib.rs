//! `server-memory`: corrected and uncorrected memory errors by slot, as the kernel's EDAC drivers count them, under the
//! names that the board has printed beside its slots.

pub mod evaluate;

use gpud_builtin_edac::counters::{self, CONTROLLER_FILES, DIMM_FILES, Dimm};
use gpud_builtin_edac::memory::Memory as Counters;
use gpud_sdk::findings::{self, Memory};
use gpud_sdk::{AccessError, CheckContext, Checker, Descriptor, Error, Report, state, sysfs};

use evaluate::{Config, SCHEMA};

/// A label is at most 32 bytes, a location some 40.
const MAX_FILE_BYTES: u32 = 4_096;
/// Four files of each DIMM; the largest machines have 128 DIMMs.
const MAX_FILES: u32 = 4_096;
/// The key of the stored counters of the last check.
const COUNTERS: &str = "counters";

struct ServerMemory;

impl Checker for ServerMemory {
    fn check(context: &CheckContext) -> Result<Report, Error> {
        let config = Config::parse(&gpud_sdk::config::document()).map_err(Error::failed)?;
        let dimms = read()?;
        if dimms.is_empty() && !config.expects_modules() {
            let reason =
                "no memory controller with an EDAC driver (no ECC memory, or a virtual machine)";
            return Ok(findings::unsupported(context, reason));
        }
        let saved = state::get_string(COUNTERS)?;
        let kept = Counters::restore(saved.as_deref(), &context.boot_id);
        let before = Memory::load()?;
        let (report, after, counters) =
            evaluate::judge(context, &config, &dimms, kept.as_ref(), &before);
        after.keep(&before)?;
        if kept.as_ref() != Some(&counters) {
            let text = counters.save().map_err(Error::failed)?;
            state::set(COUNTERS, text.as_bytes())?;
        }
        Ok(report)
    }
}

fn read() -> Result<Vec<Dimm>, AccessError> {
    let mut files = Vec::new();
    for pattern in [CONTROLLER_FILES, DIMM_FILES] {
        match sysfs::read_glob(pattern, MAX_FILE_BYTES, MAX_FILES) {
            Ok(found) => files.extend(found),
            Err(AccessError::NotFound(_)) => {}
            Err(error) => return Err(error),
        }
    }
    let readable = files.iter().filter_map(|file| {
        let content = file.content.as_ref().ok()?;
        Some((file.path.as_str(), content.as_slice()))
    });
    Ok(counters::read(readable))
}

gpud_sdk::export!(ServerMemory: Descriptor::new(
    "server-memory",
    "Memory errors by slot, as the kernel counts them (EDAC)",
)
.set_healthy_marks()
.metric(evaluate::CORRECTED, "Corrected memory errors since the driver was loaded (number), by DIMM and slot")
.metric(evaluate::UNCORRECTED, "Uncorrected memory errors since the driver was loaded (number), by DIMM and slot")
.config_schema(SCHEMA));
