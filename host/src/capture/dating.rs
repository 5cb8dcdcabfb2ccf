//! The wall-clock time of every message, once all stamps are known.

use super::{Clock, stamp::Stamp};
use crate::{model::UnixMillis, node::kmsg::KernelMessage};

/// Dates all messages. `starts`: where each boot begins; `end`: when the last message was logged, where only the time
/// since boot is known.
pub(super) fn date(
    messages: &mut [KernelMessage],
    stamps: &[Stamp],
    starts: &[usize],
    end: UnixMillis,
) -> Clock {
    let any = |kind: fn(&Stamp) -> bool| stamps.iter().any(kind);
    if any(|stamp| stamp.wall().is_some()) {
        wall(messages, stamps);
        Clock::Wall
    } else if any(|stamp| matches!(stamp, Stamp::Boot(_) | Stamp::Delta(_))) {
        since_boot(messages, stamps, starts, end);
        Clock::SinceBoot
    } else {
        messages.iter_mut().for_each(|message| message.time = end);
        Clock::None
    }
}

/// A message without a wall-clock stamp has the time of the one before; the first ones that of the first with a stamp.
fn wall(messages: &mut [KernelMessage], stamps: &[Stamp]) {
    let first = stamps.iter().find_map(Stamp::wall);
    let mut at = first.unwrap_or(0);
    // The part of differences that is not a whole millisecond yet.
    let mut micros = 0;
    let mut known = false;
    for (message, stamp) in messages.iter_mut().zip(stamps) {
        match stamp {
            Stamp::Wall(wall) | Stamp::Yearless(wall) | Stamp::Minute(wall) => {
                at = *wall;
                micros = 0;
                known = true;
            }
            Stamp::Delta(delta) if known => {
                micros += i128::from(*delta);
                at = at.saturating_add_signed(clamped(micros.div_euclid(1000)));
                micros = micros.rem_euclid(1000);
            }
            Stamp::Delta(_) | Stamp::Boot(_) | Stamp::None => {}
        }
        message.time = at;
    }
}

/// The latest message of the last boot was logged at `end`, and every boot ended when the next one began.
fn since_boot(
    messages: &mut [KernelMessage],
    stamps: &[Stamp],
    starts: &[usize],
    mut end: UnixMillis,
) {
    let mut to = messages.len();
    for &from in starts.iter().rev() {
        let micros = micros_of(stamps.get(from..to).unwrap_or_default());
        let latest = micros.iter().copied().max().unwrap_or(0) / 1000;
        let boot = end.saturating_sub(latest);
        let messages = messages.get_mut(from..to).unwrap_or_default();
        for (message, micros) in messages.iter_mut().zip(micros) {
            // Before 1970 if `end` is no real time: all the same, in order and not after it.
            message.time = (boot.saturating_add(micros / 1000)).min(end);
        }
        end = boot;
        to = from;
    }
}

/// Microseconds since the boot, or since the message before the first where only differences are known.
fn micros_of(stamps: &[Stamp]) -> Vec<u64> {
    let mut last: u64 = 0;
    stamps
        .iter()
        .map(|stamp| {
            match stamp {
                Stamp::Boot(micros) => last = *micros,
                Stamp::Delta(micros) => last = last.saturating_add_signed(*micros),
                _ => {}
            }
            last
        })
        .collect()
}

fn clamped(millis: i128) -> i64 {
    i64::try_from(millis).unwrap_or(if millis < 0 { i64::MIN } else { i64::MAX })
}
