//! Kernel lines about heat, Linux 5.4 to 6.18.
//!
//! | line | source |
//! |---|---|
//! | `[mce: ]CPU‹n›: (Core or Package) temperature above threshold, cpu clock throttled (total events = ‹n›)` | `arch/x86/kernel/cpu/mce/therm_throt.c`, `therm_throt_process`, up to 5.5 |
//! | `[mce: ]CPU‹n›: (Core or Package) temperature/speed normal` | same |
//! | `CPU‹n›: (Core or Package) temperature is above threshold, cpu clock is throttled (total events = ‹n›)` | `drivers/thermal/intel/therm_throt.c`, `throttle_active_work`: after seconds of rising heat, at most every five minutes |
//! | `CPU‹n›: (Core or Package) temperature/speed normal (total events = ‹n›)` | same |
//! | `thermal thermal_zone‹n›: critical temperature reached (‹n› C), shutting down` | `drivers/thermal/thermal_core.c`, `handle_critical_trips`, up to 5.10 |
//! | `thermal thermal_zone‹n›: ‹type›: critical temperature reached[, shutting down]` | same, `thermal_zone_device_critical`, later `thermal_zone_device_halt` |
//! | `Critical temperature reached (‹n› C), shutting down.` | `drivers/acpi/thermal.c` of older kernels |
//! | `reboot: HARDWARE PROTECTION ‹action› (Temperature too high)` | `kernel/reboot.c`, `__hw_protection_trigger` (earlier `hw_protection_shutdown`) |

use crate::counters::Level;

pub use crate::patterns::PATTERNS;

/// A kernel line that the checker knows, with its facts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MatchedLine<'a> {
    /// A processor runs slower.
    Throttled {
        /// Which.
        cpu: &'a str,
        /// It alone or its package.
        level: Level,
        /// How often since boot, as the line has it; may be empty.
        total: &'a str,
    },
    /// It no longer does.
    Normal {
        /// Which.
        cpu: &'a str,
        /// It alone or its package.
        level: Level,
    },
    /// The machine is about to go down.
    Critical {
        /// Which zone and sensor; may be empty.
        zone: &'a str,
        /// Degrees Celsius, as the line has it; may be empty.
        degrees: &'a str,
    },
}

/// Reads a line.
pub fn find(line: &str) -> Option<MatchedLine<'_>> {
    processor(line).or_else(|| critical(line))
}

fn processor(line: &str) -> Option<MatchedLine<'_>> {
    let rest = line.strip_prefix("mce: ").unwrap_or(line);
    let (cpu, rest) = split_digits(rest.strip_prefix("CPU")?);
    if cpu.is_empty() {
        return None;
    }
    let rest = rest.strip_prefix(": ")?;
    let (level, rest) = if let Some(rest) = rest.strip_prefix("Core temperature") {
        (Level::Core, rest)
    } else {
        (Level::Package, rest.strip_prefix("Package temperature")?)
    };
    if rest.starts_with("/speed normal") {
        return Some(MatchedLine::Normal { cpu, level });
    }
    let rest = [
        " above threshold, cpu clock throttled",
        " is above threshold, cpu clock is throttled",
    ]
    .iter()
    .find_map(|form| rest.strip_prefix(form))?;
    let total = rest
        .strip_prefix(" (total events = ")
        .map_or("", |rest| split_digits(rest).0);
    Some(MatchedLine::Throttled { cpu, level, total })
}

fn critical(line: &str) -> Option<MatchedLine<'_>> {
    if let Some(rest) = line.strip_prefix("reboot: HARDWARE PROTECTION ") {
        return rest
            .ends_with("(Temperature too high)")
            .then_some(MatchedLine::Critical {
                zone: "",
                degrees: "",
            });
    }
    if let Some(rest) = line.strip_prefix("Critical temperature reached ") {
        let (degrees, rest) = in_parentheses(rest)?;
        return rest
            .starts_with(", shutting down")
            .then_some(MatchedLine::Critical { zone: "", degrees });
    }
    let rest = line.strip_prefix("thermal ")?;
    let (number, _) = split_digits(rest.strip_prefix("thermal_zone")?);
    if number.is_empty() {
        return None;
    }
    let (zone, rest) = rest.split_once(": critical temperature reached")?;
    if zone.len() > 64 {
        return None;
    }
    let degrees = rest
        .strip_prefix(' ')
        .and_then(in_parentheses)
        .map_or("", |(degrees, _)| degrees);
    Some(MatchedLine::Critical { zone, degrees })
}

/// `(95 C)`, and what follows.
fn in_parentheses(text: &str) -> Option<(&str, &str)> {
    let (degrees, rest) = text.strip_prefix('(')?.split_once(" C)")?;
    let digits = degrees.strip_prefix('-').unwrap_or(degrees);
    let number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    number.then_some((degrees, rest))
}

fn split_digits(text: &str) -> (&str, &str) {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    text.split_at_checked(digits).unwrap_or((text, ""))
}

#[cfg(test)]
mod tests;
