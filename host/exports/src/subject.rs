//! Subjects of records and verdicts.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The part of the node that a record or a verdict is about.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Subject {
    /// The machine as a whole.
    Node,
    /// One GPU, by whatever is known of it.
    Gpu {
        /// NVML UUID (`GPU-…`).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        uuid: Option<String>,
        /// Board serial number.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        serial: Option<String>,
        /// PCI address as `domain:bus:device.function`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pci: Option<String>,
        /// Index in the driver's order.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        index: Option<u32>,
    },
    /// One port of a network or InfiniBand device.
    Port {
        /// Device name, for example `mlx5_0`.
        device: String,
        /// Port number, from 1.
        port: u32,
    },
    /// A block device, for example `nvme0n1`.
    Disk {
        /// Device name.
        name: String,
    },
    /// A mount point.
    Mount {
        /// Absolute path.
        path: String,
    },
    /// A service unit.
    Unit {
        /// Name, for example `containerd.service`.
        name: String,
    },
    /// Anything else.
    Other {
        /// For example `dimm`.
        what: String,
        /// Which one.
        id: String,
    },
}

/// A short path such as `gpu/GPU-1234`, `port/mlx5_0/1` or `node`. Of a GPU the most lasting identity that is known is
/// named: UUID, then serial number, PCI address, index.
impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Node => f.write_str("node"),
            Self::Gpu {
                uuid,
                serial,
                pci,
                index,
            } => {
                let index = index.map(|index| index.to_string());
                let known = [uuid, serial, pci, &index].into_iter().flatten().next();
                write!(f, "gpu/{}", known.map_or("unknown", String::as_str))
            }
            Self::Port { device, port } => write!(f, "port/{device}/{port}"),
            Self::Disk { name } => write!(f, "disk/{name}"),
            Self::Mount { path } => write!(f, "mount{path}"),
            Self::Unit { name } => write!(f, "unit/{name}"),
            Self::Other { what, id } => write!(f, "{what}/{id}"),
        }
    }
}
