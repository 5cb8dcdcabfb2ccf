use super::{super::gate, *};
use crate::{
    capture::{Clock, LogOverview},
    component::offline::Judgement,
    model::{Event, EventType},
    store::StoredEvent,
};

fn log(messages: u64) -> Overview {
    let of_host = LogOverview {
        host: None,
        messages,
        clock: Clock::Wall,
        boots: 1,
        boot_times: Vec::new(),
        end: 10,
    };
    Overview {
        format: None,
        logs: vec![of_host],
        skipped: 0,
        unparsable: 0,
        first_unparsable: None,
        cut: 0,
        damaged: None,
        years_guessed: false,
        zone_assumed: false,
        boots_merged: false,
    }
}

fn host(event_type: EventType) -> HostJudgement {
    let event = Event {
        name: "not_responding".to_owned(),
        event_type,
        time: 10,
        ..Event::default()
    };
    HostJudgement {
        host: None,
        last_boot: 0,
        judgements: vec![Judgement {
            component: "nfs".to_owned(),
            events: vec![StoredEvent {
                event,
                count: 1,
                last_time: 10,
            }],
            ..Judgement::default()
        }],
    }
}

#[test]
fn a_file_without_messages_is_not_called_healthy() {
    let log = log(0);
    let layout = LogLayout {
        path: Path::new("a.log"),
        log: &log,
        hosts: &[],
        gate: &[],
        verbose: false,
        terminal: Terminal::PLAIN,
    };
    let text = layout.text();
    let first = "absent     a.log: no kernel message was found, so nothing was judged\n";
    let last = "absent     Nothing was judged: there is no kernel message in it.\n";
    assert!(text.starts_with(first) && text.ends_with(last), "{text}");
    assert!(!text.contains("healthy"), "{text}");
    assert!(print::incomplete(&log, &[]).is_some());
}

#[test]
fn a_log_with_serious_events_is_not_called_healthy() {
    for (event_type, first, last) in [
        (
            EventType::Fatal,
            "unhealthy  a.log: serious events",
            "1 event is listed above, serious ones among them.\n",
        ),
        (
            EventType::Warning,
            "healthy    a.log: no trouble",
            "1 event is listed above.\n",
        ),
    ] {
        let (log, hosts) = (log(1), [host(event_type)]);
        let gate: Vec<_> = hosts.iter().flat_map(gate::states).collect();
        let layout = LogLayout {
            path: Path::new("a.log"),
            log: &log,
            hosts: &hosts,
            gate: &gate,
            verbose: false,
            terminal: Terminal::PLAIN,
        };
        let text = layout.text();
        assert!(text.starts_with(first) && text.ends_with(last), "{text}");
        if layout.has_serious_events() {
            let why = "status 1, as --fail-on unhealthy asks: the log has serious events that nothing ended, see nfs";
            assert_eq!(layout.why_it_fails(FailOn::Unhealthy), why);
        }
    }
}
