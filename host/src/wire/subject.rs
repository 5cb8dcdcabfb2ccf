//! What an entry of the history or a change of the stream is about.

use serde::Serialize;

use super::is_zero;
use crate::model::Subject;

/// A subject with a name for people.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct NamedSubject {
    /// `gpu`, `port`, `mount`, `unit`, `node`, or a word of the check.
    pub kind: String,
    /// For example `GPU 0000:4b:00.0`, `mlx5_4/1`, `/scratch`.
    pub label: String,
    /// UUID of a GPU.
    #[serde(skip_serializing_if = "is_zero")]
    pub uuid: String,
    /// Serial number of a GPU's board.
    #[serde(skip_serializing_if = "is_zero")]
    pub serial: String,
    /// PCI address of a GPU.
    #[serde(skip_serializing_if = "is_zero")]
    pub pci: String,
}

impl From<&Subject> for NamedSubject {
    fn from(subject: &Subject) -> Self {
        let named = |kind: &str, label: String| Self {
            kind: kind.to_owned(),
            label,
            ..Self::default()
        };
        match subject {
            Subject::Node => named("node", "the machine".to_owned()),
            Subject::Gpu {
                uuid,
                serial,
                pci_id,
            } => {
                let known = pci_id.as_ref().or(uuid.as_ref()).or(serial.as_ref());
                let label = known.map_or_else(|| "a GPU".to_owned(), |id| format!("GPU {id}"));
                Self {
                    uuid: uuid.clone().unwrap_or_default(),
                    serial: serial.clone().unwrap_or_default(),
                    pci: pci_id.clone().unwrap_or_default(),
                    ..named("gpu", label)
                }
            }
            Subject::Port { device, port } => named("port", format!("{device}/{port}")),
            Subject::Mount(path) => named("mount", path.clone()),
            Subject::Unit(unit) => named("unit", unit.clone()),
            Subject::Other { kind, id } => named(kind, id.clone()),
        }
    }
}
