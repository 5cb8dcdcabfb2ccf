//! The process that listens on a TCP port of this machine.

use std::{
    fmt, fs,
    net::{IpAddr, SocketAddr},
};

use super::socket_owner::{address, read_table};

/// The state of a socket that listens, in the kernel's table.
const LISTENING: &str = "0A";
/// Longest name of a program that is shown; the kernel keeps fifteen characters.
const MAX_NAME: usize = 64;

/// A user that listens, and with which process, where that can be seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PortHolder {
    /// The user.
    pub uid: u32,
    /// Number and name of the process.
    pub process: Option<(u32, String)>,
}

impl fmt::Display for PortHolder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.uid {
            0 => write!(f, "root")?,
            uid => write!(f, "user {uid}")?,
        }
        match &self.process {
            Some((pid, name)) => write!(f, " (process {pid}, {name})"),
            None => Ok(()),
        }
    }
}

/// A row of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Listening {
    uid: u32,
    inode: u64,
}

/// Returns the user that listens on this address, or whose socket keeps another one from listening there. Blocks, and takes
/// long where there are many connections.
pub fn user(wanted: SocketAddr) -> Option<u32> {
    Some(listening(wanted)?.uid)
}

/// Returns the same with its process, which only root and the user itself can see. Blocks.
pub fn find(wanted: SocketAddr) -> Option<PortHolder> {
    let Listening { uid, inode } = listening(wanted)?;
    Some(PortHolder {
        uid,
        process: process_of(inode),
    })
}

fn listening(wanted: SocketAddr) -> Option<Listening> {
    let tables = ["/proc/net/tcp", "/proc/net/tcp6"];
    let tables = tables.iter().filter_map(|table| read_table(table));
    nearest(tables.flat_map(|table| find_in(&table, wanted)))
}

/// Returns the socket that fits best. `None` where several fit as well and belong to different users, and for one that no
/// process holds.
fn nearest(found: impl Iterator<Item = (AddressMatch, Listening)>) -> Option<Listening> {
    let found: Vec<_> = found.collect();
    let best = found.iter().map(|(fit, _)| *fit).max()?;
    let mut nearest = found.into_iter().filter(|(fit, _)| *fit == best);
    let (_, first) = nearest.next()?;
    let is_known = first.inode != 0 && nearest.all(|(_, other)| other.uid == first.uid);
    is_known.then_some(first)
}

/// Returns the sockets that listen on an address, each with how well it fits.
fn find_in(table: &str, wanted: SocketAddr) -> Vec<(AddressMatch, Listening)> {
    let rows = table.lines().skip(1).filter_map(|line| {
        let mut words = line.split_ascii_whitespace().skip(1);
        let own = address(words.next()?)?;
        let state = words.nth(1)?;
        let uid = words.nth(3)?.parse().ok()?;
        let inode = words.nth(1)?.parse().ok()?;
        let fits =
            state == LISTENING && own.port() == wanted.port() && overlap(own.ip(), wanted.ip());
        fits.then_some((
            AddressMatch::of(own.ip(), wanted.ip()),
            Listening { uid, inode },
        ))
    });
    rows.collect()
}

/// How well the address of a socket that listens fits another one, the least first: which socket the kernel gives a
/// connection to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum AddressMatch {
    /// It is for every address, of another family.
    Other,
    /// It is for every address of this family.
    Family,
    /// It is this very address.
    Exact,
}

impl AddressMatch {
    fn of(own: IpAddr, wanted: IpAddr) -> Self {
        let wanted = wanted.to_canonical();
        match own == wanted {
            true => Self::Exact,
            false if own.is_ipv4() == wanted.is_ipv4() => Self::Family,
            false => Self::Other,
        }
    }
}

fn overlap(one: IpAddr, other: IpAddr) -> bool {
    let other = other.to_canonical();
    one == other || one.is_unspecified() || other.is_unspecified()
}

fn process_of(inode: u64) -> Option<(u32, String)> {
    let socket = format!("socket:[{inode}]");
    let processes = fs::read_dir("/proc").ok()?.flatten();
    let mut numbers = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let holds = |pid: &u32| {
        let open = fs::read_dir(format!("/proc/{pid}/fd"))
            .into_iter()
            .flatten();
        open.flatten().any(|file| {
            fs::read_link(file.path()).is_ok_and(|to| to.as_os_str() == socket.as_str())
        })
    };
    let pid = numbers.find(holds)?;
    let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    Some((pid, shown(&name)))
}

/// A process chooses its name: nothing in it reaches a terminal but plain characters.
fn shown(name: &str) -> String {
    let name = name.trim_end().chars().take(MAX_NAME);
    name.map(|c| if c.is_control() { '?' } else { c }).collect()
}

#[cfg(test)]
mod tests;
