//! What a trouble concerns, as it is shown and ordered.

use serde::{Deserialize, Serialize};

use crate::model::Subject;

/// What a trouble concerns.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct SubjectView {
    /// For example `gpu`, `port`, `mount`, `unit`, `disk`, `driver`, `kernel`, `node`, `component`.
    pub kind: String,
    /// Its name for a person, such as `GPU 3`.
    pub label: String,
    /// Further names: PCI id, slot and serial number of a GPU.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub detail: String,
    /// UUID of a GPU.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uuid: Option<String>,
    /// Serial number of a GPU's board.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub serial: Option<String>,
    /// PCI id of a GPU.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pci: Option<String>,
    /// Number of a GPU in NVML's order.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub index: Option<usize>,
}

/// Kinds in the order in which they are shown where the health is the same; all others follow.
const ORDER: [&str; 12] = [
    "driver", "gpu", "gpus", "nvswitch", "port", "nic", "kernel", "node", "disk", "mount", "dimm",
    "unit",
];

impl SubjectView {
    /// Of a kind, by its name.
    pub(super) fn new(kind: &str, label: impl Into<String>) -> Self {
        Self {
            kind: kind.to_owned(),
            label: label.into(),
            ..Self::default()
        }
    }

    /// The node as a whole.
    pub(super) fn node() -> Self {
        Self::new("node", "the node")
    }

    /// Of anything but a GPU.
    pub fn of(subject: &Subject) -> Self {
        match subject {
            Subject::Node | Subject::Gpu { .. } => Self::node(),
            Subject::Port { device, port } => Self::new("port", format!("{device}/{port}")),
            Subject::Mount(path) => Self::new("mount", path),
            Subject::Unit(name) => Self::new("unit", name),
            Subject::Other { kind, id } => Self::new(kind, label_of(kind, id)),
        }
    }

    /// The position of its kind in the order.
    pub(super) fn place(&self) -> usize {
        let place = ORDER.iter().position(|kind| *kind == self.kind);
        place.unwrap_or(ORDER.len())
    }
}

/// The label of another subject: its name, with the kind before it where the name alone says little.
fn label_of(kind: &str, id: &str) -> String {
    match kind {
        "nvswitch" => format!("NVSwitch {id}"),
        "pci" => format!("PCI device {id}"),
        "cpu" => format!("CPU {id}"),
        "dimm" => format!("memory module {id}"),
        "nfs-server" => format!("NFS server {id}"),
        _ => id.to_owned(),
    }
}
