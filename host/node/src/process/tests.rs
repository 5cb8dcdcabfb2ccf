use std::{fs, thread};

use proptest::prelude::*;

use super::*;

const LONG: Duration = Duration::from_secs(60);

fn bash(script: &str) -> Command {
    Command::new(Program::BashStdin(script.as_bytes().to_vec()), LONG)
}

fn bash_file(script: &str) -> Command {
    Command::new(Program::BashFile(script.as_bytes().to_vec()), LONG)
}

fn argv(words: &[&str]) -> Command {
    let words = words.iter().map(OsString::from).collect();
    Command::new(Program::Argv(words), LONG)
}

/// Whether a process is there and not a zombie.
fn is_alive(pid: &str) -> bool {
    fs::read_to_string(format!("/proc/{}/stat", pid.trim()))
        .is_ok_and(|stat| !stat.rsplit(')').next().unwrap().starts_with(" Z"))
}

fn wait_until_gone(pid: &str) {
    assert!(!pid.trim().is_empty());
    while is_alive(pid) {
        thread::sleep(Duration::from_millis(5));
    }
}

/// Waits until a script has written a process id to a file.
async fn pid_in(file: &Path) -> String {
    loop {
        match fs::read_to_string(file) {
            Ok(pid) if pid.ends_with('\n') => return pid.trim().to_owned(),
            _ => tokio::time::sleep(Duration::from_millis(5)).await,
        }
    }
}

#[tokio::test]
async fn exit_codes_signals_and_streams() {
    for (command, code, signal, stdout, stderr) in [
        (
            bash("echo out; echo err >&2; exit 3"),
            Some(3),
            None,
            "out\n",
            "err\n",
        ),
        (bash("exit -1"), Some(255), None, "", ""),
        (
            bash("echo before; kill -TERM $$"),
            None,
            Some(15),
            "before\n",
            "",
        ),
        (
            bash("no-such-command-at-all 2>/dev/null"),
            Some(127),
            None,
            "",
            "",
        ),
        (bash(""), Some(0), None, "", ""),
        (
            bash_file("cat; echo \"${0##*/}\" | sed 's/-.*[.]/-X./'"),
            Some(0),
            None,
            "gpud-X.bash\n",
            "",
        ),
        (
            argv(&["printf", "%s|", "a b", "c"]),
            Some(0),
            None,
            "a b|c|",
            "",
        ),
        (argv(&["/bin/cat"]), Some(0), None, "", ""),
    ] {
        let output = run(command.clone()).await.unwrap();
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        assert_eq!(
            (output.exit_code, output.signal),
            (code, signal),
            "{command:?}"
        );
        assert_eq!(text(&output.stdout), stdout, "{command:?}");
        assert_eq!(text(&output.stderr), stderr, "{command:?}");
        assert!(!output.stdout_truncated && !output.stderr_truncated && !output.core_dumped);
    }
}

#[tokio::test]
async fn what_cannot_start_says_why() {
    let answer = run(argv(&["gpud-no-such-program"])).await;
    assert_eq!(
        answer,
        Err(SourceError::NotFound("gpud-no-such-program".to_owned()))
    );
    let answer = run(argv(&["/etc/passwd"])).await;
    assert_eq!(answer, Err(SourceError::Denied("/etc/passwd".to_owned())));
    for empty in [argv(&[]), argv(&[""])] {
        assert!(matches!(run(empty).await, Err(SourceError::Invalid(_))));
    }
    let mut late = bash("true");
    late.deadline = Duration::ZERO;
    assert!(matches!(run(late).await, Err(SourceError::TimedOut { .. })));
}

#[tokio::test]
async fn environment_and_folder_are_as_asked() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = argv(&["/usr/bin/env"]);
    command.env = Env::Replace(vec![("ONLY".into(), "this".into())]);
    assert_eq!(run(command).await.unwrap().stdout, b"ONLY=this\n");
    let mut command = bash("pwd; echo $LANG $LC_ALL; [ -n \"$PATH\" ] && [ -n \"$HOME\" ]");
    command.cwd = Some(folder.path().to_owned());
    command.env = Env::Replace(fixed_env());
    let output = run(command).await.unwrap();
    assert_eq!(output.exit_code, Some(0));
    let expected = format!("{}\nC C\n", folder.path().display());
    assert_eq!(output.stdout, expected.as_bytes());
    let inherited = run(argv(&["/usr/bin/env"])).await.unwrap();
    // Root's without folders that others can change.
    let own = format!("PATH={}\n", super::search_path().display());
    assert!(String::from_utf8_lossy(&inherited.stdout).contains(&own));
}

#[tokio::test]
async fn combined_streams_keep_their_order() {
    let mut command = bash("for i in 1 2 3; do echo o$i; echo e$i >&2; done");
    command.streams = Streams::Combined;
    let output = run(command).await.unwrap();
    assert_eq!(output.stdout, b"o1\ne1\no2\ne2\no3\ne3\n");
    assert_eq!(output.stderr, b"");
}

#[tokio::test]
async fn endless_output_is_cut_and_the_rest_of_the_script_still_runs() {
    let mut command = bash("yes | head -c 3000000; yes err | head -c 2000000 >&2; exit 7");
    command.max_output_bytes = 1000;
    let output = run(command).await.unwrap();
    assert_eq!(output.exit_code, Some(7));
    assert_eq!((output.stdout.len(), output.stderr.len()), (1000, 1000));
    assert!(output.stdout_truncated && output.stderr_truncated);
    assert!(output.stdout.starts_with(b"y\ny\n"));

    let mut endless = argv(&["yes"]);
    endless.deadline = Duration::from_millis(200);
    assert!(matches!(
        run(endless).await,
        Err(SourceError::TimedOut { .. })
    ));
}

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

