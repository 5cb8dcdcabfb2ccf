//! The decision: pure, so that its tests need no machine.

/// How healthy the kernel is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Health {
    Healthy,
    Degraded,
    Unhealthy,
}

/// What to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    Reboot,
    Inspect,
}

/// The verdict on the flags.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Verdict {
    pub health: Health,
    pub reason: &'static str,
    pub action: Option<(Action, &'static str)>,
}

/// Judges the flags of `/proc/sys/kernel/tainted`, see the kernel's Documentation/admin-guide/tainted-kernels.rst.
pub fn judge(flags: u64) -> Verdict {
    let has = |bit: u32| flags & (1 << bit) != 0;
    let (health, reason, action) = if has(4) {
        (
            Health::Unhealthy,
            "the processor reported a machine check since the kernel started",
            Some((Action::Inspect, "have the hardware looked at")),
        )
    } else if has(7) {
        (
            Health::Degraded,
            "the kernel had an oops and goes on with what is left",
            Some((Action::Reboot, "reboot when the work allows it")),
        )
    } else if has(14) {
        (
            Health::Degraded,
            "a processor was stuck (soft lockup)",
            None,
        )
    } else {
        (Health::Healthy, "no taint flag that means trouble", None)
    };
    Verdict {
        health,
        reason,
        action,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn machine_checks_are_grave_and_modules_of_others_are_no_trouble() {
        for (flags, health) in [
            (16 | 128, Health::Unhealthy),
            (128 | 1, Health::Degraded),
            (1 << 14, Health::Degraded),
            (4097, Health::Healthy),
        ] {
            assert_eq!(judge(flags).health, health, "{flags}");
        }
    }
}
