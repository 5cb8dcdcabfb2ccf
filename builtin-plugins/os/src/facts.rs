//! The identity of the machine. Gathered once, since none of it changes while the machine runs.

use serde::{Deserialize, Serialize};

/// The source of facts: the machine, or a test.
pub trait Sources {
    /// A small file, if it can be read.
    fn file(&self, path: &str) -> Option<String>;
    /// The readable ones of the files that match a pattern.
    fn files(&self, pattern: &str) -> Vec<String>;
    /// Runs a program and returns its output, whatever its exit code.
    fn program(&self, program: &str, arguments: &[&str]) -> Option<String>;
}

/// All facts. What could not be found out is empty.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Facts {
    /// What it runs on.
    pub virtualization_environment: Virtualization,
    /// Its manufacturer.
    pub system_manufacturer: String,
    /// Its numbers.
    pub machine_metadata: MachineMetadata,
    /// Its one number.
    pub host: Host,
    /// Its kernel.
    pub kernel: Kernel,
    /// Its distribution.
    pub platform: Platform,
    /// Whether an NVIDIA GPU without a display output is on the PCI bus.
    pub nvidia_gpus: bool,
}

/// As systemd-detect-virt tells it; `none` on bare metal.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Virtualization {
    /// The innermost.
    #[serde(rename = "type")]
    pub kind: String,
    /// Hypervisor.
    pub vm: String,
    /// Container manager.
    pub container: String,
    /// Whether the hypervisor is KVM.
    pub is_kvm: bool,
}

/// Ids of machine, board and installation.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct MachineMetadata {
    /// Of this boot.
    pub boot_id: String,
    /// Of the board, from its firmware.
    pub dmidecode_uuid: String,
    /// Of the installation.
    pub os_machine_id: String,
}

/// The id that is best to tell machines apart.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Host {
    /// The board's, else the installation's, else the boot's.
    pub id: String,
}

/// The kernel.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Kernel {
    /// As `uname -m`.
    pub arch: String,
    /// As `uname -r`.
    pub version: String,
}

/// The distribution.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Platform {
    /// For example `ubuntu`.
    pub name: String,
    /// For example `debian`.
    pub family: String,
    /// For example `24.04`.
    pub version: String,
}

impl Facts {
    /// Takes back what [`Facts::save`] gave, if it is of this boot.
    pub fn restore(saved: &str, boot_id: &str) -> Option<Self> {
        let facts: Self = serde_json::from_str(saved).ok()?;
        (facts.machine_metadata.boot_id == boot_id).then_some(facts)
    }

