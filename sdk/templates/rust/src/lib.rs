//! Fans that turn slower than they should. This file asks; `evaluate` decides.

mod evaluate;

use evaluate::{Config, Fan};
use gpud_sdk::{CheckContext, Checker, Descriptor, Error, Report, config, sysfs};

/// Fans of one machine.
const MAX_FANS: u32 = 256;
/// One number.
const MAX_BYTES: u32 = 64;

struct FanCheck;

impl Checker for FanCheck {
    fn check(context: &CheckContext) -> Result<Report, Error> {
        let config: Config = serde_json::from_str(&config::document()).map_err(Error::failed)?;
        // `?` on a capability error becomes a state that says which source did not answer.
        let files = sysfs::read_glob("/sys/class/hwmon/hwmon*/fan*_input", MAX_BYTES, MAX_FANS)?;
        let fans = files.into_iter().map(|file| Fan {
            path: file.path,
            rpm: file.content.map_err(|error| format!("{error:?}")).and_then(|bytes| evaluate::rpm(&bytes)),
        });
        Ok(evaluate::report(context, &config, &fans.collect::<Vec<_>>()))
    }
}

gpud_sdk::export!(FanCheck: Descriptor::new("{{name}}", "Fans that turn slower than they should")
    .tags(&["fans"])
    .metric("fan_rpm", "Speed of a fan, revolutions per minute")
    .config_schema(evaluate::SCHEMA));
