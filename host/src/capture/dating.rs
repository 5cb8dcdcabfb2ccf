//! The wall-clock time of every message, once all stamps are known.

use super::{Clock, stamp::Stamp};
use crate::model::UnixMillis;

/// The times of all messages. `starts`: where each boot begins; `end`: when the last message was logged, where only the time
/// since boot is known.
pub(super) fn date(
    stamps: &[Stamp],
    starts: &[usize],
    end: UnixMillis,
) -> (Clock, Vec<UnixMillis>) {
    let mut times = vec![end; stamps.len()];
    let any = |kind: fn(&Stamp) -> bool| stamps.iter().any(kind);
    if any(|stamp| matches!(stamp, Stamp::Wall(_) | Stamp::Minute(_))) {
        wall(&mut times, stamps);
        (Clock::Wall, times)
    } else if any(|stamp| matches!(stamp, Stamp::Boot(_) | Stamp::Delta(_))) {
        since_boot(&mut times, stamps, starts, end);
        (Clock::SinceBoot, times)
    } else {
        (Clock::None, times)
    }
}

/// A message without a wall-clock stamp has the time of the one before; the first ones that of the first with a stamp.
fn wall(times: &mut [UnixMillis], stamps: &[Stamp]) {
    let first = stamps.iter().find_map(|stamp| match stamp {
        Stamp::Wall(at) | Stamp::Minute(at) => Some(*at),
        _ => None,
    });
    let mut at = first.unwrap_or(0);
    // The part of differences that is not a whole millisecond yet.
    let mut micros = 0;
    let mut known = false;
    for (time, stamp) in times.iter_mut().zip(stamps) {
        match stamp {
            Stamp::Wall(wall) | Stamp::Minute(wall) => {
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
        *time = at;
    }
}

/// The latest message of the last boot was logged at `end`, and every boot ended when the next one began.
fn since_boot(times: &mut [UnixMillis], stamps: &[Stamp], starts: &[usize], mut end: UnixMillis) {
    let mut to = times.len();
    for &from in starts.iter().rev() {
        let micros = micros_of(stamps.get(from..to).unwrap_or_default());
        let latest = micros.iter().copied().max().unwrap_or(0) / 1000;
        let boot = end.saturating_sub(latest);
        let times = times.get_mut(from..to).unwrap_or_default();
        for (time, micros) in times.iter_mut().zip(micros) {
            // Before 1970 if `end` is no real time: all the same, in order and not after it.
            *time = (boot.saturating_add(micros / 1000)).min(end);
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
