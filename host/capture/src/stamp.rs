//! The time stamps that lines begin with.

use jiff::tz::TimeZone;

use super::{
    calendar::{Calendar, CalendarTime},
    format::Format,
    months,
    scan::Scan,
};
use crate::model::UnixMillis;

const MONTHS: [&[u8]; 12] = [
    b"Jan", b"Feb", b"Mar", b"Apr", b"May", b"Jun", b"Jul", b"Aug", b"Sep", b"Oct", b"Nov", b"Dec",
];
const WEEKDAYS: [&[u8]; 7] = [b"Mon", b"Tue", b"Wed", b"Thu", b"Fri", b"Sat", b"Sun"];
/// Bytes in which a date in brackets ends; weekdays and months of some languages are long.
const MAX_DATE: usize = 72;

/// The time of a message as its line states it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stamp {
    /// Unix milliseconds.
    Wall(UnixMillis),
    /// Unix milliseconds in the latest year that is not in the future, as the line has no year.
    Yearless(UnixMillis),
    /// The start of the minute in which the message was logged, likewise.
    Minute(UnixMillis),
    /// Microseconds since boot.
    Boot(u64),
    /// Microseconds since the previous message.
    Delta(i64),
    /// The line has no time.
    None,
}

impl Stamp {
    /// The wall-clock time, Unix milliseconds.
    pub fn wall(&self) -> Option<UnixMillis> {
        match self {
            Self::Wall(at) | Self::Yearless(at) | Self::Minute(at) => Some(*at),
            Self::Boot(_) | Self::Delta(_) | Self::None => None,
        }
    }
}

/// A stamp within brackets, with the space after it and the caller that a kernel with `CONFIG_PRINTK_CALLER` prints.
pub(super) fn bracket(scan: &mut Scan, calendar: &mut Calendar) -> Option<(Format, Stamp)> {
    scan.literal(b"[")?;
    let start = *scan;
    let found = match scan.peek()? {
        b'<' => Some((Format::DmesgDelta, Stamp::Delta(delta(scan)?))),
        b'A'..=b'Z' => named(scan, calendar),
        _ => since(scan, Decimals::Six),
    };
    let found = match found {
        Some(found) => found,
        None => {
            *scan = start;
            localized(scan, calendar)?
        }
    };
    close(scan)?;
    Some(found)
}

/// How many decimals a stamp in seconds has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Decimals {
    /// Six, as the kernel and all its tools write: this tells a stamp from brackets of the message's own.
    Six,
    /// One to nine: people and other tools shorten them.
    Any,
}

/// The kernel's own stamp, microseconds since boot.
pub(super) fn kernel(scan: &mut Scan, decimals: Decimals) -> Option<u64> {
    scan.literal(b"[")?;
    let (_, Stamp::Boot(micros)) = since(scan, decimals)? else {
        return None;
    };
    close(scan)?;
    Some(micros)
}

/// `[2026-04-22T21:27:51.3Z]`, and the colon that Talos writes after it.
pub(super) fn bracketed_iso(scan: &mut Scan, calendar: &mut Calendar) -> Option<Stamp> {
    scan.literal(b"[")?;
    let end = scan.0.iter().position(|&byte| byte == b']')?;
    let mut inside = Scan(scan.0.get(..end)?);
    let mut moment = date(&mut inside)?;
    if !inside.maybe(b"T") {
        inside.literal(b" ")?;
    }
    moment = time(&mut inside, moment, true)?;
    moment.millis += decimals(&mut inside)?;
    inside.spaces();
    if !inside.0.is_empty() {
        moment.offset = Some(offset(&mut inside)?);
    }
    scan.0 = scan.0.get(end..)?;
    close(scan)?;
    scan.maybe(b": ");
    dated(moment, calendar)
}

