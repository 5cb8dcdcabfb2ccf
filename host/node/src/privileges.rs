//! Gives up root for good: this process becomes another user, without capabilities and without a way to new ones.

use std::{
    env,
    ffi::{OsStr, OsString},
    path::{Component, Path},
};

use rustix::{
    io::Errno,
    process::{DumpableBehavior, Gid, Resource, Rlimit, Uid, set_dumpable_behavior, setrlimit},
    thread::{
        CapabilitySet, CapabilitySets, capabilities, clear_ambient_capability_set,
        remove_capability_from_bounding_set, set_capabilities, set_no_new_privs, set_thread_groups,
        set_thread_res_gid, set_thread_res_uid,
    },
};

use crate::{error::SourceError, trusted::Opener, users::User};

/// The folder with an entry for each thread of this process.
const THREADS: &str = "/proc/self/task";
/// Names a file in which the C library looks up names of hosts without a dot, before it asks a server (gethostbyname(3)).
const ALIASES: &str = "HOSTALIASES";
/// Names the domain in which the C library looks up such names, in place of the machine's own (resolv.conf(5)).
const DOMAIN: &str = "LOCALDOMAIN";
/// How variables begin that replace settings and the file of the C library's resolver (host.conf(5)).
const RESOLVER: &str = "RESOLV_";
/// Names a time zone, by a rule or by the file that has it (tzset(3)).
const ZONE: &str = "TZ";
/// Names the folder with the files of time zones.
const ZONES: &str = "TZDIR";
/// Where these are otherwise.
const FOLDERS_OF_ZONES: [&str; 3] = [
    "/usr/share/zoneinfo",
    "/usr/share/lib/zoneinfo",
    "/etc/zoneinfo",
];

/// Turns this process of root into one of `user`: its groups, no capability, no new privileges. Another process of that user
/// cannot trace it. Call this before any other thread is started: the kernel changes the rights of one thread only.
///
/// # Errors
/// There are other threads, or the kernel refuses a step. The process is to end then: it may have half of its rights.
pub fn become_user(user: &User) -> Result<(), SourceError> {
    let failed = |step: &'static str| {
        let name = user.name.clone();
        move |errno: Errno| {
            SourceError::Other(format!("cannot become user {name}: {step}: {errno}"))
        }
    };
    if std::fs::read_dir(THREADS).is_ok_and(|threads| threads.count() > 1) {
        let why = "cannot become another user: there are other threads already";
        return Err(SourceError::Other(why.to_owned()));
    }
    // First, while there is the right to do so. It fails for numbers beyond the kernel's last capability; without that right, the
    // bar on new privileges below does the same.
    for number in 0..u64::BITS {
        let _ = remove_capability_from_bounding_set(CapabilitySet::from_bits_retain(1 << number));
    }
    let groups: Vec<Gid> = user.groups.iter().copied().map(Gid::from_raw).collect();
    let (uid, gid) = (Uid::from_raw(user.uid), Gid::from_raw(user.gid));
    set_thread_groups(&groups).map_err(failed("setgroups"))?;
    set_thread_res_gid(gid, gid, gid).map_err(failed("setresgid"))?;
    set_thread_res_uid(uid, uid, uid).map_err(failed("setresuid"))?;
    clear_ambient_capability_set().map_err(failed("ambient capabilities"))?;
    let none = CapabilitySets {
        effective: CapabilitySet::empty(),
        permitted: CapabilitySet::empty(),
        inheritable: CapabilitySet::empty(),
    };
    set_capabilities(None, none).map_err(failed("capset"))?;
    set_no_new_privs(true).map_err(failed("no new privileges"))?;
    // Scripts of plugins run as the same user: without this they could take this process over.
    set_dumpable_behavior(DumpableBehavior::NotDumpable).map_err(failed("dumpable"))?;
    let left = capabilities(None).map_err(failed("capget"))?;
    match (left.effective | left.permitted | left.inheritable).is_empty() {
        true => Ok(()),
        false => Err(failed("capabilities are left")(Errno::PERM)),
    }
}

/// Takes variables out of the environment of a process of root by which libraries would open files of others, or look up hosts
/// where others say: they would choose the machine to which gpud connects, or a file that never answers. `is_rule` says whether
/// a time zone is a rule of its own, which needs no file. Call this before any other thread is started.
#[expect(unsafe_code, reason = "there is no safe way to change the environment")]
pub fn forget_foreign_files(is_rule: fn(&str) -> bool) {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let opener = Opener::of_command();
    let foreign: Vec<OsString> = env::vars_os()
        .filter(|(name, value)| {
            let name = name.to_string_lossy();
            let is_used = [ALIASES, DOMAIN, ZONE, ZONES].contains(&&*name);
            (is_used || name.starts_with(RESOLVER))
                && !is_trusted_value(&name, value, opener, is_rule)
        })
        .map(|(name, _)| name)
        .collect();
    for name in foreign {
        // SAFETY: called before any other thread is started, as the caller promises.
        unsafe { env::remove_var(name) };
    }
}

