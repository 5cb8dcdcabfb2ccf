//! Complaints of ConnectX cards (`mlx5_core`) in the kernel log. They become events and do not change the verdict.
//!
//! | line | kernel source | event |
//! |---|---|---|
//! | `Detected insufficient power on the PCIe slot (‹n›W).` | `drivers/net/ethernet/mellanox/mlx5/core/events.c`, `mlx5_pcie_event` | `pci_power_insufficient` |
//! | `Port module event[error]: module ‹n›, Cable error, High Temperature` | the same, `port_module` | `port_module_high_temperature` |
//! | `Port module event[error]: module ‹n›, Cable error, ‹why›`, also `Cable disabled` | the same | `port_module_error` |
//! | `Port module event: module ‹n›, Cable unplugged` | the same | `port_module_unplugged` |
//! | `ACCESS_REG(0x805) op_mod(0x1) failed, status …` | `…/core/cmd.c`, `mlx5_cmd_out_err` | `access_reg_failed` |
//!
//! Names and messages of the first two and the last are GPUd's. `Cable plugged` is silent: every boot prints it.

use std::collections::BTreeMap;

use gpud_sdk::incidents::{Sighting, is_driver_line};
use gpud_sdk::{CheckContext, Event, Message, PortId, Subject};

use crate::patterns;

pub use crate::patterns::PATTERNS;

/// Repeats within this time are counted, seconds.
const MERGE_SECONDS: u32 = 300;
/// A card that may not be asked complains at every question, for ever.
const MERGE_REFUSALS_SECONDS: u32 = 86_400;
/// Cards that are looked up for one batch.
const MAX_LOOKUPS: usize = 32;
/// Key of the RDMA device's name.
const RDMA_DEVICE: &str = "rdma_device";

/// A complaint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Complaint {
    /// The slot gives too little power.
    Power,
    /// The cable's module is too hot.
    Temperature,
    /// The card cannot use the cable's module.
    Module,
    /// A cable's module was taken out, or is missing at the start.
    Unplugged,
    /// The card refuses to be asked.
    Refusal,
}

/// Returns the complaint of a line; the first that matches, in this order.
pub fn find(text: &str) -> Option<Complaint> {
    let line = of_driver(text)?;
    power(line).or_else(|| {
        if has_in_order(line, &["Port module event", "High Temperature"]) {
            Some(Complaint::Temperature)
        } else if let Some(event) = module_event(text) {
            Some(event.complaint)
        } else if has_in_order(line, &["mlx5_cmd_out_err", "ACCESS_REG", "failed"]) {
            Some(Complaint::Refusal)
        } else {
            None
        }
    })
}

/// The first line of a text, if it begins as the driver's do: `mlx5_core ‹id›: `, `infiniband mlx5_‹n›: ` or, without the
/// card, with the name of one of its functions.
fn of_driver(text: &str) -> Option<&str> {
    let line = text.split('\n').next()?;
    let by = line.strip_prefix("infiniband ").unwrap_or(line);
    by.starts_with("mlx5_").then_some(line)
}

/// A line about a module.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct ModuleEvent<'a> {
    complaint: Complaint,
    module: &'a str,
    cause: &'a str,
}

/// `Port module event[error]: module ‹n›, ‹state›[, ‹why›]`.
fn module_event(text: &str) -> Option<ModuleEvent<'_>> {
    let (_, rest) = of_driver(text)?.split_once("Port module event")?;
    let rest = rest.strip_prefix("[error]").unwrap_or(rest);
    let (module, rest) = rest.strip_prefix(": module ")?.split_once(", ")?;
    let is_number = !module.is_empty() && module.bytes().all(|byte| byte.is_ascii_digit());
    let (state, cause) = rest.split_once(", ").unwrap_or((rest, ""));
    let (complaint, cause) = match state {
        // Overheating is reported already.
        "Cable error" if cause.starts_with('H') => return None,
        "Cable error" => (Complaint::Module, cause),
        "Cable disabled" => (Complaint::Module, "disabled"),
        "Cable unplugged" => (Complaint::Unplugged, ""),
        _ => return None,
    };
    is_number.then_some(ModuleEvent {
        complaint,
        module,
        cause: cause.trim_end(),
    })
}

