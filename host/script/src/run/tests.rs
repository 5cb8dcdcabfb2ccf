use super::*;

fn step(script: &str) -> Step {
    Step {
        name: "s".into(),
        run_bash_script: Some(RunBashScript {
            content_type: "plaintext".into(),
            script: script.into(),
        }),
    }
}

async fn run(scripts: &[&str], timeout_ms: i64) -> Execution {
    let prepared = prepare(&scripts.iter().map(|s| step(s)).collect::<Vec<_>>());
    let timeout = GoDuration(timeout_ms * 1_000_000);
    steps(&prepared, timeout, &CancellationToken::new(), false).await
}

fn shown(done: &Execution) -> (i32, Option<&str>, String) {
    (
        done.exit_code,
        done.error.as_deref(),
        String::from_utf8_lossy(&done.output).into_owned(),
    )
}

#[tokio::test]
async fn how_steps_end() {
    for (scripts, code, error, output) in [
        (&[][..], 0, None, ""),
        (&["echo a; echo b >&2", "echo -n c"], 0, None, "a\nb\nc"),
        (
            &["echo a; exit 7", "echo never"],
            7,
            Some("exit status 7"),
            "a\n",
        ),
        (&["exit -1"], 255, Some("exit status 255"), ""),
        (&["exit 256"], 0, None, ""),
        (
            &["echo a; kill -KILL $$"],
            -1,
            Some("signal: killed"),
            "a\n",
        ),
        (&["kill -HUP $$"], -1, Some("signal: hangup"), ""),
        (&[" \n "], 0, None, ""),
        (&["x=1", "echo [$x]"], 0, None, "[]\n"),
        (&["cat; echo end"], 0, None, "end\n"),
        (&["echo a; sleep 100 & exit 0"], 0, None, "a\n"),
    ] {
        let done = run(scripts, 20_000).await;
        assert_eq!(
            shown(&done),
            (code, error, output.to_owned()),
            "{scripts:?}"
        );
        assert!(!done.truncated);
    }
}

#[tokio::test]
async fn one_deadline_for_all_steps() {
    let done = run(&["echo kept", "echo lost; sleep 100", "echo never"], 1_500).await;
    assert_eq!(
        shown(&done),
        (0, Some("context deadline exceeded"), "kept\n".to_owned())
    );
    for none in [0, -5] {
        let done = run(&["echo never"], none).await;
        let error = Some("failed to start command: context deadline exceeded");
        assert_eq!(shown(&done), (0, error, String::new()));
    }
}

#[tokio::test]
async fn a_stop_ends_the_step() {
    let stop = CancellationToken::new();
    let prepared = prepare(&[step("sleep 100")]);
    let (done, ()) = tokio::join!(
        steps(&prepared, GoDuration(60_000_000_000), &stop, false),
        async {
            tokio::task::yield_now().await;
            stop.cancel();
        }
    );
    assert_eq!(shown(&done), (0, Some("context canceled"), String::new()));
}

#[tokio::test]
async fn output_is_bounded_over_all_steps() {
    let done = run(
        &["yes | head -c 1000000", "yes | head -c 1000000", "echo x"],
        60_000,
    )
    .await;
    assert_eq!(done.output.len(), MAX_OUTPUT);
    assert!(done.truncated);
    assert_eq!(done.error, None);
}

#[tokio::test]
async fn base64_and_scripts_that_cannot_run() {
    let encoded = |script: &str| Step {
        run_bash_script: Some(RunBashScript {
            content_type: "base64".into(),
            script: script.into(),
        }),
        ..step("")
    };
    for (script, code, error, output) in [
        ("ZWNo\nbyBoaQ==", 0, None, "hi\n"),
        (
            "\r\n",
            0,
            Some("no command(s) or bash script contents provided"),
            "",
        ),
        (
            "!",
            0,
            Some(
                "not base64: the standard alphabet, padded with = to a multiple of four characters, is expected",
            ),
            "",
        ),
    ] {
        let prepared = prepare(&[encoded(script)]);
        let done = steps(
            &prepared,
            GoDuration(20_000_000_000),
            &CancellationToken::new(),
            false,
        )
        .await;
        assert_eq!(shown(&done), (code, error, output.to_owned()), "{script:?}");
    }
}

#[test]
fn signals_have_names() {
    assert_eq!(signal_name(11), "segmentation fault");
    assert_eq!(signal_name(31), "bad system call");
    assert_eq!(signal_name(34), "signal 34");
    assert_eq!(signal_name(0), "signal 0");
}