fn is_trusted_value(name: &str, value: &OsStr, opener: Opener, is_rule: fn(&str) -> bool) -> bool {
    match name {
        ALIASES => is_trusted_file(Path::new(value), opener),
        ZONE => value
            .to_str()
            .is_some_and(|zone| zone.is_empty() || is_rule(zone) || is_trusted_zone(zone, opener)),
        ZONES => {
            let folder = Path::new(value);
            is_of_zones(folder) && opener.check_folder(folder).is_ok()
        }
        // No file says whose it is.
        _ => false,
    }
}

/// Returns whether a zone is a file in a folder of zones that others cannot change. What is not there would be looked for in the
/// current folder.
fn is_trusted_zone(zone: &str, opener: Opener) -> bool {
    let zone = Path::new(zone.strip_prefix(':').unwrap_or(zone));
    // An absolute path replaces the folder.
    let mut files = FOLDERS_OF_ZONES
        .map(|folder| Path::new(folder).join(zone))
        .into_iter();
    files.any(|file| is_of_zones(&file) && is_trusted_file(&file, opener))
}

/// Returns whether a path leads into a folder of zones, or to one, by its name.
fn is_of_zones(path: &Path) -> bool {
    let goes_up = path.components().any(|part| part == Component::ParentDir);
    let mut folders = FOLDERS_OF_ZONES.iter();
    !goes_up && folders.any(|folder| path.starts_with(folder))
}

/// Returns whether others cannot change a file. One of the kernel's, whose reading can wait for ever, the opener refuses.
fn is_trusted_file(file: &Path, opener: Opener) -> bool {
    file.is_absolute() && opener.open(file).is_ok()
}

/// Lifts the limit on the size of files that root has from the user who became root: beyond it the kernel ends a process that
/// writes a log or a database.
pub fn lift_limit_of_files() {
    let none = Rlimit {
        current: None,
        maximum: None,
    };
    // Without the right to lift it, the limit is the system's.
    let _ = setrlimit(Resource::Fsize, none);
}

/// Names `user` in the environment, as a log-in does, and takes out folders that are the former user's. Call this before any
/// other thread is started.
#[expect(unsafe_code, reason = "there is no safe way to change the environment")]
pub fn name_in_environment(user: &User) {
    // SAFETY: called before any other thread is started, as the caller promises.
    unsafe {
        env::set_var("HOME", &user.home);
        env::set_var("USER", &user.name);
        env::set_var("LOGNAME", &user.name);
        for name in ["XDG_CACHE_HOME", "XDG_RUNTIME_DIR", "TMPDIR"] {
            env::remove_var(name);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::PermissionsExt as _};

    use super::*;

    fn no_rule(_: &str) -> bool {
        false
    }

    #[test]
    fn files_that_others_can_change_do_not_count() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().canonicalize().unwrap();
        let (good, bad) = (folder.join("good"), folder.join("bad"));
        for (file, mode) in [(&good, 0o644), (&bad, 0o666)] {
            fs::write(file, "collector 192.0.2.1\n").unwrap();
            fs::set_permissions(file, fs::Permissions::from_mode(mode)).unwrap();
        }
        let opener = Opener::of_daemon();
        assert!(is_trusted_file(&good, opener));
        let of_kernel = Path::new("/proc/version");
        for file in [&*bad, &folder.join("missing"), Path::new("good"), of_kernel] {
            assert!(!is_trusted_file(file, opener), "{}", file.display());
        }
        let zone = |text: &str| is_trusted_value(ZONE, OsStr::new(text), opener, no_rule);
        assert!(zone(""));
        for name in [
            "good",
            "../good",
            "Europe/../../../../tmp/x",
            "zoneinfo/good",
        ] {
            assert!(!zone(name), "{name}");
        }
        if Path::new("/usr/share/zoneinfo/UTC").exists() {
            assert!(zone("UTC") && zone(":UTC"));
        }
        assert!(is_trusted_value(ZONE, OsStr::new("EST5"), opener, |_| true));
        let folder_of = |path: &Path| is_trusted_value(ZONES, path.as_os_str(), opener, no_rule);
        for other in [&folder, Path::new("."), Path::new("/")] {
            assert!(!folder_of(other), "{}", other.display());
        }
        let zones = Path::new(FOLDERS_OF_ZONES[0]);
        assert_eq!(folder_of(zones), zones.is_dir());
        assert!(!is_trusted_value(
            DOMAIN,
            OsStr::new("evil.example"),
            opener,
            no_rule
        ));
    }
}
