//! Blocking work on files that may be behind a file server that is gone, or a file system of another user that never
//! answers.

use std::{
    future::{Future, pending},
    path::{Path, PathBuf},
    sync::mpsc,
    thread,
    time::Duration,
};

use tokio::task::spawn_blocking;

/// How long a file may take to answer.
pub const LONGEST: Duration = Duration::from_secs(5);

/// A file did not answer in time. A thread of this process still waits for it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{} does not answer within {} s: a file server may be gone; what is mounted there is in /proc/self/mountinfo",
    .0.display(), LONGEST.as_secs()
)]
pub struct NoAnswer(pub PathBuf);

/// Does work with a file, and gives up waiting for it after [`LONGEST`].
///
/// # Errors
/// [`NoAnswer`]; also if the work panicked.
pub async fn in_time<T: Send + 'static>(
    path: &Path,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, NoAnswer> {
    let done = tokio::time::timeout(LONGEST, spawn_blocking(work)).await;
    let done = done.map(Result::ok);
    done.ok().flatten().ok_or_else(|| NoAnswer(path.to_owned()))
}

/// The same outside of tokio: blocks this thread.
///
/// # Errors
/// [`NoAnswer`]; also if there is no thread for the work, or it panicked.
pub fn in_time_blocking<T: Send + 'static>(
    path: &Path,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, NoAnswer> {
    let (sender, answer) = mpsc::channel();
    let no_answer = || NoAnswer(path.to_owned());
    thread::Builder::new()
        .name("gpud-file".to_owned())
        .spawn(move || sender.send(work()))
        .map_err(|_| no_answer())?;
    answer.recv_timeout(LONGEST).map_err(|_| no_answer())
}

/// Does work with a file, however long it takes. `late` runs from [`LONGEST`] on, until the work is done. `None` if the
/// work panicked.
pub async fn wait<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
    late: impl Future<Output = ()>,
) -> Option<T> {
    let mut work = spawn_blocking(work);
    if let Ok(done) = tokio::time::timeout(LONGEST, &mut work).await {
        return done.ok();
    }
    let late = async {
        late.await;
        pending::<()>().await;
    };
    tokio::select! {
        done = work => done.ok(),
        () = late => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_file_that_does_not_answer_is_given_up_or_reported() {
        let path = Path::new("/x");
        assert_eq!(in_time(path, || 5).await, Ok(5));
        assert_eq!(in_time_blocking(path, || 5), Ok(5));
        assert!(in_time_blocking(path, || panic!("of the test")).is_err());
        assert_eq!(wait(|| 5, pending()).await, Some(5));
        let (answer, held) = mpsc::channel::<()>();
        let hangs = move || {
            let _ = held.recv();
        };
        // The clock of the test stands still while a thread is at work.
        let past = || tokio::time::advance(2 * LONGEST);
        let (given_up, ()) = tokio::join!(in_time(path, hangs), past());
        let error = given_up.unwrap_err();
        assert!(
            error
                .to_string()
                .starts_with("/x does not answer within 5 s")
        );
        drop(answer);
        let (answer, held) = mpsc::channel::<()>();
        let hangs = move || {
            let _ = held.recv();
            7
        };
        let late = async { drop(answer) };
        let (done, ()) = tokio::join!(wait(hangs, late), past());
        assert_eq!(done, Some(7));
    }
}
