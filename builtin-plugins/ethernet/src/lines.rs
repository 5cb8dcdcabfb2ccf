//! Kernel lines of network cards and bonds, Linux 5.4 to 6.18. Per family: [`bonding`], [`drivers`] and [`links`].
//!
//! A line begins `‹driver› ‹PCI id› ‹interface›: ` (`netdev_printk` in `net/core/dev.c`; the state of an interface that is
//! coming or going follows its name), `‹driver› ‹PCI id›: `
//! (`dev_printk`), `‹driver› ‹PCI id› ‹RDMA device›: ` (`__ibdev_printk` in `drivers/infiniband/core/device.c`),
//! `infiniband ‹RDMA device›: ` (`dev_printk` of an RDMA device) or, of a bond, `‹interface›: `. All are matched from the beginning of the line. Interfaces without a card (`docker0`, `veth…`) are
//! left out by that.

mod bonding;
mod drivers;
mod links;

use gpud_sdk::catalog::Entry;
use gpud_sdk::incidents::begins_with_process;
use gpud_sdk::kernel_lines::{INTERFACE, MatchedLine, without_state};

/// Longest name of an interface (`IFNAMSIZ`, without its end) or RDMA device (`IB_DEVICE_NAME_MAX`).
const MAX_NAME: usize = 63;

/// Reads a line.
pub fn find(line: &str) -> Option<MatchedLine<'_>> {
    if begins_with_process(line) {
        return None;
    }
    bonding::find(line).or_else(|| {
        let source = LineSource::read(line)?;
        drivers::find(&source).or_else(|| links::find(&source))
    })
}

/// The driver and card that printed a line, and its text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct LineSource<'a> {
    /// The driver, or `infiniband`.
    driver: &'a str,
    /// The card's PCI id; of `infiniband` the device's name.
    card: &'a str,
    /// The interface or RDMA device; empty where the line has none.
    interface: &'a str,
    /// The interface is neither coming nor going.
    is_registered: bool,
    /// The rest.
    text: &'a str,
}

impl<'a> LineSource<'a> {
    fn read(line: &'a str) -> Option<Self> {
        let (before, text) = line.split_once(": ")?;
        let who = without_state(before);
        let mut words = who.split(' ');
        let driver = words.next()?;
        let card = words.next()?;
        let interface = words.next().unwrap_or("");
        let is_driver = !driver.is_empty()
            && driver
                .bytes()
                .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_');
        let is_known = match driver {
            "infiniband" => is_name(card) && interface.is_empty(),
            _ => is_pci_id(card) && (interface.is_empty() || is_name(interface)),
        };
        (is_driver && is_known && words.next().is_none()).then_some(Self {
            driver,
            card,
            interface,
            is_registered: who == before,
            text,
        })
    }

    fn found(&self, entry: &'static Entry) -> MatchedLine<'a> {
        MatchedLine::new(entry, self.card).fact(INTERFACE, self.interface)
    }

    /// With the line's own words.
    fn because(&self, entry: &'static Entry) -> MatchedLine<'a> {
        self.found(entry).fact("cause", self.text.trim_end())
    }
}

fn is_name(text: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_graphic() && byte != b'/';
    (1..=MAX_NAME).contains(&text.len()) && text.bytes().all(fits)
}

/// `‹domain›:‹bus›:‹device›.‹function›`.
fn is_pci_id(text: &str) -> bool {
    let hexadecimal = |part: Option<&str>, lengths: std::ops::RangeInclusive<usize>| {
        part.is_some_and(|part| {
            lengths.contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_hexdigit())
        })
    };
    let Some((id, function)) = text.split_once('.') else {
        return false;
    };
    let mut parts = id.split(':');
    hexadecimal(parts.next(), 4..=8)
        && hexadecimal(parts.next(), 2..=2)
        && hexadecimal(parts.next(), 2..=2)
        && parts.next().is_none()
        && hexadecimal(Some(function), 1..=1)
}
