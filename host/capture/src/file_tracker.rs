//! The hosts of a file, each with its times: facts of the whole file that dating and judging need.

use super::{
    hosts::{HostId, Hosts, NO_HOST},
    reader::Entry,
    timeline::Timeline,
    tracker::{RawTime, Tracker},
};
use crate::model::UnixMillis;

/// The most boots and New Years of a file that are distinguished; each takes some 200 bytes.
const MAX_PIECES: usize = 100_000;

/// The position of a message in the file and in time.
#[derive(Debug, Clone, Copy)]
pub(super) struct MessagePosition {
    order: u64,
    host: HostId,
    /// Among the messages of its host.
    own: RawTime,
    /// Among all messages.
    all: RawTime,
    /// Number of boots, of all hosts, that began before it or with it.
    pub boots: u32,
}

impl MessagePosition {
    /// The host that the line names.
    pub fn host(&self) -> HostId {
        self.host
    }

    /// Its place among the messages of the file.
    pub fn order(&self) -> u64 {
        self.order
    }

    /// A clock and its milliseconds.
    pub fn moment(&self) -> (u8, u64) {
        self.own.moment()
    }
}

/// Follows all messages of a file.
#[derive(Debug)]
pub(super) struct FileTracker {
    /// By number of the host; those without messages are empty.
    of_hosts: Vec<Tracker>,
    /// Hosts in the order of their appearance.
    order: Vec<HostId>,
    /// All messages as if they were one host's; nobody needs them once there are two.
    all: Tracker,
    boots: u32,
    room: usize,
}

impl Default for FileTracker {
    fn default() -> Self {
        Self {
            of_hosts: Vec::new(),
            order: Vec::new(),
            all: Tracker::default(),
            boots: 0,
            room: MAX_PIECES,
        }
    }
}

impl FileTracker {
    /// Takes the next message of the file.
    pub fn take(&mut self, entry: &Entry) -> MessagePosition {
        let host = usize::try_from(entry.host).unwrap_or(0);
        if self.of_hosts.len() <= host {
            self.of_hosts.resize_with(host + 1, Tracker::default);
        }
        let mut own = (RawTime::default(), false);
        if let Some(tracker) = self.of_hosts.get_mut(host) {
            if tracker.count() == 0 {
                self.order.push(entry.host);
            }
            own = tracker.take(entry, &mut self.room);
        }
        let mut all = own;
        if named(&self.order) <= 1 {
            all = self.all.take(entry, &mut self.room);
        }
        self.boots = self.boots.saturating_add(u32::from(own.1 || all.1));
        MessagePosition {
            order: entry.order,
            host: entry.host,
            own: own.0,
            all: all.0,
            boots: self.boots,
        }
    }

    /// The file has ended. Messages without a host belong to the only host that the file names; where it names several,
    /// they are a log of their own.
    pub fn finish(self, now: UnixMillis, hosts: &Hosts) -> Logs {
        let boots_merged = self.room == 0;
        if named(&self.order) <= 1 {
            let host = self.order.iter().find_map(|host| hosts.name(*host));
            let log = (host.map(str::to_owned), self.all.finish(now));
            return Logs {
                logs: self.order.first().map(|_| log).into_iter().collect(),
                places: None,
                boots_merged,
            };
        }
        let mut places = vec![0; self.of_hosts.len()];
        let mut trackers = self.of_hosts;
        let mut logs = Vec::with_capacity(self.order.len());
        for host in self.order {
            let Ok(number) = usize::try_from(host) else {
                continue;
            };
            if let (Some(place), Some(tracker)) = (places.get_mut(number), trackers.get_mut(number))
            {
                *place = logs.len();
                let timeline = std::mem::take(tracker).finish(now);
                logs.push((hosts.name(host).map(str::to_owned), timeline));
            }
        }
        Logs {
            logs,
            places: Some(places),
            boots_merged,
        }
    }
}

/// How many hosts the lines name.
fn named(order: &[HostId]) -> usize {
    order.iter().filter(|host| **host != NO_HOST).count()
}

/// The logs of a file.
#[derive(Debug)]
pub(super) struct Logs {
    /// In the order in which the hosts appear, each with its name.
    pub logs: Vec<(Option<String>, Timeline)>,
    /// Numbers of logs by numbers of hosts; `None`: there is one log at most.
    places: Option<Vec<usize>>,
    /// There were more boots and New Years than are distinguished.
    pub boots_merged: bool,
}

impl Logs {
    /// The number of the log that a host's messages belong to.
    pub fn of_host(&self, host: HostId) -> usize {
        let host = usize::try_from(host).unwrap_or(0);
        let places = self.places.as_ref();
        places
            .and_then(|places| places.get(host).copied())
            .unwrap_or(0)
    }

    /// When a message was logged.
    pub fn date(&self, place: &MessagePosition) -> UnixMillis {
        let log = self.logs.get(self.of_host(place.host));
        let raw = match self.places {
            Some(_) => place.own,
            None => place.all,
        };
        log.map_or(0, |(_, timeline)| timeline.date(place.order, raw))
    }
}
