//! The kernel's table of processes, as far as gpud needs the parent of each.

use std::{fs, io};

/// The facts about a process that are asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Process {
    /// Its number.
    pub pid: i32,
    /// Its parent's number.
    pub parent: i32,
    /// When it was started, in clock ticks since the boot.
    pub start: u64,
    /// It has ended and nobody has asked for its exit status. Not one whose first thread alone has ended.
    pub is_zombie: bool,
    /// It is in gpud's own process group, in which gpud puts no run. One of a plugin cannot join it from its session.
    pub is_in_own_group: bool,
}

/// Most rounds in which descendants are looked for: a chain of parents is rarely longer than ten.
const MAX_DEPTH: usize = 64;

/// Looks at one process; `None` if it is gone.
pub fn read(pid: i32) -> Option<Process> {
    let text = fs::read(format!("/proc/{pid}/stat")).ok()?;
    // A process can give itself a name that is not UTF-8.
    parse(&String::from_utf8_lossy(&text), own_group())
}

/// gpud's own process group. In a namespace of processes that was entered without a new group it is 0, which the system
/// call's wrapper does not take.
fn own_group() -> i32 {
    let text = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    group(&text).unwrap_or(0)
}

/// The group in a line of `/proc/‹pid›/stat`: the third field after the name.
fn group(text: &str) -> Option<i32> {
    let (_, rest) = text.rsplit_once(')')?;
    rest.split_ascii_whitespace().nth(2)?.parse().ok()
}

/// The children of this process.
pub fn own_children() -> Vec<Process> {
    let own = std::process::id().cast_signed();
    match listed_children() {
        Ok(pids) if is_ours() => pids.into_iter().filter_map(read).collect(),
        _ => all().filter(|process| process.parent == own).collect(),
    }
}

/// Returns the descendants of a process, as far as their parents still live.
pub fn descendants(of: i32) -> Vec<Process> {
    let mut others: Vec<Process> = all().collect();
    let mut found: Vec<Process> = Vec::new();
    for _ in 0..MAX_DEPTH {
        let is_below = |process: &Process| {
            process.parent == of || found.iter().any(|above| above.pid == process.parent)
        };
        let (below, rest): (Vec<_>, Vec<_>) = others.into_iter().partition(is_below);
        others = rest;
        if below.is_empty() {
            break;
        }
        found.extend(below);
    }
    found
}

/// The number in a variable of the environment that a process was started with.
pub fn marked_with(pid: i32, variable: &str) -> Option<u64> {
    let environment = environment(pid)?;
    let mut variables = environment.split(|byte| *byte == 0);
    variables.find_map(|one| {
        let (name, value) = std::str::from_utf8(one).ok()?.split_once('=')?;
        (name == variable).then(|| value.parse().ok()).flatten()
    })
}

/// The environment that a process was started with. A first thread that has ended has none.
fn environment(pid: i32) -> Option<Vec<u8>> {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).ok()?;
    threads.flatten().find_map(|thread| {
        let environment = fs::read(thread.path().join("environ")).ok()?;
        (!environment.is_empty()).then_some(environment)
    })
}

/// The kernel's own list, where it is built with one (`CONFIG_PROC_CHILDREN`).
fn listed_children() -> io::Result<Vec<i32>> {
    let mut pids = Vec::new();
    for task in fs::read_dir("/proc/self/task")? {
        match fs::read_to_string(task?.path().join("children")) {
            Ok(text) => pids.extend(
                text.split_ascii_whitespace()
                    .filter_map(|pid| pid.parse::<i32>().ok()),
            ),
            // A thread that has just ended. Where there are no such files at all, the first one is missing.
            Err(error) if error.kind() == io::ErrorKind::NotFound && !pids.is_empty() => {}
            Err(error) => return Err(error),
        }
    }
    Ok(pids)
}

fn all() -> impl Iterator<Item = Process> {
    let folder = is_ours().then(|| fs::read_dir("/proc").ok());
    let entries = folder.into_iter().flatten().flatten().flatten();
    entries.filter_map(|entry| read(entry.file_name().to_str()?.parse().ok()?))
}

/// Whether `/proc` counts processes as gpud's own calls do: not where a container has that of another namespace.
fn is_ours() -> bool {
    let own = fs::read_link("/proc/self").unwrap_or_default();
    own.to_str() == Some(std::process::id().to_string().as_str())
}

/// A line of `/proc/‹pid›/stat`; see proc(5). The name in parentheses may hold anything.
fn parse(text: &str, own_group: i32) -> Option<Process> {
    let pid = text.split_ascii_whitespace().next()?.parse().ok()?;
    let (_, rest) = text.rsplit_once(')')?;
    let mut fields = rest.split_ascii_whitespace();
    let state = fields.next()?;
    let parent = fields.next()?.parse().ok()?;
    // Field 20.
    let threads: u64 = fields.nth(15)?.parse().ok()?;
    Some(Process {
        pid,
        parent,
        // Field 22.
        start: fields.nth(1)?.parse().ok()?,
        is_zombie: state == "Z" && threads <= 1,
        is_in_own_group: group(text)? == own_group,
    })
}

#[cfg(test)]
mod tests {
    use std::{ffi::OsStr, os::unix::ffi::OsStrExt as _};

    use super::*;

    #[test]
    fn a_line_is_read_whatever_the_name_is() {
        let line = "42 (a) Z 9 (b)) S 7 42 42 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 123456 9 9";
        let process = Process {
            pid: 42,
            parent: 7,
            start: 123_456,
            is_zombie: false,
            is_in_own_group: true,
        };
        assert_eq!(parse(line, 42), Some(process));
        assert!(!parse(line, 41).unwrap().is_in_own_group);
        for (state, threads, is_zombie) in [("Z", 1, true), ("Z", 2, false), ("S", 1, false)] {
            let line =
                format!("42 (a) {state} 7 42 42 0 -1 0 1 2 3 4 5 6 7 8 20 0 {threads} 0 9 9");
            assert_eq!(parse(&line, 42).unwrap().is_zombie, is_zombie, "{line}");
        }
        for broken in ["", "42", "42 (x", "42 (x) S 7 42", "x (y) S 1 1 1"] {
            assert_eq!(parse(broken, 1), None, "{broken:?}");
        }
    }

    #[test]
    fn a_process_with_a_name_that_is_not_utf8_is_found() {
        // A process is named after its file.
        let folder = tempfile::tempdir().unwrap();
        let odd = folder.path().join(OsStr::from_bytes(b"sl\xffep"));
        std::os::unix::fs::symlink("/bin/sleep", &odd).unwrap();
        let mut child = std::process::Command::new(&odd)
            .arg("1000")
            .spawn()
            .unwrap();
        assert!(read(child.id().cast_signed()).is_some());
        child.kill().unwrap();
        child.wait().unwrap();
    }

    #[test]
    fn children_and_theirs_are_found() {
        let mut child = std::process::Command::new("bash")
            .args(["-c", "sleep 1000 & echo; wait"])
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = [0];
        io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut line).unwrap();
        let pid = child.id().cast_signed();
        assert!(own_children().iter().any(|process| process.pid == pid));
        let below = descendants(pid);
        assert_eq!(below.len(), 1, "{below:?}");
        let sleep = rustix::process::Pid::from_raw(below[0].pid).unwrap();
        rustix::process::kill_process(sleep, rustix::process::Signal::KILL).unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(read(pid), None);
    }
}
