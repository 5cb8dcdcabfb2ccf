//! `gpud status`: does the daemon run, and what does it find?
//!
//! The daemon is found by the file that it keeps in its data folder, so that one on another port is found as well. With
//! `--classic` the output is GPUd's, line by line as it is found out; else the daemon's summary of the machine.

mod args;
pub(super) mod ask;
mod print;

use std::{
    io::{self, IsTerminal as _, Write as _},
    path::PathBuf,
    time::Duration,
};

use tokio::time::{Instant, sleep};

pub(super) use self::ask::Daemon;
use self::{args::StatusArgs, print::StatusDocument};
use super::{
    client::{Client, ClientError, DEFAULT_SERVER},
    command::{Action, Command, CommandContext},
    exit::Exit,
    live::{self, MachineSnapshot},
    metadata::machine_id,
    service::systemctl::{Systemctl, UnitState},
    terminal::{Terminal, printable_json},
};
use crate::{
    node::clock::Clock,
    service::presence::{self, DaemonPresence},
};

/// The entry of the table of commands.
pub(super) const COMMAND: Command = Command::new::<StatusArgs>(
    "status",
    "Say whether the daemon runs, where, and what it finds",
)
.with_aliases(&["st"]);

/// How long a daemon that runs may take until it answers: init plugins come first.
const PATIENCE: Duration = Duration::from_secs(30);
/// The pause between two tries.
const PAUSE: Duration = Duration::from_millis(250);
/// The pause between two looks of `--watch`.
const WATCH: Duration = Duration::from_secs(3);
/// Entries of the history that are read: what many checks say of one thing is shown as one.
const LAST_EVENTS: u32 = 100;
/// Puts the cursor into the corner and clears the screen.
const CLEAR: &str = "\u{1b}[H\u{1b}[2J";
/// The word for programs.
const ERROR_CODE: &str = "failed_to_get_status";

/// The daemon to look at, and the form of the output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatusOptions {
    /// Folder of the state file.
    pub data_dir: PathBuf,
    /// Base URL; empty is the daemon of the folder.
    pub server: String,
    /// Look again and again.
    pub watch: bool,
    /// Print JSON.
    pub json: bool,
    /// GPUd's layout.
    pub classic: bool,
}

impl Action for StatusOptions {
    async fn run(self, context: CommandContext) -> Result<Exit, Exit> {
        status(&self, context.stdout).await
    }
}

/// Looks and prints.
///
/// # Errors
/// The daemon does not run or does not answer.
pub async fn status(options: &StatusOptions, terminal: Terminal) -> Result<Exit, Exit> {
    let document = look(options, terminal).await;
    if options.json {
        let mut document = document.map_err(|exit| exit.in_json(true, ERROR_CODE))?;
        loop {
            let exit = Exit {
                code: document.code(),
                ..Exit::success("")
            };
            say(&document.to_json())?;
            if !options.watch {
                return Ok(exit);
            }
            sleep(WATCH).await;
            document = again(options, document).await;
        }
    }
    let mut document = document?;
    if !options.watch {
        say(&match options.classic {
            true => "no packages found\n".to_owned(),
            false => print::machine(&document, Clock::Live.now_ms(), terminal),
        })?;
        return Ok(Exit::success(""));
    }
    loop {
        if options.classic {
            sleep(WATCH).await;
            document = again(options, document).await;
        }
        let clear = match io::stdout().is_terminal() {
            true => CLEAR,
            false => "",
        };
        let shown = match options.classic {
            true => print::components(&document, terminal),
            false => print::machine(&document, Clock::Live.now_ms(), terminal),
        };
        say(&format!("{clear}{shown}"))?;
        if !options.classic {
            sleep(WATCH).await;
            document = again(options, document).await;
        }
    }
}

