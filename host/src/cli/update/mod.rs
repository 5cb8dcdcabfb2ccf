//! `gpud update`: replaces the installed program by a release that the operator names, and takes that back when the
//! daemon does not come up with it.
//!
//! A release is what `cargo xtask dist` makes: archives, `SHA256SUMS`, and a signature over it. `release`, `version`, `archive`,
//! `program` and `health` decide and are pure. `source`, `fetch`, `installed` and `restart` touch the machine.

mod archive;
mod args;
mod fetch;
mod health;
mod installed;
mod program;
mod release;
mod restart;
mod signature;
mod source;
mod version;

use std::{
    fmt::Write as _,
    path::{Path, PathBuf},
};

use self::{
    args::UpdateArgs,
    health::Limits,
    installed::InstalledProgram,
    release::{Archive, ArchiveQuery, Direction},
    restart::Restart,
    source::ReleaseSource,
};
use super::{
    command::{Action, Command, CommandContext},
    data_dir::data_dir,
    exit::Exit,
    service::{env_file, install::Root},
    terminal::Terminal,
};
use crate::{
    node::{
        system::{euid, glibc_version},
        trusted,
    },
    store::{STATE_FILE, ask_for_copy},
};

/// The entry of the table of commands.
pub(super) const COMMAND: Command = Command::new::<UpdateArgs>(
    "update",
    "Replace gpud by a release that you name, and go back if it does not come up",
);

/// The output of `gpud update check`.
pub const NO_CHECK: &str = "nobody is asked for the latest version: `gpud update --from PLACE --dry-run` says what a place has";
/// The program of packages, which the package manager replaces.
const PACKAGED: &str = "/usr/bin/gpud";
/// The retained program. `install.sh` uses the same path, and removes it with the rest.
const RETAINED: &str = "/usr/local/share/gpud/gpud.before";
/// Largest list of checksums, signature and archive, bytes.
const MAX_SUMS: usize = 1 << 20;
const MAX_SIGNATURE: usize = 8 << 10;
const MAX_ARCHIVE: usize = 256 << 20;
/// Largest environment file of the service that is read, bytes.
const MAX_ENVIRONMENT: usize = 1 << 20;

/// The options of an update.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UpdateOptions {
    /// Where the release is.
    pub source: ReleaseSource,
    /// Which version; `None` is the latest.
    pub version: Option<String>,
    /// The key that must have signed it.
    pub public_key: PathBuf,
    /// An earlier version is taken, too.
    pub allow_downgrade: bool,
    /// Nothing is changed.
    pub dry_run: bool,
    /// The command that restarts the daemon where systemd does not.
    pub restart: Option<String>,
    /// How long the daemon may take, and must run.
    pub limits: Limits,
    /// Folder of the state file; `None` is that of the service.
    pub data_dir: Option<PathBuf>,
    /// Instead of `/`.
    pub install_root: Option<PathBuf>,
}

impl Action for UpdateOptions {
    async fn run(self, context: CommandContext) -> Result<Exit, Exit> {
        update(self, context.stdout).await
    }
}

/// Replaces the installed program, has the daemon restarted, and waits until it answers. Gives what to print.
///
/// # Errors
/// Everything that leaves the former program in place or puts it back: a release that is not signed by the key, not for
/// this machine or damaged, and a daemon that does not come up.
pub async fn update(options: UpdateOptions, terminal: Terminal) -> Result<Exit, Exit> {
    if euid() != 0 {
        return Err(Exit::failure("this command needs to be run as root"));
    }
    carry_out(&options, terminal).await.map_err(Exit::failure)
}

async fn carry_out(options: &UpdateOptions, terminal: Terminal) -> Result<Exit, String> {
    let root = Root(options.install_root.clone());
    let installed = find_installed(&root, options.dry_run)?;
    let data_dir = folder_of_daemon(options, &root)?;
    let restart = Restart::find(options.restart.as_deref(), &data_dir).await?;

    let archive = choose_archive(options).await?;
    let former = installed.version().await;
    let step = release::step(former.as_deref(), &archive.version, options.allow_downgrade)
        .map_err(|error| error.to_string())?;
    let program = fetch_program(options, &archive).await?;
    let new = &archive.version;
    let path = installed.path().display().to_string();
    if step == Direction::Same && installed.has_content(&program) {
        let good = terminal.good();
        return Ok(Exit::success(format!(
            "{good} gpud {new} is installed already ({path})\n"
        )));
    }
    let former = former.unwrap_or_else(|| "an unknown version".to_owned());
    if options.dry_run {
        return Ok(Exit::success(format!(
            "would replace gpud {former} by {new} ({path}) and {restart}\n\
             {} is signed by the key in {}, and fits this machine\n",
            archive.name,
            options.public_key.display(),
        )));
    }

    let staged = installed.stage(&program)?;
    let said = staged.version().await.ok_or_else(|| {
        format!(
            "the program of {} does not start on this machine; nothing was changed",
            archive.name
        )
    })?;
    if said != *new {
        return Err(format!(
            "the program of {} says that it is version {said}; nothing was changed",
            archive.name
        ));
    }
    installed.retain()?;
    installed.put(staged)?;
    let up = restarted(&restart, &data_dir, new, options.limits).await;
    match up {
        Ok(()) => {
            let mut text = format!(
                "{} gpud {former} was replaced by {new} ({path})\n",
                terminal.good()
            );
            let _ = writeln!(text, "  {}", restart.outcome());
            let _ = writeln!(
                text,
                "  the former program is {}",
                installed.retained().display()
            );
            Ok(Exit::success(text))
        }
        Err(why) => Err(roll_back(
            &installed,
            &restart,
            &data_dir,
            (former.as_str(), new.as_str()),
            &why,
            options.limits,
        )
        .await),
    }
}

