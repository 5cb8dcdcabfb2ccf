//! The daemon as a service of its machine: its messages to systemd, the file by which commands find it, and its
//! signals.
//!
//! [`notify`] speaks systemd's protocol, [`watchdog`] says that the daemon lives, [`presence`] tells other commands the
//! address, [`signals`] turns SIGHUP and SIGUSR1 into [`reload`] and [`threads`].

pub mod notify;
pub mod presence;
pub mod reload;
pub mod signals;
pub mod threads;
pub mod watchdog;

use std::{sync::Arc, time::Duration};

use tokio::sync::mpsc::Receiver;

use crate::logging::Reopener;
use notify::Notifier;

/// The handles that a daemon gets from the process that started it. By default no process watches it.
#[derive(Default)]
pub struct Service {
    /// The way to systemd.
    pub notifier: Arc<Notifier>,
    /// How long systemd waits for a sign of life; `None` when it does not.
    pub watchdog: Option<Duration>,
    /// One item for each SIGHUP; `None` where it is not handled.
    pub hangups: Option<Receiver<()>>,
    /// Reopens the log file.
    pub log: Reopener,
}
