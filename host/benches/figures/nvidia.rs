//! Measures the cost of the NVIDIA components: processor time and calls of NVML of one round of all of them on a node with eight GPUs,
//! played by the library of `tests/nvml-mock`; and what a GPU that does not answer does to the schedule of the others.
//!
//! The round runs in a process of its own, so that the library's log of calls can be had once and be left out once.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::Arc,
    time::{Duration, Instant},
};

use futures_util::future::join_all;
use gpud::{
    component::builtin,
    model::{CheckContext, Trigger},
    node::{Node, nvml::Options},
    runtime::{CallContext, Compiler, Plugin, Runtime},
    store::{Commit, Location, Store, StoreOptions},
};
use gpud_nvml_mock::{
    install::{built, install},
    source::CALL_LOG_ENV,
};
use serde::{Deserialize, Serialize};

use crate::{
    daemon::Daemon,
    guest,
    system::own_ms,
    table::{Table, Target},
};

/// Runs the round; the library and the number of rounds come after.
pub const INSIDE: &str = "--nvidia-inside";
/// Threads in which only NVML is called: of each GPU, of the library, of pairs, of GPM samples.
const CALLS: [&str; 4] = ["nvml", "nvml-lib", "nvml-pairs", "nvml-gpm"];
const HEALTHY: &str = "product: h100-sxm\n";
/// A GPU that never answers anything after it was opened.
const HANGS: &str = "product: h100-sxm\nfaults:\n  - {call: nvmlDeviceGetTemperature, gpu: 2, hang: forever}\n  - {call: nvmlDeviceGetPowerUsage, gpu: 2, hang: forever}\n";
/// Odd: the one in the middle is shown, since a busy neighbour on the same machine makes single rounds cost several times as much.
const ROUNDS: u32 = 9;
/// Less than the usual minute, and long enough for gpud to take it for another round.
const BETWEEN: Duration = Duration::from_millis(10_500);
/// How long the schedule is watched, how often the scripts that show it run, and how many there are.
const WATCHED: Duration = Duration::from_secs(250);
const INTERVAL_MS: f64 = 60_000.0;
const SCRIPTS: usize = 10;

/// One round.
#[derive(Debug, Serialize, Deserialize)]
struct NvidiaFigures {
    components: usize,
    /// Milliseconds of this process.
    all_ms: f64,
    /// Of it, by kind of thread, most first.
    threads: Vec<(String, f64)>,
    host_calls: u64,
    /// Milliseconds from the start to the last answer.
    took_ms: f64,
}

impl NvidiaFigures {
    /// Without the threads that are in the library.
    fn host_and_guests(&self) -> f64 {
        self.all_ms - self.calls()
    }

    /// Milliseconds of the threads that are.
    fn calls(&self) -> f64 {
        let calls = self.threads.iter().filter(|(name, _)| is_call(name));
        calls.map(|(_, ms)| ms).sum()
    }
}

fn is_call(threads: &str) -> bool {
    CALLS.contains(&threads)
}

pub async fn measure(table: &mut Table) {
    eprintln!("NVIDIA components …");
    let folder = tempfile::tempdir().unwrap();
    let library = install(&built().unwrap(), HEALTHY, folder.path()).unwrap();
    let figures = in_child(&library, ROUNDS, None);
    let log = folder.path().join("calls");
    in_child(&library, 1, Some(&log));
    let (before, calls) = calls(&log);
    let what = format!(
        "a round of {} NVIDIA components, 8 GPUs",
        figures.components
    );
    table.add(
        &format!("{what}: CPU of host and guests"),
        figures.host_and_guests(),
        "ms",
        Target::AtMost(15.0),
    );
    table.note(
        "  threads that call NVML, the simulated library included",
        figures.calls(),
        "ms",
    );
    for (name, ms) in figures.threads.iter().filter(|(name, _)| !is_call(name)) {
        table.note(&format!("  threads {name}"), *ms, "ms");
    }
    table.note(
        "  until the last answer (GPM samples for seconds)",
        figures.took_ms,
        "ms",
    );
    table.note("  calls from guests", figures.host_calls as f64, "");
    table.note("  calls of NVML in a round", calls as f64, "");
    table.note(
        "  calls of NVML before, to open the driver and eight GPUs",
        before as f64,
        "",
    );
    schedule(table, folder.path()).await;
}