/// Whether a stamp within brackets stands here, of any kind.
pub(super) fn is_bracket(scan: Scan) -> bool {
    // Only to see whether these are dates; none of them is used.
    let zone = TimeZone::UTC;
    let mut calendar = Calendar::new(UnixMillis::MAX, &zone);
    let begins_date = |byte: &u8| byte.is_ascii_alphanumeric() || !byte.is_ascii();
    kernel(&mut Scan(scan.0), Decimals::Any).is_some()
        || scan.0.get(1).is_some_and(begins_date)
            && bracket(&mut Scan(scan.0), &mut calendar).is_some()
        || matches!(scan.0.get(1), Some(b'0'..=b'9'))
            && bracketed_iso(&mut Scan(scan.0), &mut calendar).is_some()
}

/// The end of a stamp within brackets.
fn close(scan: &mut Scan) -> Option<()> {
    scan.literal(b"]")?;
    let mut caller = *scan;
    caller.maybe(b" ");
    if take_caller(&mut caller).is_some() {
        *scan = caller;
    }
    scan.maybe(b" ");
    Some(())
}

/// `[    T12]`, `[C3]`: the thread or processor that printed.
fn take_caller(scan: &mut Scan) -> Option<()> {
    scan.literal(b"[")?;
    scan.spaces();
    scan.one_of(&[b"T", b"C"])?;
    scan.number()?;
    scan.literal(b"]")
}

/// Seconds since boot, or a sign and seconds since the message before.
fn since(scan: &mut Scan, decimals: Decimals) -> Option<(Format, Stamp)> {
    scan.spaces();
    if matches!(scan.peek()?, b'+' | b'-') {
        return Some((Format::DmesgReltime, Stamp::Delta(signed(scan)?)));
    }
    let before = scan.0.len();
    let whole = scan.number()?;
    scan.literal(b".")?;
    let part = match decimals {
        Decimals::Six => scan.digits(6)?.into(),
        Decimals::Any => scan.fraction(100_000)?,
    };
    let micros = whole.checked_mul(1_000_000)?.checked_add(part)?;
    if before - scan.0.len() > 24 {
        return None;
    }
    if scan.maybe(b" ") {
        delta(scan)?;
    }
    Some((Format::Dmesg, Stamp::Boot(micros)))
}

/// `<    0.036001>` of dmesg, `<    0.036001 >` and `<    0.036001*>` of journalctl.
fn delta(scan: &mut Scan) -> Option<i64> {
    scan.literal(b"<")?;
    scan.spaces();
    let micros = signed(scan)?;
    let _ = scan.maybe(b" ") || scan.maybe(b"*");
    scan.literal(b">")?;
    Some(micros)
}

fn signed(scan: &mut Scan) -> Option<i64> {
    let negative = scan.maybe(b"-");
    let _ = !negative && scan.maybe(b"+");
    let micros = i64::try_from(scan.seconds()?).ok()?;
    Some(if negative { -micros } else { micros })
}

/// `Sat Nov 21 04:14:13 2026`, with a difference or not; `Nov21 04:14`.
fn named(scan: &mut Scan, calendar: &mut Calendar) -> Option<(Format, Stamp)> {
    if let Some(month) = month(scan) {
        let day = day(scan)?;
        let moment = clock(scan, CalendarTime { day, ..month }, false)?;
        let minute = calendar.unix_ms(moment)?;
        return Some((Format::DmesgReltime, Stamp::Minute(minute)));
    }
    scan.one_of(&WEEKDAYS)?;
    scan.literal(b" ")?;
    let mut moment = syslog_moment(scan)?;
    scan.literal(b" ")?;
    moment.year = Some(scan.digits(4)?);
    if scan.maybe(b" ") {
        delta(scan)?;
    }
    let at = calendar.unix_ms(moment)?;
    Some((Format::DmesgCtime, Stamp::Wall(at)))
}

