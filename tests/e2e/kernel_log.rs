//! From a line of the kernel log to a verdict, and what a restart does to it.

use std::io::Write;

use serde_json::{Value, json};

use crate::daemon::{Daemon, Start, eventually, gpud, inject};

const XID: &str = "accelerator-nvidia-error-xid";

/// A line that no other test writes.
fn fallen_off(bus: &str) -> String {
    format!(
        "NVRM: Xid (PCI:{bus}): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus."
    )
}

fn event_on(daemon: &Daemon, bus: &str) -> Value {
    eventually("the event", || {
        let events = daemon.events(XID);
        events
            .into_iter()
            .find(|event| event["message"].as_str().unwrap().contains(bus))
    })
}

#[test]
fn an_xid_in_the_real_kernel_log_is_unhealthy_until_it_is_cleared() {
    let bus = "0000:a4:00";
    let home = tempfile::tempdir().unwrap();
    let data = home.path().join("data");
    let daemon = Start::new().real_kernel_log().folder(&data).ready();
    if !inject(&fallen_off(bus)) {
        return;
    }
    let event = event_on(&daemon, bus);
    assert_eq!(
        (&event["name"], &event["type"]),
        (&json!("error_xid"), &json!("Fatal"))
    );
    let state = eventually("the state", || {
        Some(daemon.state(XID)).filter(|state| state["health"] == "Unhealthy")
    });
    assert_eq!(state["time"], Value::Null);
    assert_eq!(state["name"], "error_xid");
    assert!(state.get("component").is_none());
    assert_eq!(
        state["suggested_actions"],
        json!({"description": "", "repair_actions": ["REBOOT_SYSTEM"]})
    );

    let output = gpud()
        .args(["set-healthy", XID, "--server", &daemon.url()])
        .output()
        .unwrap();
    assert!(output.status.success());
    assert_eq!(daemon.state(XID)["health"], "Healthy");
    assert_eq!(daemon.events(XID), Vec::<Value>::new());

    daemon.signal("-TERM");
    let (status, log) = daemon.wait();
    assert_eq!(status.code(), Some(0), "{log}");
    let daemon = Start::new().real_kernel_log().folder(&data).ready();
    assert_eq!(
        daemon.state(XID)["health"],
        "Healthy",
        "a restart brings nothing back"
    );
    assert_eq!(daemon.events(XID), Vec::<Value>::new());
}

#[test]
fn an_event_that_was_shown_survives_kill_9() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("kmsg");
    std::fs::write(
        &log,
        format!("3,1,60000000,-;{}\n", fallen_off("0000:b1:00")),
    )
    .unwrap();
    let data = folder.path().join("data");
    let start = || Start::new().kernel_log(log.to_str().unwrap()).folder(&data);
    let daemon = start().ready();
    let event = event_on(&daemon, "0000:b1:00");
    daemon.signal("-KILL");
    let (status, _) = daemon.wait();
    assert!(!status.success());
    let daemon = start().ready();
    assert_eq!(
        daemon.events(XID),
        vec![event],
        "once, not lost and not doubled"
    );
    assert_eq!(daemon.state(XID)["health"], "Unhealthy");
}

#[test]
fn a_log_with_nonsense_in_it_is_read_to_its_end() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("kmsg");
    std::fs::write(&log, "").unwrap();
    let daemon = Start::new().kernel_log(log.to_str().unwrap()).ready();
    let mut file = std::fs::File::options().append(true).open(&log).unwrap();
    file.write_all(
        b"no semicolon at all\n\xff\xfe;;;\n3,x,y,-;half\n4,18446744073709551615,1,-;far\n",
    )
    .unwrap();
    file.write_all(format!("3,7,60000000,-;{}\n", fallen_off("0000:c1:00")).as_bytes())
        .unwrap();
    event_on(&daemon, "0000:c1:00");
}