/// Runs itself once more.
fn in_child(library: &Path, rounds: u32, log: Option<&Path>) -> NvidiaFigures {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .arg(INSIDE)
        .arg(library)
        .arg(rounds.to_string())
        .stderr(Stdio::inherit());
    if let Some(log) = log {
        command.env(CALL_LOG_ENV, log);
    }
    let output = command.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    serde_json::from_slice(&output.stdout).unwrap()
}

/// How many calls there were before the mark that [`inside`] leaves, and after it.
fn calls(log: &Path) -> (usize, usize) {
    let text = fs::read_to_string(log).unwrap();
    let (before, round) = text.split_once(MARK).unwrap();
    (before.lines().count(), round.lines().count())
}

/// Stands in the log before the last round.
const MARK: &str = "--\n";

/// Measures a machine with this library and prints the figures as JSON.
pub async fn inside(library: &Path, rounds: u32) {
    let options = Options {
        library: Some(library.to_owned()),
        ..Options::default()
    };
    let node = Arc::new(Node::live_with(options).await.unwrap());
    let cache = tempfile::tempdir().unwrap();
    let runtime = Runtime::start(cache.path(), Compiler::InProcess, Arc::clone(&node)).unwrap();
    let options = StoreOptions::new(Location::File(cache.path().join("gpud.state")));
    let store = Store::open(options).unwrap().store;
    let mut plugins = Vec::new();
    for builtin in builtin::all() {
        if builtin.folder.starts_with("nvidia-") {
            let plugin = guest::load(&runtime, builtin.folder).await;
            plugins.push((plugin, builtin.component));
        }
    }
    // What is asked once only, at the start, and pages that are touched for the first time.
    let mut previous = node.clock.now_ms();
    round(&plugins, &store, &node, Trigger::Startup, None).await;
    let mut figures: Vec<NvidiaFigures> = Vec::new();
    for _ in 0..rounds {
        tokio::time::sleep(BETWEEN).await;
        if let Some(log) = std::env::var_os(CALL_LOG_ENV) {
            let mut file = fs::OpenOptions::new().append(true).open(log).unwrap();
            std::io::Write::write_all(&mut file, MARK.as_bytes()).unwrap();
        }
        // Looking at the threads costs as much as a component, and is none of the round's.
        let threads_before = thread_ms();
        let (cpu, began) = (own_ms(), Instant::now());
        let now = node.clock.now_ms();
        let host_calls = round(&plugins, &store, &node, Trigger::Scheduled, Some(previous)).await;
        previous = now;
        let (all_ms, took) = (own_ms() - cpu, began.elapsed());
        let of_round = |(name, ms): (String, f64)| {
            let before = threads_before.get(&name).unwrap_or(&0.0);
            (name, ms - before)
        };
        let mut threads: Vec<_> = thread_ms().into_iter().map(of_round).collect();
        threads.sort_by(|a, b| b.1.total_cmp(&a.1));
        let of_round = NvidiaFigures {
            components: plugins.len(),
            all_ms,
            threads,
            host_calls,
            took_ms: took.as_secs_f64() * 1e3,
        };
        eprintln!("  a round: {:.1} ms", of_round.host_and_guests());
        figures.push(of_round);
    }
    figures.sort_by(|a, b| a.host_and_guests().total_cmp(&b.host_and_guests()));
    println!(
        "{}",
        serde_json::to_string(&figures[figures.len() / 2]).unwrap()
    );
}

