//! From the messages of a file to the log of each host: boots, years and times are found for each host by itself.

use jiff::{Timestamp, ToSpan as _, tz::TimeZone};

use super::{
    HostLog, boots, dating,
    hosts::{HostId, Hosts, NO_HOST},
    reader::Entry,
    stamp::Stamp,
};
use crate::model::UnixMillis;

/// A stamp without a year that is later than its successor by more than this is of the year before, in milliseconds:
/// half a year. Less is a clock that was set back, or files that were joined in another order.
const NEW_YEAR: u64 = 183 * 24 * 3600 * 1000;

/// Returns the logs in the order in which their hosts appear. Messages without a host belong to the only host that the
/// file names; where it names several, they are a log of their own.
pub(super) fn logs(entries: Vec<Entry>, hosts: &Hosts, now: UnixMillis) -> Vec<HostLog> {
    // Places of hosts in the order of their appearance, by number.
    let mut places: Vec<Option<usize>> = Vec::new();
    let mut order: Vec<HostId> = Vec::new();
    for entry in &entries {
        let host = usize::try_from(entry.host).unwrap_or(0);
        if places.len() <= host {
            places.resize(host + 1, None);
        }
        if let Some(place) = places.get_mut(host).filter(|place| place.is_none()) {
            *place = Some(order.len());
            order.push(entry.host);
        }
    }
    let named = order.iter().filter(|host| **host != NO_HOST).count();
    if named <= 1 {
        let host = order.iter().find_map(|host| hosts.name(*host));
        return match entries.is_empty() {
            true => Vec::new(),
            false => vec![log(host, entries, now)],
        };
    }
    let mut groups: Vec<Vec<Entry>> = order.iter().map(|_| Vec::new()).collect();
    for entry in entries {
        let host = usize::try_from(entry.host).unwrap_or(0);
        let place = places.get(host).copied().flatten();
        if let Some(group) = place.and_then(|place| groups.get_mut(place)) {
            group.push(entry);
        }
    }
    let of_host = |(host, entries): (HostId, Vec<Entry>)| log(hosts.name(host), entries, now);
    order.into_iter().zip(groups).map(of_host).collect()
}

fn log(host: Option<&str>, entries: Vec<Entry>, now: UnixMillis) -> HostLog {
    let boots = boots::starts(entries.iter());
    let mut stamps: Vec<Stamp> = entries.iter().map(|entry| entry.stamp).collect();
    complete_years(&mut stamps);
    let mut messages: Vec<_> = entries.into_iter().map(|entry| entry.message).collect();
    let clock = dating::date(&mut messages, &stamps, &boots, now);
    HostLog {
        host: host.map(str::to_owned),
        messages,
        clock,
        boots,
    }
}

/// Moves stamps without a year back, across New Year, so that the log ascends. The last one keeps its year, which is the
/// latest that is not in the future.
fn complete_years(stamps: &mut [Stamp]) {
    let mut years_back = 0;
    let mut next: Option<UnixMillis> = None;
    for stamp in stamps.iter_mut().rev() {
        match stamp {
            Stamp::Yearless(at) | Stamp::Minute(at) => {
                let mut moved = earlier(*at, years_back);
                if next.is_some_and(|next| moved > next.saturating_add(NEW_YEAR)) {
                    years_back += 1;
                    moved = earlier(*at, years_back);
                }
                *at = moved;
                next = Some(moved);
            }
            Stamp::Wall(at) => next = Some(*at),
            Stamp::Boot(_) | Stamp::Delta(_) | Stamp::None => {}
        }
    }
}

/// The same day and time so many years before.
fn earlier(at: UnixMillis, years: i16) -> UnixMillis {
    if years == 0 {
        return at;
    }
    i64::try_from(at)
        .ok()
        .and_then(|at| Timestamp::from_millisecond(at).ok())
        .and_then(|at| at.to_zoned(TimeZone::UTC).checked_sub(years.years()).ok())
        .and_then(|at| u64::try_from(at.timestamp().as_millisecond()).ok())
        .unwrap_or(0)
}
