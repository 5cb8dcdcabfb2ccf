//! Judges one reading.

use gpud_sdk::files::gauge;
use gpud_sdk::findings::{self, Finding, Memory};
use gpud_sdk::{CheckContext, Report};

/// What is read.
pub const FILE: &str = "/proc/sys/kernel/random/entropy_avail";
/// Gauge: random bits that are ready.
pub const AVAILABLE: &str = "entropy_available_bits";
/// Below this many bits, programs that ask for random numbers wait.
const LEAST: u64 = 128;

/// Judges the text of the file, or its absence.
pub fn judge(context: &CheckContext, text: Option<&str>, before: &Memory) -> (Report, Memory) {
    let Some(bits) = text.and_then(|text| text.parse::<u64>().ok()) else {
        let reason = "the kernel does not say how much entropy it has";
        return (findings::unsupported(context, reason), Memory::default());
    };
    let low = (bits < LEAST).then(|| {
        let text = format!("{bits} random bits are ready, fewer than {LEAST}");
        Finding::degraded("entropy", "entropy_low", text)
            .advice("Install a source of entropy, such as rngd.")
            .from_file(FILE)
    });
    let (report, after) = findings::judge(context, "ok", low.as_slice(), before);
    (report.gauge(AVAILABLE, gauge(bits)), after)
}

#[cfg(test)]
mod tests {
    use super::*;
    use gpud_sdk::Health;
    use gpud_sdk::testing::test_context;

    #[test]
    fn verdicts() {
        let context = test_context("entropy", 1_000);
        for (text, health, events) in [("256", Health::Healthy, 0), ("127", Health::Degraded, 1)] {
            let (report, _) = judge(&context, Some(text), &Memory::default());
            assert_eq!(
                (&report.states[0].health, report.events.len()),
                (&health, events)
            );
        }
        for text in [None, Some("many")] {
            assert!(!judge(&context, text, &Memory::default()).0.supported);
        }
    }
}
