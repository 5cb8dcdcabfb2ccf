//! Fills its key-value store until that says no: `state-hog` with many keys and an event beside them, `state-hog/slow`
//! a little more at every check, under new keys.

use gpud_sdk::{
    CheckContext, Checker, Descriptor, Error, Event, EventType, HealthState, Report, state,
};

struct StateHog;

impl Checker for StateHog {
    fn check(context: &CheckContext) -> Result<Report, Error> {
        let value = vec![7; 60_000];
        let event = Event::new(context.now, "hogged", EventType::Info, "");
        if context.component == "state-hog/slow" {
            for n in 0..8 {
                state::set(&format!("{}-{n}", context.now), &value)?;
            }
            return Ok(Report::of(HealthState::healthy(context, "took some more")).event(event));
        }
        let mut n = 0;
        loop {
            if let Err(error) = state::set(&format!("key-{n}"), &value) {
                let state = HealthState::degraded(context, "no more room").error(error.text());
                return Ok(Report::of(state).event(event));
            }
            n += 1;
        }
    }
}

gpud_sdk::export!(StateHog: Descriptor::new("state-hog", "Fills its key-value store at once")
    .and(Descriptor::new("state-hog/slow", "Fills its key-value store slowly")));
