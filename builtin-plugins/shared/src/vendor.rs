//! NVIDIA's actions for an error, in its own words, and the same in the four words of the API.
//!
//! An [`ErrorView`] is a view of all errors: GPUd's, or the vendor's.

pub mod config;

use gpud_sdk::catalog::{Action, Severity};

/// Key of the catalogue in a configuration document and in an event's facts.
pub const CATALOG: &str = "xid_catalog";

/// The view of the errors that judges them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ErrorView {
    /// GPUd's; the vendor's where GPUd is silent or too weak.
    #[default]
    Gpud,
    /// The vendor's; GPUd's where the vendor names no action.
    Nvidia,
}

impl ErrorView {
    /// All.
    pub const ALL: [Self; 2] = [Self::Gpud, Self::Nvidia];

    /// Its word in configurations.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Gpud => "gpud",
            Self::Nvidia => "nvidia",
        }
    }

    /// From its word.
    pub fn of(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|catalog| catalog.word() == word)
    }
}

/// The verdict on an error: its severity, and the actions of the API, most important first.
pub type CodeVerdict = (Severity, &'static [Action]);

/// The vendor's immediate action.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VendorAction {
    /// Nothing.
    Ignore,
    /// Restart the application.
    RestartApp,
    /// Reset the GPU.
    ResetGpu,
    /// Reset all GPUs and NVSwitches.
    ResetAll,
    /// Reset what the link reaches.
    ResetByScope,
    /// Restart the host.
    RestartHost,
    /// Restart the virtual machine.
    RestartVm,
    /// Update software or firmware.
    UpdateSoftware,
    /// Check connections and power cables.
    CheckMechanicals,
    /// Reset the GPU if unified memory is in use.
    CheckUvm,
    /// Contact the vendor.
    ContactSupport,
    /// Follow the other Xid, if there is one.
    Workflow45,
    /// Reset after the work is done, if rows were remapped.
    Workflow48,
    /// Decide by the NVLink registers in the line.
    WorkflowNvlink,
    /// Decide by unit, severity and error status.
    WorkflowNvlink5,
    /// Do what the driver names in Xid 154.
    Xid154,
}

impl VendorAction {
    /// All.
    pub const ALL: [Self; 16] = [
        Self::Ignore,
        Self::RestartApp,
        Self::ResetGpu,
        Self::ResetAll,
        Self::ResetByScope,
        Self::RestartHost,
        Self::RestartVm,
        Self::UpdateSoftware,
        Self::CheckMechanicals,
        Self::CheckUvm,
        Self::ContactSupport,
        Self::Workflow45,
        Self::Workflow48,
        Self::WorkflowNvlink,
        Self::WorkflowNvlink5,
        Self::Xid154,
    ];

