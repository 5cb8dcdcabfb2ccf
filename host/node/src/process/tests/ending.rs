//! How programs end, and whatever they started with them.

use super::*;

#[tokio::test]
async fn the_deadline_kills_grandchildren_even_when_they_ignore_signals() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("pid");
    let script = format!(
        "trap '' TERM HUP INT; (trap '' TERM HUP INT; echo $BASHPID > {0}.new; mv {0}.new {0}; sleep 1000) & wait",
        file.display()
    );
    for mut command in [bash(&script), bash_file(&script)] {
        command.deadline = Duration::from_millis(300);
        // On a machine so busy that the script has not reached its point by then, give it longer.
        while !file.exists() {
            command.deadline *= 2;
            let answer = run(command.clone()).await;
            let Err(SourceError::TimedOut { what, after, .. }) = answer else {
                panic!("{answer:?}")
            };
            assert_eq!(what, "bash script");
            assert!(after >= command.deadline);
        }
        wait_until_gone(&fs::read_to_string(&file).unwrap());
        fs::remove_file(&file).unwrap();
    }
}

#[tokio::test]
async fn background_children_neither_delay_the_end_nor_survive_it() {
    for script in [
        "sleep 1000 & echo $!",
        "nohup sleep 1000 2>/dev/null & echo $!",
        "trap '' TERM; sleep 1000 & echo $!; disown",
    ] {
        let output = run(bash(script)).await.unwrap();
        assert_eq!(output.exit_code, Some(0), "{script}");
        wait_until_gone(&String::from_utf8(output.stdout).unwrap());
    }
}

#[tokio::test]
async fn a_child_that_left_the_group_and_keeps_writing_is_not_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("pid");
    let script = format!(
        "setsid bash -c 'echo $$ > {0}; trap \"\" PIPE; while echo spam; do :; done' & while [ ! -s {0} ]; do sleep 0.01; done; exit 4",
        file.display()
    );
    let mut command = bash(&script);
    command.max_output_bytes = 100;
    let output = run(command).await.unwrap();
    assert_eq!(output.exit_code, Some(4));
    assert!(output.stdout.len() <= 100);
    // Its pipe is closed, so its writing fails and it ends by itself.
    wait_until_gone(&pid_in(&file).await);
}

/// The kernel lets a process join groups of its own session only. What is in gpud's group is not ended.
#[tokio::test]
async fn a_run_of_a_plugin_cannot_join_the_group_of_gpud() {
    let session = "read -r stat < /proc/$$/stat; set -- ${stat##*) }; echo $(($4 - $$))";
    for (contained, expected) in [(true, true), (false, false)] {
        let mut command = bash(session);
        command.contained = contained;
        let output = run(command).await.unwrap();
        let is_own = output.stdout == b"0\n";
        assert_eq!(is_own, expected, "{output:?}");
    }
}

#[tokio::test]
async fn dropping_the_future_kills_and_reaps_the_group() {
    let folder = tempfile::tempdir().unwrap();
    let (main, child) = (folder.path().join("main"), folder.path().join("child"));
    let script = format!(
        "sleep 1000 & echo $! > {}; echo $$ > {}; wait",
        child.display(),
        main.display()
    );
    let task = tokio::spawn(run(bash(&script)));
    let (main, child) = (pid_in(&main).await, pid_in(&child).await);
    assert!(is_alive(&main) && is_alive(&child));
    task.abort();
    assert!(task.await.unwrap_err().is_cancelled());
    wait_until_gone(&main);
    wait_until_gone(&child);
    // Not even a zombie stays: the runtime reaps it with the next child signal.
    while Path::new("/proc").join(&main).exists() {
        run(argv(&["true"])).await.unwrap();
    }
}

/// A program that leaves its group, and whose first thread ends while another writes its number and goes on.
const WITHOUT_FIRST_THREAD: &str = r#"
import ctypes, os, sys, threading, time

