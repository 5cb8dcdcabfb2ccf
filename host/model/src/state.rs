//! A verdict: how healthy a subject is, why, what to do, and how the verdict clears.

use serde::{Deserialize, Serialize};

use super::{Pairs, UnixMillis};

/// How healthy something is. `Other` carries a word of a later contract version as it came.
#[derive(Debug, Clone, Serialize, Deserialize, PartialEq, Eq, Default)]
pub enum Health {
    /// Working as it should.
    #[default]
    Healthy,
    /// Working, but something needs attention.
    Degraded,
    /// Not working, or not to be trusted with work.
    Unhealthy,
    /// Not judged yet.
    Initializing,
    /// A word this host does not know; treated as not healthy.
    Other(String),
}

impl Health {
    /// The wire's word.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Healthy => "Healthy",
            Self::Degraded => "Degraded",
            Self::Unhealthy => "Unhealthy",
            Self::Initializing => "Initializing",
            Self::Other(word) => word,
        }
    }

    /// Returns the rank by which the worst of several is found: healthy 0, initializing 1, degraded 2, anything else 3.
    pub fn rank(&self) -> u8 {
        match self {
            Self::Healthy => 0,
            Self::Initializing => 1,
            Self::Degraded => 2,
            Self::Unhealthy | Self::Other(_) => 3,
        }
    }
}

impl From<&str> for Health {
    fn from(word: &str) -> Self {
        match word {
            "Healthy" => Self::Healthy,
            "Degraded" => Self::Degraded,
            "Unhealthy" => Self::Unhealthy,
            "Initializing" => Self::Initializing,
            other => Self::Other(other.to_owned()),
        }
    }
}

/// An action for the operator: one of the wire's four words, or a plugin's own.
#[derive(Debug, Clone, Serialize, Deserialize, PartialEq, Eq)]
pub enum RepairAction {
    /// The operator need not do anything.
    IgnoreNoActionRequired,
    /// Reboot the machine.
    RebootSystem,
    /// Have the hardware inspected.
    HardwareInspection,
    /// Check the user's application and the GPU that it used.
    CheckUserAppAndGpu,
    /// A plugin's own word.
    Other(String),
}

impl RepairAction {
    /// The wire's word.
    pub fn as_str(&self) -> &str {
        match self {
            Self::IgnoreNoActionRequired => "IGNORE_NO_ACTION_REQUIRED",
            Self::RebootSystem => "REBOOT_SYSTEM",
            Self::HardwareInspection => "HARDWARE_INSPECTION",
            Self::CheckUserAppAndGpu => "CHECK_USER_APP_AND_GPU",
            Self::Other(word) => word,
        }
    }
}

impl From<&str> for RepairAction {
    fn from(word: &str) -> Self {
        match word {
            "IGNORE_NO_ACTION_REQUIRED" => Self::IgnoreNoActionRequired,
            "REBOOT_SYSTEM" => Self::RebootSystem,
            "HARDWARE_INSPECTION" => Self::HardwareInspection,
            "CHECK_USER_APP_AND_GPU" => Self::CheckUserAppAndGpu,
            other => Self::Other(other.to_owned()),
        }
    }
}

/// Advice in words, and as actions in order of preference.
#[derive(Debug, Clone, Serialize, Deserialize, PartialEq, Eq, Default)]
pub struct SuggestedActions {
    /// Free text, may be empty.
    pub description: String,
    /// Actions, most important first.
    pub repair_actions: Vec<RepairAction>,
}

/// The subject of a state or an event.
#[derive(Debug, Clone, Serialize, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
#[serde(rename_all = "snake_case")]
pub enum Subject {
    /// The machine as a whole.
    Node,
    /// One GPU, by the names that are known.
    Gpu {
        /// NVML UUID (`GPU-…`).
        uuid: Option<String>,
        /// Board serial number.
        serial: Option<String>,
        /// PCI id as `domain:bus:device.function`.
        pci_id: Option<String>,
    },
    /// One port of a network or InfiniBand device.
    Port {
        /// Device name, for example `mlx5_0`.
        device: String,
        /// Port number, from 1.
        port: u32,
    },
    /// A mount point.
    Mount(String),
    /// A service unit.
    Unit(String),
    /// Anything else: kind and name.
    Other {
        /// For example `dimm`.
        kind: String,
        /// The name of the device or part.
        id: String,
    },
}

/// How a verdict that is not healthy clears.
#[derive(Debug, Clone, Serialize, Deserialize, PartialEq, Eq)]
pub enum Recovery {
    /// The next reading that is good.
    NextGoodReading,
    /// A reboot of the machine.
    Reboot,
    /// This time has come.
    At(UnixMillis),
    /// An operator's set-healthy.
    SetHealthy,
    /// A way of a later contract version.
    Other(String),
}

/// The evidence for a verdict.
#[derive(Debug, Clone, Serialize, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum Evidence {
    /// A kernel log record of this boot, by sequence number.
    Kmsg(u64),
    /// A file.
    File(String),
    /// An NVML reading, by name.
    Nvml(String),
    /// Anything else.
    Other(String),
}

/// One verdict.
#[derive(Debug, Clone, Serialize, Deserialize, PartialEq, Default)]
pub struct HealthState {
    /// Usually the component's name; absent on the wire when `None`.
    pub name: Option<String>,
    /// When it was judged. `None` for states drawn from stored events, whose wire form carries `null`.
    pub time: Option<UnixMillis>,
    /// The verdict.
    pub health: Health,
    /// One line for a person.
    pub reason: String,
    /// Technical error behind the verdict, if any.
    pub error: Option<String>,
    /// The suggested actions.
    pub suggested_actions: Option<SuggestedActions>,
    /// The subject, unless the state is about the whole component.
    pub subject: Option<Subject>,
    /// Ways in which it clears, any of which is enough. Empty means the next good reading.
    pub recovery: Vec<Recovery>,
    /// True: the host keeps showing this state after later checks stop reporting it, until a way of `recovery` or
    /// set-healthy clears it, also across restarts.
    pub latch: bool,
    /// The evidence for the state.
    pub evidence: Vec<Evidence>,
    /// The wire's `extra_info`.
    pub extra_info: Pairs,
}
