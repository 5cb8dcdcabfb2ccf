//! Lines of the kernel's EDAC core (`drivers/edac/edac_mc.c`, `edac_ce_error` and `edac_ue_error`; the same text from
//! Linux 5.4 to 6.17), whichever driver found the error:
//!
//! ```text
//! EDAC MC0: 1 CE memory read error on CPU_SrcID#0_MC#0_Chan#1_DIMM#0 (channel:1 slot:0 page:0x3f7c0a offset:0xc40 grain:32 syndrome:0x0 -  err_code:0x0101:0x0091)
//! EDAC MC1: 1 UE on mc#1csrow#2channel#0 (csrow:2 channel:0 page:0x8f3 offset:0x0 grain:1)
//! ```
//!
//! The place is what the driver (or the operator, through sysfs) calls the DIMM; several that cannot be distinguished
//! are joined by ` or `, and `any memory` and `unknown memory` stand for none.

use gpud_sdk::boots::BOOT;
use gpud_sdk::incidents::is_driver_line;
use gpud_sdk::{CheckContext, Event, Evidence, Message, Subject};

use crate::patterns;

pub use crate::patterns::PATTERNS;

/// Event of corrected errors.
pub const CORRECTED: &str = patterns::MEMORY_CORRECTED_ERROR.name;
/// Event of uncorrected errors.
pub const UNCORRECTED: &str = patterns::MEMORY_UNCORRECTED_ERROR.name;
/// Facts of an event: memory controller, DIMM, where it is, and how many errors one event stands for.
pub const CONTROLLER: &str = "controller";
/// See [`CONTROLLER`].
pub const DIMM: &str = "dimm";
/// See [`CONTROLLER`].
pub const LOCATION: &str = "location";
/// See [`CONTROLLER`].
pub const ERRORS: &str = "errors";

/// Corrected errors of a DIMM are one event an hour, with a count.
const CORRECTED_WINDOW: u32 = 3_600;
/// Uncorrected ones of a page.
const UNCORRECTED_WINDOW: u32 = 60;
/// Longest part of a line in messages and keys. The kernel's own limit of a label is 32 × 35 bytes.
const MAX_TEXT: usize = 1_200;
/// Longest name of a subject that the host takes, bytes.
const MAX_SUBJECT: usize = 128;

/// The content of a kernel line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Line<'a> {
    /// Number of the memory controller.
    pub controller: u32,
    /// How many errors.
    pub errors: u32,
    /// Data is lost.
    pub uncorrected: bool,
    /// The driver's words for it; may be empty.
    pub what: &'a str,
    /// The DIMM.
    pub dimm: &'a str,
    /// Where it is: `channel:1 slot:0`; may be empty.
    pub location: &'a str,
    /// Page frame number, hexadecimal.
    pub page: &'a str,
}

impl<'a> Line<'a> {
    /// Reads a line, if it is one of ours.
    pub fn parse(line: &'a str) -> Option<Self> {
        let (controller, rest) = number(line.strip_prefix("EDAC MC")?)?;
        let (errors, rest) = number(rest.strip_prefix(": ")?)?;
        let (uncorrected, rest) = match rest.strip_prefix(" UE ") {
            Some(rest) => (true, rest),
            None => (false, rest.strip_prefix(" CE ")?),
        };
        let bare = rest.strip_prefix("on ").map(|place| ("", place));
        let named = rest.match_indices(" on ");
        let named =
            named.filter_map(|(at, on)| Some((rest.get(..at)?, rest.get(at + on.len()..)?)));
        bare.into_iter().chain(named).find_map(|(what, place)| {
            let first = place.chars().next()?.len_utf8();
            let bracket = first + place.get(first..)?.find(" (")?;
            let (location, page) = page(place.get(bracket + 2..)?)?;
            Some(Self {
                controller,
                errors,
                uncorrected,
                what,
                dimm: place.get(..bracket)?,
                location: location.trim(),
                page,
            })
        })
    }

