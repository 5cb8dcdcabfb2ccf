//! What scripts leave running, and what is left of it.

use std::{fs, path::Path};

use crate::{
    daemon::{Start, eventually, release},
    spec_file::{Spec, plugin},
};

/// A process as `/proc/‹pid›/stat` shows it: its number, name, state and parent.
struct Process {
    pid: u32,
    name: String,
    state: String,
    parent: u32,
}

fn processes() -> Vec<Process> {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let read = |name: &str| {
        let pid = name.parse().ok()?;
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let (before, after) = stat.rsplit_once(')')?;
        let mut fields = after.split_ascii_whitespace();
        Some(Process {
            pid,
            name: before.split_once('(')?.1.to_owned(),
            state: fields.next()?.to_owned(),
            parent: fields.next()?.parse().ok()?,
        })
    };
    entries
        .filter_map(|entry| read(entry.file_name().to_str()?))
        .collect()
}

fn children_of(pid: u32) -> Vec<Process> {
    let all = processes().into_iter();
    all.filter(|process| process.parent == pid).collect()
}

fn pid_in(file: &Path) -> u32 {
    eventually("a script writes its number", || {
        fs::read_to_string(file).ok()?.trim().parse().ok()
    })
}

/// A script that leaves two processes that have left its group, one by a session of its own, one by that and by a parent
/// that is gone, and then does `end`.
fn leaver(folder: &Path, end: &str) -> String {
    let folder = folder.display();
    let leave = |file: &str| format!("setsid bash -c 'echo $$ > {folder}/{file}; exec sleep 1000'");
    format!(
        "{} &\n({} &)\nwhile [ ! -s {folder}/one ] || [ ! -s {folder}/two ]; do sleep 0.01; done\n{end}",
        leave("one"),
        leave("two"),
    )
}

#[test]
fn what_leaves_its_script_ends_with_the_daemon() {
    let folder = tempfile::tempdir().unwrap();
    let script = leaver(folder.path(), "sleep 1000");
    let spec = Spec::new(&plugin("leaver", "component", &script));
    let path = spec.path();
    let daemon = Start::new()
        .arguments(&["--components=none", "--plugin-specs-file"])
        .arguments(&[path.to_str().unwrap()])
        .spawn();
    let left = ["one", "two"].map(|file| pid_in(&folder.path().join(file)));
    daemon.signal("-TERM");
    let (status, log) = daemon.wait();
    assert!(status.success(), "{log}");
    for pid in left {
        eventually("a process that left its script is gone", || {
            let is_there = |one: &Process| one.pid == pid && one.name == "sleep";
            (!processes().iter().any(is_there)).then_some(())
        });
    }
}

#[test]
fn what_leaves_its_script_ends_with_it() {
    let folder = tempfile::tempdir().unwrap();
    let spec = Spec::new(&plugin(
        "leaver",
        "component",
        &leaver(folder.path(), "exit 1"),
    ));
    let path = spec.path();
    let daemon = Start::new()
        .arguments(&["--components=none", "--plugin-specs-file"])
        .arguments(&[path.to_str().unwrap()])
        .ready();
    let state = daemon.state("leaver");
    assert_eq!(state["health"], "Unhealthy", "{state}");
    for file in ["one", "two"] {
        let pid = pid_in(&folder.path().join(file));
        eventually("a process that left its script is gone", || {
            let is_there = processes()
                .iter()
                .any(|one| one.pid == pid && one.name == "sleep");
            (!is_there).then_some(())
        });
    }
    eventually("no zombie is left", || {
        let children = children_of(daemon.pid());
        children.iter().all(|one| one.state != "Z").then_some(())
    });
}

/// A cgroup bounds a script's memory and processes. Without one, limits bound what each process writes, opens and starts.
#[test]
fn each_script_has_a_cgroup_or_limits() {
    // They are set just after the start.
    let script = "for _ in $(seq 500); do\n\
                  [ \"$(ulimit -Sf)\" = unlimited ] || exit 0\n\
                  [ \"$(< /proc/$PPID/cgroup)\" = \"$(< /proc/self/cgroup)\" ] || exit 0\n\
                  sleep 0.01\n\
                  done\n\
                  exit 1";
    let spec = Spec::new(&plugin("bounded", "component", script));
    let path = spec.path();
    let daemon = Start::new()
        .arguments(&["--components=none", "--plugin-specs-file"])
        .arguments(&[path.to_str().unwrap()])
        .ready();
    let state = daemon.state("bounded");
    assert_eq!(state["health"], "Healthy", "{state}");
}

