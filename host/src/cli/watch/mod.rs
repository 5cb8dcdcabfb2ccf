//! `gpud watch`: what the daemon finds, live, full screen.
//!
//! [`model`] and [`lines`] are plain values, [`draw`] puts them onto a screen of any size, and [`screen`] makes sure that
//! the terminal is as it was before, however this ends.

mod args;
mod draw;
mod lines;
mod model;
mod screen;

use std::{
    io::{self, IsTerminal as _},
    path::PathBuf,
    time::Duration,
};

use tokio::{
    signal::unix::{SignalKind, signal},
    sync::mpsc,
    time::{MissedTickBehavior, interval},
};

use self::{
    args::WatchArgs,
    model::{Flow, Model},
    screen::Screen,
};
use super::{
    client::{Client, token::ClientToken},
    command::{Action, Command, CommandContext},
    exit::Exit,
    live::{self, MachineSnapshot},
};
use crate::{node::clock::Clock, service::presence};

/// The entry of the table of commands.
pub(super) const COMMAND: Command =
    Command::new::<WatchArgs>("watch", "Watch what the daemon finds, live, full screen");

/// The pause between two questions to the daemon.
const PAUSE: Duration = Duration::from_secs(2);
/// The pause between two drawings without news, since the shown ages grow.
const REDRAW: Duration = Duration::from_secs(1);
/// The longest time of one question.
const LIMIT: Duration = Duration::from_secs(10);
/// Entries of the history that are shown.
const ENTRIES: u32 = 200;

/// Which daemon to watch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WatchOptions {
    /// Folder of the state file.
    pub data_dir: PathBuf,
    /// Base URL; empty is the daemon of the folder.
    pub server: String,
    /// Where the token is, if not in the data folder.
    pub token_file: Option<PathBuf>,
}

impl Action for WatchOptions {
    async fn run(self, context: CommandContext) -> Result<Exit, Exit> {
        watch(&self, context.stdout.has_color()).await
    }
}

/// Shows the daemon's findings until the user ends it.
///
/// # Errors
/// There is no terminal, or it cannot be used.
pub async fn watch(options: &WatchOptions, color: bool) -> Result<Exit, Exit> {
    if !io::stdout().is_terminal() || !io::stdin().is_terminal() {
        return Err(Exit::failure(
            "gpud watch needs a terminal; `gpud status --watch` prints again and again",
        ));
    }
    let mut ends = EndSignals::new().map_err(Exit::failure)?;
    let mut screen = Screen::enter().map_err(Exit::failure)?;
    let mut keys = screen.keys();
    let mut looks = poll_daemon(options.clone());
    let mut redraw = interval(REDRAW);
    redraw.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut model = Model::new(color);
    loop {
        model.now = Clock::Live.now_ms();
        screen.draw(&mut model).map_err(Exit::failure)?;
        tokio::select! {
            () = ends.next() => break,
            key = keys.recv() => match key {
                Some(key) if model.press(key) == Flow::GoOn => {}
                _ => break,
            },
            look = looks.recv() => match look {
                Some(look) => model.take(look, Clock::Live.now_ms()),
                None => break,
            },
            _ = redraw.tick() => {}
        }
    }
    drop(screen);
    Ok(Exit::success(""))
}

/// Signals that end a program which holds the terminal.
struct EndSignals([tokio::signal::unix::Signal; 4]);

impl EndSignals {
    fn new() -> io::Result<Self> {
        Ok(Self([
            signal(SignalKind::terminate())?,
            signal(SignalKind::hangup())?,
            signal(SignalKind::interrupt())?,
            signal(SignalKind::quit())?,
        ]))
    }

    async fn next(&mut self) {
        let [terminate, hangup, interrupt, quit] = &mut self.0;
        tokio::select! {
            _ = terminate.recv() => {}
            _ = hangup.recv() => {}
            _ = interrupt.recv() => {}
            _ = quit.recv() => {}
        }
    }
}

/// Asks the daemon beside the drawing, so that one that hangs does not make the keys hang.
fn poll_daemon(options: WatchOptions) -> mpsc::Receiver<Result<MachineSnapshot, String>> {
    let (sender, receiver) = mpsc::channel(1);
    tokio::spawn(async move {
        loop {
            let found = match client(&options) {
                Ok(client) => live::look(&client, ENTRIES)
                    .await
                    .map_err(|error| error.to_string()),
                Err(why) => Err(why),
            };
            if sender.send(found).await.is_err() {
                return;
            }
            tokio::time::sleep(PAUSE).await;
        }
    });
    receiver
}

/// Looks for it each time, since the daemon may have been restarted on another port.
fn client(options: &WatchOptions) -> Result<Client, String> {
    let found = match options.server.trim() {
        "" => presence::find(&options.data_dir),
        _ => None,
    };
    let client = match found {
        Some(running) => Client::of_running(&running),
        None => Client::of_daemon(&options.server, options.token_file.as_deref()),
    };
    let client = client.map_err(|error| error.to_string())?;
    let token = ClientToken::find(options.token_file.as_deref());
    let token = token.map_err(|error| error.to_string())?;
    Ok(client.with_token(token).with_limit(LIMIT))
}
