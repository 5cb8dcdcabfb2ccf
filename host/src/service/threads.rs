//! Lists the daemon's threads and their state in the kernel: for a bug report on a daemon that hangs.
//!
//! GPUd writes the stacks of its goroutines into the same file. Native threads cannot be stopped and unwound from
//! within without risk, so the content of `/proc` is used: state, the kernel function that a thread waits in, the
//! system call, and for root the kernel's stack, which names the driver or file system that does not answer.

use std::{
    fmt::Write as _,
    fs, io,
    path::{Path, PathBuf},
};

use tokio::runtime::RuntimeMetrics;

use crate::node::trusted::output::{self, FileMode};

/// Where the kernel shows them.
const OWN_THREADS: &str = "/proc/self/task";

/// Writes `gpud.‹pid›.stacks.log` into `folder` and gives its path. Blocks.
///
/// # Errors
/// The file cannot be written.
pub fn write(folder: &Path, pid: u32, tasks: &RuntimeMetrics) -> io::Result<PathBuf> {
    let path = folder.join(format!("gpud.{pid}.stacks.log"));
    // Every user may write to the folder: never write through a file or link that another user put there.
    output::replace(&path, text(tasks)?.as_bytes(), FileMode::Exact(0o600))?;
    Ok(path)
}

fn text(tasks: &RuntimeMetrics) -> io::Result<String> {
    let mut text = format!(
        "gpud {}\n{} worker threads, {} tasks, {} tasks that wait for a worker\n",
        crate::VERSION,
        tasks.num_workers(),
        tasks.num_alive_tasks(),
        tasks.global_queue_depth(),
    );
    #[expect(clippy::disallowed_methods, reason = "the daemon's own threads")]
    let entries = fs::read_dir(OWN_THREADS)?;
    let mut folders: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    folders.sort();
    for folder in folders {
        let id = folder.file_name().unwrap_or_default().to_string_lossy();
        let _ = write!(text, "\nthread {id} {}", one_line(&folder.join("comm")));
        // `/proc/PID/stat`: the state stands behind the name, which may hold anything but a `)` at its end.
        let stat = one_line(&folder.join("stat"));
        let state = stat.rsplit_once(") ").map(|(_, rest)| rest.chars().next());
        let _ = writeln!(text, " state {}", state.flatten().unwrap_or('?'));
        for name in ["wchan", "syscall"] {
            let _ = writeln!(text, "  {name}: {}", one_line(&folder.join(name)));
        }
        for line in content(&folder.join("stack")).lines() {
            let _ = writeln!(text, "  {line}");
        }
    }
    Ok(text)
}

fn one_line(path: &Path) -> String {
    content(path).lines().next().unwrap_or_default().to_owned()
}

/// A value that cannot be read (most need root) is replaced by the reason.
#[expect(clippy::disallowed_methods, reason = "the daemon's own threads")]
fn content(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| format!("({error})"))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    #[tokio::test]
    async fn every_thread_is_there_and_links_are_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let victim = folder.path().join("victim");
        fs::write(&victim, "untouched").unwrap();
        symlink(&victim, folder.path().join("gpud.7.stacks.log")).unwrap();
        let (named, has_name) = std::sync::mpsc::channel();
        std::thread::Builder::new()
            .name("gpud-idle".to_owned())
            .spawn(move || {
                // A thread gives itself its name.
                named.send(()).unwrap();
                std::thread::sleep(std::time::Duration::from_secs(60));
            })
            .unwrap();
        has_name.recv().unwrap();
        let tasks = tokio::runtime::Handle::current().metrics();
        let path = write(folder.path(), 7, &tasks).unwrap();
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.contains("gpud-idle state "), "{text}");
        assert!(text.contains("\n  wchan: "), "{text}");
        assert_eq!(fs::read_to_string(&victim).unwrap(), "untouched");
        assert_eq!(
            fs::metadata(&path).unwrap().permissions().mode() & 0o777,
            0o600
        );
        // Again, over the former one.
        write(folder.path(), 7, &tasks).unwrap();
    }
}
