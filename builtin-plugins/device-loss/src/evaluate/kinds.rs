//! The event that each kind of kernel line becomes.

use gpud_sdk::catalog::Entry;

use crate::lines::Kind;
use crate::patterns;

/// Name of the event that another driver has the GPU.
pub const CONFLICT: &str = patterns::NVIDIA_DRIVER_CONFLICT.name;

/// The classes of devices.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeviceClass {
    /// A GPU.
    Gpu,
    /// A network card.
    Network,
    /// One or the other, or another.
    Pci,
}

/// How lines of one kind are stored.
#[derive(Debug)]
pub struct KindFacts {
    /// Which.
    pub kind: Kind,
    /// Name of its event.
    pub event: &'static str,
    /// About what.
    pub class: DeviceClass,
    /// What is said of it; the device follows its message.
    pub entry: &'static Entry,
}

const fn kind_facts(kind: Kind, class: DeviceClass, entry: &'static Entry) -> KindFacts {
    KindFacts {
        kind,
        event: entry.name,
        class,
        entry,
    }
}

use DeviceClass::{Gpu, Network, Pci};

/// All kinds.
pub static KINDS: [KindFacts; 25] = [
    kind_facts(Kind::ProbeFailed, Pci, &patterns::DRIVER_PROBE_FAILED),
    kind_facts(
        Kind::MlxCompromised,
        Network,
        &patterns::MLX5_HEALTH_COMPROMISED,
    ),
    kind_facts(Kind::MlxFatal, Network, &patterns::MLX5_FATAL_ERROR),
    kind_facts(Kind::MlxIssue, Network, &patterns::MLX5_HEALTH_ISSUE),
    kind_facts(Kind::MlxWarning, Network, &patterns::MLX5_HEALTH_WARNING),
    kind_facts(Kind::MlxHot, Network, &patterns::MLX5_HIGH_TEMPERATURE),
    kind_facts(Kind::MlxNotice, Network, &patterns::MLX5_HEALTH_NOTICE),
    kind_facts(
        Kind::MlxRecoveryFailed,
        Network,
        &patterns::MLX5_RECOVERY_FAILED,
    ),
    kind_facts(Kind::MlxRecovered, Network, &patterns::MLX5_RECOVERED),
    kind_facts(
        Kind::MlxCommandTimeout,
        Network,
        &patterns::MLX5_COMMAND_TIMEOUT,
    ),
    kind_facts(Kind::NvidiaInitFailed, Gpu, &patterns::NVIDIA_INIT_FAILED),
    kind_facts(Kind::NvidiaOffBus, Gpu, &patterns::NVIDIA_FALLEN_OFF_BUS),
    kind_facts(Kind::NvidiaGspTimeout, Gpu, &patterns::NVIDIA_GSP_TIMEOUT),
    kind_facts(Kind::NvidiaBootFailed, Gpu, &patterns::NVIDIA_BOOT_FAILED),
    kind_facts(Kind::NvidiaUvmFatal, Gpu, &patterns::NVIDIA_UVM_FATAL),
    kind_facts(
        Kind::NvidiaResetRequired,
        Gpu,
        &patterns::NVIDIA_RESET_REQUIRED,
    ),
    kind_facts(Kind::NvidiaLocked, Gpu, &patterns::NVIDIA_GPU_LOCKED),
    kind_facts(Kind::NvidiaMismatch, Gpu, &patterns::NVIDIA_API_MISMATCH),
    kind_facts(Kind::NvidiaConflict, Gpu, &patterns::NVIDIA_DRIVER_CONFLICT),
    kind_facts(Kind::NouveauFault, Gpu, &patterns::NOUVEAU_FAULT),
    kind_facts(Kind::TxTimeout, Network, &patterns::NETDEV_TX_TIMEOUT),
    kind_facts(Kind::SlotLost, Pci, &patterns::PCIE_SLOT_LINK_DOWN),
    kind_facts(Kind::SlotPower, Pci, &patterns::PCIE_SLOT_POWER_FAULT),
    kind_facts(Kind::Inaccessible, Pci, &patterns::PCI_DEVICE_INACCESSIBLE),
    kind_facts(Kind::IommuFault, Pci, &patterns::IOMMU_FAULT),
];