/// Puts the former program back and says how that went.
async fn roll_back(
    installed: &InstalledProgram,
    restart: &Restart,
    data_dir: &Path,
    (former, new): (&str, &str),
    why: &str,
    limits: Limits,
) -> String {
    let path = installed.path().display();
    let failed = format!("gpud {new} did not come up: {why}");
    if let Err(error) = installed.put_back() {
        return format!("{failed}; {former} could not be put back: {error}");
    }
    // Read by the former daemon when it starts. If this fails there is no folder to write to, and no state file in it.
    if !matches!(restart, Restart::NothingRuns) {
        let _ = ask_for_copy(&data_dir.join(STATE_FILE));
    }
    match restarted(restart, data_dir, former, limits).await {
        Ok(()) => format!("{failed}; {former} is back ({path}) and runs"),
        Err(error) => format!(
            "{failed}; {former} is back ({path}) and does not come up either: {error}; the log of the daemon says why. \
             If it names the state file, docs/versions.md says how to go back over a change of its tables"
        ),
    }
}

/// Restarts the daemon, if there is one, and waits until this version of it answers.
async fn restarted(
    restart: &Restart,
    data_dir: &Path,
    version: &str,
    limits: Limits,
) -> Result<(), String> {
    if matches!(restart, Restart::NothingRuns) {
        return Ok(());
    }
    restart.restart().await?;
    restart::wait_until_healthy(data_dir, version, limits).await
}

fn find_installed(root: &Root, is_dry_run: bool) -> Result<InstalledProgram, String> {
    let this = std::env::current_exe().ok();
    let binary = root.binary(this.as_deref()).ok_or(
        "no gpud is installed in /usr/local/bin or /usr/sbin; install.sh of a release installs one",
    )?;
    if binary == PACKAGED {
        return Err(format!(
            "{PACKAGED} belongs to a package: upgrade it with apt or dnf"
        ));
    }
    let (path, retained) = (root.join(binary), root.join(RETAINED));
    match is_dry_run {
        true => Ok(InstalledProgram::new(path, retained)),
        false => InstalledProgram::new(path, retained).lock(),
    }
}

/// Returns the data folder of the daemon: the named one, else that in the flags of the service, else the usual one.
fn folder_of_daemon(options: &UpdateOptions, root: &Root) -> Result<PathBuf, String> {
    if let Some(folder) = &options.data_dir {
        return Ok(folder.clone());
    }
    let environment = trusted::read(&root.environment(), MAX_ENVIRONMENT).ok();
    let folder = environment.and_then(|bytes| env_file::data_dir(&String::from_utf8_lossy(&bytes)));
    match folder {
        Some(folder) => Ok(folder.into()),
        None => data_dir(None),
    }
}

/// Reads the list of checksums, verifies its signature, and chooses the archive for this machine.
async fn choose_archive(options: &UpdateOptions) -> Result<Archive, String> {
    let source = &options.source;
    let key = signature::read_key(&options.public_key)?;
    let sums = source.read("SHA256SUMS", MAX_SUMS).await?;
    let signed = source.read("SHA256SUMS.minisig", MAX_SIGNATURE).await?;
    signature::verify(&key, &sums, &signed).map_err(|error| {
        format!(
            "SHA256SUMS of {source}: {error} ({})",
            options.public_key.display()
        )
    })?;
    let wanted = ArchiveQuery {
        target: program::target().map_err(|error| error.to_string())?,
        version: options.version.as_deref(),
        archive: source.archive(),
    };
    let sums = String::from_utf8_lossy(&sums);
    release::choose(&sums, &wanted).map_err(|error| format!("{source}: {error}"))
}

/// Reads the archive and gives the program in it, checked: checksum, processor and C library.
async fn fetch_program(options: &UpdateOptions, archive: &Archive) -> Result<Vec<u8>, String> {
    let bytes = options.source.read(&archive.name, MAX_ARCHIVE).await?;
    let wrong = |why: &dyn std::fmt::Display| format!("{}: {why}", archive.name);
    archive.verify(&bytes).map_err(|error| wrong(&error))?;
    let program = archive::program(&bytes, archive.folder()).map_err(|error| wrong(&error))?;
    let needs = program::needs(&program).map_err(|error| wrong(&error))?;
    needs
        .refuse_unfit(glibc_version().as_deref())
        .map_err(|error| wrong(&error))?;
    Ok(program)
}