    /// As text.
    pub fn save(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Asks all sources.
    pub fn gather(sources: &impl Sources, boot_id: &str) -> Self {
        let file = |path: &str| sources.file(path).unwrap_or_default().trim().to_owned();
        let board = file("/sys/class/dmi/id/product_uuid").to_ascii_lowercase();
        let mut machine_id = file("/etc/machine-id");
        if machine_id.is_empty() {
            machine_id = file("/var/lib/dbus/machine-id");
        }
        let mut arch = file("/proc/sys/kernel/arch");
        if arch.is_empty() {
            // Kernels before 6.1 have no such file.
            arch = sources
                .program("uname", &["-m"])
                .unwrap_or_default()
                .trim()
                .to_owned();
        }
        let os_release = sources.file("/etc/os-release").unwrap_or_default();
        Self {
            virtualization_environment: Virtualization::gather(sources),
            system_manufacturer: file("/sys/class/dmi/id/sys_vendor"),
            host: Host {
                id: host_id(&board, &machine_id, boot_id),
            },
            machine_metadata: MachineMetadata {
                boot_id: boot_id.to_owned(),
                dmidecode_uuid: board,
                os_machine_id: machine_id,
            },
            kernel: Kernel {
                arch,
                version: file("/proc/sys/kernel/osrelease"),
            },
            platform: Platform::parse(&os_release, &file("/etc/debian_version")),
            nvidia_gpus: sources
                .files("/sys/bus/pci/devices/*/uevent")
                .iter()
                .any(|uevent| is_nvidia_gpu(uevent)),
        }
    }
}

/// Longest name of a kind of virtualization, characters; systemd's own are a word.
const MAX_WORD: usize = 64;

impl Virtualization {
    fn gather(sources: &impl Sources) -> Self {
        let ask = |arguments: &[&str]| {
            let answer = sources.program("systemd-detect-virt", arguments)?;
            let word = answer.lines().next().unwrap_or("").trim();
            Some(word.chars().take(MAX_WORD).collect::<String>())
        };
        // Where the program is missing, there is no use in asking twice.
        let Some(kind) = ask(&[]) else {
            return Self::default();
        };
        let vm = ask(&["--vm"]).unwrap_or_default();
        let container = ask(&["--container"]).unwrap_or_default();
        Self {
            kind,
            is_kvm: vm == "kvm",
            vm,
            container,
        }
    }
}

fn host_id(board: &str, machine_id: &str, boot_id: &str) -> String {
    let parts = [0..8, 8..12, 12..16, 16..20, 20..32].map(|part| machine_id.get(part));
    match parts {
        _ if !board.is_empty() => board.to_owned(),
        [Some(a), Some(b), Some(c), Some(d), Some(e)] if machine_id.len() == 32 => {
            format!("{a}-{b}-{c}-{d}-{e}")
        }
        _ => boot_id.to_owned(),
    }
}

/// PCI vendor 10DE, class 03 (display), subclass 02 (3D controller): what data-centre GPUs say they are.
fn is_nvidia_gpu(uevent: &str) -> bool {
    uevent.lines().any(|line| line.starts_with("PCI_ID=10DE:"))
        && uevent.lines().any(|line| {
            line.strip_prefix("PCI_CLASS=")
                .is_some_and(|class| class.starts_with("302"))
        })
}

impl Platform {
    /// From os-release(5). Debian's own version has a point release only in `/etc/debian_version`.
    fn parse(os_release: &str, debian_version: &str) -> Self {
        let value = |key: &str| {
            let mut values = os_release
                .lines()
                .filter_map(|line| line.trim().strip_prefix(key)?.strip_prefix('='));
            values.next().unwrap_or("").trim_matches(['"', '\''])
        };
        let id = value("ID").to_ascii_lowercase();
        let name = match id.as_str() {
            "rhel" => "redhat",
            "amzn" => "amazon",
            "ol" => "oracle",
            other => other,
        };
        let version = match name {
            "debian" if !debian_version.is_empty() => debian_version,
            _ => value("VERSION_ID"),
        };
        Self {
            name: name.to_owned(),
            family: family(name, value("ID_LIKE")).to_owned(),
            version: version.to_owned(),
        }
    }
}

fn family(name: &str, like: &str) -> &'static str {
    const RELATIVES: [&str; 5] = ["debian", "rhel", "suse", "fedora", "arch"];
    match name {
        "debian" | "ubuntu" | "linuxmint" | "raspbian" => "debian",
        "redhat" | "centos" | "rocky" | "almalinux" | "oracle" | "amazon" | "scientific"
        | "cloudlinux" => "rhel",
        "fedora" => "fedora",
        "suse" | "opensuse" | "opensuse-leap" | "opensuse-tumbleweed" | "sles" | "sled" => "suse",
        "arch" => "arch",
        "alpine" => "alpine",
        "gentoo" => "gentoo",
        "slackware" => "slackware",
        _ => RELATIVES
            .into_iter()
            .find(|relative| like.split(' ').any(|word| word == *relative))
            .unwrap_or(""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[derive(Default)]
    struct Fake(BTreeMap<&'static str, &'static str>);

    impl Sources for Fake {
        fn file(&self, path: &str) -> Option<String> {
            self.0.get(path).map(|text| text.to_string())
        }

        fn files(&self, pattern: &str) -> Vec<String> {
            self.file(pattern).into_iter().collect()
        }

        fn program(&self, program: &str, arguments: &[&str]) -> Option<String> {
            self.file(&format!("{program} {}", arguments.join(" ")))
        }
    }

    #[test]
    fn a_machine_introduces_itself() {
        let node = Fake(BTreeMap::from([
            ("/sys/class/dmi/id/product_uuid", "4C4C4544-0042\n"),
            ("/sys/class/dmi/id/sys_vendor", "Supermicro\n"),
            ("/etc/machine-id", "0123456789abcdef0123456789abcdef\n"),
            (
                "/etc/os-release",
                "NAME=\"Ubuntu\"\nID=ubuntu\nID_LIKE=debian\nVERSION_ID=\"24.04\"\n",
            ),
            ("/etc/debian_version", "trixie/sid\n"),
            ("/proc/sys/kernel/osrelease", "6.8.0-45-generic\n"),
            ("uname -m", "x86_64\n"),
            ("systemd-detect-virt ", "docker\n"),
            ("systemd-detect-virt --vm", "kvm\n"),
            ("systemd-detect-virt --container", "docker\n"),
            (
                "/sys/bus/pci/devices/*/uevent",
                "DRIVER=nvidia\nPCI_CLASS=30200\nPCI_ID=10DE:2330\n",
            ),
        ]));
        let facts = Facts::gather(&node, "b-1");
        let expected = r#"{"virtualization_environment":{"type":"docker","vm":"kvm","container":"docker","is_kvm":true},"system_manufacturer":"Supermicro","machine_metadata":{"boot_id":"b-1","dmidecode_uuid":"4c4c4544-0042","os_machine_id":"0123456789abcdef0123456789abcdef"},"host":{"id":"4c4c4544-0042"},"kernel":{"arch":"x86_64","version":"6.8.0-45-generic"},"platform":{"name":"ubuntu","family":"debian","version":"24.04"},"nvidia_gpus":true}"#;
        assert_eq!(facts.save(), expected);
        assert_eq!(Facts::restore(expected, "b-1"), Some(facts));
        assert_eq!(
            (Facts::restore(expected, "b-2"), Facts::restore("?", "b-1")),
            (None, None)
        );
    }

    #[test]
    fn nothing_is_known_of_an_empty_machine() {
        let facts = Facts::gather(&Fake::default(), "b-1");
        let expected = Facts {
            host: Host { id: "b-1".into() },
            machine_metadata: MachineMetadata {
                boot_id: "b-1".into(),
                ..MachineMetadata::default()
            },
            ..Facts::default()
        };
        assert_eq!(facts, expected);
    }

    #[test]
    fn host_ids() {
        let machine = "0123456789abcdef0123456789abcdef";
        assert_eq!(
            host_id("", machine, "b"),
            "01234567-89ab-cdef-0123-456789abcdef"
        );
        assert_eq!(host_id("", "short", "b"), "b");
        assert_eq!(host_id("board", machine, "b"), "board");
    }

    #[test]
    fn distributions() {
        let cases = [
            (
                "ID=debian\nVERSION_ID=\"12\"",
                "12.5",
                ("debian", "debian", "12.5"),
            ),
            (
                "ID=\"rhel\"\nVERSION_ID='9.3'",
                "",
                ("redhat", "rhel", "9.3"),
            ),
            (
                "ID=\"amzn\"\nID_LIKE=\"fedora\"\nVERSION_ID=2023",
                "",
                ("amazon", "rhel", "2023"),
            ),
            (
                "ID=newos\nID_LIKE=\"centos rhel fedora\"",
                "",
                ("newos", "rhel", ""),
            ),
            ("", "", ("", "", "")),
        ];
        for (text, debian, (name, family, version)) in cases {
            let platform = Platform::parse(text, debian);
            let found = (
                platform.name.as_str(),
                platform.family.as_str(),
                platform.version.as_str(),
            );
            assert_eq!(found, (name, family, version), "{text}");
        }
    }

    #[test]
    fn gpus_are_nvidias_3d_controllers() {
        let cases = [
            ("PCI_CLASS=30200\nPCI_ID=10DE:2330", true),
            ("PCI_CLASS=30000\nPCI_ID=10DE:2330", false),
            ("PCI_CLASS=30200\nPCI_ID=1002:74A1", false),
            ("PCI_CLASS=68000\nPCI_ID=10DE:22A3", false),
        ];
        for (uevent, expected) in cases {
            assert_eq!(is_nvidia_gpu(uevent), expected, "{uevent}");
        }
    }
}
