use super::*;
use gpud_builtin_nvidia_common::testing::{GPU_0, NOW, context, gpu, lost, seen};

fn rows(correctable: u32, uncorrectable: u32, pending: bool, failed: bool) -> Rows {
    Rows {
        correctable,
        uncorrectable,
        pending,
        failed,
        banks: None,
    }
}

fn known(rows: Rows) -> LastRows {
    [(GPU_0.to_owned(), rows)].into()
}

#[test]
fn an_event_is_a_change() {
    use EventType::{Critical, Info, Warning};
    let clean = rows(0, 0, false, false);
    for (before, now, expected) in [
        (None, clean, vec![]),
        // The past of a GPU that is new here is not news, its trouble is.
        (None, rows(7, 3, false, false), vec![]),
        (None, rows(7, 3, true, false), vec![(PENDING, Warning)]),
        (
            None,
            rows(7, 3, true, true),
            vec![(FAILED, Critical), (PENDING, Warning)],
        ),
        (Some(clean), clean, vec![]),
        (
            Some(clean),
            rows(1, 0, false, false),
            vec![(REMAPPED, Info)],
        ),
        (
            Some(clean),
            rows(0, 1, true, false),
            vec![(REMAPPED, Warning), (PENDING, Warning)],
        ),
        (
            Some(rows(0, 1, true, false)),
            rows(0, 1, true, false),
            vec![],
        ),
        (
            Some(rows(0, 1, true, false)),
            rows(0, 1, false, false),
            vec![(DONE, Info)],
        ),
        (
            Some(rows(0, 1, true, false)),
            rows(0, 1, false, true),
            vec![(FAILED, Critical), (DONE, Info)],
        ),
        // Another board under the same name, or a counter that went round.
        (Some(rows(9, 9, false, false)), clean, vec![]),
    ] {
        let before = before.map(known).unwrap_or_default();
        let machine = seen([Reading::Rows(now)]);
        let (events, after) = since(&context(), &before, &machine.gpus);
        let found: Vec<_> = events
            .iter()
            .map(|event| (event.name.as_str(), event.event_type.clone()))
            .collect();
        assert_eq!(found, expected, "{before:?} {now:?}");
        assert_eq!(after, known(now));
    }
}

#[test]
fn the_event() {
    let machine = seen([Reading::Rows(rows(2, 5, false, false))]);
    let before = known(rows(2, 4, false, false));
    let (events, _) = since(&context(), &before, &machine.gpus);
    let event = &events[0];
    assert_eq!(event.time, NOW);
    assert_eq!(
        event.message,
        format!(
            "GPU {GPU_0} (0000:0f:00.0): 0 row(s) remapped after corrected errors, 1 after uncorrectable errors; 2 and 5 in all"
        )
    );
    assert_eq!(event.subject, Some(gpu(0).subject()));
    let fact = |key: &str| {
        let mut info = event.extra_info.iter();
        info.find(|(name, _)| name == key)
            .map(|(_, text)| text.as_str())
    };
    assert_eq!(fact("gpu_uuid"), Some(GPU_0));
    assert_eq!(fact("remapped_due_to_uncorrectable_errors"), Some("5"));
}

#[test]
fn a_gpu_that_says_nothing_keeps_its_past() {
    let past = known(rows(0, 4, true, false));
    for silent in [
        lost(0),
        GpuAnswer {
            gpu: gpu(0),
            answer: Ok(Reading::Unsupported { mig: true }),
        },
    ] {
        let (events, after) = since(&context(), &past, &[silent]);
        assert_eq!((events.len(), after), (0, past.clone()));
    }
    let (_, after) = since(&context(), &past, &[]);
    assert_eq!(
        after,
        LastRows::new(),
        "one that is not listed is forgotten"
    );
}

#[test]
fn saved_state_can_be_read_again() {
    let past = known(rows(1, 2, true, false));
    let text = serde_json::to_string(&past).unwrap();
    assert_eq!(serde_json::from_str::<LastRows>(&text).unwrap(), past);
}
