//! The machine's mounts where gpud has others. In a container that sees the machine's processes, the mount table of process 1
//! names the machine's mounts, and the same paths lead to the container's. Space is asked of the machine's: through process
//! 1, or below the folder that `--host-root` or [`ROOT_VARIABLE`] names. A path that leads to another filesystem than the machine's is not
//! visible, which is something else than absent.

use std::path::Path;

use rustix::{
    fd::OwnedFd,
    fs::{CWD, Mode, OFlags, ResolveFlags},
    io::Errno,
};

use super::{names, tree::failed};
use crate::{error::SourceError, trusted};

/// Variable of the environment with the folder at which the machine's `/` is mounted, such as `/host`.
pub const ROOT_VARIABLE: &str = "GPUD_HOST_ROOT";
/// The root of process 1, and the two mount tables.
const PROCESS_1_ROOT: &str = "/proc/1/root";
const MACHINE_TABLE: &str = "/proc/1/mountinfo";
const OWN_TABLE: &str = "/proc/self/mountinfo";
/// The advice for making the machine's mounts visible.
const REMEDY: &str = "gpud has other mounts than the machine: give its container the capability SYS_PTRACE, or mount the \
                      machine's / there and name that folder with --host-root or in GPUD_HOST_ROOT";

/// Ways to the mounts of a machine whose process 1 has other mounts than gpud.
pub struct MachineMounts {
    /// The root of process 1, where gpud may use it.
    root: Option<OwnedFd>,
    /// Folder at which the machine's root is mounted; empty where none is named.
    below: String,
}

/// A line of a mount table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Line<'a> {
    device: &'a str,
    /// As the kernel writes it, with `\040` for a blank.
    point: &'a str,
}

impl MachineMounts {
    /// Looks for them; `None` where gpud has the machine's mounts, or sees no other process's.
    pub fn find() -> Option<Self> {
        let (machine, own) = (table(MACHINE_TABLE)?, table(OWN_TABLE)?);
        if first_id(&machine)? == first_id(&own)? {
            return None;
        }
        let below = trusted::input(ROOT_VARIABLE).and_then(|path| path.into_string().ok());
        let below = below.unwrap_or_default();
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let root = rustix::fs::open(PROCESS_1_ROOT, flags, Mode::empty()).ok();
        let is_usable = |root: &OwnedFd| {
            rustix::fs::openat2(root, ".", flags, Mode::empty(), ResolveFlags::IN_ROOT).is_ok()
        };
        let root = root.filter(is_usable);
        Some(Self {
            root,
            below: below.trim_end_matches('/').to_owned(),
        })
    }

    /// The same, with the machine's root mounted at this folder, whatever the environment says.
    #[must_use]
    pub fn below(self, host_root: &Path) -> Self {
        let folder = host_root.to_string_lossy();
        Self {
            below: folder.trim_end_matches('/').to_owned(),
            ..self
        }
    }

    /// Opens a normalised path of the machine as a bare handle.
    ///
    /// # Errors
    /// [`SourceError::Other`] where it cannot be seen from here; otherwise what the kernel says.
    pub fn open(&self, path: &str) -> Result<OwnedFd, SourceError> {
        let flags = OFlags::PATH | OFlags::CLOEXEC;
        if let Some(root) = &self.root {
            let resolve = ResolveFlags::IN_ROOT | ResolveFlags::NO_MAGICLINKS;
            let open = |name: &Path| rustix::fs::openat2(root, name, flags, Mode::empty(), resolve);
            return named(path, open).map_err(|error| failed(path, error));
        }
        let seen = match (table(MACHINE_TABLE), table(OWN_TABLE)) {
            (Some(machine), Some(own)) => is_visible(&machine, &own, path, &self.below),
            _ => false,
        };
        if !seen {
            return Err(not_visible(path));
        }
        let here = format!("{}{path}", self.below);
        let open = |name: &Path| rustix::fs::openat(CWD, name, flags, Mode::empty());
        named(&here, open).map_err(|error| match error {
            Errno::NOENT => not_visible(path),
            error => failed(path, error),
        })
    }
}

/// Opens a path as it is written, else with the bytes that its escapes stand for.
fn named(path: &str, open: impl Fn(&Path) -> Result<OwnedFd, Errno>) -> Result<OwnedFd, Errno> {
    match (open(Path::new(path)), names::raw(path)) {
        (Err(Errno::NOENT), Some(raw)) => open(Path::new(&raw)),
        (opened, _) => opened,
    }
}

fn not_visible(path: &str) -> SourceError {
    SourceError::Other(format!("{path} is not visible from here ({REMEDY})"))
}

fn table(path: &str) -> Option<String> {
    let bytes = std::fs::read(path).ok()?;
    (!bytes.is_empty()).then(|| names::shown(&bytes).into_owned())
}

/// The number of the first mount, which is the root. All mounts of the kernel have different numbers.
fn first_id(table: &str) -> Option<&str> {
    table.split_ascii_whitespace().next()
}

/// Whether a path of the machine leads to the same filesystem here, below this folder.
fn is_visible(machine: &str, own: &str, path: &str, below: &str) -> bool {
    let here = format!("{below}{path}");
    match (device_of(machine, path), device_of(own, &here)) {
        (Some(wanted), Some(found)) => wanted == found,
        _ => false,
    }
}

/// The device of the filesystem that holds a path: of the mount with the longest name above it, the last of several.
fn device_of<'a>(table: &'a str, path: &str) -> Option<&'a str> {
    let path = escaped(path);
    let holds = |point: &str| {
        let rest = path.strip_prefix(point.trim_end_matches('/'));
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    let lines = table.lines().filter_map(line);
    let found = lines.filter(|line| holds(line.point));
    found
        .max_by_key(|line| line.point.trim_end_matches('/').len())
        .map(|line| line.device)
}

fn line(line: &str) -> Option<Line<'_>> {
    let mut fields = line.split(' ');
    Some(Line {
        device: fields.nth(2)?,
        point: fields.nth(1)?,
    })
}

/// A path as mount tables write it: proc(5).
fn escaped(path: &str) -> String {
    let mut text = String::with_capacity(path.len());
    for character in path.chars() {
        match character {
            ' ' => text.push_str("\\040"),
            '\t' => text.push_str("\\011"),
            '\n' => text.push_str("\\012"),
            '#' => text.push_str("\\043"),
            other => text.push(other),
        }
    }
    text
}

#[cfg(test)]
mod tests;
