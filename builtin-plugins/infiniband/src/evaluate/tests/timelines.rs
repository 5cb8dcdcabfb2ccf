//! Verdicts over time: drops, flaps, set-healthy, reboots, devices that disappear. Checks every 30 s, from 08:00:00 on.

use super::*;

mod devices;
mod drops;
mod flaps;
mod saved_state;

/// Health and reason of a moment, and whether an inspection is asked for.
type Seen = (Health, String, bool);

/// A machine over time.
struct Story {
    machine: Fake,
    config: Config,
    now: u64,
    boot: &'static str,
}

impl Story {
    fn of(map: Map, config: Config) -> Self {
        Self {
            machine: Fake::of(map),
            config,
            now: START,
            boot: "b0",
        }
    }

    /// Eight ports up, eight wanted.
    fn eight() -> Self {
        Self::of(Map::eight(), want(8, 400))
    }

    fn report(&self) -> Report {
        let context = context(self.now, self.boot);
        check(&context, &self.config, &h100(), &self.machine).unwrap()
    }

    fn look(&self) -> Seen {
        let report = self.report();
        let state = state(&report);
        let actions = state.suggested_actions.as_ref().map(|actions| {
            assert_eq!(actions.description, "");
            actions.repair_actions.clone()
        });
        let inspect = actions == Some(vec![RepairAction::HardwareInspection]);
        assert!(inspect || actions.is_none(), "{actions:?}");
        (state.health.clone(), state.reason.clone(), inspect)
    }

    /// Checks every 30 s until this time; the last one is what is given.
    fn until(&mut self, clock: &str) -> Seen {
        let end = at(clock);
        loop {
            let seen = self.look();
            if self.now + 30 > end {
                assert_eq!(self.now, end, "{clock} is not on the schedule");
                return seen;
            }
            self.now += 30;
        }
    }

    /// One outage of 60 s that begins now; ends with the check in which the port is back.
    fn outage(&mut self, device: &str) -> Seen {
        self.machine.map.down(device);
        for _ in 0..3 {
            self.look();
            self.now += 30;
        }
        self.machine.map.up(device);
        let seen = self.look();
        self.now += 30;
        seen
    }

    fn set_healthy(&self) {
        self.machine.marks.borrow_mut().push(self.now * 1000);
    }
}

/// Seconds of a time of that day.
fn at(clock: &str) -> u64 {
    let parts: Vec<u64> = clock.split(':').map(|part| part.parse().unwrap()).collect();
    START - 8 * 3600 + parts[0] * 3600 + parts[1] * 60 + parts[2]
}

fn ok() -> Seen {
    (Health::Healthy, OK.into(), false)
}

fn shortage(good: u64, down: &str) -> String {
    let count = down.split(", ").count();
    format!(
        "only {good} port(s) are active and >=400 Gb/s, expect >=8 port(s); {count} device(s) physical state Polling ({down}) -- connecton lost from this card to other cards/switches"
    )
}

fn bad(reason: impl Into<String>) -> Seen {
    (Health::Unhealthy, reason.into(), false)
}

fn inspect(reason: impl Into<String>) -> Seen {
    (Health::Unhealthy, reason.into(), true)
}

const DROP: &str = "device(s) down too long: mlx5_3";
const FLAP: &str = "device(s) flapping between ACTIVE<>DOWN: mlx5_3";
