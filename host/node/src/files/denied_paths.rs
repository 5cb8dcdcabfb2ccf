//! The files that no grant reaches, whatever its patterns.
//!
//! | path | why |
//! |---|---|
//! | `/proc/kmsg` | reading takes the kernel's messages away from the system's log daemon |
//! | `/proc/kcore`, `/proc/vmcore`, `/proc/kallsyms`, `/proc/kpage*`, `/proc/keys` | memory, addresses and keys of the kernel |
//! | `/proc/sys/net/ipv4/tcp_fastopen_key`, `/proc/sys/net/ipv6/conf/*/stable_secret` | keys of the network |
//! | of a process: `environ`, `auxv`, `mem`, `maps`, `smaps*`, `numa_maps`, `map_files`, `pagemap`, `clear_refs`, `stack`, `syscall` | its secrets and its memory |
//! | of a process: `fd`, `fdinfo`, `root`, `cwd`, `exe` | ways into its files; only the number of open files is reported |
//! | of gpud itself: all but what [`OWN_SHOWN`] names | its arguments and its state |
//! | `/dev/mem`, `/dev/kmem`, `/dev/port`, `/dev/kmsg` | memory of the machine, the kernel log |
//! | `/sys/kernel/debug`, `/sys/kernel/tracing`, `/sys/kernel/security` | files whose reading changes something |
//! | `/etc/shadow`, `/etc/gshadow`, `/etc/security/opasswd`, `/etc/sudoers`, `/etc/krb5.keytab`, and the copies beside them (`shadow-`, `shadow+`); all of `/etc/ssh/ssh_host_*` but the public keys; the copies in `/var/backups` | secrets of the machine |
//! | `/etc/default/gpud*`, `/etc/sysconfig/gpud*` | the environment of gpud's own service |
//! | any folder `.ssh` or `.gnupg` | secrets of people |
//! | `/run/secrets` | credentials of gpud's own container |
//! | `/var/lib/gpud`, and the data folder, token file and TLS key of this daemon | its secrets and what it runs |
//! | a procfs that is mounted elsewhere than at `/proc` | all of the above |
//! | a debugfs, tracefs or securityfs, wherever it is mounted | as `/sys/kernel/debug` |
//!
//! Those of `/dev`, `/etc`, `/run`, `/sys` and `/var` are denied below each folder, since a folder can hold the root of
//! a machine (`/host` in a container) or of a container. Files that are known by name are denied under their second
//! names, too (`file_identity.rs`).
//!
//! How much space is left on the filesystem that holds a path (`statvfs`) is reported for every path: it shows nothing of the
//! file. The built-in check of GPU processes reads `environ` of other processes, never gpud's own.

use std::{
    os::unix::ffi::OsStrExt as _,
    path::{Path, PathBuf},
};

use super::{file_identity::FileIdentity, names};
use crate::trusted::Opener;

/// The part of a path that a caller wants to read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WantedPart {
    /// Content, names, the target of a link, facts.
    Inside,
    /// The number of names in it.
    Count,
    /// The free and used space of its filesystem.
    Space,
}

