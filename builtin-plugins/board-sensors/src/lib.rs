//! `board-sensors`: temperatures, fans, voltages and power as the kernel's hardware monitoring (hwmon) has them.

pub mod evaluate;
pub mod sensor;

use gpud_sdk::files;
use gpud_sdk::findings::Memory;
use gpud_sdk::{CheckContext, Checker, Descriptor, Error, Report, state, sysfs};

use evaluate::{Config, CriticalSensors, SCHEMA};
use sensor::{FILES, ROOT, Sensor};

/// The key of the stored temperatures that were critical at the last check.
const HOT: &str = "hot";

/// The checker.
pub struct BoardSensors;

impl Checker for BoardSensors {
    fn check(context: &CheckContext) -> Result<Report, Error> {
        let config = Config::parse(&gpud_sdk::config::document()).map_err(Error::failed)?;
        let mut read = Vec::new();
        for pattern in FILES {
            read.extend(files::read_all(&format!("{ROOT}/hwmon*/{pattern}"))?);
        }
        let sensors = sensor::all(&read);
        let hot = CriticalSensors::restore(state::get_string(HOT)?.as_deref(), &context.boot_id);
        let before = Memory::load()?;
        let (report, after, now) =
            evaluate::judge(context, &config, &sensors, device, &hot, &before);
        after.keep(&before)?;
        if now != hot {
            state::set(HOT, now.save(&context.boot_id).as_bytes())?;
        }
        Ok(report)
    }
}

/// The name of the device below a chip, for example `nvme0` or `0000:17:00.0`. Asked only of what is critical.
fn device(sensor: &Sensor) -> Option<String> {
    let chip = sensor.path.rsplit_once('/')?.0;
    let target = sysfs::read_link(&format!("{chip}/device")).ok()?;
    files::segment(&target, 0).map(str::to_owned)
}

gpud_sdk::member!("board-sensors" => BoardSensors: Descriptor::new(
    "board-sensors",
    "Temperatures, fans, voltages and power of boards and devices",
)
.metric(sensor::Kind::Temperature.metric(), "Temperature by chip and sensor (degrees Celsius)")
.metric(sensor::Kind::Fan.metric(), "Speed of a fan by chip and sensor (revolutions per minute)")
.metric(sensor::Kind::Voltage.metric(), "Voltage by chip and sensor (volts)")
.metric(sensor::Kind::Power.metric(), "Power by chip and sensor (watts)")
.config_schema(SCHEMA));
