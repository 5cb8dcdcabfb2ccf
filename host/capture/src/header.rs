//! Parses the prefix of a kernel message in a log that another tool wrote: a time, a host and a level, read as far as
//! they can be understood. What cannot be understood does not matter for the message.

use super::{
    calendar::{Calendar, CalendarTime},
    hosts, line, months, priority,
    scan::Scan,
    stamp::{self, Stamp},
};

/// More words than this are not looked at.
const MAX_WORDS: usize = 24;
/// Zones that tools write as letters; other than UTC and GMT they do not say which zone it is.
const ZONES: &[&[u8]] = &[
    b"UTC", b"GMT", b"CET", b"CEST", b"EET", b"EEST", b"MSK", b"WET", b"WEST", b"BST", b"IST",
    b"PST", b"PDT", b"MST", b"MDT", b"CST", b"CDT", b"EST", b"EDT", b"JST", b"KST", b"HKT", b"SGT",
    b"AEST", b"AEDT", b"NZST", b"NZDT",
];

/// The header of a line.
#[derive(Debug, Default)]
pub(super) struct Header<'a> {
    /// The wall-clock time.
    pub stamp: Option<Stamp>,
    /// Empty where none is named.
    pub host: &'a [u8],
    /// The level.
    pub level: Option<u8>,
    /// There is a time, though its day may not be understood.
    pub has_time: bool,
    /// Another program than the kernel logged the line.
    pub of_program: bool,
}

/// Reads what stands before a message.
pub(super) fn read<'a>(prefix: &'a [u8], calendar: &mut Calendar) -> Header<'a> {
    let mut words = HeaderFields::default();
    let is_gap = |byte: &u8| byte.is_ascii_whitespace() || b",\"|=;".contains(byte);
    for (number, word) in prefix
        .split(is_gap)
        .filter(|word| !word.is_empty())
        .take(MAX_WORDS)
        .enumerate()
    {
        words.take(number, word);
    }
    // A space stands behind the name of a host, and none behind that of a file.
    if !prefix.last().is_some_and(u8::is_ascii_whitespace) {
        words.first = b"";
    }
    words.finish(calendar)
}

/// A day of a calendar.
#[derive(Debug, Clone, Copy)]
struct Date {
    /// `None`: not said.
    year: Option<u32>,
    month: u32,
    day: u32,
}

#[derive(Debug, Default)]
struct HeaderFields<'a> {
    date: Option<Date>,
    year: Option<u32>,
    month: Option<u32>,
    day: Option<u32>,
    time: Option<CalendarTime>,
    unix: Option<u64>,
    afternoon: Option<bool>,
    host: &'a [u8],
    first: &'a [u8],
    count: usize,
    host_is_next: bool,
    level: Option<u8>,
    of_program: bool,
    of_guest: bool,
}

impl<'a> HeaderFields<'a> {
    fn take(&mut self, number: usize, word: &'a [u8]) {
        self.count = number + 1;
        if line::has_process_id(word) {
            self.of_program = true;
            return;
        }
        let bare = trimmed(word);
        if bare.is_empty() {
            return;
        }
        if std::mem::take(&mut self.host_is_next) && hosts::is_host(bare) {
            self.host = bare;
            return;
        }
        if self.takes_time(bare) {
            return;
        }
        // `FILE:` of grep before the date.
        let mut rest = bare;
        while let Some(colon) = rest.iter().position(|&byte| byte == b':') {
            rest = rest.get(colon + 1..).unwrap_or_default();
            if number == 0 && !rest.is_empty() && self.takes_time(rest) {
                return;
            }
        }
        if let Some(level) = priority::word(bare) {
            self.level = Some(level);
            return;
        }
        if ZONES.contains(&bare) {
            if let Some(time) = self.time.as_mut()
                && matches!(bare, b"UTC" | b"GMT")
            {
                time.offset = Some(0);
            }
            return;
        }
        self.takes_name(number, word, bare);
    }

