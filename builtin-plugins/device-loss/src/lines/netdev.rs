//! Network interfaces whose card does not send what it was given.
//!
//! | line | source |
//! |---|---|
//! | `NETDEV WATCHDOG: ‹interface› (‹driver›): transmit queue ‹n› timed out[ ‹n› ms]`, up to 6.8; only once a boot | `net/sched/sch_generic.c`, `dev_watchdog` |
//! | `[‹driver› ‹id› ]‹interface›: NETDEV WATCHDOG: CPU: ‹n›: transmit queue ‹n› timed out ‹n› ms` | same, later |
//! | `‹driver› ‹id› ‹interface›: TX timeout detected…`, after it | the driver, for example `mlx5e_tx_timeout` in `drivers/net/ethernet/mellanox/mlx5/core/en_main.c` |
//! | `tg3 ‹id› ‹interface›: transmit timed out, resetting` | `drivers/net/ethernet/broadcom/tg3.c`, `tg3_tx_timeout` |
//! | `i40e ‹id› ‹interface›: tx_timeout: VSI_seid: ‹n›, Q ‹n›, …`; of `ice` `tx_timeout: VSI_num: …` | `drivers/net/ethernet/intel/i40e/i40e_main.c`, `i40e_tx_timeout`; `ice/ice_main.c`, `ice_tx_timeout` |
//!
//! What stands before the colon is of `netdev_printk` (`net/core/dev.c`), and names the bus device where there is one. The
//! state of an interface that is coming or going follows its name.

use gpud_sdk::kernel_lines::without_state;

use super::{Kind, MatchedLine, bare_id, is_driver_name, split_digits};

/// Longest name of an interface (`IFNAMSIZ`, without its end).
const MAX_NAME: usize = 15;
const WATCHDOG: &str = "NETDEV WATCHDOG: ";

pub(super) fn find(line: &str) -> Option<MatchedLine<'_>> {
    if let Some(rest) = line.strip_prefix(WATCHDOG) {
        let (interface, rest) = rest.split_once(" (")?;
        let (_driver, rest) = rest.split_once("): ")?;
        return found(interface, None, queue(rest)?);
    }
    let (who, what) = line.split_once(": ")?;
    let plain = ["TX timeout detected", "transmit timed out, resetting"];
    let queue = if plain.iter().any(|form| what.starts_with(form)) {
        ""
    } else if let Some(rest) = what.strip_prefix("tx_timeout: VSI_") {
        let (_, queue) = rest.split_once(", Q ")?;
        split_digits(queue).0
    } else {
        let rest = what.strip_prefix(WATCHDOG)?.strip_prefix("CPU: ")?;
        let (cpu, rest) = split_digits(rest);
        if cpu.is_empty() {
            return None;
        }
        queue(rest.strip_prefix(": ")?)?
    };
    let mut words = without_state(who).split(' ');
    match (words.next(), words.next(), words.next(), words.next()) {
        (Some(driver), Some(id), Some(interface), None)
            if is_driver_name(driver) && !id.is_empty() =>
        {
            found(interface, Some(id), queue)
        }
        (Some(interface), None, ..) if what.starts_with(WATCHDOG) => found(interface, None, queue),
        _ => None,
    }
}

/// `transmit queue ‹n› timed out`.
fn queue(text: &str) -> Option<&str> {
    let (queue, rest) = split_digits(text.strip_prefix("transmit queue ")?);
    (!queue.is_empty() && rest.starts_with(" timed out")).then_some(queue)
}

/// A card is called by its PCI id where the line has it. Other buses (`virtio0`) have none.
fn found<'a>(interface: &'a str, id: Option<&str>, queue: &'a str) -> Option<MatchedLine<'a>> {
    let plain = |byte: u8| byte.is_ascii_graphic() && !matches!(byte, b'/' | b':');
    if interface.is_empty() || interface.len() > MAX_NAME || !interface.bytes().all(plain) {
        return None;
    }
    let device = id.and_then(bare_id).unwrap_or_else(|| interface.to_owned());
    let found = MatchedLine::new(Kind::TxTimeout, device);
    Some(found.fact("interface", interface).fact("queue", queue))
}
