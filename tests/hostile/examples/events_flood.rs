//! Returns 2,000 events.

use gpud_sdk::{CheckContext, Checker, Descriptor, Error, Event, EventType, HealthState, Report};

struct EventsFlood;

impl Checker for EventsFlood {
    fn check(context: &CheckContext) -> Result<Report, Error> {
        let mut report = Report::of(HealthState::healthy(context, "eventful"));
        report.events = (0..2000)
            .map(|n| Event::new(context.now, format!("event-{n}"), EventType::Info, ""))
            .collect();
        Ok(report)
    }
}

gpud_sdk::export!(EventsFlood: Descriptor::new("events-flood", "Returns 2,000 events"));