    /// The vendor's word.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Ignore => "IGNORE",
            Self::RestartApp => "RESTART_APP",
            Self::ResetGpu => "RESET_GPU",
            Self::ResetAll => "RESET_ALL_GPUS_AND_SWITCHES",
            Self::ResetByScope => "RESET_BY_SCOPE",
            Self::RestartHost => "RESTART_BM",
            Self::RestartVm => "RESTART_VM",
            Self::UpdateSoftware => "UPDATE_SWFW",
            Self::CheckMechanicals => "CHECK_MECHANICALS",
            Self::CheckUvm => "CHECK_UVM",
            Self::ContactSupport => "CONTACT_SUPPORT",
            Self::Workflow45 => "WORKFLOW_XID_45",
            Self::Workflow48 => "WORKFLOW_XID_48",
            Self::WorkflowNvlink => "WORKFLOW_NVLINK_ERR",
            Self::WorkflowNvlink5 => "WORKFLOW_NVLINK5_ERR",
            Self::Xid154 => "XID_154",
        }
    }

    /// From the vendor's word.
    pub fn of(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|action| action.word() == word)
    }

    /// The same for people.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Ignore => "nothing",
            Self::RestartApp => "restart the application",
            Self::ResetGpu => "reset the GPU",
            Self::ResetAll => "reset all GPUs and NVSwitches",
            Self::ResetByScope => {
                "reset the GPUs of the job (access link) or all GPUs and NVSwitches (trunk link)"
            }
            Self::RestartHost => "restart the host",
            Self::RestartVm => "restart the virtual machine",
            Self::UpdateSoftware => "update software or firmware",
            Self::CheckMechanicals => "check connections and power cables",
            Self::CheckUvm => "reset the GPU if unified memory is in use",
            Self::ContactSupport => "contact the vendor",
            Self::Workflow45 => {
                "with another Xid of the GPU: follow that one; alone: restart the fabric manager"
            }
            Self::Workflow48 => {
                "with Xid 63 or 64: let the work end, then reset the GPU; alone: reset the GPU and test its memory"
            }
            Self::WorkflowNvlink => "decide by the NVLink registers in the line",
            Self::WorkflowNvlink5 => "decide by unit, severity and error status of the line",
            Self::Xid154 => "do what the driver names in Xid 154",
        }
    }

    /// What it means for health, and in the wire's words. `None` where the decision needs further evidence.
    pub const fn verdict(self) -> Option<CodeVerdict> {
        Some(match self {
            Self::Ignore => (Severity::Info, &[Action::Ignore]),
            Self::RestartApp | Self::UpdateSoftware => (Severity::Warning, &[Action::CheckApp]),
            Self::ResetGpu
            | Self::ResetAll
            | Self::ResetByScope
            | Self::RestartHost
            | Self::RestartVm
            | Self::CheckUvm
            | Self::Workflow48 => (Severity::Fatal, &[Action::Reboot]),
            Self::CheckMechanicals | Self::ContactSupport => {
                (Severity::Critical, &[Action::Inspect])
            }
            Self::Xid154 => (Severity::Warning, &[]),
            Self::Workflow45 | Self::WorkflowNvlink | Self::WorkflowNvlink5 => return None,
        })
    }
}

/// A verdict in words: `Fatal, REBOOT_SYSTEM` or `Warning, no action`.
pub fn verdict_words(severity: Severity, first_action: Option<&str>) -> String {
    let action = first_action.unwrap_or("no action");
    format!("{severity:?}, {action}")
}

/// True when two verdicts lead to another health or another first action.
pub fn differ(one: (Severity, Option<&str>), other: (Severity, Option<&str>)) -> bool {
    let level = |severity: Severity| severity.max(Severity::Warning);
    level(one.0) != level(other.0) || one.1 != other.1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_unique_and_read_back() {
        for action in VendorAction::ALL {
            assert_eq!(VendorAction::of(action.word()), Some(action));
            assert!(!action.words().is_empty());
        }
        for catalog in ErrorView::ALL {
            assert_eq!(ErrorView::of(catalog.word()), Some(catalog));
        }
        assert_eq!(VendorAction::of("reset_gpu"), None);
        assert_eq!(ErrorView::of("NVIDIA"), None);
    }

    #[test]
    fn each_action_has_the_wire_s_word() {
        let first = |action: VendorAction| {
            let (_, actions) = action.verdict()?;
            actions.first().copied()
        };
        for (action, expected) in [
            (VendorAction::RestartApp, Some(Action::CheckApp)),
            (VendorAction::ResetGpu, Some(Action::Reboot)),
            (VendorAction::RestartHost, Some(Action::Reboot)),
            (VendorAction::RestartVm, Some(Action::Reboot)),
            (VendorAction::CheckMechanicals, Some(Action::Inspect)),
            (VendorAction::ContactSupport, Some(Action::Inspect)),
            (VendorAction::Ignore, Some(Action::Ignore)),
            (VendorAction::Xid154, None),
            (VendorAction::WorkflowNvlink5, None),
        ] {
            assert_eq!(first(action), expected, "{action:?}");
        }
    }

    #[test]
    fn verdicts_differ_by_health_or_first_action() {
        let fatal = (Severity::Fatal, Some("REBOOT_SYSTEM"));
        assert!(!differ(fatal, fatal));
        assert!(differ(fatal, (Severity::Warning, Some("REBOOT_SYSTEM"))));
        assert!(differ(fatal, (Severity::Fatal, None)));
        // Both are healthy.
        assert!(!differ((Severity::Info, None), (Severity::Warning, None)));
        assert_eq!(verdict_words(fatal.0, fatal.1), "Fatal, REBOOT_SYSTEM");
        assert_eq!(verdict_words(Severity::Info, None), "Info, no action");
    }
}
