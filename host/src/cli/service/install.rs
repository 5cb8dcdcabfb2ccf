//! The files of the service.

use std::{
    io,
    path::{Path, PathBuf},
};

use crate::node::trusted::output::{self, FileMode};

/// The unit as it is for a gpud in `/usr/local/bin`.
pub const UNIT_TEXT: &str = include_str!("../../../../deploy/systemd/gpud.service");
/// Where a service may start gpud from, the first found counts: GPUd's two, and that of packages.
pub const BINARIES: [&str; 3] = ["/usr/local/bin/gpud", "/usr/sbin/gpud", "/usr/bin/gpud"];

/// This folder is there while systemd is process 1: sd_booted(3).
const BOOTED: &str = "/run/systemd/system";

/// The folder that is used as `/`.
#[derive(Debug, Clone)]
pub struct Root(pub Option<PathBuf>);

impl Root {
    /// An absolute path below it.
    pub fn join(&self, path: &str) -> PathBuf {
        match &self.0 {
            Some(root) => root.join(path.trim_start_matches('/')),
            None => PathBuf::from(path),
        }
    }

    /// Whether systemd started the machine. This is not checked for another folder than `/`.
    pub fn is_booted_by_systemd(&self) -> bool {
        self.0.is_some() || Path::new(BOOTED).is_dir()
    }

    /// The environment of the service.
    pub fn environment(&self) -> PathBuf {
        self.join("/etc/default/gpud")
    }

    /// The unit.
    pub fn unit(&self) -> PathBuf {
        self.join("/etc/systemd/system/gpud.service")
    }

    /// Which gpud the service starts: this program if it is in one of the places, else the first that is there.
    pub fn binary(&self, this: Option<&Path>) -> Option<&'static str> {
        let here = BINARIES.iter().filter(|path| self.join(path).is_file());
        let same = |path: &&&str| this == Some(self.join(path).as_path());
        here.clone().find(same).or(here.clone().next()).copied()
    }
}

/// The unit that starts this gpud.
pub fn unit_text(binary: &str) -> String {
    UNIT_TEXT.replace("/usr/local/bin/gpud", binary)
}

/// Puts a file in place at once or not at all, with mode 0644; missing folders are made.
///
/// # Errors
/// The system's.
pub fn write(path: &Path, text: &str) -> io::Result<()> {
    output::replace(path, text.as_bytes(), FileMode::Exact(0o644))
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::PermissionsExt as _};

    use super::*;

    #[test]
    fn the_unit_starts_the_gpud_that_is_there() {
        let folder = tempfile::tempdir().unwrap();
        let root = Root(Some(folder.path().to_owned()));
        assert_eq!(root.binary(None), None);
        for path in ["/usr/bin/gpud", "/usr/sbin/gpud"] {
            fs::create_dir_all(root.join(path).parent().unwrap()).unwrap();
            fs::write(root.join(path), "").unwrap();
        }
        assert_eq!(root.binary(None), Some("/usr/sbin/gpud"));
        let this = root.join("/usr/bin/gpud");
        assert_eq!(root.binary(Some(&this)), Some("/usr/bin/gpud"));
        assert_eq!(
            root.binary(Some(Path::new("/home/me/gpud"))),
            Some("/usr/sbin/gpud")
        );
        let text = unit_text("/usr/bin/gpud");
        assert!(
            text.contains("\nExecStart=/usr/bin/gpud run $FLAGS\n"),
            "{text}"
        );
        assert!(!text.contains("/usr/local/bin"), "{text}");
    }

    #[test]
    fn files_are_replaced_whole_and_readable_by_all() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a/b");
        write(&path, "one").unwrap();
        write(&path, "two").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "two");
        assert_eq!(
            fs::metadata(&path).unwrap().permissions().mode() & 0o777,
            0o644
        );
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
    }

    /// Tests the lines of the unit that others rely on: GPUd's names and habits, and the settings that gpud needs.
    #[test]
    fn the_unit_has_the_required_lines() {
        for line in [
            "EnvironmentFile=-/etc/default/gpud",
            "Type=notify",
            "Restart=always",
            "RestartSec=5s",
            "TimeoutStartSec=300",
            "Slice=runtime.slice",
            "LimitNOFILE=40000",
            "UMask=0077",
            "WantedBy=multi-user.target",
        ] {
            assert!(UNIT_TEXT.lines().any(|found| found == line), "{line}");
        }
        // Each of these makes mounts of its own, which the disk check would take for the machine's.
        for word in [
            "ProtectSystem=",
            "ProtectHome=",
            "PrivateTmp=",
            "PrivateDevices=",
            "ProtectKernelLogs=",
        ] {
            assert!(
                !UNIT_TEXT.lines().any(|line| line.starts_with(word)),
                "{word}"
            );
        }
    }
}
