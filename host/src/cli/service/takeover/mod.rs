//! `gpud up` on a node where GPUd runs: finds it, stops it, retains its files for a way back, and imports its events.

mod report;
mod retained;

use std::{path::Path, time::Duration};

use self::report::{Data, Report};
use super::{
    UNIT, env_file,
    install::Root,
    systemctl::{Systemctl, UnitState},
};
use crate::{
    cli::{data_dir, options::DEFAULT_PLUGIN_SPECS},
    component::builtin,
    node::{
        kmsg::{self, BootClock},
        trusted,
    },
    store::{self, ImportRules, STATE_FILE, StateFile},
};

/// Largest unit that is read, bytes.
const MAX_UNIT: usize = 1 << 20;
/// The longest wait for a stop: the usual limit of a unit and some.
const STOP: Duration = Duration::from_secs(120);
/// The longest wait for a new start.
const START: Duration = Duration::from_secs(330);
/// The longest search for the oldest message of the kernel log.
const OLDEST: Duration = Duration::from_secs(5);
/// The first words of gpud's own unit.
const OWN_UNIT: &str = "# gpud as a service of systemd";
/// Components whose events GPUd draws from the kernel log.
const OF_KERNEL_LOG: [&str; 10] = [
    "accelerator-nvidia-error-sxid",
    "accelerator-nvidia-error-xid",
    "accelerator-nvidia-infiniband",
    "accelerator-nvidia-nccl",
    "accelerator-nvidia-peermem",
    "cpu",
    "disk",
    "memory",
    "nfs",
    "os",
];

/// The installation of GPUd that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExistingGpud {
    /// Its unit.
    unit: Option<String>,
    /// The environment file, which its unit reads.
    environment: Option<String>,
    /// The state file has events of its own that were not imported.
    has_events: bool,
}

/// Looks for GPUd: a unit that is not gpud's own, or events of GPUd in the state file. Blocks.
pub fn find(root: &Root, data_dir: &Path, environment: Option<&str>) -> Option<ExistingGpud> {
    let unit = trusted::read(&root.unit(), MAX_UNIT).ok();
    let unit = unit.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    let unit = unit.filter(|text| is_unit_of_gpud(text));
    let file = state_file(data_dir);
    let has_events = file.is_some_and(|file| file.awaits_import().unwrap_or(false));
    (unit.is_some() || has_events).then(|| ExistingGpud {
        unit,
        environment: environment.map(str::to_owned),
        has_events,
    })
}

/// Opens the state file to look at it, if no other user could put something else in its place: what is imported is written into
/// it.
fn state_file(data_dir: &Path) -> Option<StateFile> {
    data_dir::check(data_dir).ok()?;
    StateFile::open(&data_dir.join(STATE_FILE)).ok()
}

/// Returns true for a unit that starts a gpud and that `gpud up` did not write.
fn is_unit_of_gpud(text: &str) -> bool {
    let starts =
        |line: &str| line.trim_start().starts_with("ExecStart=") && line.contains("gpud run");
    !text.contains(OWN_UNIT) && text.lines().any(starts)
}

/// Stops GPUd, retains its files and imports its events. Gives what to print.
///
/// # Errors
/// It cannot be stopped, or a file cannot be retained; it is as it was then, and started again.
pub async fn take_over(
    existing: ExistingGpud,
    systemctl: &Systemctl,
    root: &Root,
    data_dir: &Path,
) -> Result<String, String> {
    let state = systemctl.state().await.map_err(|why| why.to_string())?;
    if state == UnitState::Active {
        let stopped = systemctl.run(&["stop", UNIT], STOP).await;
        stopped.map_err(|why| format!("failed to stop GPUd: {why}"))?;
    }
    let program = retained::program_of_gpud(root).await;
    let (root, data_dir) = (root.clone(), data_dir.to_owned());
    let work = move || {
        let folder = data_dir.join(retained::FOLDER);
        let mut texts = Vec::new();
        texts.extend(existing.unit.as_deref().map(|unit| ("gpud.service", unit)));
        texts.extend(
            existing
                .environment
                .as_deref()
                .map(|text| ("gpud.default", text)),
        );
        let files = retained::retain(&folder, &texts, program.as_deref())?;
        Ok::<_, String>(report(&existing, &root, &data_dir, state, files))
    };
    let done = tokio::task::spawn_blocking(work).await;
    let done = done.map_err(|error| error.to_string()).flatten();
    if done.is_err() && state == UnitState::Active {
        let _ = systemctl.run(&["start", UNIT], START).await;
    }
    done.map(|report| report.to_string())
}

fn report(
    existing: &ExistingGpud,
    root: &Root,
    data_dir: &Path,
    state: UnitState,
    files: Vec<String>,
) -> Report {
    let flags = existing.environment.as_deref().map(env_file::flags);
    let flags = flags.and_then(Result::ok).unwrap_or_default();
    let specs = flags
        .iter()
        .find_map(|flag| flag.strip_prefix("--plugin-specs-file="))
        .unwrap_or(DEFAULT_PLUGIN_SPECS);
    let path = data_dir.join(STATE_FILE);
    let hosted = state_file(data_dir).and_then(|file| file.hosted().ok());
    Report {
        was_active: state == UnitState::Active,
        unit: existing.unit.is_some().then(|| root.unit()),
        flags: env_file::split(&flags),
        specs: Some(root.join(specs)).filter(|path| path.is_file()),
        settings: hosted.unwrap_or_default().into_keys().collect(),
        data: match existing.has_events {
            false => Data::Nothing,
            true => import(&path),
        },
        state_file: path,
        folder: data_dir.join(retained::FOLDER),
        files,
    }
}

fn import(path: &Path) -> Data {
    let clock = BootClock::read();
    let log = kmsg::configured_path();
    let builtins = builtin::all();
    let components: Vec<_> = builtins.iter().map(|builtin| builtin.component).collect();
    let rules = ImportRules {
        components: &components,
        of_kernel_log: &OF_KERNEL_LOG,
        // A log that cannot be read gives the daemon nothing either.
        kernel_log_from: kmsg::oldest(&log, OLDEST, clock).ok().flatten(),
        boot_time: clock.unix_ms(0),
    };
    match store::import_gpud(path, &rules) {
        Ok(imported) => Data::Imported(imported.unwrap_or_default()),
        Err(error) => Data::Failed(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::service::install;

    #[test]
    fn units_of_gpud_and_our_own() {
        let theirs = "[Unit]\nDescription=gpud\n[Service]\nExecStart=/usr/local/bin/gpud run $FLAGS\nRestart=always\n";
        assert!(is_unit_of_gpud(theirs));
        assert!(!is_unit_of_gpud(&install::unit_text("/usr/bin/gpud")));
        assert!(!is_unit_of_gpud("[Service]\nExecStart=/usr/bin/other\n"));
        assert!(!is_unit_of_gpud(""));
    }

    #[test]
    fn components_of_the_kernel_log_are_built_in() {
        let builtins = builtin::all();
        for name in OF_KERNEL_LOG {
            assert!(
                builtins.iter().any(|builtin| builtin.component == name),
                "{name}"
            );
        }
    }
}
