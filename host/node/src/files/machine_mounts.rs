//! The machine's mounts where gpud has others. In a container that sees the machine's processes, the mount table of process 1
//! names the machine's mounts, and the same paths lead to the container's. Space is asked of the machine's: through process
//! 1, or below the folder that `--host-root` or [`ROOT_VARIABLE`] names. A path that leads to another filesystem than the machine's is not
//! visible, which is something else than absent. So is one that is missing here, unless it is the same part of the same
//! filesystem that is looked at.

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
    /// The folder of the filesystem that is mounted.
    root: &'a str,
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
        let (Some(machine), Some(own)) = (table(MACHINE_TABLE), table(OWN_TABLE)) else {
            return Err(not_visible(path));
        };
        if !is_visible(&machine, &own, path, &self.below) {
            return Err(not_visible(path));
        }
        let here = format!("{}{path}", self.below);
        let open = |name: &Path| rustix::fs::openat(CWD, name, flags, Mode::empty());
        named(&here, open).map_err(|error| match error {
            Errno::NOENT if !is_same_place(&machine, &own, path, &self.below) => not_visible(path),
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

/// Whether a path of the machine is the same path of the same filesystem here, below this folder.
fn is_same_place(machine: &str, own: &str, path: &str, below: &str) -> bool {
    let here = format!("{below}{path}");
    match (place_of(machine, path), place_of(own, &here)) {
        (Some(wanted), Some(found)) => wanted == found,
        _ => false,
    }
}

/// The device of the filesystem that holds a path.
fn device_of<'a>(table: &'a str, path: &str) -> Option<&'a str> {
    holder(table, &escaped(path)).map(|(line, _)| line.device)
}

/// The device of the filesystem that holds a path, and the path on that filesystem, as mount tables write it.
fn place_of<'a>(table: &'a str, path: &str) -> Option<(&'a str, String)> {
    let path = escaped(path);
    let (line, rest) = holder(table, &path)?;
    let inside = format!("{}{rest}", line.root.trim_end_matches('/'));
    Some((line.device, inside.trim_end_matches('/').to_owned()))
}

/// The mount that holds a path, and the rest of the path: that with the longest name above it, the last of several.
fn holder<'a, 'p>(table: &'a str, path: &'p str) -> Option<(Line<'a>, &'p str)> {
    let rest_of = |line: &Line<'_>| {
        let rest = path.strip_prefix(line.point.trim_end_matches('/'))?;
        (rest.is_empty() || rest.starts_with('/')).then_some(rest)
    };
    let lines = table.lines().filter_map(line);
    let found = lines.filter_map(|line| Some((line, rest_of(&line)?)));
    found.max_by_key(|(line, _)| line.point.trim_end_matches('/').len())
}

fn line(line: &str) -> Option<Line<'_>> {
    let mut fields = line.split(' ');
    Some(Line {
        device: fields.nth(2)?,
        root: fields.next()?,
        point: fields.next()?,
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