    /// The event that it stands for.
    fn event(&self, context: &CheckContext, message: &Message) -> Event {
        let Self {
            controller, errors, ..
        } = *self;
        let (dimm, location) = (cut(self.dimm), cut(self.location));
        let entry = if self.uncorrected {
            patterns::MEMORY_UNCORRECTED_ERROR
        } else {
            patterns::MEMORY_CORRECTED_ERROR
        };
        let mut place = format!("mc{controller}");
        if !location.is_empty() {
            place.push_str(&format!(", {location}"));
        }
        let mut text = entry.say(&[
            ("errors", &errors.to_string()),
            ("dimm", dimm),
            ("place", &place),
        ]);
        if !self.what.is_empty() {
            text.push_str(&format!(": {}", cut(self.what)));
        }
        // Boots are never counted together: an error on both sides of a reboot is what asks for an inspection.
        let mut key = format!(
            "{} mc{controller} {dimm} {location} {errors}",
            context.boot_id
        );
        let window = if self.uncorrected {
            key.push_str(&format!(" {}", cut(self.page)));
            UNCORRECTED_WINDOW
        } else {
            CORRECTED_WINDOW
        };
        // The kernel's clock can run ahead of the wall clock by a little; the future is refused.
        let time = message.time.min(context.now);
        let mut event =
            Event::new(time, entry.name, entry.event_type(), text).merged_by(key, window);
        event.subject = Some(subject(dimm));
        event.evidence.push(Evidence::Kmsg(message.sequence));
        event.extra_info = facts(
            context,
            &format!("mc{controller}"),
            dimm,
            location,
            errors.into(),
        );
        event
    }
}

/// The facts kept with an event.
pub fn facts(
    context: &CheckContext,
    controller: &str,
    dimm: &str,
    location: &str,
    errors: u64,
) -> Vec<(String, String)> {
    let fact = |key: &str, value: &str| (key.to_owned(), value.to_owned());
    let mut facts = vec![
        fact(CONTROLLER, controller),
        fact(DIMM, dimm),
        fact(LOCATION, location),
        fact(ERRORS, &errors.to_string()),
    ];
    if !context.boot_id.is_empty() {
        facts.push(fact(BOOT, &context.boot_id));
    }
    facts
}

/// A DIMM as a subject. Where the driver cannot tell which of several it was, it names them all (`… or …`), which can be
/// more than the host takes.
pub fn subject(dimm: &str) -> Subject {
    let name = dimm.get(..dimm.floor_char_boundary(MAX_SUBJECT));
    Subject::Other(("dimm".to_owned(), name.unwrap_or(dimm).to_owned()))
}

/// The events of messages, oldest first.
pub fn events(context: &CheckContext, messages: &[Message]) -> Vec<Event> {
    messages
        .iter()
        .filter(|message| is_driver_line(message))
        .filter_map(|message| Some(Line::parse(&message.text)?.event(context, message)))
        .collect()
}

/// Splits a text into the part before the page, and the page.
fn page(text: &str) -> Option<(&str, &str)> {
    const PAGE: &str = "page:0x";
    text.match_indices(PAGE).find_map(|(at, _)| {
        let rest = text.get(at + PAGE.len()..)?;
        let is_hex = |byte: &u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(byte);
        let digits = rest.bytes().take_while(is_hex).count();
        (digits > 0).then_some((text.get(..at)?, rest.get(..digits)?))
    })
}

/// A decimal number that fits, and what follows it.
fn number(text: &str) -> Option<(u32, &str)> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, rest) = text.split_at_checked(digits)?;
    Some((number.parse().ok()?, rest))
}

/// A text of the log, not longer than is useful.
fn cut(text: &str) -> &str {
    let mut end = text.len().min(MAX_TEXT);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(..end).unwrap_or_default()
}

#[cfg(test)]
mod tests;