/// A date of dmesg in the user's language: `Sa Nov 21 04:14:13 2026`, `sam. nov. 21 04:14:13 2026`, with a difference or
/// not; `nov.21 04:14`, `11月21 04:14`. Names are separated by spaces only where the language has them.
fn localized(scan: &mut Scan, calendar: &mut Calendar) -> Option<(Format, Stamp)> {
    let mut bytes = scan.0.iter().take(MAX_DATE);
    let end = bytes.position(|&byte| byte == b']')?;
    let (inside, rest) = scan.0.split_at_checked(end)?;
    let date = inside.split(|&byte| byte == b'<').next()?;
    let mut words = date
        .split(|&byte| byte == b' ')
        .filter(|word| !word.is_empty());
    let words = [(); 6].map(|()| words.next());
    let found = match words {
        [
            Some(weekday),
            Some(month),
            Some(day),
            Some(clock),
            Some(year),
            None,
        ] if !weekday.iter().any(u8::is_ascii_digit) => {
            let mut moment = localized_moment(month, day, clock, true)?;
            moment.year = Some(all(year, |year| year.digits(4))?);
            let at = calendar.unix_ms(moment)?;
            (Format::DmesgCtime, Stamp::Wall(at))
        }
        [Some(month), Some(day), Some(clock), None, ..] => {
            let moment = localized_moment(month, day, clock, false)?;
            let minute = calendar.unix_ms(moment)?;
            (Format::DmesgReltime, Stamp::Minute(minute))
        }
        [Some(date), Some(clock), None, ..] => {
            let digits = date.iter().rev().take_while(|byte| byte.is_ascii_digit());
            let (month, day) = date.split_at_checked(date.len() - digits.count())?;
            let moment = localized_moment(month, day, clock, false)?;
            let minute = calendar.unix_ms(moment)?;
            (Format::DmesgReltime, Stamp::Minute(minute))
        }
        _ => return None,
    };
    scan.0 = rest;
    Some(found)
}

fn localized_moment(month: &[u8], day: &[u8], clock: &[u8], seconds: bool) -> Option<CalendarTime> {
    let date = CalendarTime {
        month: months::number(month)?,
        day: all(day, |day| day.digits(day.0.len().clamp(1, 2)))?,
        ..CalendarTime::default()
    };
    all(clock, |clock| time(clock, date, seconds))
}

/// What a word is read as, if nothing of it is left over.
fn all<T>(word: &[u8], read: impl FnOnce(&mut Scan) -> Option<T>) -> Option<T> {
    let mut scan = Scan(word);
    let value = read(&mut scan)?;
    scan.0.is_empty().then_some(value)
}

/// `Nov 21 04:14:13`, with decimals or not, and a space.
pub(super) fn syslog(scan: &mut Scan, calendar: &mut Calendar) -> Option<Stamp> {
    let moment = syslog_moment(scan)?;
    scan.literal(b" ")?;
    dated(moment, calendar)
}

/// The stamp of a moment.
pub(super) fn dated(moment: CalendarTime, calendar: &mut Calendar) -> Option<Stamp> {
    let at = calendar.unix_ms(moment)?;
    Some(match moment.year {
        Some(_) => Stamp::Wall(at),
        None => Stamp::Yearless(at),
    })
}

fn syslog_moment(scan: &mut Scan) -> Option<CalendarTime> {
    let month = month(scan)?;
    scan.literal(b" ")?;
    let day = day(scan)?;
    clock(scan, CalendarTime { day, ..month }, true)
}

/// `2026-11-21T04:14:13`, decimals after a point or a comma, a zone or none, and a space. dmesg is who writes a comma.
pub(super) fn iso(scan: &mut Scan, calendar: &mut Calendar) -> Option<(Format, Stamp)> {
    let mut moment = date(scan)?;
    if !scan.maybe(b"T") {
        scan.literal(b" ")?;
    }
    moment = time(scan, moment, true)?;
    let format = match scan.peek() {
        Some(b',') => Format::DmesgIso,
        _ => Format::SyslogIso,
    };
    moment.millis += decimals(scan)?;
    if scan.peek()? != b' ' {
        moment.offset = Some(offset(scan)?);
    }
    scan.literal(b" ")?;
    Some((format, Stamp::Wall(calendar.unix_ms(moment)?)))
}

/// `Sat 2026-11-21 04:14:13 CET` and a space. Letters other than UTC and GMT do not tell which zone it is.
pub(super) fn journal_full(scan: &mut Scan, calendar: &mut Calendar) -> Option<Stamp> {
    scan.one_of(&WEEKDAYS)?;
    scan.literal(b" ")?;
    let date = date(scan)?;
    let mut moment = clock(scan, date, true)?;
    scan.literal(b" ")?;
    let mut zone = Scan(scan.word());
    if matches!(zone.0, b"UTC" | b"GMT") {
        moment.offset = Some(0);
    } else if matches!(zone.peek()?, b'+' | b'-') {
        moment.offset = Some(offset(&mut zone)?);
    } else if !zone.0.iter().all(u8::is_ascii_alphabetic) {
        return None;
    }
    Some(Stamp::Wall(calendar.unix_ms(moment)?))
}

