//! `accelerator-nvidia-nvlink`: links between GPUs, the ways over them, and the driver's complaint about finding them.

pub mod config;
pub mod counters;
mod document;
pub mod evaluate;
pub mod kmsg;
#[rustfmt::skip]
pub mod patterns;
#[cfg(test)]
mod examples;
pub mod reading;
pub mod rising;

use gpud_builtin_nvidia_common::trouble::if_readable;
use gpud_builtin_nvidia_common::{
    Failure, GpuReadings, IfSupported, asking, fields, mig, saved_state, tags,
};
use gpud_builtin_shared::driver::Driver;
use gpud_sdk::history::StoredEvent;
use gpud_sdk::nvml::{self, Answers, Question};
use gpud_sdk::policy;
use gpud_sdk::{
    AccessError, CheckContext, Checker, Descriptor, Error, Event, KmsgWatcher, Message, Report,
    Scanner, history, incidents,
};

use crate::config::Config;
use crate::counters::{EFFECTIVE_FIELD, KINDS, Kind, Memory, Values};
use crate::evaluate::{CRC, ENABLED, RECOVERY, REPLAY, SUPPORTED};
use crate::reading::{Errors, Link, Reading};
use crate::rising::Rises;

/// Name of the component.
pub const COMPONENT: &str = "accelerator-nvidia-nvlink";
/// One for every five minutes in which the driver complains.
const MAX_EVENTS: u32 = 1_000;
/// Questions of one call; the host's bound.
const MAX_QUESTIONS: usize = 64;
/// Clocks of the kernel and of the wall differ a little.
const BEFORE_BOOT_MS: u64 = 1_000;

/// The checker.
pub struct Nvlink;

impl Checker for Nvlink {
    fn check(context: &CheckContext) -> Result<Report, Error> {
        let since = context.boot_time.saturating_sub(BEFORE_BOOT_MS);
        let events = || Ok(history::own_events(since, MAX_EVENTS)?);
        judge(context, "", events, || policy::boots(context, since))
    }
}

impl KmsgWatcher for Nvlink {
    fn patterns(_component: &str) -> Vec<String> {
        kmsg::PATTERNS.map(str::to_owned).into()
    }

    fn on_messages(context: &CheckContext, messages: Vec<Message>) -> Result<Vec<Event>, Error> {
        Ok(events(context, &messages))
    }
}

impl Scanner for Nvlink {
    fn scan(context: &CheckContext) -> Result<Report, Error> {
        if history::available() {
            return Self::check(context);
        }
        let (prefix, messages) = match incidents::read_log(&kmsg::PATTERNS) {
            Ok(Some(messages)) => ("scanned kmsg(s); ", messages),
            Ok(None) => ("", Vec::new()),
            Err(error) => {
                let closed = asking::closed(context, &Driver::ask());
                return Ok(closed.unwrap_or_else(|| evaluate::unread(context, &error)));
            }
        };
        let events = || Ok(incidents::as_stored(events(context, &messages)));
        judge(context, prefix, events, || {
            Ok(incidents::boots(context, []))
        })
    }
}

/// The events that messages of the kernel log stand for.
pub fn events(context: &CheckContext, messages: &[Message]) -> Vec<Event> {
    let messages = messages.iter();
    messages
        .filter_map(|message| kmsg::event(context, message))
        .collect()
}

fn judge(
    context: &CheckContext,
    prefix: &str,
    events: impl FnOnce() -> Result<Vec<StoredEvent>, Error>,
    boots: impl FnOnce() -> Result<Vec<u64>, AccessError>,
) -> Result<Report, Error> {
    let driver = Driver::ask();
    if let Some(report) = asking::closed(context, &driver) {
        return Ok(report);
    }
    let (config, policy) = policy::configured(&patterns::CATALOG, Config::parse)?;
    let mut gpus = nvml::ask(&[Question::Nvlinks, Question::MigEnabled])?;
    let has_fields = ask_fields(&mut gpus)?;
    let seen = GpuReadings::of(driver, &gpus, |gpu| read(gpu, has_fields));
    // A scan has nothing to compare with.
    let rises = match history::available() {
        true => compare(context, &seen)?,
        false => Vec::new(),
    };
    let pairs = reading::pairs(&seen.gpus, |among| {
        let statuses = nvml::nvlink_p2p_among(among)
            .unwrap_or_default()
            .into_iter();
        statuses.map(Result::ok).collect()
    });
    let report = policy.judge(context, &events()?, boots, |events| {
        evaluate::evaluate(context, &config, &seen, &pairs, &rises, events, prefix)
    })?;
    let mut report = mig::extend(context, report, &seen.gpus);
    report
        .events
        .extend(rising::events(context, &rises, &config));
    Ok(report)
}

