//! `gpud scan`: every component looks at this machine once, without a daemon.

mod args;
mod component_checks;
mod progress;
pub mod show;

use std::{env, ffi::OsString, path::PathBuf, sync::Arc, time::Duration};

use tokio::time::Instant;

use self::{
    args::ScanArgs,
    component_checks::{Findings, Scan},
    show::SummaryView,
};
use super::{
    checks::CheckOptions,
    command::{Action, Command, CommandContext},
    components::ComponentSelection,
    exit::{Exit, Stderr},
    explain, machine_info as inventory,
    options::FailOn,
    output::{self, ScanReport},
    site_configs::SiteConfigs,
    terminal::Terminal,
};
use crate::{
    component::Services,
    machine_info::{self, Collector},
    metrics,
    node::{Node, system::euid},
    runtime::{Compiler, Runtime},
    summary::{Input, Since, Summary, machine, summarize},
    wire::{ComponentHealthStates, MachineInfo},
};

/// The entry of the table of commands.
pub(super) const COMMAND: Command =
    Command::new::<ScanArgs>("scan", "Check this machine once and print what was found")
        .with_aliases(&["check", "s"]);

/// Folder of compiled code under the user's cache folder, so that the second scan is quick without any rights.
const CACHE_FOLDER: &str = "gpud/compiled";
/// Where root keeps compiled code.
const ROOTS_CACHE: &str = "/var/cache/gpud";

/// The longest time of a whole scan, as in GPUd. Components that were not checked by then are named, and the scan has
/// failed.
const LIMIT: Duration = Duration::from_secs(120);

/// The options of a scan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScanOptions {
    /// The health from which on the scan fails; `None`: it never does.
    pub fail_on: Option<FailOn>,
    /// Print one JSON document.
    pub json: bool,
    /// Everything, with tables.
    pub verbose: bool,
    /// GPUd's layout.
    pub classic: bool,
    /// A saved kernel log to be judged instead of the machine.
    pub kmsg_file: Option<PathBuf>,
    /// Checks to run.
    pub components: ComponentSelection,
    /// How far back events count.
    pub events_retention: Duration,
    /// Settings of the checks.
    pub checks: CheckOptions,
}

impl Action for ScanOptions {
    async fn run(self, context: CommandContext) -> Result<Exit, Exit> {
        scan(&self, context.stdout, context.stderr).await
    }
}

/// Looks and prints. The exit says whether the machine is as healthy as `--fail-on` asks.
///
/// # Errors
/// When the scan itself could not be made.
pub async fn scan(
    options: &ScanOptions,
    terminal: Terminal,
    stderr: Terminal,
) -> Result<Exit, Exit> {
    if let Some(log) = &options.kmsg_file {
        return explain::scan(log, options, terminal).await;
    }
    let started = Instant::now();
    let deadline = started + LIMIT;
    let site = SiteConfigs::load(options.checks.site_file.as_deref()).map_err(Exit::failure)?;
    let node = Node::live_with(options.checks.nvml()).await;
    let host_root = options.checks.host_root.clone();
    let node = node.and_then(|node| node.with_host_root(host_root));
    let node = Arc::new(node.map_err(Exit::failure)?);
    let compiler = Compiler::of_this_program();
    let runtime =
        Runtime::start(&cache_folder(), compiler, Arc::clone(&node)).map_err(Exit::failure)?;
    let services = Services::new(Arc::clone(&node), None, Arc::new(metrics::Registry::new())).await;
    let scan = Scan {
        options,
        site,
        runtime,
        services,
        terminal,
    };
    scan.print(output::begin(terminal))?;
    let collector = Collector::new(&node);
    node.nvml.take_inventory().await;
    let info = collector.collect().await;
    let cloud = machine_info::cloud(&node.files).await;
    let tables = format!(
        "\n{0} machine info\n{1}\n{0} provider info\n{2}\n",
        terminal.good(),
        inventory::tables(&info, terminal.width()),
        inventory::Provider::of(&info, &cloud).table(),
    );
    scan.print(tables.clone())?;
    let Findings {
        found,
        scanned,
        left_out,
    } = scan.look_at_all(deadline, stderr).await?;
    let took = started.elapsed();
    if left_out.is_empty() {
        scan.print(output::end(terminal))?;
    }
    let (view, gpus) = machine(&info, node.clock.now_ms());
    let summary = summarize(Input {
        components: found,
        machine: view,
        gpus,
        since: Since::default(),
    });
    let stderr = failure(options.fail_on, &left_out, &scanned, &summary);
    let stdout = match options.json {
        true => document(options.classic, info, scanned, summary)?,
        false if options.classic => String::new(),
        false => {
            let shown = SummaryView {
                summary: &summary,
                components: &scanned,
                took,
                verbose: options.verbose,
                terminal,
            };
            let tables = match options.verbose {
                true => tables,
                false => String::new(),
            };
            [shown.head(), tables, shown.body(), shown.end()].concat()
        }
    };
    Ok(Exit {
        code: u8::from(stderr != Stderr::Nothing),
        stderr,
        ..Exit::success(stdout)
    })
}

/// Why the scan fails, if it does.
fn failure(
    fail_on: Option<FailOn>,
    left_out: &[&str],
    scanned: &[ComponentHealthStates],
    summary: &Summary,
) -> Stderr {
    match (fail_on, left_out) {
        (Some(fail_on), []) if output::fails(Some(fail_on), &output::worst(scanned)) => {
            Stderr::Failure(output::why_it_fails(fail_on, summary))
        }
        (_, []) => Stderr::Nothing,
        (_, names) => Stderr::Failure(format!(
            "the scan did not end within {} s; not looked at: {}",
            LIMIT.as_secs(),
            names.join(", ")
        )),
    }
}

/// Returns the JSON document, GPUd's where `is_classic`.
fn document(
    is_classic: bool,
    info: MachineInfo,
    mut scanned: Vec<ComponentHealthStates>,
    summary: Summary,
) -> Result<String, Exit> {
    let report = match is_classic {
        true => ScanReport::new(info, scanned),
        false => {
            show::in_order(&mut scanned);
            ScanReport {
                summary: Some(summary),
                ..ScanReport::new(info, scanned)
            }
        }
    };
    report.to_json().map_err(Exit::failure)
}

/// Where commands other than `run` keep compiled code. Root's is in one place whatever the environment says: with `sudo -E`
/// or `su`, `HOME` and `XDG_CACHE_HOME` are another user's.
pub(super) fn cache_folder() -> PathBuf {
    match euid() {
        0 => PathBuf::from(ROOTS_CACHE),
        _ => users_cache(env::var_os("XDG_CACHE_HOME"), env::var_os("HOME")),
    }
}

fn users_cache(cache: Option<OsString>, home: Option<OsString>) -> PathBuf {
    let home = || home.map(|home| PathBuf::from(home).join(".cache"));
    cache
        .map(PathBuf::from)
        .filter(|folder| folder.is_absolute())
        .or_else(home)
        .unwrap_or_else(env::temp_dir)
        .join(CACHE_FOLDER)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn root_takes_no_cache_from_the_environment() {
        let folder = |cache: &str, home: &str| users_cache(Some(cache.into()), Some(home.into()));
        assert_eq!(folder("/c", "/h"), PathBuf::from("/c/gpud/compiled"));
        assert_eq!(folder("c", "/h"), PathBuf::from("/h/.cache/gpud/compiled"));
        if euid() == 0 {
            assert_eq!(cache_folder(), PathBuf::from(ROOTS_CACHE));
        }
    }
}