/// `1795234453.692956` and a space. Nine digits: since 1973; fewer are some other number.
pub(super) fn unix(scan: &mut Scan) -> Option<Stamp> {
    let digits = scan.0.iter().take_while(|byte| byte.is_ascii_digit());
    if !(9..=11).contains(&digits.count()) {
        return None;
    }
    let micros = scan.seconds()?;
    scan.literal(b" ")?;
    Some(Stamp::Wall(micros / 1000))
}

fn month(scan: &mut Scan) -> Option<CalendarTime> {
    let month = scan.one_of(&MONTHS)?;
    Some(CalendarTime {
        month: u32::from(month) + 1,
        ..CalendarTime::default()
    })
}

/// Two digits, or a space and one.
fn day(scan: &mut Scan) -> Option<u32> {
    if scan.maybe(b" ") {
        return scan.digits(1);
    }
    scan.digits(2)
}

pub(super) fn date(scan: &mut Scan) -> Option<CalendarTime> {
    let year = Some(scan.digits(4)?);
    scan.literal(b"-")?;
    let month = scan.digits(2)?;
    scan.literal(b"-")?;
    Some(CalendarTime {
        year,
        month,
        day: scan.digits(2)?,
        ..CalendarTime::default()
    })
}

/// A space and the time, with seconds and decimals or without.
fn clock(scan: &mut Scan, date: CalendarTime, seconds: bool) -> Option<CalendarTime> {
    scan.literal(b" ")?;
    let mut moment = time(scan, date, seconds)?;
    if seconds {
        moment.millis += decimals(scan)?;
    }
    Some(moment)
}

pub(super) fn time(scan: &mut Scan, date: CalendarTime, seconds: bool) -> Option<CalendarTime> {
    let hour = scan.digits(2)?;
    scan.literal(b":")?;
    let minute = scan.digits(2)?;
    let mut millis = 0;
    if seconds {
        scan.literal(b":")?;
        millis = u64::from(scan.digits(2)?) * 1000;
    }
    Some(CalendarTime {
        hour,
        minute,
        millis,
        ..date
    })
}

/// Milliseconds; none if there is neither point nor comma.
pub(super) fn decimals(scan: &mut Scan) -> Option<u64> {
    if scan.maybe(b".") || scan.maybe(b",") {
        return scan.fraction(100);
    }
    Some(0)
}

/// `Z`, `+01`, `+0100`, `+01:00`, in seconds.
pub(super) fn offset(scan: &mut Scan) -> Option<i32> {
    if scan.maybe(b"Z") {
        return Some(0);
    }
    let negative = scan.maybe(b"-");
    if !negative {
        scan.literal(b"+")?;
    }
    let hours = scan.digits(2)?;
    scan.maybe(b":");
    let minutes = match scan.peek() {
        Some(b'0'..=b'9') => scan.digits(2)?,
        _ => 0,
    };
    let seconds = i32::try_from(hours * 3600 + minutes * 60).ok()?;
    Some(if negative { -seconds } else { seconds })
}

/// `-`, or `[ID NAME="value" …]` as often as it comes (RFC 5424), and the space after it.
pub(super) fn structured_data(scan: &mut Scan) -> Option<()> {
    if !scan.maybe(b"-") {
        if scan.peek()? != b'[' {
            return None;
        }
        while scan.maybe(b"[") {
            let mut quoted = false;
            let mut escaped = false;
            let end = scan.0.iter().position(|&byte| {
                let end = byte == b']' && !quoted;
                quoted ^= byte == b'"' && !escaped;
                escaped = byte == b'\\' && !escaped;
                end
            })?;
            scan.0 = scan.0.get(end + 1..)?;
        }
    }
    scan.maybe(b" ");
    Some(())
}
