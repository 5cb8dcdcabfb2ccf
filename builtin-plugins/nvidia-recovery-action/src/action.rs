//! `nvmlDeviceGpuRecoveryAction_t` (`nvml.h`) and what its values ask for (NVIDIA, "GPU Memory Error Management", error
//! recovery and response flags; numbers from 5 on: NVML API reference, R610 and R615).

use gpud_sdk::{Health, RepairAction};

/// The action that the driver requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Nothing.
    None,
    /// Programs ended and the GPU reset.
    Reset,
    /// The machine rebooted.
    Reboot,
    /// Programs ended that talk to other GPUs; then it says what comes next.
    DrainPeers,
    /// No new work, and a reset once the present one is done.
    DrainAndReset,
    /// The IMEX domain recovered, over which machines share memory of GPUs.
    RecoverImexDomain,
    /// The GPU's PCIe bus reset.
    BusReset,
    /// The whole system rebooted, not only the operating system.
    SystemReboot,
    /// A word of a later driver.
    Unknown(u32),
}

impl Action {
    /// By NVML's number.
    pub fn of(number: u32) -> Self {
        match number {
            0 => Self::None,
            1 => Self::Reset,
            2 => Self::Reboot,
            3 => Self::DrainPeers,
            4 => Self::DrainAndReset,
            5 => Self::RecoverImexDomain,
            6 => Self::BusReset,
            7 => Self::SystemReboot,
            other => Self::Unknown(other),
        }
    }

    /// NVML's number.
    pub fn number(self) -> u32 {
        match self {
            Self::None => 0,
            Self::Reset => 1,
            Self::Reboot => 2,
            Self::DrainPeers => 3,
            Self::DrainAndReset => 4,
            Self::RecoverImexDomain => 5,
            Self::BusReset => 6,
            Self::SystemReboot => 7,
            Self::Unknown(number) => number,
        }
    }

    /// In `nvidia-smi`'s words.
    pub fn name(self) -> String {
        let name = match self {
            Self::None => "None",
            Self::Reset => "Reset",
            Self::Reboot => "Reboot",
            Self::DrainPeers => "Drain P2P",
            Self::DrainAndReset => "Drain and Reset",
            Self::RecoverImexDomain => "Recover IMEX Domain",
            Self::BusReset => "Bus Reset",
            Self::SystemReboot => "System Reboot",
            Self::Unknown(number) => return format!("Unknown({number})"),
        };
        name.to_owned()
    }

    /// How healthy a GPU is whose driver wants this.
    pub fn health(self) -> Health {
        match self {
            Self::None => Health::Healthy,
            Self::Reset
            | Self::Reboot
            | Self::DrainPeers
            | Self::RecoverImexDomain
            | Self::BusReset
            | Self::SystemReboot => Health::Unhealthy,
            // Work that runs may go on.
            Self::DrainAndReset | Self::Unknown(_) => Health::Degraded,
        }
    }

    /// The problem, to be put after a GPU's name.
    pub fn reason(self) -> String {
        let reason = match self {
            Self::None => "needs nothing",
            Self::Reset => "needs a reset",
            Self::Reboot => "needs a reboot of the machine",
            Self::DrainPeers => "needs its peer-to-peer traffic to end",
            Self::DrainAndReset => "needs a reset when its work is done",
            Self::RecoverImexDomain => "needs its IMEX domain to be recovered",
            Self::BusReset => "needs a reset of its PCIe bus",
            Self::SystemReboot => "needs a reboot of the whole system",
            Self::Unknown(number) => return format!("needs an unknown recovery action ({number})"),
        };
        reason.to_owned()
    }

    /// What to do, and how.
    pub fn repair(self) -> Option<(RepairAction, &'static str)> {
        match self {
            Self::None | Self::Unknown(_) => None,
            Self::Reset => Some((
                RepairAction::RebootSystem,
                "End all programs that use the GPU and reset it (nvidia-smi --gpu-reset), or reboot the machine.",
            )),
            Self::Reboot => Some((
                RepairAction::RebootSystem,
                "The driver may have left the system in an inconsistent state: reboot the machine.",
            )),
            Self::DrainPeers => Some((
                RepairAction::CheckUserAppAndGpu,
                "End all programs that exchange data between GPUs; the driver then says what comes next.",
            )),
            Self::RecoverImexDomain => Some((
                RepairAction::CheckUserAppAndGpu,
                "End the programs that share GPU memory between machines and recover the IMEX domain (service nvidia-imex on each of them).",
            )),
            Self::BusReset => Some((
                RepairAction::RebootSystem,
                "End all programs that use the GPU and reset its PCIe bus, or reboot the machine.",
            )),
            Self::SystemReboot => Some((
                RepairAction::RebootSystem,
                "Reboot the whole system; restarting the operating system alone does not do it.",
            )),
            Self::DrainAndReset => Some((
                RepairAction::RebootSystem,
                "Give the GPU no new work; when its work is done, reset it (nvidia-smi --gpu-reset), or reboot the machine.",
            )),
        }
    }

    /// Whether nothing runs on the GPU until it is done. What is left can wait, or is a matter of programs.
    pub fn is_urgent(self) -> bool {
        matches!(
            self,
            Self::Reset | Self::Reboot | Self::BusReset | Self::SystemReboot
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers() {
        for number in 0..12 {
            let action = Action::of(number);
            assert_eq!(action.number(), number);
            assert_eq!(action.health() == Health::Healthy, number == 0);
            assert!(action.repair().is_some() || number == 0 || number > 7);
            assert_eq!(action.is_urgent(), [1, 2, 6, 7].contains(&number));
        }
        assert_eq!(Action::of(9).name(), "Unknown(9)");
        assert_eq!(
            Action::of(9).reason(),
            "needs an unknown recovery action (9)"
        );
        for (number, name) in [
            (0, "None"),
            (1, "Reset"),
            (2, "Reboot"),
            (3, "Drain P2P"),
            (4, "Drain and Reset"),
            (5, "Recover IMEX Domain"),
            (6, "Bus Reset"),
            (7, "System Reboot"),
        ] {
            assert_eq!(Action::of(number).name(), name);
        }
    }
}
