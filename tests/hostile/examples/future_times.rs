//! Judges tomorrow: `future-times` in a state, `future-times/event` in an event.

use gpud_sdk::{CheckContext, Checker, Descriptor, Error, Event, EventType, HealthState, Report};

const HOUR: u64 = 3_600_000;

struct FutureTimes;

impl Checker for FutureTimes {
    fn check(context: &CheckContext) -> Result<Report, Error> {
        let mut state = HealthState::healthy(context, "it will be fine");
        if context.component == "future-times/event" {
            let event = Event::new(u64::MAX, "doomsday", EventType::Fatal, "not yet");
            return Ok(Report::of(state).event(event));
        }
        state.time = Some(context.now + HOUR);
        Ok(Report::of(state))
    }
}

gpud_sdk::export!(FutureTimes: Descriptor::new("future-times", "Judges tomorrow")
    .and(Descriptor::new("future-times/event", "Saw tomorrow")));
