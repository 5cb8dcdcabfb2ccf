//! Parses the output of `systemctl` (systemctl(1); properties: org.freedesktop.systemd1(5)).

/// Failed units that are taken.
const MAX_FAILED: usize = 200;

/// A unit that was asked for by name.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Unit {
    /// Its name; for an alias, that of the unit behind it.
    pub name: String,
    /// False: there is no such unit.
    pub installed: bool,
    /// `active`, `inactive`, `failed`, `activating` and so on.
    pub active: String,
    /// In more detail, for example `running`, `auto-restart`.
    pub sub: String,
    /// Why it failed, for example `exit-code`, `oom-kill`.
    pub result: String,
    /// Automatic restarts since it was loaded; services only, systemd 235 and later.
    pub restarts: Option<u64>,
}

impl Unit {
    /// Whether systemd waits to start it once more after it failed. It is in this state for a moment only each time, so a
    /// check that meets it there met one that fails again and again, whatever the counter does until the next check.
    pub fn is_in_crash_loop(&self) -> bool {
        self.active == "activating"
            && self.sub.starts_with("auto-restart")
            && !matches!(self.result.as_str(), "" | "success")
    }
}

/// The names in what `list-units --plain --no-legend` says: the first word of each line.
pub fn failed(text: &str) -> Vec<String> {
    let names = text.lines().filter_map(|line| {
        // Old versions put a bullet in front all the same.
        line.split_whitespace()
            .find(|word| word.is_ascii() && word.contains('.'))
    });
    names.take(MAX_FAILED).map(str::to_owned).collect()
}

/// The units in what `show` says: blocks of `key=value` with an empty line between.
pub fn shown(text: &str) -> Vec<Unit> {
    text.split("\n\n").filter_map(block).collect()
}

fn block(text: &str) -> Option<Unit> {
    let mut unit = Unit::default();
    for (key, value) in text.lines().filter_map(|line| line.split_once('=')) {
        match key {
            "Id" => value.clone_into(&mut unit.name),
            "LoadState" => unit.installed = !matches!(value, "not-found" | "masked"),
            "ActiveState" => value.clone_into(&mut unit.active),
            "SubState" => value.clone_into(&mut unit.sub),
            "Result" => value.clone_into(&mut unit.result),
            "NRestarts" => unit.restarts = value.parse().ok(),
            _ => {}
        }
    }
    (!unit.name.is_empty()).then_some(unit)
}

/// Whether systemctl complains that there is no systemd to talk to, as in a container with the host's `/run` but without
/// its bus. One that is there and does not take calls is another thing.
pub fn is_absent(complaint: &str) -> bool {
    let no_bus = ["connect to bus", "connect to system"];
    let dead = ["refused", "timed out"];
    let has = |words: &[&str]| words.iter().any(|words| complaint.contains(words));
    complaint.contains("been booted") || has(&no_bus) && !has(&dead)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn texts() {
        let text =
            "foo.service loaded failed failed Foo bar\n● x@1.timer loaded failed failed X\n\n";
        assert_eq!(failed(text), ["foo.service", "x@1.timer"]);
        assert!(failed("").is_empty());
        let text = "Id=a.service\nLoadState=loaded\nActiveState=failed\nSubState=failed\nResult=oom-kill\nNRestarts=3\n\nId=b.service\nLoadState=not-found\nActiveState=inactive\nSubState=dead\n";
        let units = shown(text);
        assert_eq!(units.len(), 2);
        assert_eq!(
            (units[0].result.as_str(), units[0].restarts),
            ("oom-kill", Some(3))
        );
        assert!(units[0].installed && !units[1].installed);
    }

    /// The first is of Debian 12 on a machine without systemd.
    #[test]
    fn no_systemd_to_talk_to() {
        for (complaint, expected) in [
            (
                "System has not been booted with systemd as init system (PID 1). Can't operate.",
                true,
            ),
            ("Failed to connect to bus: No such file or directory", true),
            (
                "Failed to connect to system scope bus via local transport: No such file or directory",
                true,
            ),
            ("Failed to connect to bus: Connection refused", false),
            ("Failed to connect to bus: Connection timed out", false),
            ("Failed to list units: Connection timed out", false),
        ] {
            assert_eq!(is_absent(complaint), expected, "{complaint}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_survived(text in "[ -~\n=]{0,200}") {
            failed(&text);
            shown(&text);
        }
    }
}