    fn takes_name(&mut self, number: usize, word: &'a [u8], bare: &'a [u8]) {
        let name = bare.strip_suffix(b":").unwrap_or(bare);
        match name {
            b"host" | b"hostname" | b"node" => self.host_is_next = true,
            // A hypervisor's log of what a guest prints.
            b"Guest" => self.of_guest = true,
            // `stdout F` is a container runtime's.
            b"kern" | b"kernel" | b"stdout" | b"stderr" | b"F" | b"P" => {}
            _ if self.time.is_some() || self.unix.is_some() => {
                if self.host.is_empty() && hosts::is_host(name) {
                    self.host = name;
                } else if word.ends_with(b":") {
                    self.of_program = true;
                }
            }
            // Digits alone are a line's number.
            _ if number == 0 && hosts::is_host(name) && !name.iter().all(u8::is_ascii_digit) => {
                self.first = word;
            }
            _ => {}
        }
    }

    /// Takes a word that is a part of a time.
    fn takes_time(&mut self, word: &[u8]) -> bool {
        let number = || str::from_utf8(word).ok()?.parse::<u32>().ok();
        let digits = word.iter().all(u8::is_ascii_digit);
        if digits && word.len() == 4 && self.year.is_none() {
            self.year = number().filter(|year| (1970..2200).contains(year));
            return self.year.is_some();
        }
        if self.day.is_none()
            && let Some(day) = day(word)
        {
            self.day = Some(day);
            return true;
        }
        if self.month.is_none()
            && self.date.is_none()
            && let Some(month) = months::number(word)
        {
            self.month = Some(month);
            return true;
        }
        if let Some(date) = date(word) {
            self.date = Some(date);
            return true;
        }
        if let Some(time) = time(word) {
            self.time = Some(time);
            return true;
        }
        if let Some((date, time)) = date_and_time(word) {
            self.date = Some(date);
            self.time = Some(time);
            return true;
        }
        if let Some(unix) = unix(word) {
            self.unix = Some(unix);
            return true;
        }
        match word {
            b"AM" | b"am" => self.afternoon = Some(false),
            b"PM" | b"pm" => self.afternoon = Some(true),
            _ => {
                let mut scan = Scan(word);
                let offset = stamp::offset(&mut scan).filter(|_| scan.0.is_empty());
                let (Some(offset), Some(time)) = (offset, self.time.as_mut()) else {
                    return false;
                };
                time.offset = Some(offset);
            }
        }
        true
    }

    fn finish(self, calendar: &mut Calendar) -> Header<'a> {
        let date = match (self.month, self.day) {
            (Some(month), Some(day)) => Some(Date {
                year: self.year,
                month,
                day,
            }),
            _ => None,
        };
        // The date nearest to the message, but one with a year rather than one without.
        let date = match (date, self.date) {
            (Some(Date { year: None, .. }) | None, Some(date)) => Some(date),
            (date, _) => date,
        };
        let moment = date.zip(self.time).map(|(date, time)| {
            let hour = match self.afternoon {
                Some(true) if time.hour < 12 => time.hour + 12,
                Some(false) if time.hour == 12 => 0,
                _ => time.hour,
            };
            CalendarTime {
                year: date.year,
                month: date.month,
                day: date.day,
                hour,
                ..time
            }
        });
        let stamp = moment
            .and_then(|moment| stamp::dated(moment, calendar))
            .or(self.unix.map(Stamp::Wall));
        // Without a time, a word alone or with a colon is a host's: `h1: [ 12.3] …`.
        let first = match self.first.strip_suffix(b":") {
            Some(host) => host,
            None if self.count == 1 => self.first,
            None => b"",
        };
        let host = match (self.of_guest, self.host.is_empty()) {
            (true, _) => b"",
            (false, true) => first,
            (false, false) => self.host,
        };
        Header {
            stamp,
            host,
            level: self.level,
            has_time: self.time.is_some() || self.unix.is_some(),
            of_program: self.of_program && !self.of_guest,
        }
    }
}

