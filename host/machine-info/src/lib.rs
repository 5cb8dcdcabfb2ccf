//! Takes the machine's inventory: what it runs, its processor, memory, GPUs, disks and network interfaces.
//!
//! Nothing leaves the machine, and nothing is required: what a missing tool or an unreadable file would have provided
//! is left out, and said once in the log.

#![cfg_attr(
    test,
    allow(clippy::disallowed_methods, reason = "tests make their own machines")
)]

use gpud_node as node;
use gpud_wire as wire;

mod container_runtime;
mod df;
mod disks;
mod gpus;
mod lsblk;
mod mounts;
mod provider;
mod versions;

pub use gpus::chassis_serial;
pub use provider::{Cloud, cloud};

use std::{
    collections::BTreeSet,
    sync::{Mutex, PoisonError},
};

use crate::{
    node::{
        Node,
        error::SourceError,
        files::Files,
        nvml::Nvml,
        system::{self, SystemFacts},
    },
    wire::{CpuInfo, DiskInfo, MachineInfo, MemoryInfo, MetaTime, NicInfo, PrivateIpInterface},
};

/// Larger than any `/proc/meminfo`.
const MAX_MEMINFO: u64 = 1 << 20;

/// Takes one inventory, for which the GPUs are asked; a caller that takes several keeps a [`Collector`].
pub async fn collect(node: &Node) -> MachineInfo {
    node.nvml.take_inventory().await;
    Collector::new(node).collect().await
}

/// Takes inventories. Programs run only on the live machine, never for a copy of one.
pub struct Collector {
    files: Files,
    nvml: Nvml,
    commands: Commands,
    complaints: Complaints,
}

/// Command lines for bash that replace programs; `None` runs the program itself.
#[derive(Debug, Clone, Default)]
struct Commands {
    lsblk: Option<String>,
    findmnt: Option<String>,
    /// Without it the space of network mounts is read with statvfs.
    df: Option<String>,
}

impl Collector {
    /// For a machine, with the command lines that replace lsblk, findmnt and df on it.
    pub fn new(node: &Node) -> Self {
        let of = |program| node.replacement(program).map(str::to_owned);
        let commands = Commands {
            lsblk: of("lsblk"),
            findmnt: of("findmnt"),
            df: of("df"),
        };
        Self::of(node.files.clone(), node.nvml.clone(), commands)
    }

    fn of(files: Files, nvml: Nvml, commands: Commands) -> Self {
        Self {
            files,
            nvml,
            commands,
            complaints: Complaints::default(),
        }
    }

    /// Takes one; a few seconds at most, even when programs or mounts hang. GPUs are those of the node's last look: they
    /// are not asked, since requests wait for this. Without NVML that part is empty.
    pub async fn collect(&self) -> MachineInfo {
        let (facts, memory, disks, nics, runtime, tailscale) = tokio::join!(
            SystemFacts::read(&self.files),
            self.memory(),
            self.disks(),
            self.nics(),
            self.container_runtime(),
            self.version("tailscale"),
        );
        let booted = facts
            .boot_time_unix_s
            .map(|seconds| seconds.saturating_mul(1000));
        let text = |fact: Option<String>| fact.unwrap_or_default();
        let inventory = self.nvml.inventory().unwrap_or_default();
        let fabric = inventory.fabric.clone().unwrap_or_default();
        MachineInfo {
            gpud_version: env!("CARGO_PKG_VERSION").to_owned(),
            gpu_driver_version: inventory.driver_version.clone(),
            cuda_version: gpus::cuda_version(inventory.cuda_version),
            cluster_uuid: fabric.cluster_uuid,
            clique_id: fabric.clique_id,
            chassis_serial: gpus::chassis_serial(&inventory),
            container_runtime_version: text(runtime),
            tailscale_version: text(tailscale),
            kernel_version: text(facts.kernel_release),
            os_image: text(facts.os.pretty_name),
            operating_system: "linux".to_owned(),
            system_uuid: text(facts.system_uuid),
            machine_id: text(facts.os_machine_id),
            boot_id: text(facts.boot_id),
            hostname: text(facts.hostname),
            uptime: MetaTime(booted),
            cpu_info: Some(CpuInfo {
                cpu_type: text(facts.cpu.model_name),
                manufacturer: text(facts.cpu.vendor),
                architecture: facts.go_arch,
                logical_cores: facts.cpu.logical_cores.into(),
            }),
            memory_info: Some(MemoryInfo {
                total_bytes: memory,
            }),
            gpu_info: Some(gpus::info(&inventory)),
            disk_info: disks,
            nic_info: nics,
        }
    }

