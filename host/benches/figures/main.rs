//! The figures that gpud is held to, measured on this machine and printed beside their targets; run by
//! `cargo xtask bench`. Where a baseline exists it is measured in the same run and the figure is a ratio; how quick the
//! machine is stands above them all.
//!
//! `--only guest|nvidia|system|kernel-log|sdk|plugins|flood|saved-logs|script|daemon|api` measures one part. `--minutes N` is how long the idle daemon is
//! watched (default 10); `--json FILE` is where the figures go as well (default `target/bench.json`); `--components
//! FOLDER` is where the examples of `examples/` lie (default `target/examples`, where `examples/test.sh` leaves them).
#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs,
    reason = "a benchmark that cannot go on stops"
)]

mod api;
mod client;
mod daemon;
mod flood;
mod guest;
mod kernel_log;
mod latency;
mod machine;
mod nvidia;
mod plugins;
mod saved_logs;
mod script;
mod sdk;
mod system;
mod table;

use std::{path::PathBuf, time::Duration};

use table::Table;

/// What runs in a process of its own, for a part that starts this program once more.
enum Inside {
    System,
    Nvidia(PathBuf, u32),
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let mut minutes = 10.0;
    let mut only = None;
    let mut inside = None;
    let target = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../target"));
    let mut json = target.join("bench.json");
    let mut components = target.join("examples");
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--minutes" => {
                minutes = arguments
                    .next()
                    .and_then(|n| n.parse().ok())
                    .expect("--minutes N")
            }
            "--json" => json = arguments.next().map(PathBuf::from).expect("--json FILE"),
            system::INSIDE => inside = Some(Inside::System),
            nvidia::INSIDE => {
                let library = arguments.next().map(PathBuf::from);
                let rounds = arguments.next().and_then(|n| n.parse().ok());
                let (library, rounds) = library.zip(rounds).expect("a library and a number");
                inside = Some(Inside::Nvidia(library, rounds));
            }
            "--components" => {
                components = arguments
                    .next()
                    .map(PathBuf::from)
                    .expect("--components FOLDER")
            }
            "--only" => only = arguments.next(),
            // Cargo adds it.
            "--bench" => {}
            other => panic!("unknown argument {other}"),
        }
    }
    let runtime = gpud::executor::start().expect("threads to run on");
    match inside {
        Some(Inside::System) => return runtime.block_on(system::inside()),
        Some(Inside::Nvidia(library, rounds)) => {
            return runtime.block_on(nvidia::inside(&library, rounds));
        }
        None => {}
    }
    let mut table = Table::default();
    machine::measure(&mut table);
    runtime.block_on(async {
        let wanted = |part: &str| only.as_deref().is_none_or(|only| only == part);
        if wanted("guest") || wanted("kernel-log") {
            let cache = tempfile::tempdir().expect("a folder");
            let runtime = guest::runtime(cache.path()).await;
            if wanted("guest") {
                guest::measure(&mut table, &runtime).await;
            }
            if wanted("kernel-log") {
                kernel_log::measure(&mut table, &runtime).await;
            }
        }
        if wanted("nvidia") {
            nvidia::measure(&mut table).await;
        }
        if wanted("system") {
            system::measure(&mut table).await;
        }
        if wanted("sdk") {
            sdk::measure(&mut table, &components).await;
        }
        if wanted("plugins") {
            plugins::measure(&mut table, &components).await;
        }
        if wanted("flood") {
            flood::measure(&mut table).await;
        }
        if wanted("saved-logs") {
            saved_logs::measure(&mut table);
        }
        if wanted("script") {
            script::measure(&mut table).await;
        }
        if wanted("daemon") {
            daemon::measure(&mut table, Duration::from_secs_f64(minutes * 60.0)).await;
        }
        if wanted("api") {
            api::measure(&mut table).await;
        }
    });
    println!("{table}");
    std::fs::write(&json, table.json()).expect("writing the JSON file");
    println!("written to {}", json.display());
}