/// Asks for the counters that GPUs have from Blackwell on, and returns whether a GPU has them. One link is tried first:
/// whether the older counters answer says nothing, for a driver may answer those with zeros.
fn ask_fields(gpus: &mut [Answers]) -> Result<bool, AccessError> {
    let link_to_try = |gpu: &Answers| {
        let links = gpu.nvlinks().unwrap_or_default();
        let active = links.iter().find(|link| link.active);
        active.or(links.first()).map(|link| link.link)
    };
    let Some(tried) = gpus.iter().find_map(link_to_try) else {
        return Ok(false);
    };
    nvml::ask_more(gpus, &[Question::FieldValue((EFFECTIVE_FIELD, tried))])?;
    let has_fields = |gpu: &&Answers| gpu.field_value(EFFECTIVE_FIELD, tried).is_ok();
    let questions = gpus.iter().filter(has_fields).map(fields_of_links);
    let questions = questions.max_by_key(Vec::len).unwrap_or_default();
    for questions in questions.chunks(MAX_QUESTIONS) {
        nvml::ask_more(gpus, questions)?;
    }
    Ok(!questions.is_empty())
}

/// Returns the questions for the fields of each link of a GPU.
fn fields_of_links(gpu: &Answers) -> Vec<Question> {
    let links = gpu.nvlinks().unwrap_or_default().into_iter();
    let links = links.map(|link| link.link);
    let fields = Kind::ALL.iter().filter_map(|kind| kind.field());
    links
        .flat_map(|link| {
            fields
                .clone()
                .map(move |field| Question::FieldValue((field, link)))
        })
        .collect()
}

/// Compares the counters with those of the check before, and remembers them for the next.
fn compare(context: &CheckContext, seen: &GpuReadings<Reading>) -> Result<Vec<Rises>, AccessError> {
    let before: Memory = saved_state::read()?;
    let mut memory = before.clone();
    let since = context.previous_check;
    let after_ms = since.and_then(|since| context.now.checked_sub(since));
    let mut all = Vec::new();
    for (gpu, reading) in seen.answered() {
        let links = reading.links.iter().flatten();
        let links = links.map(|link| (link.number, link.counters));
        let rises = memory.update(&context.boot_id, &gpu.uuid, links);
        if !rises.is_empty() {
            all.push(Rises {
                gpu: gpu.clone(),
                rises,
                after_ms,
            });
        }
    }
    memory.retain(|uuid| seen.gpus.iter().any(|asked| asked.gpu.uuid == uuid));
    saved_state::write(&before, &memory);
    Ok(all)
}

fn read(gpu: &Answers, has_fields: bool) -> Result<Reading, Failure> {
    let link = |link: nvml::Nvlink| {
        Ok(Link {
            number: link.link,
            active: link.active,
            errors: link.errors.map_or_else(Errors::default, |errors| Errors {
                replay: errors.replay,
                recovery: errors.recovery,
                crc: errors.crc,
            }),
            counters: counters(gpu, &link, has_fields)?,
        })
    };
    let links = gpu.nvlinks().if_supported()?.map(|links| {
        let links = links.into_iter().map(link);
        links.collect::<Result<Vec<_>, AccessError>>()
    });
    Ok(Reading {
        links: links.transpose()?,
        // A GPU that cannot say whether it is in MIG mode is not.
        mig: gpu.mig_enabled().unwrap_or(false),
    })
}

/// Reads the counters of a link, in whichever way the GPU has them. Fields are looked up only where they were asked for.
fn counters(gpu: &Answers, link: &nvml::Nvlink, has_fields: bool) -> Result<Values, AccessError> {
    let mut values = [None; KINDS];
    for (value, kind) in values.iter_mut().zip(Kind::ALL) {
        *value = match (kind, link.errors, kind.field()) {
            (Kind::Replay, Some(errors), _) => Some(errors.replay),
            (Kind::Recovery, Some(errors), _) => Some(errors.recovery),
            (Kind::Crc, Some(errors), _) => Some(errors.crc),
            (_, _, Some(field)) if has_fields => {
                let number = if_readable(gpu.field_value(field, link.link))?;
                number.and_then(fields::as_whole)
            }
            _ => None,
        };
    }
    Ok(values)
}

gpud_sdk::member!(COMPONENT => Nvlink + kmsg_watcher + scanner: Descriptor::new(COMPONENT, "NVLink between NVIDIA GPUs")
    .tags(&tags(COMPONENT))
    .set_healthy_clears_events()
    .config_schema(&policy::schema(config::SCHEMA, &patterns::CATALOG))
    .metric(SUPPORTED, "Whether it has NVLink (0 or 1), by GPU")
    .metric(ENABLED, "Whether all its NVLinks are up (0 or 1), by GPU")
    .metric(REPLAY, "Replays on its NVLinks since the driver was loaded, by GPU")
    .metric(RECOVERY, "Recoveries of its NVLinks since the driver was loaded, by GPU")
    .metric(CRC, "CRC errors of flow-control digits on its NVLinks since the driver was loaded, by GPU"));