/// Without brackets and quotes around it.
fn trimmed(mut word: &[u8]) -> &[u8] {
    let is_around = |byte: u8| b"[](){}<>'\"*".contains(&byte);
    while let Some((&first, rest)) = word.split_first()
        && is_around(first)
    {
        word = rest;
    }
    while let Some((&last, rest)) = word.split_last()
        && is_around(last)
    {
        word = rest;
    }
    word
}

/// `7`, `07`, `7.` (German and Czech), `7日`.
fn day(word: &[u8]) -> Option<u32> {
    let digits = word
        .strip_suffix(b".")
        .or_else(|| word.strip_suffix("日".as_bytes()))
        .or_else(|| word.strip_suffix("일".as_bytes()))
        .unwrap_or(word);
    if digits.is_empty() || digits.len() > 2 || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let day = str::from_utf8(digits).ok()?.parse().ok()?;
    (1..=31).contains(&day).then_some(day)
}

/// `2026-11-21`, `2026/11/21`, `21.11.2026`, `21-Nov-2026`, `11/21/2026` and the parts of `Nov/21`.
fn date(word: &[u8]) -> Option<Date> {
    let parts: Vec<&[u8]> = word.split(|byte| b"-/.".contains(byte)).collect();
    let [one, two, three] = *parts.as_slice() else {
        return None;
    };
    let number = |part: &[u8], max: usize| {
        let is_number = part.len() <= max && part.iter().all(u8::is_ascii_digit);
        let number = is_number.then(|| str::from_utf8(part).ok()).flatten()?;
        number.parse::<u32>().ok()
    };
    if one.len() == 4 {
        let (year, month, day) = (number(one, 4)?, number(two, 2)?, number(three, 2)?);
        return valid(Some(year), month, day);
    }
    let year = (three.len() == 4).then(|| number(three, 4)).flatten()?;
    if let Some(month) = months::number(two) {
        return valid(Some(year), month, number(one, 2)?);
    }
    let (one, two) = (number(one, 2)?, number(two, 2)?);
    // Only slashes may have the month first, as in the United States.
    let month_first = word.contains(&b'/') && one <= 12;
    match month_first {
        true => valid(Some(year), one, two),
        false => valid(Some(year), two, one),
    }
}

fn valid(year: Option<u32>, month: u32, day: u32) -> Option<Date> {
    let is_valid = (1..=12).contains(&month) && (1..=31).contains(&day);
    is_valid.then_some(Date { year, month, day })
}

/// `15:03:52`, `6:56:57.749644`, with a zone or none.
fn time(word: &[u8]) -> Option<CalendarTime> {
    let padded;
    let word = match word.get(1) {
        Some(b':') => {
            padded = [&b"0"[..], word].concat();
            padded.as_slice()
        }
        _ => word,
    };
    let mut scan = Scan(word);
    let mut moment = stamp::time(&mut scan, CalendarTime::default(), true)?;
    moment.millis += stamp::decimals(&mut scan)?;
    if !scan.0.is_empty() && scan.0 != b":" {
        moment.offset = Some(stamp::offset(&mut scan)?);
        scan.maybe(b":");
    } else {
        scan.maybe(b":");
    }
    scan.0.is_empty().then_some(moment)
}

/// `2026-04-22T21:27:51.3Z`.
fn date_and_time(word: &[u8]) -> Option<(Date, CalendarTime)> {
    let at = word.iter().position(|&byte| matches!(byte, b'T' | b'_'))?;
    let date = date(word.get(..at)?)?;
    Some((date, time(word.get(at + 1..)?)?))
}

/// Seconds, milliseconds, microseconds or nanoseconds since 1970, in milliseconds.
fn unix(word: &[u8]) -> Option<u64> {
    let mut scan = Scan(word);
    let digits = scan.take_while(|byte| byte.is_ascii_digit());
    let number: u64 = str::from_utf8(digits).ok()?.parse().ok()?;
    if scan.maybe(b".") {
        scan.fraction(100)?;
    }
    if !scan.0.is_empty() {
        return None;
    }
    match digits.len() {
        10 => number.checked_mul(1000),
        13 => Some(number),
        16 => Some(number / 1000),
        19 => Some(number / 1_000_000),
        _ => None,
    }
}
