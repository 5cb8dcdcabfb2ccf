//! One GPU and its names.

use gpud_sdk::nvml::{Answers, Identity};
use gpud_sdk::{GpuId, Subject};

/// The host's name for a GPU that could never be opened, before its index.
const STRANGER: &str = "unknown-gpu-";

/// A GPU, by what is known of it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Gpu {
    /// `GPU-…`, or `unknown-gpu-‹index›`.
    pub uuid: String,
    /// PCI id as `0000:0f:00.0`; may be empty.
    pub bus_id: String,
    /// Product name as NVML gives it; may be empty.
    pub name: String,
    /// Serial number of the board.
    pub serial: Option<String>,
}

impl Gpu {
    /// As a subject of a state or an event.
    pub fn subject(&self) -> Subject {
        let filled = |text: &String| (!text.is_empty()).then(|| text.clone());
        Subject::Gpu(GpuId {
            uuid: filled(&self.uuid).filter(|uuid| !uuid.starts_with(STRANGER)),
            serial: self.serial.clone(),
            pci_id: filled(&self.bus_id),
        })
    }

    /// Both names, for a person: `GPU-… (0000:0f:00.0)`.
    pub fn label(&self) -> String {
        match self.bus_id.as_str() {
            "" => self.uuid.clone(),
            bus_id => format!("{} ({bus_id})", self.uuid),
        }
    }
}

impl From<Identity> for Gpu {
    fn from(identity: Identity) -> Self {
        Self {
            uuid: identity.uuid,
            bus_id: identity.bus_id,
            name: identity.name,
            serial: identity.serial,
        }
    }
}

impl From<&Answers> for Gpu {
    fn from(gpu: &Answers) -> Self {
        Self {
            uuid: gpu.uuid.clone(),
            bus_id: gpu.bus_id.clone(),
            name: gpu.name.clone(),
            serial: gpu.serial.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_facts_are_named() {
        let gpu = |uuid: &str, bus_id: &str| Gpu {
            uuid: uuid.into(),
            bus_id: bus_id.into(),
            ..Gpu::default()
        };
        let subject = |uuid: Option<&str>, pci_id: Option<&str>| {
            Subject::Gpu(GpuId {
                uuid: uuid.map(Into::into),
                serial: None,
                pci_id: pci_id.map(Into::into),
            })
        };
        for (gpu, expected, label) in [
            (
                gpu("GPU-1", "0000:0f:00.0"),
                subject(Some("GPU-1"), Some("0000:0f:00.0")),
                "GPU-1 (0000:0f:00.0)",
            ),
            (gpu("GPU-1", ""), subject(Some("GPU-1"), None), "GPU-1"),
            (
                gpu("unknown-gpu-3", ""),
                subject(None, None),
                "unknown-gpu-3",
            ),
        ] {
            assert_eq!((gpu.subject(), gpu.label().as_str()), (expected, label));
        }
    }
}
