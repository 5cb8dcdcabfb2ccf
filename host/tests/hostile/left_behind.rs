//! Nothing of a call is left in the daemon or on the machine, however it ended.

use std::{fs, path::Path, sync::Arc, time::Duration};

use gpud::{
    model::Trigger,
    node::system::own_rss_bytes,
    runtime::{CallContext, Limits},
};
use serde_json::json;

use crate::{
    forge::{self, Checker},
    lab,
};

/// Growth that no leak of one call's memory, taken fifty times, could stay below.
const MAX_GROWTH: u64 = 64 << 20;

#[tokio::test]
async fn greedy_calls_leave_no_memory_behind() {
    let lab = lab::alone().await;
    let roomy = Limits {
        memory_bytes: 64 << 20,
        ..lab::limits()
    };
    for (guest, component) in [
        ("allocate_forever", "allocate-forever"),
        ("huge_report", "huge-report"),
    ] {
        let plugin = lab.guest(guest, roomy).await;
        let warm = lab::check(&plugin, component).await;
        assert!(
            warm.bill.memory_high_water > 8 << 20,
            "{component} is not greedy: {:?}",
            warm.bill
        );
        let before = own_rss_bytes().unwrap();
        for _ in 0..50 {
            assert!(lab::check(&plugin, component).await.answer.is_err());
        }
        let growth = own_rss_bytes().unwrap().saturating_sub(before);
        assert!(growth < MAX_GROWTH, "{component}: {growth} bytes more");
    }
}

#[tokio::test]
async fn handles_in_the_host_are_bounded() {
    let lab = lab::shared().await;
    // Every call leaves a timer in the host's memory.
    let wit = forge::contract_with(
        "package wasi:io@0.2.0 { interface poll { resource pollable; } }
        package wasi:clocks@0.2.0 {
            interface monotonic-clock {
                use wasi:io/poll@0.2.0.{pollable};
                subscribe-duration: func(when: u64) -> pollable;
            }
        }
        world w { import wasi:clocks/monotonic-clock@0.2.0; export checker; }",
    );
    let module = forge::checker_module(&Checker {
        items: r#"(import "wasi:clocks/monotonic-clock@0.2.0" "subscribe-duration"
            (func $subscribe (param i64) (result i32)))"#,
        check: [
            "(local $n i32)
            (loop
                (drop (call $subscribe (i64.const 3600000000000)))
                (local.set $n (i32.add (local.get $n) (i32.const 1)))
                (br_if 0 (i32.lt_u (local.get $n) (i32.const 10000))))",
            &forge::report_with_reason(2048, 4),
        ]
        .concat(),
        ..Checker::default()
    });
    let wasm = forge::component(&wit, &module);
    let plugin = lab
        .load("subscriber", &wasm, &json!({}), lab::limits())
        .await
        .unwrap();
    let finished = lab.beside_neighbour(lab::check(&plugin, "liar")).await;
    assert_eq!(
        finished.answer.unwrap_err().to_string(),
        "trapped: resource table has no free keys"
    );
}

#[tokio::test]
async fn a_call_without_a_waiting_caller_ends_its_processes() {
    let lab = lab::shared().await;
    let plugin = lab.guest("sleep_in_host_call", lab::limits()).await;
    let folder = tempfile::tempdir().unwrap();
    let marker = folder.path().join("pid");
    let call_context = CallContext {
        component: "sleep-in-host-call/marked",
        store: None,
        config: Arc::from(marker.to_str().unwrap()),
        values: None,
    };
    let context = lab::context("sleep-in-host-call/marked", Trigger::Manual);
    let pid = tokio::select! {
        finished = plugin.check(&call_context, &context) => panic!("it came back: {finished:?}"),
        pid = written(&marker) => pid,
    };
    // The call was dropped above.
    let gone = async {
        while runs(&pid) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), gone)
        .await
        .expect("bash is still there");
    // The slot is free and usable.
    lab.beside_neighbour(async {}).await;
}

async fn written(marker: &Path) -> String {
    loop {
        let text = fs::read_to_string(marker).unwrap_or_default();
        if let Some(pid) = text.strip_suffix('\n') {
            assert!(runs(pid), "{pid}");
            return pid.to_owned();
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Is there such a process, and not only its entry that waits to be collected?
fn runs(pid: &str) -> bool {
    fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| {
        !stat
            .rsplit(')')
            .next()
            .unwrap_or_default()
            .trim_start()
            .starts_with('Z')
    })
}
