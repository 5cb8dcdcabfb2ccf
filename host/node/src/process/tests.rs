use std::{fs, thread};

use proptest::prelude::*;

use super::*;

mod ending;

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

/// Whether a process is there, and a thread of it is no zombie.
fn is_alive(pid: &str) -> bool {
    let threads = fs::read_dir(format!("/proc/{}/task", pid.trim()));
    threads.into_iter().flatten().flatten().any(|thread| {
        fs::read_to_string(thread.path().join("stat"))
            .is_ok_and(|stat| !stat.rsplit(')').next().unwrap().starts_with(" Z"))
    })
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
    let output = run(command).await.unwrap();
    assert_eq!(output.exit_code, Some(0));
    let expected = format!("{}\nC C\n", folder.path().display());
    assert_eq!(output.stdout, expected.as_bytes());
    let fixed = run(argv(&["/usr/bin/env"])).await.unwrap();
    let names = fixed.stdout.split(|byte| *byte == b'\n');
    assert_eq!(
        names.filter(|line| !line.is_empty()).count(),
        fixed_env().len()
    );
    let mut command = argv(&["/usr/bin/env"]);
    command.env = Env::WithoutSecrets;
    let inherited = run(command).await.unwrap();
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