fn power(line: &str) -> Option<Complaint> {
    let parts = line.split("Detected insufficient power on the PCIe slot (");
    let mut rests = parts.skip(1);
    let is_watts = |rest: &str| {
        let after = rest.trim_start_matches(|c: char| c.is_ascii_digit());
        after.len() < rest.len() && after.starts_with("W)")
    };
    rests.any(is_watts).then_some(Complaint::Power)
}

fn has_in_order(line: &str, words: &[&str]) -> bool {
    let found = words.iter().try_fold(line, |rest, word| {
        rest.split_once(word).map(|(_, after)| after)
    });
    found.is_some()
}

/// The first PCI id in a text, `dddd:bb:dd.f`, in lower case.
pub fn pci_id(text: &str) -> Option<String> {
    const SHAPE: &[u8; 12] = b"xxxx:xx:xx.7";
    let fits = |window: &&[u8]| {
        SHAPE.iter().zip(*window).all(|(shape, byte)| match shape {
            b'x' => byte.is_ascii_hexdigit(),
            b'7' => (b'0'..=b'7').contains(byte),
            other => byte == other,
        })
    };
    let found = text.as_bytes().windows(SHAPE.len()).find(fits)?;
    Some(String::from_utf8_lossy(found).to_ascii_lowercase())
}

/// The card of a message: named in its line, or in the record's dictionary (`DEVICE=+pci:0000:9a:00.0`).
fn card(message: &Message) -> Option<String> {
    pci_id(&message.text).or_else(|| {
        let pairs = message.dictionary.iter().flatten();
        pairs.into_iter().find_map(|(_, value)| pci_id(value))
    })
}

/// The events of messages. `name_of` tells the RDMA device of a PCI id.
pub fn events(
    context: &CheckContext,
    messages: &[Message],
    mut name_of: impl FnMut(&str) -> Option<String>,
) -> Vec<Event> {
    let mut names: BTreeMap<String, Option<String>> = BTreeMap::new();
    let mut look_up = |id: &str| match names.get(id) {
        Some(name) => name.clone(),
        None if names.len() < MAX_LOOKUPS => {
            let name = name_of(id);
            names.insert(id.to_owned(), name.clone());
            name
        }
        None => None,
    };
    let lines = messages.iter().filter(|message| is_driver_line(message));
    lines
        .filter_map(|message| {
            let complaint = find(&message.text)?;
            let card = card(message);
            let name = card.as_deref().and_then(&mut look_up);
            Some(event(context, message, complaint, card, name))
        })
        .collect()
}

fn event(
    context: &CheckContext,
    message: &Message,
    complaint: Complaint,
    card: Option<String>,
    name: Option<String>,
) -> Event {
    let entry = match complaint {
        Complaint::Power => patterns::PCI_POWER_INSUFFICIENT,
        Complaint::Temperature => patterns::PORT_MODULE_HIGH_TEMPERATURE,
        Complaint::Module => patterns::PORT_MODULE_ERROR,
        Complaint::Unplugged => patterns::PORT_MODULE_UNPLUGGED,
        Complaint::Refusal => patterns::ACCESS_REG_FAILED,
    };
    let module = module_event(&message.text);
    let (text, window) = match (complaint, &card) {
        (Complaint::Refusal, Some(card)) => (
            entry.say_otherwise(&[("card", card)]),
            MERGE_REFUSALS_SECONDS,
        ),
        (Complaint::Module, _) => {
            let cause = module.map(|event| event.cause);
            let cause = cause.filter(|cause| !cause.is_empty()).unwrap_or("unknown");
            (entry.say(&[("cause", cause)]), MERGE_SECONDS)
        }
        _ => (entry.message.to_owned(), MERGE_SECONDS),
    };
    let mut sighting =
        Sighting::new(entry.name, entry.event_type(), text).of(card.unwrap_or_default());
    // A function of these cards has one port.
    sighting.subject = name.as_ref().map(|device| {
        Subject::Port(PortId {
            device: device.clone(),
            port: 1,
        })
    });
    if let Some(event) = module {
        sighting = sighting
            .fact("module", event.module)
            .fact("cause", event.cause);
    }
    sighting
        .fact(RDMA_DEVICE, name.unwrap_or_default())
        .event(context, message, window)
}

#[cfg(test)]
mod tests;
