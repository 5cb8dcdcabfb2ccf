use super::*;
use gpud_sdk::{EventType, Trigger};
use proptest::prelude::*;
use regex::Regex;
use std::sync::LazyLock;

const NOW: u64 = 1_800_000_000_000;

fn context() -> CheckContext {
    CheckContext {
        component: "nfs".into(),
        now: NOW,
        trigger: Trigger::Scheduled,
        boot_id: "b-1".into(),
        boot_time: 0,
        previous_check: None,
        extra: Vec::new(),
    }
}

fn message(facility: u32, time: u64, text: &str) -> Message {
    Message {
        sequence: 9,
        time,
        level: 5,
        facility,
        text: text.into(),
        dictionary: None,
    }
}

#[test]
fn lines_of_kernels() {
    for (line, expected) in [
        (
            "nfs: server 10.40.0.9 not responding, still trying",
            Some(Line::NotResponding("10.40.0.9")),
        ),
        (
            "nfs: server fs.example not responding, timed out",
            Some(Line::NotResponding("fs.example")),
        ),
        (
            "nfs: server fe80::1%eth0 not responding, still trying",
            Some(Line::NotResponding("fe80::1%eth0")),
        ),
        ("nfs: server a b nfs: server c not responding", None),
        ("x nfs: server c not responding", None),
        ("[<0>] nfs_wb_all+0x2f/0x1a0 [nfs]", Some(Line::Writeback)),
        ("pc : nfs_wb_all+0x2f/0x1a0 [nfs]", Some(Line::Writeback)),
        (" ? nfs_wb_all+0x2f/0x1a0 [nfs]", Some(Line::Writeback)),
        (
            "RIP: 0010:nfs_page_async_flush+0x1c/0x2 [nfs]",
            Some(Line::Writeback),
        ),
        ("x nfs_wb_all+0x2f/0x1a0 [nfs]", None),
        ("nfs_wb_all+0x2 (311): obsolete", None),
        ("nfs_wb_all+0x1/ uses obsolete (PF_INET,SOCK_PACKET)", None),
        (
            "nfs_wb_all+0x1/:311 freeing invalid memtype [mem 1-2]",
            None,
        ),
        ("nfs: server 10.40.0.9 OK", Some(Line::Ok("10.40.0.9"))),
        ("nfs: server 10.40.0.9 OKAY", Some(Line::Ok("10.40.0.9"))),
        (
            "NFS: nfs4_reclaim_open_state: Lock reclaim failed!",
            Some(Line::LockReclaimFailed),
        ),
        (" nfs_wb_all+0x2f/0x1a0 [nfs]", Some(Line::Writeback)),
        ("nfs_lock_and_join_requests+0xa", Some(Line::Writeback)),
        (
            "RIP: 0010: nfs_page_async_flush+0x1c/0x2",
            Some(Line::Writeback),
        ),
        ("\tnfs_writepages_callback+0xf", Some(Line::Writeback)),
        // Others' lines, and lookalikes.
        ("lockd: server 10.40.0.9 not responding, still trying", None),
        ("nfs: server  not responding", None),
        ("nfs: server 10.40.0.9  not responding", None),
        ("nfs: server 10.40.0.9 is not responding", None),
        ("NFS: server 10.40.0.9 not responding", None),
        ("nfs: server 10.40.0.9", None),
        ("? nfs_wb_all.cold+0x1", None),
        ("xnfs_wb_all+0x1", None),
        ("nfs_wb_all+0xZ", None),
        ("nfs_wb_all+0xA", None),
        ("nfs_wb_all+0x", None),
        ("nfs_wb_page+0x12/0x34", None),
        ("nfs4_reclaim_open_state: Lock reclaim succeeded", None),
        ("", None),
    ] {
        assert_eq!(find(line), expected, "{line}");
    }
}

