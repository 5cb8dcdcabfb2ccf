//! Processes from `/proc/‹pid›/stat` (proc_pid_stat(5)). That file is answered without taking the process's memory
//! lock, which a stuck process may hold; `cmdline` is not, so it is never read.

use gpud_sdk::AccessError;
use gpud_sdk::sysfs::{self, FileContent};

/// The file of the first process.
const FIRST: &str = "/proc/1/stat";

/// All processes at one moment.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Processes {
    /// How many.
    pub total: u32,
    /// How many ended and were not waited for.
    pub zombies: u32,
    /// Those in uninterruptible sleep.
    pub blocked: Vec<Blocked>,
}

/// A process in uninterruptible sleep.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Blocked {
    /// Process id.
    pub pid: u32,
    /// Clock ticks between boot and its start: with the pid, who it is.
    pub start: u64,
    /// Its name.
    pub name: String,
}

impl Processes {
    /// Reads the files; one that could not be read or understood still counts as a process.
    pub fn parse<'a>(files: impl IntoIterator<Item = &'a FileContent>) -> Self {
        let mut all = Self::default();
        for file in files {
            all.total = all.total.saturating_add(1);
            let Ok(content) = &file.content else { continue };
            let Some((head, tail)) = split(content) else {
                continue;
            };
            match tail.first() {
                Some(b'Z') => all.zombies += 1,
                Some(b'D') => all.blocked.extend(blocked(&file.path, head, tail)),
                _ => {}
            }
        }
        all
    }
}

/// Returns what is missing from the processes where `/proc` is mounted with `hidepid`: files of other users cannot be read
/// then, or are not there at all. That of process 1 is missing for no other reason, while it is its turn.
pub fn hidden(files: &[FileContent], is_turn_of_first: bool) -> Option<String> {
    let mut denied = files.iter().filter_map(|file| match &file.content {
        Err(error @ AccessError::Denied(_)) => Some(error),
        _ => None,
    });
    if let Some(first) = denied.next() {
        let (count, all) = (denied.count() + 1, files.len());
        return Some(format!(
            "{count} of {all} processes are counted and not judged: {}",
            first.text()
        ));
    }
    let is_missing =
        is_turn_of_first && !files.is_empty() && files.iter().all(|file| file.path != FIRST);
    is_missing.then(|| {
        "processes of other users are neither counted nor judged: /proc hides them from gpud (hidepid)"
            .to_owned()
    })
}

/// `‹pid› (‹name›) ‹state› …`: before and after the last bracket, since a name may hold anything, brackets too.
fn split(stat: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = stat.iter().rposition(|&byte| byte == b')')?;
    Some((stat.get(..end)?, stat.get(end + 2..)?))
}

fn blocked(path: &str, head: &[u8], tail: &[u8]) -> Option<Blocked> {
    let pid = path
        .strip_prefix("/proc/")?
        .split_once('/')?
        .0
        .parse()
        .ok()?;
    let name = head
        .iter()
        .position(|&byte| byte == b'(')
        .and_then(|open| head.get(open + 1..))?;
    // The state is field 3, the start field 22.
    let start = tail.split(|&byte| byte == b' ').nth(22 - 3)?;
    Some(Blocked {
        pid,
        start: std::str::from_utf8(start).ok()?.trim().parse().ok()?,
        name: sysfs::text(name.to_vec()).trim().to_owned(),
    })
}

#[cfg(test)]
mod tests;