/// Scripts are files that hold what an operator wrote, also after `kill -9`.
#[test]
fn scripts_of_a_killed_daemon_are_removed_by_the_next_one() {
    let home = tempfile::tempdir().unwrap();
    let at = |name: &str| home.path().join(name);
    let (temporary, running, done) = (at("tmp"), at("running"), at("done"));
    fs::create_dir(&temporary).unwrap();
    let script = format!(
        "echo $$ > {}\nwhile [ ! -e {} ]; do sleep 0.05; done",
        running.display(),
        done.display()
    );
    let spec = Spec::new(&plugin("waiter", "component", &script));
    let path = spec.path();
    let start = |specs: &str| {
        Start::new()
            .environment("TMPDIR", temporary.to_str().unwrap())
            .arguments(&["--components=none", "--plugin-specs-file", specs])
            .spawn()
    };
    let left = || fs::read_dir(&temporary).unwrap().count();
    let daemon = start(path.to_str().unwrap());
    pid_in(&running);
    // Dropped, it is killed.
    drop(daemon);
    fs::write(&done, "").unwrap();
    assert!(left() > 0, "the script was somewhere else");
    let next = start("");
    eventually("it answers", || next.try_get("/healthz"));
    assert_eq!(left(), 0);
}

#[test]
fn as_process_1_without_cgroups_nothing_is_left_either() {
    if !is_root() {
        eprintln!("left out: needs root");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    // It leaves children in its group as well: they become process 1's, and zombies if that does not reap.
    let script = format!(
        "sleep 1000 &\nsleep 1000 &\n{}",
        leaver(folder.path(), "exit 1")
    );
    let spec = Spec::new(&plugin("leaver", "component", &script));
    let path = spec.path();
    let daemon = Start::new()
        // No cgroups, and a helper that was there before gpud and is nobody's orphan.
        .inside("mount -t tmpfs none /sys/fs/cgroup\nsetsid sleep 2000 &")
        .arguments(&["--components=none", "--plugin-specs-file"])
        .arguments(&[path.to_str().unwrap()])
        .ready();
    assert_eq!(daemon.state("leaver")["health"], "Unhealthy");
    pid_in(&folder.path().join("two"));
    // `unshare` has one child, which is process 1 of its namespace.
    let gpud = children_of(daemon.pid());
    assert_eq!(gpud.len(), 1);
    eventually("one child is left, the helper", || {
        let children = children_of(gpud[0].pid);
        let is_clean = children.iter().all(|one| one.state != "Z");
        (is_clean && children.len() == 1 && children[0].name == "sleep").then_some(())
    });
}

#[test]
fn what_gpud_inherited_does_not_reach_its_scripts() {
    let folder = tempfile::tempdir().unwrap();
    let seen = folder.path().join("seen");
    let script = format!(
        "{{ grep -E '^(Umask|SigBlk|SigIgn)' /proc/self/status\ncat /proc/self/oom_score_adj\npwd\n\
         ls /proc/self/fd | tr '\\n' ' '; }} > {0}.part\nmv {0}.part {0}",
        seen.display()
    );
    let spec = Spec::new(&plugin("looker", "component", &script));
    let path = spec.path();
    let parent =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/e2e/children/careless_parent.py");
    let daemon = Start::new()
        .program(&parent)
        .environment("GPUD_UNDER_TEST", release().program.to_str().unwrap())
        .arguments(&["--components=none", "--plugin-specs-file"])
        .arguments(&[path.to_str().unwrap()])
        .ready();
    let state = daemon.state("looker");
    assert_eq!(state["health"], "Healthy", "{state}");
    // The last line: `ls` opens the folder that it lists.
    let expected =
        "Umask:\t0022\nSigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n0\n/\n0 1 2 3 ";
    assert_eq!(fs::read_to_string(&seen).unwrap(), expected);
}

#[test]
fn where_nothing_can_be_written_scripts_run_from_memory() {
    if !is_root() {
        eprintln!("left out: needs root");
        return;
    }
    // Not below /tmp, which the daemon sees empty and read-only.
    let home = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let spec = home.path().join("spec.yaml");
    let script = "echo \"{\\\"from\\\":\\\"${0%/*}\\\"}\"";
    let parser = "    parser:\n      json_paths:\n        - query: $.from\n          field: from\n";
    fs::write(&spec, plugin("writer", "component", script) + parser).unwrap();
    let folder = home.path().display();
    let daemon = Start::new()
        .folder(home.path())
        .inside(&format!(
            "mount -t tmpfs -o ro none /tmp\nmount --bind {folder} {folder}\nmount -o remount,ro,bind {folder}"
        ))
        .arguments(&["--components=cpu", "--plugin-specs-file"])
        .arguments(&[spec.to_str().unwrap()])
        .ready();
    let state = daemon.state("writer");
    assert_eq!(state["health"], "Healthy", "{state}");
    assert_eq!(state["extra_info"]["from"], "/proc/self/fd", "{state}");
    assert_eq!(daemon.state("cpu")["health"], "Healthy");
}

fn is_root() -> bool {
    use std::os::unix::fs::MetadataExt as _;
    fs::metadata("/proc/self").unwrap().uid() == 0
}