def go_on():
    while open("/proc/self/stat").read().rsplit(")", 1)[1].split()[0] != "Z":
        time.sleep(0.01)
    with open(sys.argv[1], "w") as file:
        file.write(f"{os.getpid()}\n")
    time.sleep(1000)

os.setsid()
threading.Thread(target=go_on).start()
exit_of_one_thread = {"x86_64": 60, "aarch64": 93}[os.uname().machine]
ctypes.CDLL(None).syscall(exit_of_one_thread, 0)
"#;

/// The files with the numbers of what [`leaver`] has leave.
const NAMES: [&str; 4] = ["one", "two", "three", "four"];

/// A script of a plugin that has four processes leave its group, writes their numbers and then does `end`.
fn leaver(folder: &Path, end: &str) -> Command {
    fs::write(folder.join("program.py"), WITHOUT_FIRST_THREAD).unwrap();
    let folder = folder.display();
    let leave = |file: &str| {
        format!("setsid bash -c 'echo $$ > {folder}/{file}; exec sleep 1000' >/dev/null 2>&1")
    };
    let script = format!(
        "{} & ({} &)\n(python3 {folder}/program.py {folder}/four >/dev/null 2>&1 &)\nset -m; sleep 1000 & echo $! > {folder}/three\n\
         for f in {}; do while [ ! -s {folder}/$f ]; do sleep 0.01; done; done\n{end}",
        leave("one"),
        leave("two"),
        NAMES.join(" "),
    );
    Command {
        contained: true,
        ..bash_file(&script)
    }
}

/// Waits until what left its group is gone. Other tests' runs may have begun it as well, for all that is known, so it
/// can take until theirs are over.
async fn wait_until_swept(folder: &Path) {
    for file in NAMES {
        let pid = pid_in(&folder.join(file)).await;
        while is_alive(&pid) {
            child::run(argv(&["true"]), None).await.unwrap();
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}

#[tokio::test]
async fn what_leaves_the_group_ends_with_the_run() {
    let folder = tempfile::tempdir().unwrap();
    let output = child::run(leaver(folder.path(), "exit 3"), None).await;
    assert_eq!(output.unwrap().exit_code, Some(3));
    wait_until_swept(folder.path()).await;
}

#[tokio::test]
async fn what_leaves_the_group_ends_at_the_deadline_and_when_nobody_waits() {
    let folder = tempfile::tempdir().unwrap();
    let mut late = leaver(folder.path(), "sleep 1000");
    late.deadline = Duration::from_millis(500);
    while NAMES.iter().any(|file| !folder.path().join(file).exists()) {
        late.deadline *= 2;
        let answer = child::run(late.clone(), None).await;
        assert!(matches!(answer, Err(SourceError::TimedOut { .. })));
    }
    wait_until_swept(folder.path()).await;

    let folder = tempfile::tempdir().unwrap();
    let task = tokio::spawn(child::run(leaver(folder.path(), "sleep 1000"), None));
    for file in NAMES {
        pid_in(&folder.path().join(file)).await;
    }
    task.abort();
    assert!(task.await.unwrap_err().is_cancelled());
    wait_until_swept(folder.path()).await;
}

#[tokio::test]
async fn a_cgroup_ends_whole_where_there_is_one() {
    let Some(cgroups) = cgroup::Cgroups::own() else {
        eprintln!("left out: needs cgroup v2");
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let output = child::run(
        // It is put there just after the start.
        leaver(
            folder.path(),
            "until grep -q gpud-runs /proc/self/cgroup; do sleep 0.01; done; cat /proc/self/cgroup",
        ),
        Some(cgroups),
    )
    .await;
    let text = String::from_utf8(output.unwrap().stdout).unwrap();
    let own = format!("gpud-runs/{}-", std::process::id());
    assert!(text.contains(&own), "{text}");
    for file in NAMES {
        wait_until_gone(&pid_in(&folder.path().join(file)).await);
    }
}
