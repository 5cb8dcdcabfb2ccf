//! How each kind of news is stored.

use gpud_sdk::EventType;

use crate::lines::Kind;

/// Name of the event that another driver has the GPU.
pub const CONFLICT: &str = "nvidia_driver_conflict";

/// What sort of device it is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeviceClass {
    /// A GPU.
    Gpu,
    /// A network card.
    Network,
    /// One or the other.
    Pci,
}

/// One kind.
#[derive(Debug)]
pub struct News {
    /// Which.
    pub kind: Kind,
    /// Name of its event.
    pub event: &'static str,
    /// How serious it is by itself.
    pub event_type: EventType,
    /// About what.
    pub class: DeviceClass,
    /// In words; the device follows.
    pub text: &'static str,
}

const fn news(
    kind: Kind,
    event: &'static str,
    event_type: EventType,
    class: DeviceClass,
    text: &'static str,
) -> News {
    News {
        kind,
        event,
        event_type,
        class,
        text,
    }
}

use DeviceClass::{Gpu, Network, Pci};
use EventType::{Critical, Fatal, Info, Warning};

/// All kinds.
#[rustfmt::skip]
pub static NEWS: [News; 19] = [
    news(Kind::ProbeFailed, "driver_probe_failed", Critical, Pci, "The driver could not start the device"),
    news(Kind::MlxCompromised, "mlx5_health_compromised", Critical, Network, "Network card: firmware does not answer"),
    news(Kind::MlxFatal, "mlx5_fatal_error", Fatal, Network, "Network card: fatal error"),
    news(Kind::MlxIssue, "mlx5_health_issue", Critical, Network, "Network card: firmware reports an error"),
    news(Kind::MlxNotice, "mlx5_health_notice", Info, Network, "Network card: firmware reports a health issue"),
    news(Kind::MlxRecoveryFailed, "mlx5_recovery_failed", Fatal, Network, "Network card: recovery failed"),
    news(Kind::MlxRecovered, "mlx5_recovered", Info, Network, "Network card: recovered"),
    news(Kind::MlxCommandTimeout, "mlx5_command_timeout", Warning, Network, "Network card: command to the firmware timed out"),
    news(Kind::NvidiaInitFailed, "nvidia_init_failed", Fatal, Gpu, "NVIDIA driver could not bring the GPU up"),
    news(Kind::NvidiaOffBus, "nvidia_fallen_off_bus", Fatal, Gpu, "GPU has fallen off the bus"),
    news(Kind::NvidiaGspTimeout, "nvidia_gsp_timeout", Critical, Gpu, "GPU: its system processor (GSP) does not answer"),
    news(Kind::NvidiaLocked, "nvidia_gpu_locked", Warning, Gpu, "GPU is probably locked up"),
    news(Kind::NvidiaMismatch, "nvidia_api_mismatch", Warning, Gpu, "NVIDIA user space and kernel module differ in version"),
    news(Kind::NvidiaConflict, CONFLICT, Warning, Gpu, "NVIDIA driver missed GPUs that another driver has"),
    news(Kind::AmdReset, "amdgpu_reset", Warning, Gpu, "AMD GPU is reset"),
    news(Kind::AmdResetFailed, "amdgpu_reset_failed", Fatal, Gpu, "AMD GPU could not be recovered"),
    news(Kind::AmdRecovered, "amdgpu_recovered", Info, Gpu, "AMD GPU recovered by a reset"),
    news(Kind::AmdRingTimeout, "amdgpu_ring_timeout", Warning, Gpu, "AMD GPU: work did not end in time"),
    news(Kind::AmdUncorrectable, "amdgpu_uncorrectable_error", Critical, Gpu, "AMD GPU: uncorrectable hardware error"),
];
