//! `cgroup-oom`: processes that were killed because their cgroup reached its memory limit.
//!
//! A group's counter takes in those of the groups below it, so that only groups in which something was killed are looked
//! into: on most machines that is one reading of the first level. Those of cgroup v1 do not: all of them are read.

pub mod evaluate;
pub mod tree;

use gpud_sdk::files;
use gpud_sdk::findings;
use gpud_sdk::{AccessError, CheckContext, Checker, Descriptor, Error, Report, state, sysfs};

use evaluate::{Config, SCHEMA};
use tree::{Kills, Reading, SavedKills};

const ROOT: &str = "/sys/fs/cgroup";
/// Where cgroup v1 has the groups of its memory controller; also beside a unified hierarchy without one (hybrid).
const ROOT_V1: &str = "/sys/fs/cgroup/memory";
/// Seven lines.
const MAX_BYTES: u32 = 1_024;
/// Groups below one.
const MAX_GROUPS: u32 = 8_192;
/// As many levels as there are grants: deep enough for `kubepods.slice/…-burstable.slice/…-pod.slice/cri-….scope`.
const MAX_DEPTH: usize = 5;
/// Groups that are looked into.
const MAX_LOOKS: usize = 512;
const KEPT: &str = "kills";

/// The checker.
pub struct CgroupOom;

impl Checker for CgroupOom {
    fn check(context: &CheckContext) -> Result<Report, Error> {
        let config = Config::parse(&gpud_sdk::config::document()).map_err(Error::failed)?;
        let unified = files::read_optional(&format!("{ROOT}/cgroup.controllers"), MAX_BYTES)?;
        let now = match unified {
            Some(_) => read()?,
            None => read_v1()?,
        };
        let Some(now) = now else {
            let reason = "no cgroup with memory accounting";
            return Ok(findings::unsupported(context, reason));
        };
        let saved = state::get_string(KEPT)?;
        let mut kept = SavedKills::restore(saved.as_deref(), &context.boot_id);
        let report = findings::check(|before| {
            Ok(evaluate::judge(context, &config, &now, &mut kept, before))
        })?;
        state::set_changed(KEPT, saved.as_deref(), &kept.save())?;
        Ok(report)
    }
}

/// The groups in which something was killed; nothing where none has a counter.
fn read() -> Result<Option<Reading>, AccessError> {
    let (mut kills, mut any) = (Kills::new(), false);
    let mut level = vec![String::new()];
    let mut looks = 0;
    for _ in 0..MAX_DEPTH {
        let mut next = Vec::new();
        for group in &level {
            if looks == MAX_LOOKS {
                break;
            }
            looks += 1;
            let pattern = format!("{ROOT}{}/*/memory.events", tree::literal(group));
            let files = sysfs::read_glob(&pattern, MAX_BYTES, MAX_GROUPS);
            for file in tree::below(group, files)?.unwrap_or_default() {
                // A group that is removed in the meantime answers ENODEV.
                let Some(count) = file.content.ok().and_then(|text| tree::kills(&text)) else {
                    continue;
                };
                any = true;
                let path = file
                    .path
                    .strip_prefix(ROOT)
                    .and_then(|p| p.strip_suffix("/memory.events"));
                if let Some(path) = path.filter(|_| count > 0) {
                    kills.insert(path.to_owned(), count);
                    next.push(path.to_owned());
                }
            }
        }
        level = next;
    }
    Ok(any.then_some(Reading {
        kills,
        takes_in: true,
    }))
}

/// The same of cgroup v1.
fn read_v1() -> Result<Option<Reading>, AccessError> {
    let (mut kills, mut any) = (Kills::new(), false);
    let mut groups = String::new();
    for _ in 0..MAX_DEPTH {
        groups.push_str("/*");
        let pattern = format!("{ROOT_V1}{groups}/memory.oom_control");
        let files = match sysfs::read_glob(&pattern, MAX_BYTES, MAX_GROUPS) {
            Err(AccessError::NotFound(_)) => break,
            files => files?,
        };
        for file in files {
            let Some(count) = file.content.ok().and_then(|text| tree::kills(&text)) else {
                continue;
            };
            any = true;
            let path = file
                .path
                .strip_prefix(ROOT_V1)
                .and_then(|path| path.strip_suffix("/memory.oom_control"));
            if let Some(path) = path.filter(|_| count > 0) {
                kills.insert(path.to_owned(), count);
            }
        }
    }
    Ok(any.then_some(Reading {
        kills,
        takes_in: false,
    }))
}

gpud_sdk::member!("cgroup-oom" => CgroupOom: Descriptor::new(
    "cgroup-oom",
    "Processes killed at the memory limit of their cgroup",
)
.metric(evaluate::KILLS, "Processes of the cgroup and those below it killed for want of memory since it was made, by top-level cgroup")
.config_schema(SCHEMA));
