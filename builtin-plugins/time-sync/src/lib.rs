//! `time-sync`: is the clock kept right, and did it jump?
//!
//! The kernel's own word (`adjtimex`) stands in no file; `timedatectl` passes it on. chrony is asked first where it runs:
//! it knows the offset as well, and answers everybody.

pub mod evaluate;
pub mod source;

use gpud_sdk::cached::CachedAnswer;
use gpud_sdk::findings;
use gpud_sdk::program;
use gpud_sdk::{AccessError, CheckContext, Checker, Descriptor, Error, Report, state, sysfs};

use evaluate::{Config, SCHEMA, SyncMemory};
use source::Source;

/// Two lines for each processor, and one word for each interrupt.
const MAX_STAT_BYTES: u32 = 4 << 20;
const SECONDS: u32 = 10;
const KEPT: &str = "kept";
/// The key of the stored answer of the time service.
const SOURCE_KEY: &str = "source";
/// How often a service is asked that had nothing to complain of.
const EVERY_MS: u64 = 5 * 60_000;

/// The checker.
pub struct TimeSync;

impl Checker for TimeSync {
    fn check(context: &CheckContext) -> Result<Report, Error> {
        let config = Config::parse(&gpud_sdk::config::document()).map_err(Error::failed)?;
        let stat = sysfs::read_to_string("/proc/stat", MAX_STAT_BYTES)?;
        let source = source(context, &config)?;
        let saved = state::get_string(KEPT)?;
        let mut kept = SyncMemory::restore(saved.as_deref(), &context.boot_id);
        let boot_time = source::boot_time(&stat);
        let report = findings::check(|before| {
            Ok(evaluate::judge(
                context, &config, &source, boot_time, &mut kept, before,
            ))
        })?;
        state::set_changed(KEPT, saved.as_deref(), &kept.save())?;
        Ok(report)
    }
}

/// What the time service says, or said a while ago. Only what is well is kept: while something is wrong it is asked at
/// every check, so that the end is seen at once.
fn source(context: &CheckContext, config: &Config) -> Result<Source, AccessError> {
    let (cached, kept) = CachedAnswer::load(context, SOURCE_KEY, EVERY_MS, "")?;
    let kept = kept.and_then(|kept| serde_json::from_str(&kept).ok());
    if let Some(kept) = kept.filter(|kept| config.is_well(kept, context.now / 1000)) {
        return Ok(kept);
    }
    let source = ask()?;
    match serde_json::to_string(&source) {
        Ok(text) if config.is_well(&source, context.now / 1000) => cached.keep(&text)?,
        _ => cached.forget()?,
    }
    Ok(source)
}

fn ask() -> Result<Source, AccessError> {
    // -n: no name look-ups.
    if let Some(said) = program::run("chronyc", &["-c", "-n", "tracking"], SECONDS)?
        && said.is_ok()
        && let Some(tracking) = source::tracking(&said.stdout)
    {
        return Ok(tracking);
    }
    let Some(said) = program::run("timedatectl", &["show"], SECONDS)? else {
        return Ok(Source::Unknown);
    };
    let source = source::timedate(&said.stdout);
    if source != Source::Unknown || said.is_ok() {
        return Ok(source);
    }
    // systemd before 239 knows only the text for people.
    let said = program::run("timedatectl", &["status"], SECONDS)?;
    Ok(said.map_or(Source::Unknown, |said| {
        source::timedate_status(&said.stdout)
    }))
}

gpud_sdk::member!("time-sync" => TimeSync: Descriptor::new(
    "time-sync",
    "Synchronisation of the clock, and jumps of it",
)
.metric(evaluate::SYNCHRONISED, "1 when the clock is synchronised; absent where no service is to do so")
.metric(evaluate::OFFSET, "How far the clock is from that of its time servers, either way (seconds); chrony only")
.config_schema(SCHEMA));
