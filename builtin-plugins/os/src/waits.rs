//! Classifies what a process in uninterruptible sleep waits for (proc_pid_wchan(5)).
//!
//! Any user can have a process of any name stay in that state: as the parent of a `vfork` whose child sleeps, behind a FUSE
//! file system or a `userfaultfd` that the user serves. The kernel then waits for a process of user space, and no driver
//! hangs. `kill` ends each of these.

use std::collections::HashSet;

use gpud_sdk::sysfs::{self, FileContent};

/// Functions of the kernel in which a process waits for another one: the child of a `vfork` (by age of the kernel, newest first),
/// the handler of a `userfaultfd`, the server of a FUSE file system.
const FOR_USER_SPACE: [&str; 6] = [
    "kernel_clone",
    "_do_fork",
    "do_fork",
    "wait_for_vfork_done",
    "handle_userfault",
    "request_wait_answer",
];
/// Those of FUSE, into which the compiler may have put the last one above.
const FUSE: [&str; 2] = ["fuse_", "__fuse_"];

/// Returns the processes that wait for user space, by their files `/proc/‹pid›/wchan`. One whose file says nothing is left out:
/// the kernel then does not tell, or not to everybody.
pub fn for_user_space(files: &[FileContent]) -> HashSet<u32> {
    let waiting = files.iter().filter_map(|file| {
        let function = sysfs::text(file.content.as_ref().ok()?.clone());
        let pid = file.path.strip_prefix("/proc/")?.strip_suffix("/wchan")?;
        is_for_user_space(function.trim()).then(|| pid.parse::<u32>().ok())?
    });
    waiting.collect()
}

fn is_for_user_space(function: &str) -> bool {
    // `request_wait_answer.isra.0`: a copy that the compiler made.
    let name = function.split('.').next().unwrap_or_default();
    FOR_USER_SPACE.contains(&name) || FUSE.iter().any(|prefix| name.starts_with(prefix))
}

#[cfg(test)]
mod tests {
    use super::*;
    use gpud_sdk::AccessError;

    #[test]
    fn waits_for_other_processes_are_no_hangs() {
        for function in [
            "kernel_clone",
            "_do_fork",
            "handle_userfault\n",
            "request_wait_answer.isra.0",
            "__fuse_simple_request",
            "fuse_dev_do_read",
        ] {
            assert!(is_for_user_space(function.trim()), "{function}");
        }
        for function in [
            "",
            "0",
            "rwsem_down_write_slowpath",
            "nv_wait_event",
            "kernel_clone_x",
            "nfs_wait_bit_killable",
            "x.kernel_clone",
        ] {
            assert!(!is_for_user_space(function), "{function}");
        }
    }

    #[test]
    fn files_that_say_nothing_are_left_out() {
        let file = |path: &str, content| FileContent {
            path: path.into(),
            content,
        };
        let files = [
            file("/proc/7/wchan", Ok(b"kernel_clone".to_vec())),
            file("/proc/8/wchan", Ok(b"0".to_vec())),
            file("/proc/9/wchan", Err(AccessError::Denied("x".into()))),
            file("/proc/x/wchan", Ok(b"kernel_clone".to_vec())),
            file("/proc/10/stat", Ok(b"kernel_clone".to_vec())),
            file("/proc/11/wchan", Ok(b"\xff".to_vec())),
        ];
        assert_eq!(for_user_space(&files), HashSet::from([7]));
    }
}
