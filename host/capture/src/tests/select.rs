//! Tests logs in bounded memory: the selected messages are those of [`read()`], whatever the bound.

use proptest::prelude::*;

use super::{super::select::read_selected_within, *};

/// Selects messages whose text has a mark, each of a shape of its own or all of one.
struct Marked {
    mark: &'static str,
    same: bool,
    count: u64,
}

impl Marked {
    fn all(same: bool) -> Self {
        Self {
            mark: "",
            same,
            count: 0,
        }
    }
}

impl Select for Marked {
    type Tag = u64;

    fn select(&mut self, message: &KernelMessage) -> Option<Selection<u64>> {
        self.count += 1;
        message.text.contains(self.mark).then_some(Selection {
            tag: self.count,
            shape: if self.same { 0 } else { self.count },
            singles: 3,
        })
    }
}

/// The logs of a text, in bounded memory.
fn selected_logs(text: &str, budget: usize, select: &mut Marked) -> Vec<Vec<Selected<u64>>> {
    let zone = TimeZone::UTC;
    let mut messages = read_selected_within(budget, text.as_bytes(), NOW, &zone, select).unwrap();
    (0..messages.overview.logs.len())
        .map(|log| {
            messages.take(log).unwrap_or_else(|| {
                let mut again = Vec::new();
                select.count = 0;
                messages
                    .read_again(log, text.as_bytes(), select, |portion| {
                        again.extend(portion);
                        true
                    })
                    .unwrap();
                again
            })
        })
        .collect()
}

/// Asserts that the result is that of [`read()`].
fn is_as_read(text: &str) {
    let read = capture(text);
    let overview = read_selected(
        text.as_bytes(),
        NOW,
        &TimeZone::UTC,
        &mut Marked::all(false),
    )
    .unwrap()
    .overview;
    assert_eq!(overview.message_count(), read.message_count() as u64);
    assert_eq!(overview.unparsable, read.unparsable);
    for budget in [1, 4000, 1 << 20] {
        let logs = selected_logs(text, budget, &mut Marked::all(false));
        assert_eq!(logs.len(), read.logs.len());
        for ((log, of_host), facts) in logs.iter().zip(&read.logs).zip(&overview.logs) {
            let messages: Vec<_> = log.iter().map(|selected| &selected.message).collect();
            assert_eq!(messages, of_host.messages.iter().collect::<Vec<_>>());
            assert_eq!(facts.host, of_host.host);
            assert_eq!(facts.clock, of_host.clock);
            assert_eq!(facts.boots, of_host.boots.len());
            assert_eq!(facts.boot_times.len() + 1, facts.boots);
            let end = of_host.messages.iter().map(|message| message.time).max();
            assert_eq!(Some(facts.end), end);
        }
    }
}

#[test]
fn what_is_selected_is_what_is_read() {
    for text in [
        "",
        "[    1.000000] a: b\n[    2.000000] c: d\n[    0.500000] Linux version 6\n[    9.000000] e: f\n",
        "Dec 30 10:00:00 n1 kernel: a: 1\nDec 31 10:00:00 n2 kernel: b: 2\nNov 20 10:00:00 n1 kernel: c: 3\nJan  2 10:00:00 n2 kernel: d: 4\n",
        "[Nov20 04:14] a: b\n[  +1.036001] c: d\n[  +0.900000] e: f\nx\n",
        "[    1.000000] a: b\nNov 20 08:00:01 n1 kernel: c: d\n[    3.000000] e: f\n",
    ] {
        is_as_read(text);
    }
}

#[test]
fn a_flood_is_counted_and_its_ends_stay() {
    let line = |at: u64| {
        let (seconds, part) = (at / 100, at % 100);
        format!("[{seconds:5}.{part:02}0000] flood: {at}\n")
    };
    let text: String = (0..10_000).map(line).collect();
    for budget in [1, 1 << 20] {
        let logs = selected_logs(&text, budget, &mut Marked::all(true));
        let total: u64 = logs[0].iter().map(|selected| selected.count).sum();
        assert_eq!(total, 10_000);
        // Two for each five seconds, and some at the beginning.
        assert!(logs[0].len() < 50, "{}", logs[0].len());
        let texts: Vec<_> = logs[0]
            .iter()
            .map(|selected| &selected.message.text)
            .collect();
        assert_eq!(texts[..3], ["flood: 0", "flood: 1", "flood: 2"]);
        assert_eq!(*texts.last().unwrap(), "flood: 9999");
        assert!(logs[0].is_sorted_by_key(|selected| selected.message.sequence));
    }
}

