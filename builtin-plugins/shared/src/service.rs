//! Daemons of the machine: whether one is installed, and the state of its service in systemd.
//!
//! Facts: systemctl(1), org.freedesktop.systemd1(5).

use gpud_sdk::program::{self, ProgramOutput};
use gpud_sdk::{AccessError, CheckContext, sysfs};

const SECONDS: u32 = 5;
const PROPERTIES: &str = "--property=LoadState,ActiveState,SubState,UnitFileState,TriggeredBy,\
    InactiveExitTimestampMonotonic";

/// The state of a unit in systemd.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Service {
    /// There is such a unit.
    pub loaded: bool,
    /// It runs.
    pub active: bool,
    /// It is on its way, and not because it is restarted after a failure.
    pub starting: bool,
    /// It ended badly, or is restarted over and over.
    pub failed: bool,
    /// It is neither disabled nor masked.
    pub wanted: bool,
    /// Something starts it on use: to talk to its socket would be to start it.
    pub triggered: bool,
    /// When it left the inactive state, in microseconds of the monotonic clock; 0 is never.
    pub started_us: u64,
}

impl Service {
    /// Asks systemd; nothing where it does not run this machine, or cannot be reached, as in a container.
    ///
    /// # Errors
    /// When systemctl may not be run, does not answer, or complains.
    pub fn ask(unit: &str) -> Result<Option<Self>, AccessError> {
        let arguments = ["show", PROPERTIES, "--no-pager", "--", unit];
        match program::run("systemctl", &arguments, SECONDS)? {
            Some(said) => Self::of(unit, &said),
            None => Ok(None),
        }
    }

    /// From what systemctl said.
    ///
    /// # Errors
    /// When it complains.
    pub fn of(unit: &str, said: &ProgramOutput) -> Result<Option<Self>, AccessError> {
        if said.is_ok() {
            return Ok(Some(Self::parse(&said.stdout)));
        }
        let absent = ["connect to bus", "been booted", "connect to system"];
        if absent.iter().any(|words| said.complaint.contains(words)) {
            return Ok(None);
        }
        Err(AccessError::Other(format!(
            "systemctl show {unit}: {}",
            said.complaint
        )))
    }

    /// From the properties, one a line.
    pub fn parse(text: &str) -> Self {
        let value = |key: &str| {
            let mut lines = text.lines().filter_map(|line| line.split_once('='));
            let found = lines.find(|(name, _)| *name == key);
            found.map_or("", |(_, value)| value.trim())
        };
        let (active, sub) = (value("ActiveState"), value("SubState"));
        let restarting = active == "activating" && sub.starts_with("auto-restart");
        Self {
            loaded: value("LoadState") == "loaded",
            active: matches!(active, "active" | "reloading" | "refreshing"),
            starting: active == "activating" && !restarting,
            failed: active == "failed" || restarting,
            wanted: !matches!(
                value("UnitFileState"),
                "disabled" | "masked" | "masked-runtime"
            ),
            triggered: !value("TriggeredBy").is_empty(),
            started_us: value("InactiveExitTimestampMonotonic").parse().unwrap_or(0),
        }
    }

    /// Nobody wants it to run, and it does not: somebody switched it off.
    pub fn is_switched_off(&self) -> bool {
        !(self.active || self.starting || self.failed || self.wanted)
    }

    /// Seconds since it was started; nothing where that is not known. The monotonic clock stands still while a machine
    /// sleeps, so on one that does this is too long.
    pub fn seconds_since_start(&self, context: &CheckContext) -> Option<u64> {
        if self.started_us == 0 || context.boot_time == 0 {
            return None;
        }
        let since_boot = context.now.checked_sub(context.boot_time)?;
        Some((since_boot / 1000).saturating_sub(self.started_us / 1_000_000))
    }
}

