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

/// What the command line asks for.
struct Options {
    minutes: f64,
    only: Option<String>,
    inside: Option<Inside>,
    json: PathBuf,
    components: PathBuf,
}

impl Options {
    fn read(mut arguments: impl Iterator<Item = String>) -> Self {
        let target = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../target"));
        let mut options = Self {
            minutes: 10.0,
            only: None,
            inside: None,
            json: target.join("bench.json"),
            components: target.join("examples"),
        };
        while let Some(argument) = arguments.next() {
            match argument.as_str() {
                "--minutes" => {
                    let minutes = arguments.next().and_then(|n| n.parse().ok());
                    options.minutes = minutes.expect("--minutes N");
                }
                "--json" => {
                    let file = arguments.next().map(PathBuf::from);
                    options.json = file.expect("--json FILE");
                }
                system::INSIDE => options.inside = Some(Inside::System),
                nvidia::INSIDE => {
                    let library = arguments.next().map(PathBuf::from);
                    let rounds = arguments.next().and_then(|n| n.parse().ok());
                    let (library, rounds) = library.zip(rounds).expect("a library and a number");
                    options.inside = Some(Inside::Nvidia(library, rounds));
                }
                "--components" => {
                    let folder = arguments.next().map(PathBuf::from);
                    options.components = folder.expect("--components FOLDER");
                }
                "--only" => options.only = arguments.next(),
                // Cargo adds it.
                "--bench" => {}
                other => panic!("unknown argument {other}"),
            }
        }
        options
    }
}

fn main() {
    let options = Options::read(std::env::args().skip(1));
    let runtime = gpud::executor::start().expect("threads to run on");
    match &options.inside {
        Some(Inside::System) => return runtime.block_on(system::inside()),
        Some(Inside::Nvidia(library, rounds)) => {
            return runtime.block_on(nvidia::inside(library, *rounds));
        }
        None => {}
    }
    let mut table = Table::default();
    machine::measure(&mut table);
    runtime.block_on(measure(&options, &mut table));
    println!("{table}");
    std::fs::write(&options.json, table.json()).expect("writing the JSON file");
    println!("written to {}", options.json.display());
}

/// Measures the parts that were asked for.
async fn measure(options: &Options, table: &mut Table) {
    let wanted = |part: &str| options.only.as_deref().is_none_or(|only| only == part);
    if wanted("guest") || wanted("kernel-log") {
        let cache = tempfile::tempdir().expect("a folder");
        let runtime = guest::runtime(cache.path()).await;
        if wanted("guest") {
            guest::measure(table, &runtime).await;
        }
        if wanted("kernel-log") {
            kernel_log::measure(table, &runtime).await;
        }
    }
    if wanted("nvidia") {
        nvidia::measure(table).await;
    }
    if wanted("system") {
        system::measure(table).await;
    }
    if wanted("sdk") {
        sdk::measure(table, &options.components).await;
    }
    if wanted("plugins") {
        plugins::measure(table, &options.components).await;
    }
    if wanted("flood") {
        flood::measure(table).await;
    }
    if wanted("saved-logs") {
        saved_logs::measure(table);
    }
    if wanted("script") {
        script::measure(table).await;
    }
    if wanted("daemon") {
        let watched = Duration::from_secs_f64(options.minutes * 60.0);
        daemon::measure(table, watched).await;
    }
    if wanted("api") {
        api::measure(table).await;
    }
}
