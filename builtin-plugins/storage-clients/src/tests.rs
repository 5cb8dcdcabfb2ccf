//! Lines to events, and events to the state.

use gpud_sdk::catalog::testing;
use gpud_sdk::incidents::{Repeats, as_stored};
use gpud_sdk::policy::Policy;
use gpud_sdk::{CheckContext, Event, Health, Message, Trigger};
use proptest::prelude::*;

use crate::{COMPONENT, LINES, lines, patterns};

const NOW: u64 = 1_800_000_000_000;

fn context() -> CheckContext {
    CheckContext {
        component: COMPONENT.to_owned(),
        now: NOW,
        trigger: Trigger::Event,
        boot_id: "b-1".to_owned(),
        boot_time: 0,
        previous_check: None,
        extra: Vec::new(),
    }
}

/// Lines ten seconds apart, the last of them now.
fn events(texts: &[&str]) -> Vec<Event> {
    let messages: Vec<Message> = (0..)
        .zip(texts)
        .map(|(n, text)| Message {
            sequence: n,
            time: NOW - 10_000 * (texts.len() as u64 - 1 - n),
            level: 4,
            facility: 0,
            text: (*text).to_owned(),
            dictionary: None,
        })
        .collect();
    LINES.events(&context(), &messages, &mut Repeats::default())
}

fn verdict(texts: &[&str]) -> (Health, String) {
    let stored = as_stored(events(texts));
    let policy = Policy::none(&patterns::CATALOG);
    let state = LINES
        .judge(&context(), &policy, &stored, &[])
        .states
        .remove(0);
    (state.health, state.reason)
}

#[test]
fn the_data_file_holds() {
    testing::holds(
        include_str!("../catalog/patterns.json"),
        &patterns::CATALOG,
        |context, messages| LINES.events(context, messages, &mut Repeats::default()),
    );
}

const LOST: &str = "Lustre: scratch-MDT0000-mdc-ffff88203810d800: Connection to scratch-MDT0000 (at 10.0.0.88@o2ib) was lost; in progress operations using this service will wait for recovery to complete";
const RESTORED: &str = "Lustre: scratch-MDT0000-mdc-ffff88203810d800: Connection restored to scratch-MDT0000 (at 10.0.0.88@o2ib)";
const EVICTED: &str = "LustreError: 167-0: scratch-MDT0000-mdc-ffff88203810d800: This client was evicted by scratch-MDT0000; in progress operations using this service will fail.";

#[test]
fn events_name_the_server() {
    for (line, name, message) in [
        (
            LOST,
            "storage_connection_lost",
            "Storage server does not answer (scratch-MDT0000)",
        ),
        (
            EVICTED,
            "storage_client_evicted",
            "Storage server threw this client out (scratch-MDT0000)",
        ),
        (
            "libceph: osd56 down",
            "storage_server_down",
            "Storage cluster lost a server (osd56)",
        ),
        (
            "ceph: [d52783e6 4711]: mds0 hung",
            "storage_connection_lost",
            "Storage server does not answer (mds0)",
        ),
        (
            "beegfs: fsync(9): NodeConn (acquire stream): Connect failed on all available routes: beegfs-storage node01 [ID: 1]",
            "storage_connection_lost",
            "Storage server does not answer (beegfs-storage)",
        ),
        (
            r"CIFS: VFS: \\files has not responded in 180 seconds. Reconnecting...",
            "storage_connection_lost",
            "Storage server does not answer (files)",
        ),
    ] {
        let event = events(&[line]).remove(0);
        assert_eq!(
            (event.name.as_str(), event.message.as_str()),
            (name, message)
        );
    }
}

#[test]
fn what_is_restored_is_healthy_again() {
    for (texts, health) in [
        (&[LOST][..], Health::Degraded),
        (&[LOST, RESTORED], Health::Healthy),
        (&[LOST, RESTORED, LOST], Health::Degraded),
        // What was lost stays lost.
        (&[LOST, EVICTED, RESTORED], Health::Degraded),
        (&["libceph: osd56 down"], Health::Healthy),
    ] {
        let (found, reason) = verdict(texts);
        assert_eq!(found, health, "{texts:?}: {reason}");
    }
}

#[test]
fn a_start_is_silent() {
    for line in [
        RESTORED,
        "Lustre: Mounted scratch-client",
        "Lustre: Lustre: Build Version: 2.15.4",
        "LustreError: 11-0: scratch-MDT0000-mdc-ffff88203810d800: operation obd_ping to node 10.0.0.88@o2ib failed: rc = -107",
        "libceph: mon0 (1)10.0.0.1:6789 session established",
        "libceph: client4711 fsid d52783e6-efc2-4dce-ad01-aa3272fa5f66",
        "ceph: loaded (mds proto 32)",
        "ceph: mds0 caps renewed",
        "beegfs: mount(2630): BeeGFS mount ready.",
        "mmfs: [I] Calling user exit script mmSysMonGpfsStartup: event startup",
        "wekafsio: module verification failed: signature and/or required key missing",
        "iscsi: registered transport (tcp)",
        "CIFS: No dialect specified on mount.",
        "a program: ceph: mds0 hung",
    ] {
        assert_eq!(events(&[line]), [], "{line}");
    }
}

/// Lines put together from what is looked at, so that near misses are common.
fn line() -> impl Strategy<Value = String> {
    let who = prop::sample::select(vec![
        "Lustre: ",
        "LustreError: 167-0: ",
        "Lustre: a: ",
        "LustreError: 4711:0:(a.c:1:f()) ",
        "libceph: mon0 a ",
        "libceph: osd1 ",
        "ceph: mds0 ",
        "ceph: [a b]: mds0 ",
        "mmfs: [E] ",
        "mmfs[1]: [N] ",
        "beegfs: a(1): b: ",
        "wekafsio: ",
        "CIFS: VFS: ",
        " connection1:0: ",
        " session1: ",
    ]);
    let text = prop::sample::select(vec![
        "Connection to a (at b) was lost",
        "Connection restored to a",
        "This client was evicted by a;",
        "LBUG",
        "ASSERTION( a ) failed",
        "session lost",
        "session established",
        "down",
        "up",
        "hung",
        "caps stale",
        "caps renewed",
        "session blocklisted",
        "reconnect denied",
        "Disk lease period expired",
        "Lost membership in cluster ",
        "File system a unmounted by the system with return code 1",
        "Connect failed on all available routes: a",
        "Connected: a",
        "Truncated dirty-pages",
        "total-sync-errs(1) => -5",
        "a has not responded in 180 seconds",
        "detected conn error",
        "session recovery timed out",
    ]);
    (who, text, "\\PC{0,3}").prop_map(|(who, text, rest)| format!("{who}{text}{rest}"))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4_000, failure_persistence: None, ..Default::default() })]

    #[test]
    fn what_is_read_is_delivered(line in line()) {
        if lines::find(&line).is_some() {
            testing::is_delivered(&patterns::PATTERNS, &line);
        }
    }

    #[test]
    fn any_line_is_survived(line in "\\PC{0,80}") {
        lines::find(&line);
    }
}