/// Is any of these files there?
///
/// # Errors
/// When none was found, and one could not be looked at.
pub fn is_any_there(paths: &[&str]) -> Result<bool, AccessError> {
    let mut trouble = None;
    for path in paths {
        match sysfs::stat(path) {
            Ok(_) => return Ok(true),
            Err(AccessError::NotFound(_)) => {}
            Err(error) => trouble = trouble.or(Some(error)),
        }
    }
    trouble.map_or(Ok(false), Err)
}

#[cfg(test)]
mod tests {
    use super::*;
    use gpud_sdk::testing::test_context;
    use proptest::prelude::*;

    fn shown(active: &str, sub: &str, file: &str) -> Service {
        let text = format!(
            "LoadState=loaded\nActiveState={active}\nSubState={sub}\nUnitFileState={file}\nTriggeredBy=\n\
             InactiveExitTimestampMonotonic=60000000\n"
        );
        Service::parse(&text)
    }

    #[test]
    fn standings() {
        for (active, sub, file, expected) in [
            ("active", "running", "enabled", "active"),
            ("reloading", "reload", "enabled", "active"),
            ("activating", "start", "enabled", "starting"),
            ("activating", "auto-restart", "enabled", "failed"),
            ("activating", "auto-restart-queued", "disabled", "failed"),
            ("failed", "failed", "disabled", "failed"),
            ("inactive", "dead", "enabled", "stopped"),
            ("inactive", "dead", "static", "stopped"),
            ("inactive", "dead", "disabled", "off"),
            ("inactive", "dead", "masked", "off"),
            ("active", "running", "disabled", "active"),
        ] {
            let service = shown(active, sub, file);
            let found = [
                (service.active, "active"),
                (service.starting, "starting"),
                (service.failed, "failed"),
                (service.is_switched_off(), "off"),
                (true, "stopped"),
            ];
            let found = found.iter().find(|(is, _)| *is).unwrap().1;
            assert_eq!(found, expected, "{active} {sub} {file}");
        }
        let missing = Service::parse("LoadState=not-found\nActiveState=inactive\nSubState=dead\n");
        assert!(!missing.loaded && !missing.is_switched_off());
        assert!(Service::parse("LoadState=masked\nUnitFileState=masked\n").is_switched_off());
        assert!(Service::parse("TriggeredBy=docker.socket\n").triggered);
    }

    #[test]
    fn age() {
        let context = |now: u64| gpud_sdk::CheckContext {
            boot_time: 1_000_000,
            ..test_context("x", now)
        };
        let service = shown("active", "running", "enabled");
        for (now, expected) in [
            (1_000_000 + 90_000, Some(30)),
            (1_000_000 + 30_000, Some(0)),
            (0, None),
        ] {
            assert_eq!(service.seconds_since_start(&context(now)), expected);
        }
        assert_eq!(
            Service::default().seconds_since_start(&context(2_000_000)),
            None
        );
        assert_eq!(service.seconds_since_start(&test_context("x", 5)), None);
    }

    #[test]
    fn complaints() {
        let said = |code, stderr: &str| {
            ProgramOutput::new(Some(code), b"LoadState=loaded\n", stderr.as_bytes())
        };
        assert!(Service::of("a", &said(0, "")).unwrap().unwrap().loaded);
        for absent in [
            "System has not been booted with systemd as init system (PID 1). Can't operate.",
            "Failed to connect to bus: No such file or directory",
            "Failed to connect to system scope bus via local transport: No such file or directory",
        ] {
            assert_eq!(Service::of("a", &said(1, absent)), Ok(None), "{absent}");
        }
        let error = Service::of(
            "a",
            &said(1, "Failed to get properties: Transport endpoint"),
        );
        assert_eq!(
            error.unwrap_err().text(),
            "systemctl show a: Failed to get properties: Transport endpoint"
        );
    }

    proptest! {
        #[test]
        fn any_text_is_survived(text in "[A-Za-z=\n0-9 -]{0,200}") {
            let service = Service::parse(&text);
            prop_assert!(u8::from(service.active) + u8::from(service.starting) + u8::from(service.failed) <= 1);
        }
    }
}