/// All components at the same time, as a daemon has it. How many calls the guests made.
async fn round(
    plugins: &[(Plugin, &'static str)],
    store: &Store,
    node: &Node,
    trigger: Trigger,
    previous_check: Option<u64>,
) -> u64 {
    node.nvml.ask_again().await;
    let checks = plugins.iter().map(|(plugin, component)| async move {
        let context = CheckContext {
            component: (*component).into(),
            now: node.clock.now_ms(),
            trigger,
            boot_id: node.boot.id.clone(),
            boot_time: node.boot.time,
            previous_check,
        };
        let call_context = CallContext {
            component,
            store: Some(store.clone()),
            config: Arc::from("{}"),
            values: None,
        };
        let finished = plugin.check(&call_context, &context).await;
        match finished.answer {
            Ok(report) if report.events.is_empty() && finished.state_writes.is_empty() => {}
            Ok(report) => {
                let commit = Commit {
                    events: report.events,
                    state_writes: finished.state_writes,
                    cursor: None,
                };
                store.commit(component, commit).await.unwrap();
            }
            Err(error) => eprintln!("  {component}: {error}"),
        }
        finished.bill.host_calls
    });
    join_all(checks).await.into_iter().sum()
}

/// Processor time by kind of thread, milliseconds, to the nanosecond: the first field of schedstat.
fn thread_ms() -> BTreeMap<String, f64> {
    let mut found = BTreeMap::new();
    for task in fs::read_dir("/proc/self/task").unwrap() {
        let task = task.unwrap().path();
        let read = |file: &str| fs::read_to_string(task.join(file)).unwrap_or_default();
        let (name, stat) = (read("comm"), read("schedstat"));
        let kind = name
            .trim()
            .trim_end_matches(|c: char| c.is_ascii_digit() || c == '-');
        let time = stat.split_whitespace().next();
        let nanoseconds = time.map_or(0, |field| field.parse::<u64>().unwrap());
        *found.entry(kind.to_owned()).or_default() += nanoseconds as f64 / 1e6;
    }
    found
}

/// When scripts ran, in a daemon over GPUs that all answer and in one over a GPU that does not.
async fn schedule(table: &mut Table, folder: &Path) {
    let mut shown = BTreeMap::new();
    for (name, scenario) in [("normal", HEALTHY), ("hangs", HANGS)] {
        let folder = folder.join(name);
        let library = install(&built().unwrap(), scenario, &folder.join("library")).unwrap();
        let times: Vec<_> = (0..SCRIPTS)
            .map(|script| folder.join(format!("times-{script}")))
            .collect();
        let spec = folder.join("spec.yaml");
        fs::write(&spec, every_minute(&times)).unwrap();
        let data = folder.join("data");
        let library = library.to_str().unwrap();
        let daemon = Daemon::start(
            &data,
            &[
                "--nvml-library",
                library,
                "--plugin-specs-file",
                spec.to_str().unwrap(),
            ],
        );
        daemon.client().await;
        tokio::time::sleep(WATCHED).await;
        drop(daemon);
        let furthest = times.iter().map(|times| furthest(times));
        shown.insert(name, furthest.fold(0.0, f64::max));
    }
    table.note(
        "ten scripts' runs from their beat, all GPUs answering (furthest)",
        shown["normal"],
        "ms",
    );
    table.add(
        "  beside a GPU whose calls never come back, further by",
        (shown["hangs"] - shown["normal"]).max(0.0),
        "ms",
        Target::AtMost(10.0),
    );
}

fn every_minute(times: &[PathBuf]) -> String {
    let one = |(script, times): (usize, &PathBuf)| {
        format!(
            "- plugin_name: every-minute-{script}\n  plugin_type: component\n  run_mode: auto\n  timeout: 10s\n  interval: 1m\n  health_state_plugin:\n    steps:\n      - name: time\n        run_bash_script:\n          content_type: plaintext\n          script: date +%s%N >> {}\n",
            times.display()
        )
    };
    times.iter().enumerate().map(one).collect()
}

/// How far the times are from their beat, milliseconds, after the start.
fn furthest(times: &Path) -> f64 {
    let text = fs::read_to_string(times).unwrap();
    let times: Vec<f64> = text
        .lines()
        .map(|line| line.parse::<f64>().unwrap() / 1e6)
        .skip(1)
        .collect();
    assert!(times.len() >= 3, "a script ran {} times", times.len());
    let beat = |time: &f64| {
        let late = (time - times[0]) % INTERVAL_MS;
        if late > INTERVAL_MS / 2.0 {
            late - INTERVAL_MS
        } else {
            late
        }
    };
    let mut beats: Vec<f64> = times.iter().map(beat).collect();
    let middle = crate::table::quantile(&mut beats, 0.5);
    let distances = beats.iter().map(|ms| (ms - middle).abs());
    distances.fold(0.0, f64::max)
}
