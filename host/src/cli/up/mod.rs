//! `gpud up`: makes gpud a service of systemd, and starts it.

mod args;

use std::{
    env, io,
    path::{Path, PathBuf},
    time::Duration,
};

use self::args::UpArgs;
use super::{
    command::{Action, Command, CommandContext},
    exit::Exit,
    service::{
        UNIT,
        env_file::{self, WantedFlags},
        install::{self, BINARIES, Root},
        systemctl::Systemctl,
        takeover,
    },
    terminal::Terminal,
};
use crate::node::{system::euid, trusted};

/// The entry of the table of commands.
pub(super) const COMMAND: Command = Command::new::<UpArgs>(
    "up",
    "Install gpud as a service of systemd, start it, and start it at every boot",
);

/// The longest time of commands that answer at once.
const SHORT: Duration = Duration::from_secs(60);
/// The longest wait for the start, which waits for init plugins: the unit's limit and some.
const START: Duration = Duration::from_secs(330);
/// Largest environment file that is taken over, bytes.
const MAX_ENVIRONMENT: usize = 1 << 20;

/// The options of the service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UpOptions {
    /// Where it keeps its files.
    pub data_dir: PathBuf,
    /// The operator named that folder; else the one in the flags of before is used, if there is one.
    pub is_folder_named: bool,
    /// Nothing is kept on disk.
    pub db_in_memory: bool,
    /// Where it listens; `None` is as before.
    pub listen_address: Option<String>,
    /// Instead of `/`.
    pub install_root: Option<PathBuf>,
}

impl Action for UpOptions {
    async fn run(self, context: CommandContext) -> Result<Exit, Exit> {
        up(self, context.stdout).await
    }
}

/// Writes the files, and has systemd start the service now and at every boot. Gives what to print.
///
/// # Errors
/// Not root, no systemd, no gpud where a service can start it, files that cannot be written, or what systemd says.
pub async fn up(mut options: UpOptions, terminal: Terminal) -> Result<Exit, Exit> {
    if euid() != 0 {
        return Err(Exit::failure("this command needs to be run as root"));
    }
    let this = env::current_exe().ok();
    let root = Root(options.install_root.clone());
    let found = Systemctl::find().await;
    // Before anything is written: images have systemctl, and no systemd that would answer it.
    let Some(systemctl) = found.filter(|_| root.is_booted_by_systemd()) else {
        let this = this.map_or("gpud".to_owned(), |this| this.display().to_string());
        return Err(Exit::failure(format!(
            "requires systemd, to run without systemd, '{this} run'"
        )));
    };
    let Some(binary) = root.binary(this.as_deref()) else {
        return Err(Exit::failure(format!(
            "there is no gpud that a service could start: copy this one to {}",
            BINARIES.first().unwrap_or(&"")
        )));
    };
    let taken_over = take_over(&mut options, &root, &systemctl).await?;
    let written = tokio::task::spawn_blocking(move || write_files(&options, &root, binary));
    let note = taken_over + &written.await.map_err(Exit::failure)??;
    for (arguments, limit) in [
        (&["enable", UNIT][..], SHORT),
        (&["daemon-reload"], SHORT),
        (&["restart", UNIT], START),
    ] {
        let done = systemctl.run(arguments, limit).await;
        done.map_err(|why| {
            Exit::failure(format!(
                "failed to start {UNIT}: {why} (`journalctl -u {UNIT}` and the log file tell more)"
            ))
        })?;
    }
    let good = terminal.good();
    Ok(Exit::success(format!("{note}{good} {UNIT} runs\n")))
}

/// Uses the former data folder, and replaces a GPUd if there is one. Returns a note to print; mostly empty.
async fn take_over(
    options: &mut UpOptions,
    root: &Root,
    systemctl: &Systemctl,
) -> Result<String, Exit> {
    let (of_before, named) = (root.clone(), options.is_folder_named);
    let folder = options.data_dir.clone();
    let find = move || {
        let environment = read_environment(&of_before)?;
        let before = environment.as_deref().and_then(env_file::data_dir);
        let folder = match before {
            Some(before) if !named => PathBuf::from(before),
            _ => folder,
        };
        let former = takeover::find(&of_before, &folder, environment.as_deref());
        Ok::<_, Exit>((folder, former))
    };
    let found = tokio::task::spawn_blocking(find).await;
    let (folder, former) = found.map_err(Exit::failure)??;
    options.data_dir = folder;
    match former {
        None => Ok(String::new()),
        Some(former) => takeover::take_over(former, systemctl, root, &options.data_dir)
            .await
            .map_err(Exit::failure),
    }
}

/// Reads the environment file, if there is one.
fn read_environment(root: &Root) -> Result<Option<String>, Exit> {
    let path = root.environment();
    match trusted::read(&path, MAX_ENVIRONMENT) {
        Ok(bytes) => Ok(Some(String::from_utf8_lossy(&bytes).into_owned())),
        Err(error) if error.is_not_found() => Ok(None),
        Err(error) => Err(failed(&path, "read", &error.into())),
    }
}

fn failed(path: &Path, what: &str, error: &io::Error) -> Exit {
    Exit::failure(format!("failed to {what} {}: {error}", path.display()))
}

/// Returns a note about it; mostly empty.
fn write_files(options: &UpOptions, root: &Root, binary: &str) -> Result<String, Exit> {
    let path = root.environment();
    let former = read_environment(root)?;
    let wanted = WantedFlags {
        data_dir: options.data_dir.display().to_string(),
        db_in_memory: options.db_in_memory,
        listen_address: options.listen_address.clone(),
    };
    let (text, note) = match env_file::edit(former.as_deref(), &wanted) {
        Ok(text) => (text, String::new()),
        Err((problem, text)) => {
            let mut backup = path.clone().into_os_string();
            backup.push(".bak");
            let backup = PathBuf::from(backup);
            let former = former.as_deref().unwrap_or_default();
            install::write(&backup, former).map_err(|e| failed(&backup, "write", &e))?;
            let note = format!(
                "! the flags in {} were wrong ({problem}) and are replaced by defaults; the former file is {}\n",
                path.display(),
                backup.display()
            );
            (text, note)
        }
    };
    if former.as_deref() != Some(text.as_str()) {
        install::write(&path, &text).map_err(|error| failed(&path, "write", &error))?;
    }
    let unit = root.unit();
    install::write(&unit, &install::unit_text(binary)).map_err(|e| failed(&unit, "write", &e))?;
    Ok(note)
}
