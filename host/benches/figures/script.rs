//! Script plugins: what gpud adds to bash, and what a large spec file costs.

use std::{
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use gpud::{plugins::file, script::Script};
use tokio_util::sync::CancellationToken;

use crate::{
    daemon::{Daemon, cpu_seconds},
    table::{Table, Target, quantile},
};

const ROUNDS: usize = 400;
const COMPONENTS: usize = 200;
/// All components run twice in it, after a first run at the start.
const WATCHED: Duration = Duration::from_secs(120);
const ENTRIES: usize = 5000;

const SCRIPT: &str = "echo '{\"status\": \"ok\", \"load\": {\"one\": 0.5}}'\n";

pub async fn measure(table: &mut Table) {
    beyond_bash(table).await;
    large_file(table);
    many_components(table).await;
}

/// One plugin with a parser, named and timed as asked.
fn entry(name: &str, interval: &str) -> String {
    let script = SCRIPT.trim_end();
    format!(
        "- plugin_name: {name}
  plugin_type: component
  run_mode: auto
  tags: [bench]
  timeout: 10s
  interval: {interval}
  health_state_plugin:
    steps:
      - name: echo
        run_bash_script:
          content_type: plaintext
          script: |
            {script}
    parser:
      json_paths:
        - query: $.status
          field: status
          expect:
            regex: ^ok$
        - query: $.load.one
          field: load
"
    )
}

/// A check of a script component against the same script run by bash alone, one after the other in each round.
async fn beyond_bash(table: &mut Table) {
    let read = file::parse(entry("bench", "1m").as_bytes(), "bench");
    let script = Script::new(&read.plugins[0].spec);
    let stop = CancellationToken::new();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("plain.bash");
    std::fs::write(&path, SCRIPT).unwrap();
    let (mut ours, mut plain) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let started = Instant::now();
        let done = Command::new("bash")
            .arg(&path)
            .stdin(Stdio::null())
            .output()
            .unwrap();
        plain.push(started.elapsed().as_secs_f64() * 1e3);
        assert!(done.status.success());
        let started = Instant::now();
        let checked = script.check(1_700_000_000_000, &stop).await;
        ours.push(started.elapsed().as_secs_f64() * 1e3);
        assert!(checked.verdict.healthy, "{:?}", checked.verdict);
    }
    let (ours, plain) = (quantile(&mut ours, 0.5), quantile(&mut plain, 0.5));
    table.add(
        "script component beyond plain `bash script` (medians)",
        ours - plain,
        "ms",
        Target::AtMost(0.5),
    );
    table.note("  script component", ours, "ms");
    table.note("  plain `bash script`", plain, "ms");
}

fn large_file(table: &mut Table) {
    let text: String = (0..ENTRIES)
        .map(|n| entry(&format!("component-{n}"), "5m"))
        .collect();
    let mut samples: Vec<f64> = (0..5)
        .map(|_| {
            let started = Instant::now();
            let read = file::parse(text.as_bytes(), "bench");
            assert_eq!((read.plugins.len(), read.problems.len()), (ENTRIES, 0));
            assert!(read.duplicates().is_empty());
            started.elapsed().as_secs_f64() * 1e3
        })
        .collect();
    table.add(
        "validating a spec file of 5,000 entries",
        quantile(&mut samples, 0.5),
        "ms",
        Target::AtMost(200.0),
    );
    table.note("  its size", text.len() as f64 / 1e6, "MB");
}

/// CPU time of the daemon alone: that of its bash processes is theirs.
async fn many_components(table: &mut Table) {
    eprintln!(
        "{COMPONENTS} script components for {} s …",
        WATCHED.as_secs()
    );
    let folder = tempfile::tempdir().unwrap();
    let specs = folder.path().join("specs.yaml");
    let text: String = (0..COMPONENTS)
        .map(|n| entry(&format!("component-{n}"), "1m"))
        .collect();
    std::fs::write(&specs, text).unwrap();
    let specs = specs.to_str().unwrap();
    let daemon = Daemon::start(
        folder.path(),
        &["--components", "none", "--plugin-specs-file", specs],
    );
    daemon.times().await;
    let before = cpu_seconds(daemon.pid());
    tokio::time::sleep(WATCHED).await;
    let used = cpu_seconds(daemon.pid()) - before;
    table.add(
        "200 script components every minute, beyond their bash processes",
        used / WATCHED.as_secs_f64() * 100.0,
        "% of a core",
        Target::AtMost(1.0),
    );
    let (_, body) = daemon.client().await.get("/v1/states").await;
    let body: serde_json::Value = serde_json::from_slice(&body).unwrap();
    let mut seconds = std::collections::BTreeMap::new();
    for component in body.as_array().unwrap() {
        let time = component["states"][0]["time"].as_str().unwrap().to_owned();
        *seconds.entry(time).or_insert(0_u32) += 1;
    }
    let most = seconds.values().max().copied().unwrap_or(0);
    table.note("  most starts within one second", f64::from(most), "");
    table.note("  seconds in which any started", seconds.len() as f64, "");
}