#[test]
fn a_flood_that_lasts_is_counted_by_the_minute() {
    let line = |second: u64| format!("[{second:5}.000000] flood: {second}\n");
    let text: String = (0..36_000).map(line).collect();
    let logs = selected_logs(&text, 1 << 20, &mut Marked::all(true));
    let total: u64 = logs[0].iter().map(|selected| selected.count).sum();
    assert_eq!(total, 36_000);
    // Of some five hundred seconds 200, and of each of the 592 minutes two.
    let rows = logs[0].len();
    assert!((1300..1500).contains(&rows), "{rows}");
}

#[test]
fn what_was_last_stays_last() {
    let mut text = String::new();
    for at in 0..1000 {
        text += &format!("[    1.{at:06}] link down\n[    1.{at:06}] link up\n");
    }
    text += "[    1.002000] link down\n";
    struct Links;
    impl Select for Links {
        type Tag = ();

        fn select(&mut self, message: &KernelMessage) -> Option<Selection<()>> {
            Some(Selection {
                tag: (),
                shape: message.text.len() as u64,
                singles: 2,
            })
        }
    }
    let mut messages = read_selected(text.as_bytes(), NOW, &TimeZone::UTC, &mut Links).unwrap();
    let rows = messages.take(0).unwrap();
    let last: Vec<_> = rows[rows.len() - 2..]
        .iter()
        .map(|row| row.message.text.as_str())
        .collect();
    assert_eq!(last, ["link up", "link down"]);
    let sum = |text: &str| -> u64 {
        let of_text = rows.iter().filter(|row| row.message.text == text);
        of_text.map(|row| row.count).sum()
    };
    assert_eq!((sum("link down"), sum("link up")), (1001, 1000));
}

#[test]
fn a_boot_begins_without_repeats() {
    let mut text = String::new();
    for boot in 0..3 {
        text += &format!("[    0.00000{boot}] Linux version 6\n");
        for at in 0..100 {
            text += &format!("[    5.{at:06}] flood\n");
        }
    }
    let mut flood = Marked {
        mark: "flood",
        ..Marked::all(true)
    };
    let logs = selected_logs(&text, 1 << 20, &mut flood);
    let counts: Vec<u64> = logs[0].iter().map(|selected| selected.count).collect();
    assert_eq!(counts, [1, 1, 1, 97].repeat(3));
}

#[test]
fn only_one_host_is_read_again() {
    let mut text = String::from("n1: [    1.000000] few\n");
    for at in 0..2000 {
        text += &format!("n2: [    1.{at:06}] many\n");
    }
    let zone = TimeZone::UTC;
    let mut all = Marked::all(false);
    let mut messages =
        read_selected_within(100_000, text.as_bytes(), NOW, &zone, &mut all).unwrap();
    assert_eq!(messages.take(0).map(|log| log.len()), Some(1));
    assert_eq!(messages.take(1), None);
    let mut wanted = 0;
    messages
        .read_again(1, text.as_bytes(), &mut all, |portion| {
            wanted += portion.len();
            true
        })
        .unwrap();
    assert_eq!(wanted, 2000);
}

#[test]
fn boots_are_no_later_than_the_events_after_them() {
    let text = "Nov 20 10:00:00 h kernel: a\n\
                Nov 20 11:00:00 h kernel: Linux version 6\n\
                Nov 20 10:30:00 h kernel: set back\n\
                Nov 20 12:00:00 h kernel: Linux version 6\n";
    let read = read_selected(
        text.as_bytes(),
        NOW,
        &TimeZone::UTC,
        &mut Marked::all(false),
    );
    let times = &read.unwrap().overview.logs[0].boot_times;
    assert_eq!(
        *times,
        [at("2026-11-20T10:30:00Z"), at("2026-11-20T12:00:00Z")]
    );
}

proptest! {
    #[test]
    fn any_log_is_selected_as_it_is_read(
        lines in proptest::collection::vec(
            prop_oneof![
                "\\[ {0,3}[0-9]{1,3}\\.[0-9]{6}\\] [a-c]: [a-z]{0,5}",
                "(Jan|Jun|Nov|Dec) [12][0-9] [01][0-9]:[0-5][0-9]:00 n[1-3] kernel: [a-c]: [a-z]{0,5}",
                "2025-(01|06|12)-1[0-9]T10:00:00Z n1 kernel: [a-c]: [a-z]{0,5}",
                "\\[  \\+[0-9]\\.[0-9]{6}\\] [a-c]: [a-z]{0,5}",
                "-- Reboot --",
                "\\[    0\\.000000\\] Linux version 6",
                "n[12]: NVRM: (The NVIDIA GPU 0000|x)",
            ],
            0..40,
        ),
    ) {
        is_as_read(&lines.join("\n"));
    }
}
