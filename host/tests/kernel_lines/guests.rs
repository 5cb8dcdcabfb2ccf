//! The lines through every built-in checker that watches the kernel log, in its sandbox.

use std::{
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use gpud::{
    capability::Grants,
    component::builtin,
    model::{CheckContext, Trigger},
    node::{
        Node,
        kmsg::{self, BootClock, KernelMessage},
    },
    runtime::{CallContext, Compiler, Limits, PluginSource, Runtime, Wasm},
    store::{Commit, Location, Store, StoreOptions},
};

use crate::lines;

const NOW: u64 = 1_800_000_000_000;
const BOOT: u64 = NOW - 3_600_000;
const MESSAGES: usize = 4096;
/// A sequence number that no changed line has.
const FIRST_UNCHANGED: u64 = 1 << 40;
/// The most that the host hands over at once.
const BATCH: usize = 512;
/// A batch that takes a sandbox longer than this on a busy machine is a hang in the making: the daemon's own limit is
/// 30 s, and a batch of plain lines takes milliseconds.
const BATCH_TIME: Duration = Duration::from_secs(5);

#[tokio::test]
async fn no_line_harms_a_built_in_checker() {
    let node = Arc::new(Node::live().await.unwrap());
    let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join("kernel-lines-cache");
    let runtime = Runtime::start(&cache, Compiler::InProcess, node).unwrap();
    let messages = messages();
    let mut watching = 0;
    for builtin in builtin::all() {
        let unpack = || builtin.unpack();
        let source = PluginSource {
            name: builtin.folder,
            wasm: Wasm::Packed {
                sha256: builtin.sha256,
                unpack: &unpack,
            },
            grants: Grants::parse(&builtin.grants(&serde_json::Value::Null))
                .unwrap()
                .of_builtin(),
            limits: Limits::default(),
        };
        let plugin = runtime.load(source).await.unwrap();
        if !plugin.watches_kmsg() {
            continue;
        }
        watching += 1;
        let store = Store::open(StoreOptions::new(Location::Memory))
            .unwrap()
            .store;
        let name = builtin.component;
        let call_context = CallContext {
            component: name,
            store: Some(store.clone()),
            config: Arc::from("{}"),
            values: None,
        };
        let mut found = 0;
        for (number, batch) in messages.chunks(BATCH).enumerate() {
            let started = Instant::now();
            let finished = plugin
                .on_messages(&call_context, &context(name), batch.iter())
                .await;
            let took = started.elapsed();
            assert!(took < BATCH_TIME, "{name}: batch {number} took {took:?}");
            // An event that the host refuses would be an error as well.
            let events = finished
                .answer
                .unwrap_or_else(|error| panic!("{name}: batch {number}: {error}"));
            found += events.len();
            for event in &events {
                assert!(event.time <= NOW, "{name}: in the future: {event:?}");
            }
            let commit = Commit {
                events,
                state_writes: finished.state_writes,
                cursor: None,
            };
            store.commit(name, commit).await.unwrap();
        }
        assert!(
            found > 0,
            "{name} found nothing, though its lines are there"
        );
    }
    assert!(watching >= 15, "only {watching} checkers watch");
}

/// As the reader hands them on: lines that were changed, and each line as it should be.
fn messages() -> Vec<KernelMessage> {
    let changed = lines::log(0x6c69_6e65, MESSAGES).records;
    let unchanged = lines::seeds().into_iter().zip(FIRST_UNCHANGED..);
    let unchanged = unchanged.map(|(line, sequence)| {
        let mut record = format!("2,{sequence},60000000,-;").into_bytes();
        record.extend(line);
        record.push(b'\n');
        record
    });
    let clock = BootClock::booted_at(BOOT);
    changed
        .into_iter()
        .chain(unchanged)
        .filter_map(|record| kmsg::parse(&record, clock).ok())
        .collect()
}

fn context(component: &str) -> CheckContext {
    CheckContext {
        component: component.to_owned(),
        now: NOW,
        trigger: Trigger::Event,
        boot_id: "9f3c1d5e-0000-4000-8000-000000000000".to_owned(),
        boot_time: BOOT,
        previous_check: None,
    }
}
