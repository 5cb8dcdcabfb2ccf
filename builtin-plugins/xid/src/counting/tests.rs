use gpud_sdk::{Event, EventType, Evidence, GpuId, Subject};

use super::*;

fn error(time: u64, boot: &str, sequence: u64, code: u32, uuid: Option<&str>) -> StoredEvent {
    let mut event = Event::new(time, "error_xid", EventType::Fatal, "");
    event.evidence = vec![Evidence::Kmsg(sequence)];
    if !boot.is_empty() {
        event.evidence.push(Evidence::Other(format!("boot {boot}")));
    }
    event.extra_info = vec![("data".into(), format!(r#"{{"xid":{code}}}"#))];
    event.subject = uuid.map(|uuid| {
        Subject::Gpu(GpuId {
            uuid: Some(uuid.into()),
            serial: None,
            pci_id: None,
        })
    });
    StoredEvent {
        event,
        count: 3,
        last_time: time,
    }
}

fn counts(
    events: &[StoredEvent],
    mark: Option<&str>,
) -> (Vec<(String, String, f64)>, Option<String>) {
    let (metrics, mark) = count(events, mark);
    let counts = metrics.into_iter().map(|metric| {
        assert_eq!(
            (metric.name.as_str(), metric.kind),
            (METRIC, MetricKind::Counter)
        );
        let mut labels = metric.labels.into_iter();
        let (uuid, xid) = (labels.next().unwrap(), labels.next().unwrap());
        assert_eq!(
            (uuid.0.as_str(), xid.0.as_str(), labels.next()),
            ("uuid", "xid", None)
        );
        (uuid.1, xid.1, metric.value)
    });
    (counts.collect(), mark)
}

#[test]
fn counts_every_error_once() {
    let mut events = vec![
        error(3_000, "b", 12, 79, Some("GPU-a")),
        error(2_000, "b", 11, 31, None),
        error(1_000, "b", 10, 79, Some("GPU-a")),
    ];
    let sample = |uuid: &str, xid: &str, value| (uuid.to_owned(), xid.to_owned(), value);
    let (found, mark) = counts(&events, None);
    assert_eq!(found, [sample("GPU-a", "79", 2.0), sample("", "31", 1.0)]);
    // The next check, and the first one after a restart, which reads the same mark.
    let mark = mark.unwrap();
    assert_eq!(counts(&events, Some(&mark)), (vec![], None));
    // One more, with a clock that was set back, after a set-healthy deleted the others.
    events = vec![error(500, "b", 13, 94, None)];
    let (found, mark) = counts(&events, Some(&mark));
    assert_eq!(found, [sample("", "94", 1.0)]);
    // The next boot starts its sequence numbers afresh; an older boot's errors were counted.
    events.insert(0, error(9_000, "c", 2, 94, None));
    events.push(error(400, "a", 900, 94, None));
    let (found, mark) = counts(&events, mark.as_deref());
    assert_eq!(found, [sample("", "94", 1.0)]);
    assert_eq!(counts(&events, mark.as_deref()), (vec![], None));
}

#[test]
fn rows_of_others_and_broken_marks() {
    let mut foreign = error(1_000, "b", 10, 79, None);
    foreign.event.evidence.clear();
    let mut damaged = error(1_000, "b", 11, 79, None);
    damaged.event.extra_info.clear();
    assert_eq!(counts(&[foreign, damaged], None), (vec![], None));
    assert_eq!(counts(&[], Some("5 5 b")), (vec![], None));
    for mark in ["", "x y z", "5", "5 x b"] {
        assert_eq!(
            counts(&[error(1, "b", 1, 79, None)], Some(mark)).0.len(),
            1,
            "{mark}"
        );
    }
    // Without a boot id there is still an order.
    let unknown = [error(2, "", 2, 79, None), error(1, "", 1, 79, None)];
    let (found, mark) = counts(&unknown, Some("1 1 "));
    assert_eq!(found.len(), 1);
    assert_eq!(mark.as_deref(), Some("2 2 "));
}
