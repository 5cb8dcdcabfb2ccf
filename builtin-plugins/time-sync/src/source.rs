//! The program that keeps the clock, and its answers.
//!
//! | source | fact |
//! |---|---|
//! | `chronyc -c tracking` | chronyc(1), `-c` and `tracking`: 14 values in one line; the third is the stratum, the fourth the time of the last measurement that the clock follows (Unix time), the fifth the clock's offset in seconds, the eleventh and twelfth the delay to the reference and the dispersion, the thirteenth the interval of measurements in seconds, the last the leap status, `Not synchronised` or another. The first, the reference, is `7F7F0101` for a clock that follows nobody but itself (`local` of chrony.conf(5)) |
//! | `timedatectl show` | timedatectl(1), org.freedesktop.timedate1(5): `NTP` a service is switched on, `NTPSynchronized` the kernel's word (`adjtimex`, maximum error below 16 s) |
//! | `timedatectl status` | the same for people, in systemd before 239, which has no `show`: `NTP enabled`, `NTP synchronized` |
//! | `/proc/stat`, `btime` | `Documentation/filesystems/proc.rst`: when the machine booted, in seconds of the wall clock. The kernel computes it at each reading (`fs/proc/stat.c`, `getboottime64`): it moves when the clock is set, and neither while it is slewed nor while the machine sleeps |

use serde::{Deserialize, Serialize};

const LOCAL: &str = "7F7F0101";

/// The known facts.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub enum Source {
    /// chrony runs.
    Chrony {
        /// It follows a time server.
        synchronised: bool,
        /// How far the clock is off, seconds, either way.
        offset: f64,
        /// When it was last measured, Unix seconds; 0 where that is not said.
        measured: u64,
        /// How often it is measured, seconds.
        interval: f64,
        /// By how much the clock may be off at most, by chrony's own account, seconds: it grows while nothing is measured.
        distance: f64,
    },
    /// What systemd says.
    Systemd {
        /// The kernel's clock counts as synchronised.
        synchronised: bool,
        /// A service is switched on that is to do so.
        service: bool,
    },
    /// Neither can be asked.
    Unknown,
}

/// Lines of one answer that are looked at.
const MAX_LINES: usize = 64;

/// Reads what `chronyc -c tracking` says, among warnings that it may print as well.
pub fn tracking(text: &str) -> Option<Source> {
    text.lines().take(MAX_LINES).find_map(tracking_line)
}

fn tracking_line(line: &str) -> Option<Source> {
    let fields: Vec<&str> = line.split(',').map(str::trim).collect();
    let [
        reference,
        _,
        _,
        measured,
        offset,
        ..,
        delay,
        dispersion,
        interval,
        leap,
    ] = fields.as_slice()
    else {
        return None;
    };
    let number = |text: &str| -> Option<f64> {
        let number: f64 = text.parse().ok()?;
        number.is_finite().then(|| number.abs())
    };
    let whole = measured.split('.').next().unwrap_or_default();
    Some(Source::Chrony {
        synchronised: *leap != "Not synchronised" && *reference != LOCAL,
        offset: number(offset)?,
        measured: whole.parse().unwrap_or(0),
        interval: number(interval).unwrap_or(0.0),
        distance: number(delay).unwrap_or(0.0) / 2.0 + number(dispersion).unwrap_or(0.0),
    })
}

/// Reads what `timedatectl show` says.
pub fn timedate(text: &str) -> Source {
    let value = |key: &str| {
        let mut lines = text.lines().filter_map(|line| line.split_once('='));
        lines
            .find(|(name, _)| *name == key)
            .map(|(_, value)| value.trim() == "yes")
    };
    match value("NTPSynchronized") {
        Some(synchronised) => Source::Systemd {
            synchronised,
            service: value("NTP").unwrap_or(false),
        },
        None => Source::Unknown,
    }
}

/// Reads what `timedatectl status` says to people, in the words of all versions of systemd.
pub fn timedate_status(text: &str) -> Source {
    let value = |keys: &[&str]| {
        let mut lines = text.lines().filter_map(|line| line.split_once(':'));
        let line = lines.find(|(name, _)| keys.contains(&name.trim()));
        line.map(|(_, value)| matches!(value.trim(), "yes" | "active"))
    };
    match value(&["System clock synchronized", "NTP synchronized"]) {
        Some(synchronised) => Source::Systemd {
            synchronised,
            service: value(&["NTP service", "NTP enabled", "Network time on"]).unwrap_or(false),
        },
        None => Source::Unknown,
    }
}

/// When the machine booted by the clock of now, unix seconds.
pub fn boot_time(stat: &str) -> Option<u64> {
    let line = stat.lines().find_map(|line| line.strip_prefix("btime "))?;
    line.trim().parse().ok()
}

#[cfg(test)]
mod tests;
