//! The executor: the threads that everything asynchronous runs on.

use std::{io, time::Duration};

use tokio::runtime::{Builder, Runtime};

/// Worker threads: requests are small, guests are short, and two cores are the usual share of a daemon.
const WORKERS: usize = 2;
/// Most threads for work that blocks.
const MAX_BLOCKING: usize = 16;
/// How long one of them waits for more. Longer than a minute: the checks of each round read the database, and to start a
/// thread for it costs more than the reading.
const KEPT: Duration = Duration::from_secs(75);

/// Starts them.
///
/// # Errors
/// When the machine does not give them.
pub fn start() -> io::Result<Runtime> {
    Builder::new_multi_thread()
        .worker_threads(WORKERS)
        .max_blocking_threads(MAX_BLOCKING)
        .thread_keep_alive(KEPT)
        // Timers are looked at more often than usual: guests that spin give a thread back only every 10 ms.
        .event_interval(11)
        .enable_all()
        .build()
}
