//! `fuse`: do the programs behind FUSE filesystems keep up with the requests that the kernel queues for them?
//!
//! A full queue is an event and shows in the metrics; it does not make the machine unhealthy.

pub mod choice;
pub mod connections;
pub mod evaluate;
pub mod memory;
pub mod mounts;

use gpud_sdk::sysfs::FileKind;
use gpud_sdk::{AccessError, CheckContext, Checker, Descriptor, Error, Report, state, sysfs};

use connections::{Connection, ROOT};
use evaluate::Inputs;
use memory::Memory;

/// A node with a thousand containers has some 5,000 mounts of 150 bytes.
const MAX_MOUNTINFO_BYTES: u32 = 4 << 20;
/// Entries that a listing may have; beyond it there is no answer.
const MAX_ENTRIES: u32 = 4_096;
/// One number and a newline.
const MAX_NUMBER_BYTES: u32 = 64;
const MEMORY_KEY: &str = "over";

/// The checker.
pub struct Fuse;

impl Checker for Fuse {
    fn check(context: &CheckContext) -> Result<Report, Error> {
        let saved = state::get_string(MEMORY_KEY)?;
        let before = Memory::restore(saved.as_deref(), &context.boot_id);
        let listed = list_connections();
        let mountinfo = match &listed {
            Err(AccessError::NotFound(_)) => String::new(),
            Ok(names) if names.is_empty() => String::new(),
            _ => read_mountinfo().unwrap_or_default(),
        };
        let names = choice::choose(listed, &mountinfo);
        let inputs = Inputs {
            connections: names.map(|names| read_connections(&names)),
            mountinfo: &mountinfo,
        };
        let (report, after) = evaluate::judge(context, inputs, &before);
        let after = after.save(&context.boot_id);
        if saved != after {
            match after {
                Some(after) => state::set(MEMORY_KEY, after.as_bytes())?,
                None => state::delete(MEMORY_KEY)?,
            }
        }
        Ok(report)
    }
}

fn list_connections() -> Result<Vec<String>, AccessError> {
    let entries = sysfs::list_directory(ROOT, MAX_ENTRIES)?.into_iter();
    let folders = entries.filter(|entry| entry.kind == FileKind::Directory);
    Ok(folders.map(|entry| entry.name).collect())
}

fn read_connections(names: &[String]) -> Vec<Connection> {
    let read = |path: &str| sysfs::read_to_string(path, MAX_NUMBER_BYTES);
    names
        .iter()
        .map(|name| Connection::read(name, read))
        .collect()
}

/// The mounts of the machine, or where process 1 cannot be looked at, of the daemon.
fn read_mountinfo() -> Result<String, AccessError> {
    sysfs::read_to_string("/proc/1/mountinfo", MAX_MOUNTINFO_BYTES)
        .or_else(|_| sysfs::read_to_string("/proc/self/mountinfo", MAX_MOUNTINFO_BYTES))
}

gpud_sdk::member!("fuse" => Fuse: Descriptor::new(
    "fuse",
    "Requests waiting for the programs behind FUSE filesystems",
)
.metric(
    evaluate::CONGESTED_METRIC,
    "Waiting requests in percent of the congestion threshold",
)
.metric(
    evaluate::BACKGROUND_METRIC,
    "Waiting requests in percent of the limit of background requests",
));