/// Looks at everything. For people, each part is printed as soon as it is known; for programs, all at the end.
async fn look(options: &StatusOptions, terminal: Terminal) -> Result<StatusDocument, Exit> {
    let print_part = |text: String| match options.json || !options.classic {
        true => Ok(()),
        false => say(&text),
    };
    let mut document = StatusDocument {
        unit: unit_state().await,
        machine_id: machine_id(&options.data_dir).await,
        ..StatusDocument::default()
    };
    print_part(print::login(&document))?;
    print_part(print::unit(&document, terminal))?;

    let started = Instant::now();
    let mut is_noted = false;
    let client = loop {
        let running = running(options);
        let url = url(options, running.as_ref());
        let client = client(options, running.as_ref()).map_err(Exit::failure)?;
        let answer = ask::healthz(&client.clone().with_limit(Duration::from_secs(5))).await;
        document.running = running.is_some() || answer.is_ok();
        document.url.clone_from(&url);
        document.set_process(running);
        let due = document.running || document.unit == Some("active");
        if !is_noted && due {
            is_noted = true;
            print_part(print::process(&document, terminal))?;
        }
        match answer {
            Ok(()) => break client,
            Err(_) if !due && options.json => return Ok(document),
            Err(why) if !due => {
                let text = format!(
                    "{}{} gpud process is not running\n",
                    match options.classic {
                        true => String::new(),
                        false => print::unit(&document, terminal),
                    },
                    terminal.bad()
                );
                let folder = options.data_dir.display();
                return Err(Exit {
                    stdout: text,
                    ..Exit::failure(format!(
                        "no daemon uses {folder}, and none answers at {url}: {why}"
                    ))
                });
            }
            Err(why) if started.elapsed() >= PATIENCE => {
                return Err(Exit::failure(format!(
                    "server not ready, timeout waiting: {why}"
                )));
            }
            Err(_) => sleep(PAUSE).await,
        }
    };
    document.healthy_api = true;
    print_part(format!(
        "{} successfully checked gpud health\n",
        terminal.good()
    ))?;
    let daemon = Daemon::new(client.clone());
    document.components = daemon.components().await.map_err(|why| {
        Exit::failure(format!("failed to get the states of the components: {why}"))
    })?;
    document.look = summary(&client, options).await;
    print_part(print::components(&document, terminal))?;
    Ok(document)
}

/// Asks the daemon for the state of the machine; `None` for a daemon of an older version.
async fn summary(client: &Client, options: &StatusOptions) -> Option<MachineSnapshot> {
    if options.classic {
        return None;
    }
    match live::look(client, LAST_EVENTS).await {
        Ok(look) => Some(look),
        Err(why) => {
            tracing::debug!("no summary: {why}");
            None
        }
    }
}

/// Asks for the components again; a daemon that was restarted is found by its folder.
async fn again(options: &StatusOptions, former: StatusDocument) -> StatusDocument {
    let running = running(options);
    let url = url(options, running.as_ref());
    let (found, look) = match client(options, running.as_ref()) {
        Ok(client) => (
            Daemon::new(client.clone())
                .components()
                .await
                .map_err(|error| error.to_string()),
            summary(&client, options).await,
        ),
        Err(error) => (Err(error.to_string()), None),
    };
    let mut document = StatusDocument {
        look,
        running: running.is_some() || found.is_ok(),
        healthy_api: found.is_ok(),
        url,
        problem: found.as_ref().err().cloned(),
        components: found.unwrap_or_default(),
        ..former
    };
    document.set_process(running);
    document
}

fn running(options: &StatusOptions) -> Option<DaemonPresence> {
    match options.server.trim() {
        "" => presence::find(&options.data_dir),
        _ => None,
    }
}

/// Makes a client for a daemon that was found, also over its Unix socket; else for an address.
fn client(
    options: &StatusOptions,
    running: Option<&DaemonPresence>,
) -> Result<Client, ClientError> {
    match (options.server.trim(), running) {
        ("", Some(running)) => Client::of_running(running),
        ("", None) => Client::of_machine(Some(&options.data_dir)),
        (server, _) => Client::new(server),
    }
}

fn url(options: &StatusOptions, running: Option<&DaemonPresence>) -> String {
    match (options.server.trim(), running) {
        ("", Some(running)) => running.url(),
        ("", None) => DEFAULT_SERVER.to_owned(),
        (server, _) => server.to_owned(),
    }
}

fn say(text: &str) -> Result<(), Exit> {
    let mut stdout = io::stdout();
    stdout.write_all(printable_json(text).as_bytes())?;
    stdout.flush()?;
    Ok(())
}

/// `None` where there is no systemd, or it does not answer: then the process decides.
async fn unit_state() -> Option<&'static str> {
    let state = Systemctl::find().await?.state().await;
    match state {
        Ok(UnitState::Active) => Some("active"),
        Ok(UnitState::Inactive) => Some("inactive"),
        Ok(UnitState::Failed) => Some("failed"),
        Err(why) => {
            tracing::debug!("systemd does not say whether gpud runs: {why}");
            None
        }
    }
}
