//! Writes 100,000 log lines, then a verdict. The component `log-flood/long` writes few lines of 100 KB with line ends in
//! them.

use gpud_sdk::{CheckContext, Checker, Descriptor, Error, HealthState, Report, log};

struct LogFlood;

impl Checker for LogFlood {
    fn check(context: &CheckContext) -> Result<Report, Error> {
        if context.component == "log-flood/long" {
            for _ in 0..8 {
                log!(info, "flood {}", "long\n".repeat(20_000));
            }
        } else {
            for line in 0..100_000 {
                log!(info, "flood {line}");
            }
        }
        Ok(Report::of(HealthState::healthy(context, "said it all")))
    }
}

gpud_sdk::export!(LogFlood: Descriptor::new("log-flood", "Writes 100,000 log lines")
    .and(Descriptor::new("log-flood/long", "Writes long log lines")));