#[tokio::test]
async fn finished_runs_leave_no_zombie_and_no_script() {
    let output = run(bash_file("echo $$; echo \"$0\"")).await.unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let (pid, script) = text.trim().split_once('\n').unwrap();
    assert!(!Path::new("/proc").join(pid).exists());
    assert!(script.ends_with(".bash") && !Path::new(script).exists());
}

#[tokio::test]
async fn a_script_that_does_not_read_its_stdin_to_the_end_is_no_error() {
    let script = format!("exit 5\n{}", "# filler\n".repeat(100_000));
    assert_eq!(run(bash(&script)).await.unwrap().exit_code, Some(5));
}

/// A script of a plugin that has two processes leave its group, writes their numbers and then does `end`.
fn leaver(folder: &Path, end: &str) -> Command {
    let folder = folder.display();
    let leave = |file: &str| {
        format!("setsid bash -c 'echo $$ > {folder}/{file}; exec sleep 1000' >/dev/null 2>&1")
    };
    let script = format!(
        "{} & ({} &)\nset -m; sleep 1000 & echo $! > {folder}/three\n\
         for f in one two three; do while [ ! -s {folder}/$f ]; do sleep 0.01; done; done\n{end}",
        leave("one"),
        leave("two"),
    );
    Command {
        contained: true,
        ..bash_file(&script)
    }
}

/// Waits until what left its group is gone. Other tests' runs may have begun it as well, for all that is known, so it
/// can take until theirs are over.
async fn wait_until_swept(folder: &Path) {
    for file in ["one", "two", "three"] {
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
    while !folder.path().join("three").exists() {
        late.deadline *= 2;
        let answer = child::run(late.clone(), None).await;
        assert!(matches!(answer, Err(SourceError::TimedOut { .. })));
    }
    wait_until_swept(folder.path()).await;

    let folder = tempfile::tempdir().unwrap();
    let task = tokio::spawn(child::run(leaver(folder.path(), "sleep 1000"), None));
    for file in ["one", "two", "three"] {
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
    for file in ["one", "two", "three"] {
        wait_until_gone(&pid_in(&folder.path().join(file)).await);
    }
}

#[tokio::test]
async fn scripts_have_limits_and_programs_of_gpud_have_none() {
    let script = "ulimit -Sc; ulimit -Sn; ulimit -Hc";
    let own = run(bash(script)).await.unwrap().stdout;
    // They are set just after the start.
    let wait =
        "until [ \"$(ulimit -Sc)\" = 0 ] && [ \"$(ulimit -Sn)\" -le 1024 ]; do sleep 0.01; done";
    let contained = Command {
        contained: true,
        ..bash(&format!("{wait}\n{script}"))
    };
    let limited = child::run(contained, None).await.unwrap().stdout;
    let lines = |text: &[u8]| -> Vec<String> {
        let text = String::from_utf8(text.to_vec()).unwrap();
        text.lines().map(str::to_owned).collect()
    };
    let (own, limited) = (lines(&own), lines(&limited));
    // The hard limit stays: a script can raise what it needs.
    assert_eq!((limited[0].as_str(), &limited[2]), ("0", &own[2]));
}

#[tokio::test]
async fn scripts_do_not_get_the_secrets_of_the_daemon() {
    let mut command = argv(&["/usr/bin/env"]);
    command.env = Env::WithoutSecrets;
    let text = String::from_utf8(run(command).await.unwrap().stdout).unwrap();
    // The rest is there; which names are secrets is tested where they are listed.
    let path = search_path().into_string().unwrap();
    assert!(text.contains(&format!("PATH={path}\n")), "{text}");
}

#[tokio::test]
async fn a_program_that_others_can_change_does_not_run_as_root() {
    if !rustix::process::geteuid().is_root() {
        eprintln!("left out: needs root");
        return;
    }
    assert_eq!(check_program(Path::new("/usr/bin/env")).await, Ok(()));
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("tool");
    fs::write(&program, "#!/bin/sh\n").unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o777)).unwrap();
    let answer = check_program(&program).await;
    assert!(
        matches!(&answer, Err(SourceError::Denied(text)) if text.contains("can be changed by others")),
        "{answer:?}"
    );
}

#[tokio::test]
async fn programs_are_found_in_the_systems_folders() {
    assert!(find_program("bash").await.unwrap().is_absolute());
    assert_eq!(find_program("/bin/sh").await, Ok(PathBuf::from("/bin/sh")));
    for missing in ["gpud-no-such-program", "/etc/passwd", "/bin", "./sh"] {
        let answer = find_program(missing).await;
        assert_eq!(answer, Err(SourceError::NotFound(missing.to_owned())));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]
    /// Any bytes pass through a program and come back unchanged, up to the bound.
    #[test]
    fn bytes_survive_the_pipe(size in 0usize..300_000, limit in 0usize..300_000) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let file = tempfile::NamedTempFile::new().unwrap();
        let content: Vec<u8> = (0..size).map(|n| (n * 31 % 251) as u8).collect();
        fs::write(file.path(), &content).unwrap();
        let mut command = argv(&["cat", file.path().to_str().unwrap()]);
        command.max_output_bytes = limit;
        let output = runtime.block_on(run(command)).unwrap();
        prop_assert_eq!(output.stdout_truncated, size > limit);
        prop_assert_eq!(&output.stdout[..], &content[..size.min(limit)]);
    }
}
