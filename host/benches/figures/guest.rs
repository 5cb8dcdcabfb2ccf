//! Measures the cost of a sandboxed check: a fresh instance with the `cpu` check against starting bash, and Xid matching in the
//! sandbox against the same code compiled natively.

use std::{
    path::Path,
    process::Command,
    sync::Arc,
    time::{Duration, Instant},
};

use gpud::{
    capability::Grants,
    component::builtin,
    model::{CheckContext, Trigger},
    node::{Node, kmsg::KernelMessage},
    runtime::{CallContext, Compiler, Limits, Plugin, PluginSource, Runtime, Wasm},
};

use crate::table::{Table, Target, quantile};

const CHECKS: usize = 3000;
const BASHES: usize = 200;
const LINES: usize = 1000;
const ROUNDS: usize = 50;

pub async fn measure(table: &mut Table, runtime: &Runtime) {
    eprintln!("guest calls …");
    cpu_against_bash(table, runtime).await;
    xid_against_native(table, runtime).await;
}

/// A runtime over this machine.
pub async fn runtime(cache: &Path) -> Runtime {
    runtime_of(cache, Node::live().await.unwrap())
}

/// The same over this node.
pub fn runtime_of(cache: &Path, node: Node) -> Runtime {
    Runtime::start(cache, Compiler::InProcess, Arc::new(node)).unwrap()
}

/// A built-in checker by its folder.
pub async fn load(runtime: &Runtime, folder: &str) -> Plugin {
    let builtin = builtin::all()
        .into_iter()
        .find(|builtin| builtin.folder == folder)
        .unwrap();
    let grants = Grants::parse(&builtin.grants(&serde_json::Value::Null)).unwrap();
    let grants = grants.of_builtin();
    let wasm = builtin.unpack().unwrap();
    let source = PluginSource {
        name: folder,
        wasm: Wasm::Bytes(&wasm),
        grants,
        limits: Limits::default(),
    };
    runtime.load(source).await.unwrap()
}

fn context(component: &str, now: u64) -> CheckContext {
    CheckContext {
        component: component.into(),
        now,
        trigger: Trigger::Scheduled,
        boot_id: "boot".into(),
        boot_time: 0,
        previous_check: None,
    }
}

/// On behalf of a component without a store.
pub fn call_context(component: &str) -> CallContext<'_> {
    CallContext {
        component,
        store: None,
        config: Arc::from("{}"),
        values: None,
    }
}

async fn cpu_against_bash(table: &mut Table, runtime: &Runtime) {
    let cpu = load(runtime, "cpu").await;
    let now = runtime.node().clock.now_ms();
    let (mut own, mut whole, mut bash) = (Vec::new(), Vec::new(), Vec::new());
    // Interleaved, so that both see the same machine.
    for round in 0..CHECKS {
        let finished = cpu.check(&call_context("cpu"), &context("cpu", now)).await;
        finished.answer.unwrap();
        own.push(micros(finished.bill.time - finished.bill.waiting));
        whole.push(micros(finished.bill.time));
        if round % (CHECKS / BASHES) == 0 {
            let started = Instant::now();
            assert!(
                Command::new("bash")
                    .args(["-c", ":"])
                    .status()
                    .unwrap()
                    .success()
            );
            bash.push(micros(started.elapsed()));
        }
    }
    let own = quantile(&mut own, 0.5);
    let bash = quantile(&mut bash, 0.5);
    table.add(
        "fresh instance + cpu check, guest and boundary (median)",
        own,
        "µs",
        Target::AtMost(80.0),
    );
    table.add(
        "  `bash -c :` against it",
        bash / own,
        "times",
        Target::AtLeast(10.0),
    );
    table.note(
        "  the same with its file reads",
        quantile(&mut whole, 0.5),
        "µs",
    );
    table.note("  `bash -c :`", bash, "µs");
}

