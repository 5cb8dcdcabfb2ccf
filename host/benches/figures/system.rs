//! Measures the cost of the system components: processor time and files of one round of all of them, on a machine with many mounts
//! and processes. These are made in namespaces of the benchmark's own, in which it runs itself once more; without root it
//! says that it cannot.

use std::{
    fs,
    process::{Command, Stdio},
    sync::Arc,
};

use gpud::{
    component::{builtin, trial::Trial},
    model::Trigger,
    node::{Node, clock::Clock},
};
use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};

use crate::{
    guest,
    table::{Table, Target},
};

/// Runs the part inside of the namespaces.
pub const INSIDE: &str = "--system-inside";
const MOUNTS: usize = 100;
/// Rounds, a minute of the checkers' clock apart: what they ask every five minutes or every hour has its share in the mean.
const ROUNDS: u32 = 60;
const MINUTE_MS: u64 = 60_000;
/// Memory of a process that sleeps, generously, in KiB.
const SLEEPER_KIB: usize = 400;
/// The kernel counts in hundredths of a second (`USER_HZ`).
const TICK_MS: f64 = 10.0;
/// How many of the most expensive components are shown.
const SHOWN: usize = 6;

/// Per round.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Figures {
    /// Milliseconds of this process.
    own_ms: f64,
    /// Of the programs that it ran.
    programs_ms: f64,
    /// Files and folders that were opened or looked at.
    files: f64,
    /// Bytes handed to the guests.
    bytes: f64,
    /// Milliseconds of a round on demand, in which nothing is taken from memory; programs included.
    fresh_ms: f64,
    /// Own milliseconds and files by component.
    components: Vec<(String, f64, f64)>,
}

pub async fn measure(table: &mut Table) {
    eprintln!("system components …");
    for (processes, most_ms, most_files) in [(500, 20.0, 2_500.0), (10_000, 60.0, 5_000.0)] {
        let Some(figures) = in_namespaces(processes) else {
            continue;
        };
        let what =
            format!("a round of all system components, {processes} processes, {MOUNTS} mounts");
        let all = figures.own_ms + figures.programs_ms;
        table.add(&format!("{what}: CPU"), all, "ms", Target::AtMost(most_ms));
        table.note("  of it, programs", figures.programs_ms, "ms");
        table.add(
            "  files and folders looked at",
            figures.files,
            "",
            Target::AtMost(most_files),
        );
        table.note("  handed to the guests", figures.bytes / 1024.0, "KiB");
        table.note(
            "  a round on demand, everything read again",
            figures.fresh_ms,
            "ms",
        );
        for (name, ms, files) in figures.components.iter().take(SHOWN) {
            table.note(&format!("  {name} ({files:.0} files)"), *ms, "ms");
        }
    }
}

/// The figures of a machine with so many processes; `None`, with the reason on standard error, where it cannot be made.
fn in_namespaces(processes: usize) -> Option<Figures> {
    let available = meminfo("MemAvailable:");
    if available < processes * SLEEPER_KIB {
        eprintln!("  {processes} processes: left out, {available} KiB of memory are not enough");
        return None;
    }
    let folder = tempfile::tempdir().unwrap();
    let script = format!(
        "set -e\ncd '{}'\nfor n in $(seq {}); do mkdir t$n b$n; mount -t tmpfs -o size=1m none t$n; mount --bind /usr b$n; done\n\
         cd /\nfor n in $(seq {processes}); do sleep 1000000 >/dev/null & done\nexec \"$@\"",
        folder.path().display(),
        MOUNTS / 2
    );
    let output = Command::new("unshare")
        .args(["--mount", "--propagation=private", "--pid", "--fork"])
        .args([
            "--kill-child",
            "--mount-proc",
            "bash",
            "-c",
            &script,
            "bash",
        ])
        .arg(std::env::current_exe().unwrap())
        .arg(INSIDE)
        .stderr(Stdio::inherit())
        .output();
    let figures = match &output {
        Ok(output) if output.status.success() => {
            serde_json::from_slice::<Figures>(&output.stdout).map_err(|error| error.to_string())
        }
        other => Err(format!("{other:?}")),
    };
    figures
        .inspect_err(|why| eprintln!("  {processes} processes: left out, cannot be made: {why}"))
        .ok()
}

fn meminfo(key: &str) -> usize {
    let text = fs::read_to_string("/proc/meminfo").unwrap();
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix(key))
        .unwrap();
    line.trim_end_matches("kB").trim().parse().unwrap()
}

/// Measures where it stands and prints the figures as JSON.
pub async fn inside() {
    let cache = tempfile::tempdir().unwrap();
    let mut node = Node::live().await.unwrap();
    let clock = Clock::manual(node.clock.now_ms());
    node.clock = clock.clone();
    let runtime = guest::runtime_of(cache.path(), node);
    let mut trials = Vec::new();
    for builtin in builtin::of_system() {
        let plugin = Arc::new(guest::load(&runtime, builtin.folder).await);
        // The plugin describes all checkers of its family.
        let mut described = plugin.components().iter();
        let descriptor = described.find(|one| one.name == builtin.component);
        let descriptor = descriptor.unwrap().clone();
        let node = Arc::clone(runtime.node());
        let trial = Trial::new(plugin, descriptor, Arc::from("{}"), node).await;
        trials.push((builtin.component, trial.unwrap(), 0.0, 0));
    }
    for trigger in [Trigger::Startup, Trigger::Scheduled] {
        for (name, trial, ..) in &mut trials {
            let outcome = trial.check(trigger).await;
            if let Err(error) = outcome.report {
                eprintln!("  {name}: {error}");
            }
        }
    }
    let mut bytes = 0;
    let (own, programs) = (own_ms(), programs_ms());
    for _ in 0..ROUNDS {
        clock.advance_ms(MINUTE_MS);
        for (_, trial, ms, files) in &mut trials {
            let before = own_ms();
            let outcome = trial.check(Trigger::Scheduled).await;
            *ms += own_ms() - before;
            *files += outcome.bill.files;
            bytes += outcome.bill.bytes;
        }
    }
    let (own_after, programs_after) = (own_ms(), programs_ms());
    for (_, trial, ..) in &mut trials {
        trial.check(Trigger::Manual).await;
    }
    let rounds = f64::from(ROUNDS);
    let mut components: Vec<_> = trials
        .iter()
        .map(|(name, _, ms, files)| ((*name).to_owned(), ms / rounds, *files as f64 / rounds))
        .collect();
    components.sort_by(|a, b| b.1.total_cmp(&a.1));
    let figures = Figures {
        own_ms: (own_after - own) / rounds,
        programs_ms: (programs_after - programs) / rounds,
        files: components.iter().map(|(_, _, files)| files).sum(),
        bytes: bytes as f64 / rounds,
        fresh_ms: own_ms() - own_after + programs_ms() - programs_after,
        components,
    };
    println!("{}", serde_json::to_string(&figures).unwrap());
}

/// Processor time of this process so far.
pub fn own_ms() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 * 1e3 + time.tv_nsec as f64 / 1e6
}

/// Of the programs that it ran and waited for: `cutime` and `cstime` of proc_pid_stat(5).
fn programs_ms() -> f64 {
    let text = fs::read_to_string("/proc/self/stat").unwrap();
    let after = text.rsplit(')').next().unwrap();
    let fields: Vec<&str> = after.split_ascii_whitespace().collect();
    let ticks = |field: usize| fields[field - 3].parse::<f64>().unwrap();
    (ticks(16) + ticks(17)) * TICK_MS
}
