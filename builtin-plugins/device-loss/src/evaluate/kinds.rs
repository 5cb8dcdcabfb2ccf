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

/// One kind.
#[derive(Debug)]
pub struct News {
    /// Which.
    pub kind: Kind,
    /// Name of its event.
    pub event: &'static str,
    /// About what.
    pub class: DeviceClass,
    /// What is said of it; the device follows its message.
    pub entry: &'static Entry,
}

const fn news(kind: Kind, class: DeviceClass, entry: &'static Entry) -> News {
    News {
        kind,
        event: entry.name,
        class,
        entry,
    }
}

use DeviceClass::{Gpu, Network, Pci};

/// All kinds.
pub static NEWS: [News; 25] = [
    news(Kind::ProbeFailed, Pci, &patterns::DRIVER_PROBE_FAILED),
    news(
        Kind::MlxCompromised,
        Network,
        &patterns::MLX5_HEALTH_COMPROMISED,
    ),
    news(Kind::MlxFatal, Network, &patterns::MLX5_FATAL_ERROR),
    news(Kind::MlxIssue, Network, &patterns::MLX5_HEALTH_ISSUE),
    news(Kind::MlxWarning, Network, &patterns::MLX5_HEALTH_WARNING),
    news(Kind::MlxHot, Network, &patterns::MLX5_HIGH_TEMPERATURE),
    news(Kind::MlxNotice, Network, &patterns::MLX5_HEALTH_NOTICE),
    news(
        Kind::MlxRecoveryFailed,
        Network,
        &patterns::MLX5_RECOVERY_FAILED,
    ),
    news(Kind::MlxRecovered, Network, &patterns::MLX5_RECOVERED),
    news(
        Kind::MlxCommandTimeout,
        Network,
        &patterns::MLX5_COMMAND_TIMEOUT,
    ),
    news(Kind::NvidiaInitFailed, Gpu, &patterns::NVIDIA_INIT_FAILED),
    news(Kind::NvidiaOffBus, Gpu, &patterns::NVIDIA_FALLEN_OFF_BUS),
    news(Kind::NvidiaGspTimeout, Gpu, &patterns::NVIDIA_GSP_TIMEOUT),
    news(Kind::NvidiaBootFailed, Gpu, &patterns::NVIDIA_BOOT_FAILED),
    news(Kind::NvidiaUvmFatal, Gpu, &patterns::NVIDIA_UVM_FATAL),
    news(
        Kind::NvidiaResetRequired,
        Gpu,
        &patterns::NVIDIA_RESET_REQUIRED,
    ),
    news(Kind::NvidiaLocked, Gpu, &patterns::NVIDIA_GPU_LOCKED),
    news(Kind::NvidiaMismatch, Gpu, &patterns::NVIDIA_API_MISMATCH),
    news(Kind::NvidiaConflict, Gpu, &patterns::NVIDIA_DRIVER_CONFLICT),
    news(Kind::NouveauFault, Gpu, &patterns::NOUVEAU_FAULT),
    news(Kind::TxTimeout, Network, &patterns::NETDEV_TX_TIMEOUT),
    news(Kind::SlotLost, Pci, &patterns::PCIE_SLOT_LINK_DOWN),
    news(Kind::SlotPower, Pci, &patterns::PCIE_SLOT_POWER_FAULT),
    news(Kind::Inaccessible, Pci, &patterns::PCI_DEVICE_INACCESSIBLE),
    news(Kind::IommuFault, Pci, &patterns::IOMMU_FAULT),
];