/// The target is about the checker's logic. What it costs to hand lines to a guest, and to copy them for native code, is
/// measured with lines of the same lengths that need no look, and taken off both sides; the figures with it stand below.
async fn xid_against_native(table: &mut Table, runtime: &Runtime) {
    let xid = load(runtime, "xid").await;
    let lines = log(20);
    let blank: Vec<String> = lines.iter().map(|line| ".".repeat(line.len())).collect();
    let (sandboxed, native, found) = both(&xid, &lines).await;
    let (handed, copied, nothing) = both(&xid, &blank).await;
    assert_eq!(nothing, 0);
    table.add(
        "xid logic over a 1,000-line log, sandboxed against native",
        (sandboxed - handed) / (native - copied),
        "times",
        Target::AtMost(2.0),
    );
    table.note("  sandboxed, with the lines handed over", sandboxed, "µs");
    table.note("  of it, for lines that need no look", handed, "µs");
    table.note("  native, on copies of the lines", native, "µs");
    table.note("  of it, for lines that need no look", copied, "µs");
    table.note("  all against all", sandboxed / native, "times");
    table.note("  Xids in the log", found as f64, "");
    let (sandboxed, native, found) = both(&xid, &log(1)).await;
    table.note(
        "  all against all where every line is an Xid",
        sandboxed / native,
        "times",
    );
    table.note("  events handed back then", found as f64, "");
}

/// Median microseconds in the sandbox and natively, and how many events resulted.
async fn both(xid: &Plugin, lines: &[String]) -> (f64, f64, usize) {
    let component = "accelerator-nvidia-error-xid";
    let messages: Vec<KernelMessage> = lines
        .iter()
        .enumerate()
        .map(|(sequence, text)| message(sequence as u64, text))
        .collect();
    let (mut sandboxed, mut native) = (Vec::new(), Vec::new());
    let mut found = 0;
    for _ in 0..ROUNDS {
        let (mut took, mut events) = (Duration::ZERO, 0);
        for batch in messages.chunks(500) {
            let context = context(component, 1_700_000_000_000);
            let finished = xid
                .on_messages(&call_context(component), &context, batch.iter())
                .await;
            took += finished.bill.time - finished.bill.waiting;
            events += finished.answer.unwrap().len();
        }
        sandboxed.push(micros(took));
        let started = Instant::now();
        let natively = natively(&messages);
        native.push(micros(started.elapsed()));
        assert_eq!(natively, events, "both find the same");
        found = events;
    }
    (
        quantile(&mut sandboxed, 0.5),
        quantile(&mut native, 0.5),
        found,
    )
}

/// A log in which one line in `every` is an Xid and the others only look a little like one, as what the prefilter lets
/// through to a checker.
fn log(every: usize) -> Vec<String> {
    (0..LINES)
        .map(|n| match (n % every, n % 3) {
            (0, 0) => format!(
                "NVRM: Xid (PCI:0000:{:02x}:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.",
                n % 256
            ),
            (0, 1) => format!(
                "NVRM: Xid (PCI:0000:{:02x}:00): 31, pid={n}, name=python3, Ch 00000010, intr 10000000. MMU Fault",
                n % 256
            ),
            (0, _) => format!(
                "NVRM: Xid (PCI:0008:01:00): 149, NETIR_LINK_EVT  Fatal   XC0 i0 Link {:02} (0x020465c6 0x00000000 0x00000000 0x00000000 0x00000000 0x00000000)",
                n % 18
            ),
            _ => format!("NVRM: Xid message handler of GPU {n} started: loading module for x86_64 570.133.20"),
        })
        .collect()
}

fn message(sequence: u64, text: &str) -> KernelMessage {
    KernelMessage {
        sequence,
        time: 1_700_000_000_000 + sequence,
        monotonic_micros: sequence,
        level: 3,
        facility: 0,
        text: text.into(),
        dictionary: Vec::new(),
        fragment: false,
    }
}

/// The same work compiled natively: copies of the messages as a guest gets them, and events of them.
fn natively(messages: &[KernelMessage]) -> usize {
    let context = gpud_sdk::CheckContext {
        component: "accelerator-nvidia-error-xid".into(),
        now: 1_700_000_000_000,
        trigger: gpud_sdk::Trigger::Event,
        boot_id: "boot".into(),
        boot_time: 0,
        previous_check: None,
        extra: Vec::new(),
    };
    let messages: Vec<gpud_sdk::Message> = messages
        .iter()
        .map(|message| gpud_sdk::Message {
            sequence: message.sequence,
            time: message.time,
            level: message.level,
            facility: message.facility,
            text: message.text.clone(),
            dictionary: None,
        })
        .collect();
    let config = gpud_builtin_xid::config::read("{}").unwrap();
    gpud_builtin_xid::evaluate::events(&context, &config, &messages, || None, Vec::new)
        .unwrap()
        .len()
}

pub fn micros(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e6
}
