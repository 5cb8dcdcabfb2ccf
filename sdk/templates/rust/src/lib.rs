//! Memory that runs short. This file asks; `evaluate` decides.

mod evaluate;

use evaluate::{Config, Memory};
use gpud_sdk::{CheckContext, Checker, Descriptor, Error, Report, config, sysfs};

/// Longest `/proc/meminfo`, bytes.
const MAX_BYTES: u32 = 65_536;

struct MemoryCheck;

impl Checker for MemoryCheck {
    fn check(context: &CheckContext) -> Result<Report, Error> {
        let config: Config = serde_json::from_str(&config::document()).map_err(Error::failed)?;
        // `?` on a capability error becomes a state that says which source did not answer.
        let text = sysfs::read_to_string("/proc/meminfo", MAX_BYTES)?;
        Ok(evaluate::report(context, &config, Memory::read(&text)))
    }
}

gpud_sdk::export!(MemoryCheck: Descriptor::new("{{name}}", "Memory that runs short")
    .tags(&["memory"])
    .metric("available_memory_bytes", "Memory that programs can still get")
    .config_schema(evaluate::SCHEMA));
