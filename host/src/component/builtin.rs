//! The checkers that are part of the binary, and what each may reach: the same kind of grants that an operator writes
//! for a plugin, and no more than its own list of imports.

use serde_json::{Value, json};

/// A built-in checker.
#[derive(Debug, Clone)]
pub struct Builtin {
    /// Folder under `builtin-plugins/`.
    pub folder: &'static str,
    /// Its component's name, known before the plugin is loaded.
    pub component: &'static str,
    /// The WebAssembly component.
    pub wasm: &'static [u8],
    /// What it may reach.
    pub grants: Value,
}

/// Laid down by the build script: folder and component of each.
const EMBEDDED: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/builtins.rs"));

/// All of them, ascending by component name.
pub fn all() -> Vec<Builtin> {
    let mut builtins: Vec<Builtin> = EMBEDDED
        .iter()
        .filter_map(|&(folder, wasm)| {
            let (component, grants) = manifest(folder)?;
            Some(Builtin {
                folder,
                component,
                wasm,
                grants,
            })
        })
        .collect();
    builtins.sort_by_key(|builtin| builtin.component);
    builtins
}

fn manifest(folder: &str) -> Option<(&'static str, Value)> {
    Some(match folder {
        "cpu" => (
            "cpu",
            json!({ "sysfs": ["/proc/stat", "/proc/loadavg"], "kmsg": true, "state": true }),
        ),
        "memory" => (
            "memory",
            json!({
                "sysfs": ["/proc/meminfo", "/proc/vmallocinfo"],
                "kmsg": true,
                "state": true,
            }),
        ),
        "disk" => (
            "disk",
            json!({
                "sysfs": ["/proc/1/mountinfo", "/proc/self/mountinfo", "/sys/dev/block/*"],
                "statvfs": ["/**"],
                "exec": ["lsblk", "findmnt"],
                "kmsg": true,
                "state": true,
                "history": true,
                "config": true,
            }),
        ),
        "os" => (
            "os",
            json!({
                "sysfs": [
                    "/proc/uptime",
                    "/proc/stat",
                    "/proc/[0-9]*/stat",
                    "/proc/[0-9]*/fd",
                    "/proc/sys/fs/file-nr",
                    "/proc/sys/fs/file-max",
                    "/proc/sys/kernel/pid_max",
                    "/proc/sys/kernel/osrelease",
                    "/proc/sys/kernel/arch",
                    "/etc/os-release",
                    "/usr/lib/os-release",
                    "/etc/debian_version",
                    "/etc/machine-id",
                    "/var/lib/dbus/machine-id",
                    "/sys/class/dmi/id/product_uuid",
                    "/sys/class/dmi/id/sys_vendor",
                    "/sys/bus/pci/devices/*/uevent",
                    "/var/lib/systemd/pstore",
                    "/var/lib/systemd/pstore/**",
                ],
                "exec": ["systemd-detect-virt", "uname"],
                "kmsg": true,
                "state": true,
                "history": true,
                "config": true,
            }),
        ),
        "nccl" => (
            "accelerator-nvidia-nccl",
            json!({ "kmsg": true, "nvml": true, "history": true }),
        ),
        "peermem" => (
            "accelerator-nvidia-peermem",
            json!({ "sysfs": ["/proc/modules"], "kmsg": true, "nvml": true, "history": true }),
        ),
        "sxid" => (
            "accelerator-nvidia-error-sxid",
            json!({
                "kmsg": true,
                "nvml": true,
                "history": true,
                "config": true,
                "state": true,
            }),
        ),
        "xid" => (
            "accelerator-nvidia-error-xid",
            json!({
                "kmsg": true,
                "nvml": true,
                "history": true,
                "config": true,
                "state": true,
            }),
        ),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capability::Grants;

    #[test]
    fn every_embedded_checker_has_a_manifest_with_grants_that_parse() {
        assert_eq!(all().len(), EMBEDDED.len());
        for builtin in all() {
            Grants::parse(&builtin.grants)
                .unwrap_or_else(|error| panic!("{}: {error}", builtin.folder));
        }
    }
}