/// The files of gpud's own process that can be granted. Built-in checks need these.
const OWN_SHOWN: [&str; 12] = [
    "cgroup",
    "comm",
    "limits",
    "mountinfo",
    "mounts",
    "mountstats",
    "net",
    "ns",
    "sched",
    "stat",
    "statm",
    "status",
];
/// Files of a process that hold its secrets or its memory.
const PROCESS_DENIED: [&str; 16] = [
    "auxv",
    "clear_refs",
    "cwd",
    "environ",
    "exe",
    "fdinfo",
    "map_files",
    "maps",
    "mem",
    "numa_maps",
    "pagemap",
    "root",
    "smaps",
    "smaps_rollup",
    "stack",
    "syscall",
];
/// Files of the kernel.
const PROC_DENIED: [&str; 8] = [
    "kallsyms",
    "kcore",
    "keys",
    "kmsg",
    "kpagecgroup",
    "kpagecount",
    "kpageflags",
    "vmcore",
];
/// Everything at and below these, and below the same paths in any folder.
const FOLDERS: [&str; 10] = [
    DATA_FOLDER,
    "/dev/kmem",
    "/dev/kmsg",
    "/dev/mem",
    "/dev/port",
    "/run/secrets",
    "/sys/kernel/debug",
    "/sys/kernel/security",
    "/sys/kernel/tracing",
    "/var/run/secrets",
];
/// The default folder of gpud's files.
const DATA_FOLDER: &str = "/var/lib/gpud";
/// Single files of `/etc`, each with the copies beside it: programs write a new one under such a name and rename it
/// (`shadow+`), or leave the old one (`shadow-`, `shadow.dpkg-old`).
const OF_ETC: [&str; 8] = [
    // The environment of gpud's own service, where secrets of its exports can be, and its specs.
    "default/gpud",
    "gshadow",
    "krb5.keytab",
    "security/nopasswd",
    "security/opasswd",
    "shadow",
    "sudoers",
    "sysconfig/gpud",
];
/// Files of `/var/backups`, of which the system makes copies each day.
const OF_BACKUPS: [&str; 2] = ["gshadow", "shadow"];
/// Further files and folders of `/etc` whose second names are denied.
const ALSO_OF_ETC: [&str; 7] = [
    "gshadow-",
    "shadow-",
    "ssh/ssh_host_dsa_key",
    "ssh/ssh_host_ecdsa_key",
    "ssh/ssh_host_ed25519_key",
    "ssh/ssh_host_rsa_key",
    "sudoers.d",
];

/// The end of the kernel's name for an open file that has lost its own, since another one was put into its place.
const REPLACED: &str = " (deleted)";

/// The paths of one machine that no grant reaches.
#[derive(Debug, Clone, Default)]
pub struct DeniedPaths {
    /// gpud's own number on the machine's procfs; empty where that is not known.
    own_pid: String,
    /// Files and folders of this daemon, absolute, as plugins name them.
    own_files: Vec<String>,
    /// The same, as they were when this daemon started.
    own_identities: Vec<FileIdentity>,
}

impl DeniedPaths {
    /// Returns the denied paths of the machine that gpud runs on.
    pub fn live() -> Self {
        let own = std::fs::read_link("/proc/self").unwrap_or_default();
        Self {
            own_pid: own.to_string_lossy().into_owned(),
            own_files: vec![DATA_FOLDER.to_owned()],
            own_identities: FileIdentity::of_path(DATA_FOLDER).into_iter().collect(),
        }
    }

    /// Adds further files and folders, by their names and by their real paths. One that another user serves (FUSE) is none
    /// of gpud's: it is refused wherever it is opened, and not asked here.
    #[must_use]
    pub fn with(mut self, own_files: &[PathBuf]) -> Self {
        let is_asked = |file: &&PathBuf| Opener::of_daemon().check_servers(file).is_ok();
        for file in own_files.iter().filter(is_asked) {
            let absolute = std::path::absolute(file).unwrap_or_else(|_| file.clone());
            let real = std::fs::canonicalize(file).unwrap_or_else(|_| absolute.clone());
            for path in [absolute, real] {
                if path != Path::new("/") {
                    let path = names::shown(path.as_os_str().as_bytes()).into_owned();
                    self.own_identities.extend(FileIdentity::of_path(&path));
                    self.own_files.push(path);
                }
            }
        }
        self
    }

    /// Returns the denied files and folders of a live machine that can have second names. They are looked up at each
    /// call: programs replace files of `/etc`, and a key that was renewed is another file, often under another name
    /// with a link to it. Blocks.
    pub fn identities(&self) -> Vec<FileIdentity> {
        let of_etc = OF_ETC.iter().chain(&ALSO_OF_ETC);
        let of_etc = of_etc.filter_map(|file| FileIdentity::of_path(&format!("/etc/{file}")));
        let own = self.own_files.iter();
        let own = own.filter_map(|file| FileIdentity::of_path(file));
        let before = self.own_identities.iter().copied();
        before.chain(own).chain(of_etc).collect()
    }

