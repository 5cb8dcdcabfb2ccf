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
fn nearest(found: impl Iterator<Item = (Fit, Listening)>) -> Option<Listening> {
    let found: Vec<_> = found.collect();
    let best = found.iter().map(|(fit, _)| *fit).max()?;
    let mut nearest = found.into_iter().filter(|(fit, _)| *fit == best);
    let (_, first) = nearest.next()?;
    let is_known = first.inode != 0 && nearest.all(|(_, other)| other.uid == first.uid);
    is_known.then_some(first)
}

/// Returns the sockets that listen on an address, each with how well it fits.
fn find_in(table: &str, wanted: SocketAddr) -> Vec<(Fit, Listening)> {
    let rows = table.lines().skip(1).filter_map(|line| {
        let mut words = line.split_ascii_whitespace().skip(1);
        let own = address(words.next()?)?;
        let state = words.nth(1)?;
        let uid = words.nth(3)?.parse().ok()?;
        let inode = words.nth(1)?.parse().ok()?;
        let fits =
            state == LISTENING && own.port() == wanted.port() && overlap(own.ip(), wanted.ip());
        fits.then_some((Fit::of(own.ip(), wanted.ip()), Listening { uid, inode }))
    });
    rows.collect()
}

/// How well the address of a socket that listens fits another one, the least first: which socket the kernel gives a
/// connection to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Fit {
    /// It is for every address, of another family.
    Other,
    /// It is for every address of this family.
    Family,
    /// It is this very address.
    Exact,
}

impl Fit {
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
mod tests {
    use std::{net::TcpListener, thread, time::Duration};

    use super::*;
    use crate::socket_owner::own_uid;

    #[test]
    fn the_process_that_listens_is_named() {
        for host in ["127.0.0.1:0", "0.0.0.0:0", "[::1]:0"] {
            // A machine without IPv6 has only the first ones.
            let Ok(listener) = TcpListener::bind(host) else {
                continue;
            };
            let port = listener.local_addr().unwrap().port();
            let ip = listener.local_addr().unwrap().ip();
            let asked = match ip.is_unspecified() {
                true => SocketAddr::from(([127, 0, 0, 1], port)),
                false => SocketAddr::new(ip, port),
            };
            let found = find(asked).unwrap();
            assert_eq!(found.uid, own_uid(), "{host}");
            assert_eq!(found.process.unwrap().0, std::process::id(), "{host}");
            // Also to somebody who wants the port of every address.
            assert_eq!(
                user(SocketAddr::from(([0, 0, 0, 0], port))),
                Some(own_uid())
            );
            drop(listener);
            // A process that another test starts at this moment holds a copy of the socket until it runs its program.
            let freed = (0..500).any(|_| {
                let free = user(asked).is_none();
                if !free {
                    thread::sleep(Duration::from_millis(10));
                }
                free
            });
            assert!(freed, "{host}");
        }
    }

    #[cfg(target_endian = "little")]
    #[test]
    fn the_socket_of_the_very_address_comes_first() {
        let row = |address: &str, state: &str, uid: u32, inode: u32| {
            format!(
                "   0: {address} 00000000:0000 {state} 00000000:00000000 00:00000000 00000000  {uid}        0 {inode} 1 0\n"
            )
        };
        let table = [
            "  sl  local_address rem_address st ...\n".to_owned(),
            row("00000000:3B1C", "0A", 1, 11),
            row("0100007F:3B1C", "0A", 2, 12),
            row("0100007F:3B1C", "01", 3, 13),
            row("0200007F:3B1D", "0A", 4, 14),
        ]
        .concat();
        let at = |last, port| SocketAddr::from(([127, 0, 0, last], port));
        let found =
            |address| nearest(find_in(&table, address).into_iter()).map(|one| (one.uid, one.inode));
        assert_eq!(found(at(1, 0x3b1c)), Some((2, 12)));
        assert_eq!(found(at(9, 0x3b1c)), Some((1, 11)));
        assert_eq!(found(at(2, 0x3b1d)), Some((4, 14)));
        assert_eq!(found(at(1, 0x3b1d)), None);
        assert!(find_in("nonsense\n1: 2 3", at(1, 1)).is_empty());
    }

    #[test]
    fn a_socket_of_another_family_or_of_two_users_is_not_taken_for_the_one_that_listens() {
        let one = |fit, uid, inode| (fit, Listening { uid, inode });
        for (found, expected) in [
            (vec![], None),
            // Another user may listen on every IPv6 address beside a server of every IPv4 address.
            (
                vec![one(Fit::Family, 0, 1), one(Fit::Other, 1000, 2)],
                Some(0),
            ),
            (
                vec![one(Fit::Exact, 1000, 1), one(Fit::Family, 0, 2)],
                Some(1000),
            ),
            (vec![one(Fit::Exact, 0, 1), one(Fit::Exact, 0, 2)], Some(0)),
            (vec![one(Fit::Exact, 0, 1), one(Fit::Exact, 1000, 2)], None),
            (vec![one(Fit::Exact, 0, 0)], None),
        ] {
            let holder = nearest(found.clone().into_iter());
            assert_eq!(holder.map(|holder| holder.uid), expected, "{found:?}");
        }
        let (v4, v6): (IpAddr, IpAddr) = ("127.0.0.1".parse().unwrap(), "::1".parse().unwrap());
        let (any4, any6) = ("0.0.0.0".parse().unwrap(), "::".parse().unwrap());
        assert_eq!(Fit::of(any4, v4), Fit::Family);
        assert_eq!(Fit::of(any6, v4), Fit::Other);
        assert_eq!(Fit::of(any6, v6), Fit::Family);
        assert_eq!(Fit::of(v4, "::ffff:127.0.0.1".parse().unwrap()), Fit::Exact);
    }

    #[test]
    fn names_are_shown_without_control_characters() {
        assert_eq!(shown("gpud\n"), "gpud");
        assert_eq!(shown("a\u{1b}[2Jb"), "a?[2Jb");
        let holder = |uid, process| PortHolder { uid, process }.to_string();
        assert_eq!(holder(0, None), "root");
        assert_eq!(
            holder(1000, Some((7, "python3".to_owned()))),
            "user 1000 (process 7, python3)"
        );
    }
}