#[test]
fn an_out_of_memory_kill_and_a_soft_lockup_become_events() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("kmsg");
    let lines = [
        "etl-worker invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=900",
        "oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=job7,mems_allowed=0-1,oom_memcg=/kubepods/job7,task_memcg=/kubepods/job7,task=etl-worker,pid=5120,uid=1000",
        "watchdog: BUG: soft lockup - CPU#63 stuck for 26s! [ingest:90210]",
        "EXT4-fs (nvme1n1p2): Remounting filesystem read-only",
    ];
    let records: String = lines
        .iter()
        .enumerate()
        .map(|(n, line)| format!("4,{n},6000{n}000,-;{line}\n"))
        .collect();
    std::fs::write(&log, records).unwrap();
    let daemon = Start::new().kernel_log(log.to_str().unwrap()).ready();
    let message = |component: &str| {
        let event = eventually(component, || daemon.events(component).into_iter().next());
        (
            event["name"].as_str().unwrap().to_owned(),
            event["message"].as_str().unwrap().to_owned(),
        )
    };
    assert_eq!(
        message("memory"),
        (
            "OOM".into(),
            "OOM encountered, victim process: etl-worker, pid: 5120".into()
        )
    );
    assert_eq!(message("cpu").0, "cpu_soft_lockup");
    assert_eq!(message("disk").0, "filesystem_read_only");
    let disk = eventually("disk is unhealthy", || {
        Some(daemon.state("disk")).filter(|state| state["health"] == "Unhealthy")
    });
    assert_eq!(
        disk["reason"],
        "filesystem remounted as read-only due to errors"
    );
    assert_eq!(
        disk["suggested_actions"]["repair_actions"],
        json!(["REBOOT_SYSTEM"])
    );
}

#[test]
fn an_unreadable_kernel_log_is_reported_and_stops_nothing() {
    let daemon = Start::new().kernel_log("/nonexistent/kmsg").ready();
    let error = eventually("it is said", || {
        daemon.get("/v1/components/trigger-check?componentName=cpu")[0]["states"][0]["error"]
            .as_str()
            .map(str::to_owned)
    });
    assert_eq!(
        error,
        "the kernel log cannot be read (/nonexistent/kmsg: not found)"
    );
    assert_eq!(daemon.state("cpu")["health"], "Healthy");
    // What is judged by the log alone is unknown.
    let shown = eventually("kernel-stalls is unknown", || {
        let state =
            daemon.get("/v1/components/trigger-check?componentName=kernel-stalls")[0]["states"][0]
                .clone();
        (state["health"] == "Degraded").then_some(state)
    });
    assert_eq!(
        shown["reason"],
        "unknown: the kernel log cannot be read (/nonexistent/kmsg: not found)"
    );
    // Nor was it ever thought healthy, as by the first check, which comes before the reader.
    let history = daemon.get("/v1/history?component=kernel-stalls");
    let changes = history["entries"].as_array().unwrap();
    assert!(!changes.is_empty(), "{history}");
    assert!(
        changes.iter().all(|change| change["to"] != "Healthy"),
        "{history}"
    );
    let (_, metrics) = daemon.send(http::Method::GET, "/metrics");
    assert!(
        String::from_utf8(metrics)
            .unwrap()
            .contains("gpud_kmsg_following 0")
    );
}

#[test]
fn a_fatal_event_and_the_change_of_health_are_lines_of_the_log() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("kmsg");
    std::fs::write(&file, "6,1,1000000,-;booted\n").unwrap();
    let daemon = Start::new().kernel_log(file.to_str().unwrap()).ready();
    let mut log = std::fs::File::options().append(true).open(&file).unwrap();
    writeln!(log, "4,2,2000000,-;{}", fallen_off("0000:b5:00")).unwrap();
    for wanted in ["Fatal event error_xid: XID 79 ", "to Unhealthy: XID 79 "] {
        let line = eventually(wanted, || {
            let log = daemon.log();
            log.lines()
                .find(|line| line.contains(wanted))
                .map(str::to_owned)
        });
        let line: Value = serde_json::from_str(&line).unwrap();
        assert_eq!(line["level"], "error", "{line}");
        assert_eq!(line["component"], XID, "{line}");
        let text = line["msg"].as_str().unwrap();
        assert!(
            text.contains("0000:b5:00") && !text.contains('\n'),
            "{line}"
        );
    }
    let history = daemon.get("/v1/history?component=accelerator-nvidia-error-xid");
    let entries = history["entries"].as_array().unwrap();
    let event = entries.iter().find(|entry| entry["kind"] == "event");
    let event = event.unwrap();
    assert_eq!(event["explained"], true, "{event}");
    let id = event["id"].as_str().unwrap();
    let explained = daemon.get(&format!("/v1/history/event?id={id}"));
    assert_eq!(explained["event"]["id"], id);
    let explanation = &explained["explanation"];
    assert_eq!(explanation["kernel_line"], fallen_off("0000:b5:00"));
    assert_eq!(
        explanation["actions"][0], "Reboot the node",
        "{explanation}"
    );
    assert_eq!(explanation["likely_causes"][0], "hardware");
}
