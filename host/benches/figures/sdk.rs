//! Measures a fresh run of the same checker in each language: board temperatures of a machine with eight sensors,
//! against starting the interpreters that run such scripts elsewhere.
//!
//! The components are those that `examples/test.sh` leaves behind; a language whose component is not there has no row.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::Arc,
    time::Instant,
};

use gpud::{
    capability::Grants,
    model::{CheckContext, Trigger},
    node::{
        Boot, Node,
        simulated::{Canned, Simulation},
    },
    runtime::{CallContext, Compiler, Limits, Plugin, PluginSource, Runtime, Wasm},
    store::{Location, Store, StoreOptions},
};

use crate::{
    guest::micros,
    table::{Table, Target, quantile},
};

const NAME: &str = "board-temperature";
const ROUNDS: usize = 1000;
const STARTS: usize = 40;
const NOW: u64 = 1_767_225_600_000;
/// Folder of the language, what people call it, most microseconds, and the interpreter that runs such
/// scripts elsewhere.
const LANGUAGES: [(&str, &str, f64, Option<Interpreter>); 5] = [
    ("rust", "Rust", 80.0, None),
    ("c", "C", 80.0, None),
    ("go", "Go", 500.0, None),
    ("js", "JavaScript", 800.0, Some(("node", &["-e", "0"]))),
    (
        "python",
        "Python",
        3000.0,
        Some(("python3", &["-c", "pass"])),
    ),
];

type Interpreter = (&'static str, &'static [&'static str]);

/// One language under measurement.
struct Run {
    title: &'static str,
    target: f64,
    /// If it is installed, with where it is.
    interpreter: Option<(PathBuf, Interpreter)>,
    plugin: Plugin,
    own: Vec<f64>,
    whole: Vec<f64>,
    starts: Vec<f64>,
}

pub async fn measure(table: &mut Table, components: &Path) {
    eprintln!("plugins in each language …");
    let home = tempfile::tempdir().unwrap();
    let node = machine(home.path());
    let cache = home.path().join("cache");
    let runtime = Runtime::start(&cache, Compiler::InProcess, node).unwrap();
    let mut runs = Vec::new();
    for (folder, title, target, interpreter) in LANGUAGES {
        let file = components.join(format!("{folder}-{NAME}.wasm"));
        let Ok(wasm) = fs::read(&file) else {
            eprintln!(
                "  {} is not there: examples/test.sh makes it",
                file.display()
            );
            continue;
        };
        runs.push(Run {
            title,
            target,
            interpreter: interpreter.and_then(itself),
            plugin: load(&runtime, &wasm).await,
            own: Vec::new(),
            whole: Vec::new(),
            starts: Vec::new(),
        });
    }
    let store = Store::open(StoreOptions::new(Location::Memory))
        .unwrap()
        .store;
    // One after the other, as the check of `cpu` is measured: instances of one stay in place while it runs.
    for run in &mut runs {
        for round in 0..ROUNDS {
            let call_context = CallContext {
                component: NAME,
                store: Some(store.clone()),
                config: Arc::from("{}"),
                values: None,
            };
            let finished = run.plugin.check(&call_context, &context()).await;
            let report = finished.answer.unwrap();
            assert_eq!(report.metrics.len(), 8, "{}", run.title);
            run.own
                .push(micros(finished.bill.time - finished.bill.waiting));
            run.whole.push(micros(finished.bill.time));
            if let Some((path, (_, arguments))) = &run.interpreter
                && round % (ROUNDS / STARTS) == 0
            {
                run.starts.push(start(path, arguments));
            }
        }
    }
    for mut run in runs {
        let own = quantile(&mut run.own, 0.5);
        let what = format!("fresh run of {NAME} in {} (median)", run.title);
        table.add(&what, own, "µs", Target::AtMost(run.target));
        table.note(
            "  with its file reads and kept values",
            quantile(&mut run.whole, 0.5),
            "µs",
        );
        if let Some((_, (program, arguments))) = run.interpreter {
            let started = quantile(&mut run.starts, 0.5);
            let line = format!("{program} {}", arguments.join(" "));
            table.note(&format!("  `{line}`"), started, "µs");
        }
    }
}

/// Two chips with four sensors each, none of them hot.
fn machine(home: &Path) -> Arc<Node> {
    let root = home.join("root");
    for chip in 0..2 {
        let folder = root.join(format!("sys/class/hwmon/hwmon{chip}"));
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("name"), format!("chip{chip}\n")).unwrap();
        for sensor in 1..=4 {
            let file = |suffix: &str| folder.join(format!("temp{sensor}_{suffix}"));
            fs::write(file("input"), format!("{}\n", 40_000 + sensor * 1500)).unwrap();
            fs::write(file("label"), format!("Sensor {sensor}\n")).unwrap();
        }
    }
    let kmsg = home.join("kmsg");
    fs::write(&kmsg, "").unwrap();
    let simulation = Simulation {
        root,
        now: NOW,
        boot: Boot {
            id: "boot".into(),
            time: NOW - 3_600_000,
        },
        kmsg,
        canned: Canned::default(),
    };
    Arc::new(Node::simulated(simulation).unwrap())
}

async fn load(runtime: &Runtime, wasm: &[u8]) -> Plugin {
    let grants =
        serde_json::json!({"sysfs": ["/sys/class/hwmon/**"], "state": true, "config": true});
    let source = PluginSource {
        name: NAME,
        wasm: Wasm::Bytes(wasm),
        grants: Grants::parse(&grants).unwrap(),
        limits: Limits::default(),
    };
    runtime.load(source).await.unwrap()
}

fn context() -> CheckContext {
    CheckContext {
        component: NAME.into(),
        now: NOW,
        trigger: Trigger::Scheduled,
        boot_id: "boot".into(),
        boot_time: NOW - 3_600_000,
        previous_check: None,
    }
}

/// The interpreter itself: what stands in `PATH` may be a script that looks for one.
fn itself((program, arguments): Interpreter) -> Option<(PathBuf, Interpreter)> {
    let asks = match program {
        "node" => ["-p", "process.execPath"],
        _ => ["-c", "import sys; print(sys.executable)"],
    };
    let output = Command::new(program).args(asks).output().ok()?;
    let path = String::from_utf8(output.stdout).ok()?;
    output
        .status
        .success()
        .then(|| (path.trim().into(), (program, arguments)))
}

/// Microseconds from start to end.
fn start(program: &Path, arguments: &[&str]) -> f64 {
    let started = Instant::now();
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null());
    let status = command.status().unwrap();
    assert!(
        status.success(),
        "{} ended with {status}",
        program.display()
    );
    micros(started.elapsed())
}