#[test]
fn events_and_their_messages() {
    for (line, name, text) in [
        (
            "nfs: server 10.40.0.9 not responding, still trying",
            "nfs_server_not_responding",
            "NFS server not responding: 10.40.0.9",
        ),
        (
            "nfs: server 10.40.0.9 OK",
            "nfs_server_ok",
            "NFS server recovered: 10.40.0.9",
        ),
        (
            "NFS: nfs4_reclaim_open_state: Lock reclaim failed!",
            "nfs_lock_reclaim_failed",
            "NFS lock reclaim failed (state manager unable to recover)",
        ),
        (
            " nfs_wb_all+0x2f/0x1a0 [nfs]",
            "nfs_writeback_hang",
            "NFS client stuck in kernel writeback path",
        ),
    ] {
        let event = event(&context(), &message(0, 7_000, line)).unwrap();
        assert_eq!((event.name.as_str(), event.message.as_str()), (name, text));
        assert_eq!(
            (event.time, &event.event_type),
            (7_000, &EventType::Warning)
        );
        assert_eq!(event.evidence, [Evidence::Kmsg(9)]);
        assert_eq!(event.subject.is_some(), name.starts_with("nfs_server"));
        let merge = event.merge.unwrap();
        assert_eq!(
            (merge.key, merge.window_seconds),
            (format!("b-1 {text}"), 300)
        );
    }
}

#[test]
fn whose_lines_are_believed() {
    let line = "nfs: server 10.40.0.9 OK";
    for (facility, believed) in [(0, true), (1, true), (5, true), (3, false), (9, false)] {
        assert_eq!(
            event(&context(), &message(facility, 1, line)).is_some(),
            believed
        );
    }
    let ahead = event(&context(), &message(0, NOW + 5_000, line)).unwrap();
    assert_eq!(ahead.time, NOW);
    let long = format!("nfs: server {} OK", "é".repeat(2_000));
    let event = event(&context(), &message(0, 1, &long)).unwrap();
    assert_eq!(event.message.len(), OK_MESSAGE.len() + MAX_SERVER);
    assert_eq!(event.subject, Some(subject(&"é".repeat(64))));
}

static EXPRESSIONS: LazyLock<[Regex; 4]> = LazyLock::new(|| {
    [
        "^nfs: server ([^ ]+) not responding",
        "^nfs: server ([^ ]+) OK",
        "^(NFS: )?nfs4_reclaim_open_state: Lock reclaim failed",
        r"^[\t\n\f\r ]*(?:nfs_lock_and_join_requests|nfs_wb_all|nfs_page_async_flush|nfs_writepages_callback)\+0x[0-9a-f]+(?:/0x|$)",
    ]
    .map(|one| Regex::new(one).unwrap())
});
static DELIVERED: LazyLock<Regex> = LazyLock::new(|| Regex::new(&PATTERNS.join("|")).unwrap());

/// Lines put together from the pieces that the rules look at, so that near misses are common.
fn line() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "nfs: server ",
        "10.0.0.9",
        " ",
        " not responding",
        " OK",
        ", still trying",
        "x",
        "\t",
        "nfs4_reclaim_open_state: Lock reclaim failed",
        "nfs_wb_all",
        "nfs_page_async_flush+0x",
        "+0x",
        "2f",
        "F",
        "é",
    ]);
    prop::collection::vec(piece, 0..9).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4_000, failure_persistence: None, ..Default::default() })]

    #[test]
    fn agrees_with_the_reference(line in line()) {
        let found = find(&line);
        let matching = EXPRESSIONS.iter().position(|expression| expression.is_match(&line));
        let server = |index: usize| {
            let captures = EXPRESSIONS[index].captures(&line)?;
            Some(captures.get(1)?.as_str())
        };
        let expected = match matching {
            Some(index @ 0) => server(index).map(Line::NotResponding),
            Some(index @ 1) => server(index).map(Line::Ok),
            Some(2) => Some(Line::LockReclaimFailed),
            Some(_) => Some(Line::Writeback),
            None => None,
        };
        prop_assert_eq!(found, expected, "{}", line);
        prop_assert!(found.is_none() || DELIVERED.is_match(&line), "{}", line);
    }
}
