//! A helper that runs in this process, asked over a real pair of sockets.

use std::{collections::BTreeMap, fs::File, io::Read as _};

use super::*;
use crate::process::Streams;

fn helper(allowed: AllowedRequests) -> (Connection, tokio::task::JoinHandle<()>) {
    let (channel, theirs) = socketpair(
        AddressFamily::UNIX,
        SocketType::SEQPACKET,
        SocketFlags::CLOEXEC,
        None,
    )
    .unwrap();
    let connection = Connection {
        channel,
        _process: None,
        kernel_log: allowed.kernel_log.clone(),
        plugins: Vec::new(),
    };
    let serving = tokio::spawn(async move { server::serve_at(theirs, allowed).await.unwrap() });
    (connection, serving)
}

fn script(text: &str) -> Command {
    Command {
        streams: Streams::Combined,
        ..Command::new(
            Program::BashFile(text.as_bytes().to_vec()),
            Duration::from_secs(60),
        )
    }
}

fn scripts(texts: &[&str], longest: Duration) -> BTreeMap<Vec<u8>, Duration> {
    let text = |text: &&str| (text.as_bytes().to_vec(), longest);
    texts.iter().map(text).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_kernel_log_is_opened_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("kmsg");
    std::fs::write(&log, "6,1,1,-;a\n").unwrap();
    let allowed = AllowedRequests {
        kernel_log: log.clone(),
        ..AllowedRequests::default()
    };
    let (helper, _serving) = helper(allowed);
    let read = tokio::task::spawn_blocking(move || {
        let mut text = String::new();
        // Each time from the beginning.
        for _ in 0..2 {
            text.clear();
            let mut opened = File::from(helper.open_kernel_log().unwrap());
            opened.read_to_string(&mut text).unwrap();
        }
        std::fs::remove_file(&log).unwrap();
        (text, helper.open_kernel_log())
    });
    let (text, gone) = read.await.unwrap();
    assert_eq!(text, "6,1,1,-;a\n");
    assert!(matches!(gone, Err(SourceError::NotFound(_))), "{gone:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn only_named_scripts_run_and_within_their_time() {
    let texts = ["echo out; echo err >&2; exit 3", "sleep 600"];
    let allowed = AllowedRequests {
        scripts: scripts(&texts, Duration::from_secs(60)),
        ..AllowedRequests::default()
    };
    let (helper, _serving) = helper(allowed);
    let output = helper.run(&script(texts[0])).await.unwrap();
    assert_eq!(
        (output.exit_code, output.stdout.as_slice()),
        (Some(3), &b"out\nerr\n"[..])
    );
    let refused = helper.run(&script("echo other")).await.unwrap_err();
    assert!(matches!(refused, SourceError::Denied(_)), "{refused:?}");
    let short = Command {
        deadline: Duration::from_millis(50),
        ..script(texts[1])
    };
    let ended = helper.run(&short).await.unwrap_err();
    assert!(matches!(ended, SourceError::TimedOut { .. }), "{ended:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_helper_s_bound_of_time_counts_as_well() {
    let allowed = AllowedRequests {
        scripts: scripts(&["sleep 600"], Duration::from_millis(50)),
        ..AllowedRequests::default()
    };
    let (helper, _serving) = helper(allowed);
    let ended = helper.run(&script("sleep 600")).await.unwrap_err();
    assert!(matches!(ended, SourceError::TimedOut { .. }), "{ended:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn programs_outside_of_the_list_are_refused() {
    let (helper, _serving) = helper(AllowedRequests::default());
    for words in [
        &["/usr/bin/id"][..],
        &["ipmitool", "sel", "clear"],
        &["/tmp/x/../smartctl", "-a", "/dev/sda"],
    ] {
        let words = words.iter().map(OsString::from).collect();
        let command = Command::new(Program::Argv(words), Duration::from_secs(60));
        let refused = helper.run(&command).await.unwrap_err();
        assert!(matches!(refused, SourceError::Denied(_)), "{refused:?}");
    }
    let stdin = Command::new(Program::BashStdin(b"id".to_vec()), Duration::from_secs(60));
    let refused = helper.run(&stdin).await.unwrap_err();
    assert!(matches!(refused, SourceError::Invalid(_)), "{refused:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn it_ends_with_the_daemon_and_takes_what_runs_with_it() {
    let folder = tempfile::tempdir().unwrap();
    let pid = folder.path().join("pid");
    let text = format!(
        "echo $$ > {0}.part; mv {0}.part {0}; sleep 600",
        pid.display()
    );
    let allowed = AllowedRequests {
        scripts: scripts(&[text.as_str()], Duration::from_secs(600)),
        ..AllowedRequests::default()
    };
    let (helper, serving) = helper(allowed);
    let running = tokio::spawn(async move {
        let _ = helper.run(&script(&text)).await;
    });
    while !pid.exists() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let process = std::fs::read_to_string(&pid).unwrap();
    // The daemon's end is gone.
    running.abort();
    serving.await.unwrap();
    // Killed; who reaps it is the test program's affair.
    let status = Path::new("/proc").join(process.trim()).join("status");
    while std::fs::read_to_string(&status).is_ok_and(|text| !text.contains("State:\tZ")) {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// A daemon that was taken over can pass any socket. What the helper writes there has root's name.
#[tokio::test(flavor = "multi_thread")]
async fn only_streams_are_answered() {
    let (helper, _serving) = helper(AllowedRequests::default());
    let (service, passed) = socketpair(
        AddressFamily::UNIX,
        SocketType::SEQPACKET,
        SocketFlags::CLOEXEC,
        None,
    )
    .unwrap();
    let request = Request::RunProgram {
        bounds: Bounds::new(Duration::from_secs(1), 1),
        name: "x\nMESSAGE=text of the daemon's choice\n".to_owned(),
        arguments: Vec::new(),
    };
    let bytes = request.to_bytes();
    // A packet for each of the helper's two reads.
    for part in [&bytes[..4], &bytes[4..]] {
        rustix::io::write(&service, part).unwrap();
    }
    fd_passing::send(&helper.channel, b"c", passed.as_fd()).unwrap();
    drop(passed);
    let answer = tokio::task::spawn_blocking(move || {
        let mut buffer = [0; 512];
        rustix::io::read(&service, &mut buffer)
    });
    let answer = answer.await.unwrap();
    // What the helper has not read is thrown away with the socket.
    assert!(
        matches!(answer, Ok(0) | Err(rustix::io::Errno::CONNRESET)),
        "{answer:?}"
    );
    // Those of the daemon itself are answered.
    let refused = helper.run(&script("echo other")).await.unwrap_err();
    assert!(matches!(refused, SourceError::Denied(_)), "{refused:?}");
}

#[test]
fn a_helper_that_is_gone_is_an_error_that_says_what_to_do() {
    let (channel, theirs) = socketpair(
        AddressFamily::UNIX,
        SocketType::SEQPACKET,
        SocketFlags::CLOEXEC,
        None,
    )
    .unwrap();
    drop(theirs);
    let helper = Connection {
        channel,
        _process: None,
        kernel_log: PathBuf::new(),
        plugins: Vec::new(),
    };
    let error = helper.open_kernel_log().unwrap_err().to_string();
    assert!(error.contains("restart gpud"), "{error}");
}
