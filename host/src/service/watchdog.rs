//! Signs of life for systemd, given only while the daemon's own loops turn.
//!
//! A sign means: tasks are still run (checks, schedules and requests are tasks), timers still fire, and the thread that
//! stores is there. It does not mean that disks or drivers answer. A hung disk is what this daemon is there to report;
//! killing it for that would silence it.

use std::{sync::Arc, time::Duration};

use tokio_util::sync::CancellationToken;

use super::notify::Notifier;

/// Gives a sign twice within `interval` while all is well, until `shutdown`. `parts_alive` is asked each time.
pub async fn run(
    notifier: Arc<Notifier>,
    interval: Duration,
    parts_alive: impl Fn() -> bool + Send,
    shutdown: CancellationToken,
) {
    let half = interval / 2;
    loop {
        if tasks_run(half / 2).await && parts_alive() {
            notifier.alive();
        } else {
            tracing::error!(
                "the daemon does not work any more: no sign of life for systemd, which will restart it"
            );
        }
        tokio::select! {
            () = shutdown.cancelled() => return,
            () = tokio::time::sleep(half) => {}
        }
    }
}

/// Whether a task that is made now also runs, and soon.
async fn tasks_run(limit: Duration) -> bool {
    let task = tokio::spawn(tokio::task::yield_now());
    matches!(tokio::time::timeout(limit, task).await, Ok(Ok(())))
}

#[cfg(test)]
mod tests {
    use std::{
        os::unix::net::UnixDatagram,
        sync::atomic::{AtomicBool, Ordering},
    };

    use super::*;

    #[tokio::test(flavor = "multi_thread", worker_threads = 1)]
    async fn signs_come_while_all_is_well() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("notify");
        let socket = UnixDatagram::bind(&path).unwrap();
        socket
            .set_read_timeout(Some(Duration::from_secs(30)))
            .unwrap();
        let well = Arc::new(AtomicBool::new(true));
        let shutdown = CancellationToken::new();
        let task = tokio::spawn(run(
            Arc::new(Notifier::to(path.as_os_str()).unwrap()),
            Duration::from_millis(400),
            {
                let well = Arc::clone(&well);
                move || well.load(Ordering::Relaxed)
            },
            shutdown.clone(),
        ));
        let socket = tokio::task::spawn_blocking(move || {
            let mut buffer = [0; 64];
            for _ in 0..3 {
                let length = socket.recv(&mut buffer).unwrap();
                assert_eq!(&buffer[..length], b"WATCHDOG=1");
            }
            socket
        })
        .await
        .unwrap();
        well.store(false, Ordering::Relaxed);
        tokio::time::sleep(Duration::from_millis(300)).await;
        // One may have been under way.
        socket.set_nonblocking(true).unwrap();
        let _ = socket.recv(&mut [0; 64]);
        tokio::time::sleep(Duration::from_millis(600)).await;
        assert!(
            socket.recv(&mut [0; 64]).is_err(),
            "no sign when something is dead"
        );
        shutdown.cancel();
        task.await.unwrap();
    }
}
