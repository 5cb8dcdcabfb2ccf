//! A capture that is too large for memory, read twice: first for what can only be told from all of it (its form, the
//! boots, the times), then for its messages, one after another.

use std::io::{Read, Seek};

use jiff::tz::TimeZone;

use super::{
    Capture, CaptureError, chunks::Chunks, collected::Collected, error, reader::Reader, sample,
};
use crate::{model::UnixMillis, node::kmsg::KernelMessage};

/// A file that can be read again.
pub trait Source: Read + Seek + Send {}

impl<S: Read + Seek + Send> Source for S {}

/// What a capture is, without its messages.
#[derive(Debug)]
pub struct Outline {
    /// All about it; it has no messages, but their count.
    pub capture: Capture,
    /// The time of each message.
    times: Vec<UnixMillis>,
    /// Lines of no form are messages without a stamp.
    plain: bool,
}

impl Outline {
    /// When each boot began, as the time of its first message, and the first entry that of the capture.
    pub fn boot_times(&self) -> Vec<UnixMillis> {
        let time = |first: &usize| self.times.get(*first).copied();
        self.capture.boots.iter().filter_map(time).collect()
    }

    /// The latest time.
    pub fn end(&self) -> Option<UnixMillis> {
        self.times.iter().copied().max()
    }
}

/// Reads a capture for all but its messages; see [`super::read`].
///
/// # Errors
/// The file cannot be read, is compressed or binary, or has too many messages.
pub fn outline(
    source: &mut dyn Source,
    now: UnixMillis,
    zone: &TimeZone,
) -> Result<Outline, CaptureError> {
    let mut plain = false;
    let mut reader = pass(
        source,
        (now, zone),
        plain,
        Collected::passing(Box::new(|_, _| {})),
    )?;
    if reader.is_chance() && begins_plain(source)? {
        plain = true;
        reader = pass(
            source,
            (now, zone),
            plain,
            Collected::passing(Box::new(|_, _| {})),
        )?;
    }
    let (capture, times) = reader.finish(now);
    Ok(Outline {
        capture,
        times,
        plain,
    })
}

/// Reads the messages of a capture and hands them over in the order of the file.
///
/// # Errors
/// As [`outline`].
pub fn replay(
    source: &mut dyn Source,
    outline: &Outline,
    (now, zone): (UnixMillis, &TimeZone),
    mut take: impl FnMut(KernelMessage),
) -> Result<(), CaptureError> {
    let times = &outline.times;
    let dated = |number: usize, mut message: KernelMessage| {
        // Lines that were added since the first reading have the last time.
        message.time = times.get(number).or(times.last()).copied().unwrap_or(now);
        take(message);
    };
    let messages = Collected::passing(Box::new(dated));
    pass(source, (now, zone), outline.plain, messages)?.end();
    Ok(())
}

/// Reads all lines once.
fn pass<'z>(
    source: &mut dyn Source,
    (now, zone): (UnixMillis, &'z TimeZone),
    plain: bool,
    messages: Collected<'z>,
) -> Result<Reader<'z>, CaptureError> {
    source.rewind()?;
    let mut source: &mut dyn Source = source;
    let mut chunks = Chunks::new(&mut source);
    let mut messages = Some(messages);
    let mut reader: Option<Reader<'z>> = None;
    while let Some(mut lines) = chunks.next()? {
        if let Some(messages) = messages.take() {
            error::check(lines)?;
            lines = super::without_mark(lines);
            let programs = sample::has_programs(lines);
            reader = Some(Reader::new(now, zone, programs, plain, messages));
        }
        if let Some(reader) = &mut reader {
            reader.lines(lines)?;
        }
    }
    Ok(match (reader, messages) {
        (Some(reader), _) => reader,
        (None, messages) => {
            let messages = messages.unwrap_or(Collected::All(Vec::new()));
            Reader::new(now, zone, false, plain, messages)
        }
    })
}

fn begins_plain(source: &mut dyn Source) -> Result<bool, CaptureError> {
    source.rewind()?;
    let mut source: &mut dyn Source = source;
    let mut chunks = Chunks::new(&mut source);
    Ok(chunks
        .next()?
        .is_some_and(|lines| sample::is_plain(super::without_mark(lines))))
}
