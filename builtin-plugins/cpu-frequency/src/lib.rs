//! `cpu-frequency`: frequency governor and limits of the processors, and the kernel's thermal zones.

pub mod evaluate;
pub mod facts;

use gpud_sdk::files::{self, read_all, read_optional};
use gpud_sdk::findings;
use gpud_sdk::{AccessError, CheckContext, Checker, Descriptor, Error, Report};

use evaluate::{Config, SCHEMA};
use facts::Facts;

const POLICIES: &str = "/sys/devices/system/cpu/cpufreq/policy*";
const ZONES: &str = "/sys/class/thermal/thermal_zone*";

/// The checker.
pub struct CpuFrequency;

impl Checker for CpuFrequency {
    fn check(context: &CheckContext) -> Result<Report, Error> {
        let config = Config::parse(&gpud_sdk::config::document()).map_err(Error::failed)?;
        let facts = read()?;
        findings::check(|before| Ok(evaluate::judge(context, &config, &facts, before)))
    }
}

fn read() -> Result<Facts, AccessError> {
    let mut policies = Vec::new();
    for file in [
        "scaling_governor",
        "scaling_driver",
        "scaling_max_freq",
        "cpuinfo_max_freq",
    ] {
        policies.extend(read_all(&format!("{POLICIES}/{file}"))?);
    }
    let mut zones = read_all(&format!("{ZONES}/type"))?;
    zones.extend(read_all(&format!("{ZONES}/temp"))?);
    let boost = read_optional("/sys/devices/system/cpu/cpufreq/boost", files::SHORT)?;
    let no_turbo = read_optional(
        "/sys/devices/system/cpu/intel_pstate/no_turbo",
        files::SHORT,
    )?;
    Ok(Facts::new(
        &policies,
        &zones,
        boost.as_deref(),
        no_turbo.as_deref(),
    ))
}

gpud_sdk::member!("cpu-frequency" => CpuFrequency: Descriptor::new(
    "cpu-frequency",
    "Frequency governor and limits of processors, and thermal zones",
)
.metric(evaluate::POLICIES, "Frequency policies (groups of processors), by governor")
.metric(evaluate::LIMIT, "Highest frequency that is allowed, of the most limited policy (Hz)")
.metric(evaluate::ZONE, "Temperature of a thermal zone (degrees Celsius)")
.config_schema(SCHEMA));
