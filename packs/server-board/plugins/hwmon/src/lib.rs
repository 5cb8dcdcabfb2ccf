//! `server-hwmon`: temperatures, fans and voltages of the board as the kernel's hardware monitoring (hwmon) has them,
//! compared with the limits of a board, with fans that stopped and probes that broke.

pub mod config;
pub mod evaluate;
pub mod extra;
pub mod watch;

use gpud_builtin_board_sensors::sensor::{self, ROOT};
use gpud_sdk::files;
use gpud_sdk::findings::{self, Memory};
use gpud_sdk::{CheckContext, Checker, Descriptor, Error, Report, state};

use config::{Config, SCHEMA};
use extra::Extra;
use watch::Watch;

/// The key of the stored [`Watch`].
const WATCH: &str = "watch";

struct ServerHwmon;

impl Checker for ServerHwmon {
    fn check(context: &CheckContext) -> Result<Report, Error> {
        let config = Config::parse(&gpud_sdk::config::document()).map_err(Error::failed)?;
        let mut read = Vec::new();
        for pattern in sensor::FILES.iter().chain(&extra::FILES) {
            read.extend(files::read_all(&format!("{ROOT}/hwmon*/{pattern}"))?);
        }
        let sensors = sensor::all(&read);
        if sensors.is_empty() && !config.expects() {
            let reason = "no hardware monitoring chip on this machine";
            return Ok(findings::unsupported(context, reason));
        }
        let saved = state::get_string(WATCH)?;
        let mut watch = Watch::restore(saved.as_deref(), &context.boot_id);
        let before = Memory::load()?;
        let extra = Extra::new(&read);
        let (report, after) =
            evaluate::judge(context, &config, &sensors, &extra, &mut watch, &before);
        after.keep(&before)?;
        let text = watch.save();
        if saved.as_ref() != Some(&text) {
            state::set(WATCH, text.as_bytes())?;
        }
        Ok(report)
    }
}

gpud_sdk::export!(ServerHwmon: Descriptor::new(
    "server-hwmon",
    "Temperatures, fans and voltages of the board, compared with its limits",
)
.set_healthy_marks()
.metric(evaluate::TEMPERATURE, "Temperature by chip and sensor (degrees Celsius)")
.metric(evaluate::FAN, "Speed of a fan by chip and sensor (revolutions per minute)")
.metric(evaluate::VOLTAGE, "Voltage by chip and sensor (volts)")
.metric(evaluate::POWER, "Power by chip and sensor (watts)")
.config_schema(SCHEMA));