    /// Bytes; 0 when not known, as the wire has it.
    async fn memory(&self) -> u64 {
        let read = self.files.read("/proc/meminfo", MAX_MEMINFO).await;
        let content = self.complaints.ok("the size of memory", read);
        let text = content.map(|content| String::from_utf8_lossy(&content).into_owned());
        total_memory(&text.unwrap_or_default()).unwrap_or(0)
    }

    async fn nics(&self) -> Option<NicInfo> {
        let found = system::private_interfaces(&self.files).await;
        let found = self.complaints.ok("network interfaces", found)?;
        let interfaces = found.into_iter().map(|nic| PrivateIpInterface {
            interface: nic.interface,
            mac: nic.mac.unwrap_or_default(),
            ip: nic.ip.to_string(),
        });
        Some(NicInfo {
            private_ip_interfaces: interfaces.collect(),
        })
    }

    async fn disks(&self) -> Option<DiskInfo> {
        if !self.files.is_live() {
            return None;
        }
        Some(disks::read(&self.files, &self.commands, &self.complaints).await)
    }

    /// The runtime that answers; without one, the containerd that is installed: its socket may be closed to us, or its CRI
    /// switched off.
    async fn container_runtime(&self) -> Option<String> {
        if !self.files.is_live() {
            return None;
        }
        match container_runtime::answering().await {
            None => {
                let installed = self.version("containerd").await?;
                Some(container_runtime::named("containerd", &installed))
            }
            answering => answering,
        }
    }

    /// Reads the version that a program reports. A missing program is no error.
    async fn version(&self, program: &str) -> Option<String> {
        if !self.files.is_live() {
            return None;
        }
        match versions::of(program).await {
            Err(SourceError::NotFound(_)) => None,
            found => self
                .complaints
                .ok(&format!("the version of {program}"), found)
                .flatten(),
        }
    }
}

/// `MemTotal` in bytes.
fn total_memory(meminfo: &str) -> Option<u64> {
    let line = meminfo
        .lines()
        .find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kibibytes: u64 = line.trim().trim_end_matches("kB").trim().parse().ok()?;
    kibibytes.checked_mul(1024)
}

/// Tells in the log what could not be found out, each thing once: inventories are taken again and again.
#[derive(Default)]
struct Complaints(Mutex<BTreeSet<String>>);

impl Complaints {
    fn ok<T>(&self, what: &str, result: Result<T, SourceError>) -> Option<T> {
        match result {
            Ok(value) => Some(value),
            Err(error) => {
                let mut reported = self.0.lock().unwrap_or_else(PoisonError::into_inner);
                if reported.insert(what.to_owned()) {
                    tracing::warn!(%error, "machine info goes without {what}");
                }
                None
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::wire::GpuInfo;

    #[tokio::test]
    async fn this_machine() {
        let info = Collector::of(Files::live().unwrap(), Nvml::absent(), Commands::default())
            .collect()
            .await;
        let hostname = fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
        assert_eq!(info.hostname, hostname.trim());
        assert_eq!(info.operating_system, "linux");
        assert!(info.cpu_info.unwrap().logical_cores > 0);
        assert!(info.memory_info.unwrap().total_bytes > 1 << 20);
        assert!(info.uptime.0.is_some());
        assert_eq!(info.gpu_info, Some(GpuInfo::default()));
    }

    #[tokio::test]
    async fn a_copied_machine_without_most_of_it() {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir_all(root.path().join("proc")).unwrap();
        fs::write(
            root.path().join("proc/meminfo"),
            "MemFree: 1 kB\nMemTotal:       2048 kB\n",
        )
        .unwrap();
        let files = Files::rooted(root.path()).unwrap();
        let info = Collector::of(files, Nvml::absent(), Commands::default())
            .collect()
            .await;
        assert_eq!(info.memory_info.unwrap().total_bytes, 2 << 20);
        assert_eq!(info.disk_info, None);
        assert_eq!((info.hostname.as_str(), info.uptime.0), ("", None));
    }

    #[test]
    fn memory_lines() {
        for (text, bytes) in [
            ("MemTotal:  16 kB\n", Some(16384)),
            ("MemTotal: x kB", None),
            ("MemFree: 16 kB", None),
            ("MemTotal: 18446744073709551615 kB", None),
        ] {
            assert_eq!(total_memory(text), bytes, "{text}");
        }
    }

    #[test]
    fn a_complaint_is_made_once_and_passes_on_what_is_there() {
        let complaints = Complaints::default();
        assert_eq!(complaints.ok("x", Ok(1)), Some(1));
        for _ in 0..2 {
            let lost: Result<u8, _> = Err(SourceError::NotFound("lsblk".into()));
            assert_eq!(complaints.ok("x", lost), None);
        }
        assert_eq!(complaints.0.lock().unwrap().len(), 1);
    }
}
