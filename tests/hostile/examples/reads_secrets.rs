//! Was granted every file, and tries to read what no grant reaches.

use gpud_sdk::{AccessError, CheckContext, Checker, Descriptor, Error, HealthState, Report, sysfs};

struct ReadsSecrets;

fn described<T>(what: &str, answer: Result<T, AccessError>) -> String {
    match answer {
        Ok(_) => format!("{what} reached"),
        Err(AccessError::Denied(_)) => String::new(),
        Err(error) => format!("{what}: {}", error.text()),
    }
}

impl Checker for ReadsSecrets {
    fn check(context: &CheckContext) -> Result<Report, Error> {
        let mut reached = Vec::new();
        for path in [
            "/proc/kmsg",
            "/proc/kcore",
            "/proc/1/environ",
            "/proc/1/mem",
            "/proc/1/maps",
            "/proc/self/environ",
            "/proc/self/cmdline",
            "/proc/thread-self/environ",
            "/proc/1/root/etc/shadow",
            "/etc/shadow",
            "/dev/mem",
        ] {
            reached.push(described(path, sysfs::read(path, 4096)));
            reached.push(described(path, sysfs::stat(path)));
        }
        for path in ["/proc/1/fd", "/proc/self/fd", "/proc/1/map_files"] {
            reached.push(described(path, sysfs::list_directory(path, 100)));
        }
        for path in ["/proc/1/exe", "/proc/1/cwd", "/proc/self/fd/0"] {
            reached.push(described(path, sysfs::read_link(path)));
        }
        for pattern in ["/proc/*/environ", "/proc/[0-9]*/mem"] {
            // Where links are among the matches, each match has an answer of its own.
            for file in sysfs::read_glob(pattern, 4096, 100).unwrap_or_default() {
                reached.push(described(&file.path, file.content));
            }
        }
        reached.retain(|one| !one.is_empty());
        let well = sysfs::read("/proc/uptime", 4096).is_ok()
            && sysfs::read("/proc/self/mountinfo", 1 << 20).is_ok();
        let reason = format!("reached [{}], well {well}", reached.join("; "));
        Ok(Report::of(HealthState::healthy(context, reason)))
    }
}

gpud_sdk::export!(ReadsSecrets: Descriptor::new("reads-secrets", "Wants secrets"));
