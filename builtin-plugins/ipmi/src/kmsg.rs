//! Kernel lines about a management controller that does not answer, Linux 5.4 to 6.18. They become events; the verdict
//! comes from what `ipmitool` says.
//!
//! | line | source below `drivers/char/ipmi/` |
//! |---|---|
//! | `ipmi_si ‹device›: KCS in invalid state ‹n›` | `ipmi_kcs_sm.c`, `start_kcs_transaction` |
//! | `ipmi_si ‹device›: ipmi_kcs_sm: kcs hosed: ‹why›` (`… not ready in time`) | same, `start_error_recovery` |
//! | `‹driver› ‹device›: [IPMI message handler: ]BMC returned incorrect response, expected netfn …`, also `too small a message …` | `ipmi_msghandler.c`, `handle_one_recv_msg` |
//! | `[‹driver› ‹device›: ]IPMI message handler: BMC returned 0x‹n›, retry get bmc device id`, `… device id demangle failed: ‹n›` | same, `bmc_device_id_handler` |
//! | `ipmi_si ‹device›: Could not set the global enables: 0x‹n›.` | `ipmi_si_intf.c`, `handle_transaction_done` |
//! | `ipmi_si ‹device›: There appears to be no BMC at this location` | same, `try_smi_init` |
//! | `IPMI Watchdog: heartbeat send failure: ‹n›`, `… heartbeat failure: ‹n›`, `set timeout error: ‹n›`, `Error ‹n› …` | `ipmi_watchdog.c` |
//!
//! All are matched from the beginning of the line. `KCS: State = ‹n›, ‹n›` is for debugging, and not read.

use gpud_sdk::catalog::Entry;
use gpud_sdk::incidents::{Sighting, is_driver_line};
use gpud_sdk::{CheckContext, Event, Message};

use crate::patterns;

pub use crate::patterns::PATTERNS;

/// Repeats of one kind and interface within this time are counted.
const MERGE_SECONDS: u32 = 300;
/// Longest name of an interface that is taken from a line, bytes.
const MAX_NAME: usize = 64;
const HANDLER: &str = "IPMI message handler: ";

/// The events of messages, oldest first.
pub fn events(context: &CheckContext, messages: &[Message]) -> Vec<Event> {
    let genuine = messages.iter().filter(|message| is_driver_line(message));
    genuine
        .filter_map(|message| {
            let (entry, device, cause) = find(&message.text)?;
            let sighting = Sighting::new(entry.name, entry.event_type(), entry.message)
                .of(device)
                .fact("cause", cause);
            Some(sighting.event(context, message, MERGE_SECONDS))
        })
        .collect()
}

/// What a line tells, of which interface, and its own words.
pub fn find(line: &str) -> Option<(&'static Entry, &str, &str)> {
    if let Some(text) = line.strip_prefix("IPMI Watchdog: ") {
        let fails = [
            "heartbeat send failure",
            "heartbeat failure",
            "set timeout error",
            "Error ",
        ];
        let found = fails.iter().any(|form| text.starts_with(form));
        return found.then_some((&patterns::BMC_WATCHDOG_ERROR, "", text));
    }
    if let Some(text) = line.strip_prefix(HANDLER) {
        return is_error(text).then_some((&patterns::BMC_INTERFACE_ERROR, "", text));
    }
    let (who, text) = line.split_once(": ")?;
    let (driver, device) = who.split_once(' ')?;
    let kind = driver.strip_prefix("ipmi_")?;
    let is_driver = !kind.is_empty() && kind.bytes().all(|byte| byte.is_ascii_lowercase());
    if !is_driver || device.contains(' ') || device.len() > MAX_NAME {
        return None;
    }
    if driver == "ipmi_si" && text.starts_with("There appears to be no BMC at this location") {
        return Some((&patterns::BMC_NOT_FOUND, device, text));
    }
    let text = text.strip_prefix(HANDLER).unwrap_or(text);
    is_error(text).then_some((&patterns::BMC_INTERFACE_ERROR, device, text))
}

fn is_error(text: &str) -> bool {
    let text = text.strip_prefix("ipmi_kcs_sm: ").unwrap_or(text);
    if let Some(state) = text.strip_prefix("KCS in invalid state ") {
        return state.starts_with(|first: char| first.is_ascii_digit());
    }
    if let Some(rest) = text.strip_prefix("BMC returned 0x") {
        let code = rest.split_once(", retry get bmc device id");
        return code.is_some_and(|(code, _)| {
            !code.is_empty() && code.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
        });
    }
    [
        "kcs hosed: ",
        "BMC returned incorrect response",
        "BMC returned too small a message",
        "device id demangle failed",
        "Could not set the global enables",
    ]
    .iter()
    .any(|form| text.starts_with(form))
}

#[cfg(test)]
mod tests {
    use gpud_sdk::catalog::testing;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn lines_and_lookalikes() {
        let cases = [
            (
                "ipmi_si IPI0001:00: KCS in invalid state 6",
                Some(("bmc_interface_error", "IPI0001:00")),
            ),
            (
                "ipmi_si hardcode-ipmi-si.0: There appears to be no BMC at this location",
                Some(("bmc_not_found", "hardcode-ipmi-si.0")),
            ),
            (
                "IPMI message handler: BMC returned 0xff, retry get bmc device id",
                Some(("bmc_interface_error", "")),
            ),
            (
                "ipmi_ssif i2c-IPI0001:06: IPMI message handler: BMC returned incorrect response, expected netfn 7 cmd 22, got netfn 7 cmd 1",
                Some(("bmc_interface_error", "i2c-IPI0001:06")),
            ),
            (
                "IPMI Watchdog: heartbeat send failure: -16",
                Some(("bmc_watchdog_error", "")),
            ),
            ("KCS: State = 5, 44", None),
            ("ipmi_si IPI0001:00: KCS in invalid state x", None),
            ("ipmi_si a b: KCS in invalid state 6", None),
            ("app ipmi_si IPI0001:00: KCS in invalid state 6", None),
        ];
        testing::reads(&cases, |line| {
            find(line).map(|(entry, device, _)| (entry, device))
        });
    }

    #[test]
    fn the_data_file_holds() {
        let file = include_str!("../catalog/patterns.json");
        testing::holds(file, &patterns::CATALOG, events);
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]

        #[test]
        fn what_is_read_is_delivered(line in "(ipmi_si a: |ipmi_x: |IPMI message handler: |IPMI Watchdog: )(IPMI message handler: )?(KCS in invalid state |kcs hosed: |BMC returned 0x[0-9a-g]{0,2}|, retry get bmc device id|heartbeat failure|Error ){0,2}\\PC{0,6}") {
            if find(&line).is_some() {
                testing::is_delivered(&PATTERNS, &line);
            }
        }
    }
}