    /// Whether a path, absolute and plain, is reached by no grant. `environments`: a built-in check may read those of
    /// other processes.
    pub fn holds(&self, path: &str, wanted: WantedPart, environments: bool) -> bool {
        if wanted == WantedPart::Space {
            return false;
        }
        if let Some(inside) = path.strip_prefix("/proc/") {
            return self.holds_in_proc(inside, wanted, environments);
        }
        // Nothing below is in sysfs but these, and thousands of its files are read in a round.
        if path.starts_with("/sys/") && !path.starts_with("/sys/kernel/") {
            return false;
        }
        // A file that is replaced while it is opened stays denied.
        let path = path.strip_suffix(REPLACED).unwrap_or(path);
        let mut below = path.match_indices('/').filter_map(|(at, _)| path.get(at..));
        below.any(is_denied_of_a_root)
            || self.own_files.iter().any(|own| is_below(path, own))
            || path
                .split('/')
                .any(|segment| matches!(segment, ".ssh" | ".gnupg"))
    }

    fn holds_in_proc(&self, inside: &str, wanted: WantedPart, environments: bool) -> bool {
        let (first, rest) = inside.split_once('/').unwrap_or((inside, ""));
        let is_number = !first.is_empty() && first.bytes().all(|byte| byte.is_ascii_digit());
        let is_named_self = matches!(first, "self" | "thread-self");
        if !is_number && !is_named_self {
            return PROC_DENIED.contains(&first) || (first == "sys" && is_key_of_network(rest));
        }
        let (file, deeper) = of_process(rest);
        match file {
            "" => false,
            "fd" => !deeper.is_empty() || wanted != WantedPart::Count,
            "environ" if environments => is_named_self || self.is_own(first),
            file if PROCESS_DENIED.contains(&file) => true,
            file if OWN_SHOWN.contains(&file) => false,
            // This is checked last, since it reads from the machine.
            _ => is_named_self || self.is_own(first),
        }
    }

    /// Whether a number is that of gpud or of one of its threads, which procfs shows like processes.
    fn is_own(&self, number: &str) -> bool {
        if self.own_pid.is_empty() {
            return false;
        }
        number == self.own_pid || Path::new("/proc/self/task").join(number).exists()
    }
}

/// The file that a path below a process's folder leads to, and what is below that; threads have the same files.
fn of_process(rest: &str) -> (&str, &str) {
    let mut rest = rest;
    while let Some((_, of_thread)) = rest
        .strip_prefix("task/")
        .map(|below| below.split_once('/').unwrap_or((below, "")))
    {
        rest = of_thread;
    }
    match rest {
        "task" => ("", ""),
        rest => rest.split_once('/').unwrap_or((rest, "")),
    }
}

/// Whether a path below `/proc/sys` is that of a key by which the kernel recognises connections, or makes addresses.
fn is_key_of_network(inside: &str) -> bool {
    inside == "net/ipv4/tcp_fastopen_key"
        || inside
            .strip_prefix("net/ipv6/conf/")
            .is_some_and(|rest| rest.ends_with("/stable_secret"))
}

fn is_below(path: &str, folder: &str) -> bool {
    path.strip_prefix(folder)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Whether a path is denied as it is seen from a root: the machine's, or another one's that is in some folder.
fn is_denied_of_a_root(path: &str) -> bool {
    FOLDERS.iter().any(|folder| is_below(path, folder))
        || path.strip_prefix("/etc/").is_some_and(is_secret_of_etc)
        || path
            .strip_prefix("/var/backups/")
            .is_some_and(|inside| is_one_of(inside, &OF_BACKUPS))
}

fn is_secret_of_etc(inside: &str) -> bool {
    let is_host_key = inside
        .strip_prefix("ssh/ssh_host_")
        .is_some_and(|rest| !rest.ends_with(".pub"));
    is_host_key || is_one_of(inside, &OF_ETC)
}

/// Whether a path in a folder leads to one of its files, to a copy beside it, or below. The name of a copy goes on with what
/// is no letter and no digit, or begins with what editors put there.
fn is_one_of(inside: &str, files: &[&str]) -> bool {
    files.iter().any(|&file| {
        let (folder, name) = file.rsplit_once('/').unwrap_or(("", file));
        let inside = match folder {
            "" => Some(inside),
            folder => inside
                .strip_prefix(folder)
                .and_then(|rest| rest.strip_prefix('/')),
        };
        let rest =
            inside.and_then(|inside| inside.trim_start_matches(['.', '#']).strip_prefix(name));
        rest.is_some_and(|rest| !rest.starts_with(char::is_alphanumeric))
    })
}

#[cfg(test)]
mod tests;
