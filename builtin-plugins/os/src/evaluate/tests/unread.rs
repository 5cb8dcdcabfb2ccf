//! Files of the kernel that cannot be read.

use super::*;

#[test]
fn what_cannot_be_read_is_unknown() {
    let gone = || AccessError::NotFound("/proc/x".into());
    type Break = fn(&mut Inputs<'_>, AccessError);
    let cases: [(Break, Health, &str); 4] = [
        // It is shown and not judged.
        (
            |inputs, error| inputs.uptime = Err(error),
            Health::Healthy,
            "ok",
        ),
        (
            |inputs, error| inputs.processes = Err(error),
            Health::Degraded,
            "cannot be judged: /proc/x: not found",
        ),
        (
            |inputs, error| inputs.file_nr = Err(error),
            Health::Degraded,
            "cannot be judged: /proc/x: not found",
        ),
        (
            |inputs, error| inputs.file_max = Err(error),
            Health::Degraded,
            "cannot be judged: /proc/x: not found",
        ),
    ];
    for (change, health, reason) in cases {
        let report = Machine::new(&[]).judge(|inputs| change(inputs, gone()));
        assert_eq!(short(&report), (health, reason));
        assert_eq!(
            report.states[0].error.as_deref(),
            Some("/proc/x: not found")
        );
        assert_eq!(report.states[0].suggested_actions, None);
        assert!(
            report.states[0].extra_info[0]
                .1
                .starts_with(r#"{"virtualization_environment":"#)
        );
    }
    let report = Machine::new(&[]).judge(|inputs| {
        inputs.file_nr = Ok("1 2".into());
        inputs.file_max = Err(gone());
    });
    assert_eq!(
        short(&report),
        (
            Health::Degraded,
            "cannot be judged: /proc/sys/fs/file-nr reads \"1 2\""
        )
    );
    // What hangs is the machine's trouble, as in every checker.
    let silent = TimeoutInfo {
        what: "/proc/x".into(),
        after_ms: 5_000,
        last_good: None,
    };
    let report = Machine::new(&[]).judge(|inputs| {
        inputs.file_nr = Err(AccessError::TimedOut(silent));
    });
    assert_eq!(short(&report).0, Health::Unhealthy);
}

#[test]
fn files_that_may_not_be_counted_are_not_the_nodes_fault() {
    let denied = || AccessError::Denied("/proc/1/fd".into());
    let gone = || AccessError::NotFound("/proc/9/fd".into());
    let report = Machine::new(&[]).judge(|inputs| {
        inputs.open_files = Ok(vec![
            fds(Ok(5)),
            fds(Err(denied())),
            fds(Err(gone())),
            fds(Err(denied())),
        ]);
    });
    assert_eq!(short(&report), (Health::Healthy, "ok"));
    let error =
        "open files of 2 of 4 processes could not be counted: /proc/1/fd: permission denied";
    assert_eq!(report.states[0].error.as_deref(), Some(error));
    assert!(report.states[0].extra_info[0].1.contains(r#""usage":5,"#));

    let report = Machine::new(&[])
        .judge(|inputs| inputs.open_files = Ok(vec![fds(Ok(951)), fds(Err(denied()))]));
    assert_eq!(short(&report).0, Health::Unhealthy);

    let report = Machine::new(&[]).judge(|inputs| inputs.open_files = Err(denied()));
    assert_eq!(short(&report), (Health::Healthy, "ok"));
    let error = "open files could not be counted: /proc/1/fd: permission denied";
    assert_eq!(report.states[0].error.as_deref(), Some(error));
    // Without any, the number of processes is used instead.
    assert!(
        report.states[0].extra_info[0]
            .1
            .contains(r#""used_percent":"0.20""#)
    );
}

#[test]
fn processes_of_others_that_are_hidden_are_named() {
    let denied = |pid: u32| FileContent {
        path: format!("/proc/{pid}/stat"),
        content: Err(AccessError::Denied(format!("/proc/{pid}/stat"))),
    };
    let hidden = "processes of other users are neither counted nor judged: /proc hides them from gpud (hidepid)";
    let own = || stat(77, "gpud", 'S');
    let some = "2 of 3 processes are counted and not judged: /proc/1/stat: permission denied";
    let cases = [
        (vec![own()], true, Some(hidden)),
        // It was not looked for.
        (vec![own()], false, None),
        // Nothing is listed on a machine that is made up.
        (Vec::new(), true, None),
        (vec![stat(1, "systemd", 'S'), own()], true, None),
        (vec![denied(1), denied(2), own()], true, Some(some)),
        (vec![denied(1), denied(2), own()], false, Some(some)),
    ];
    for (files, is_turn_of_first, error) in cases {
        let report = Machine::new(&[]).judge(|inputs| {
            inputs.processes = Ok(files);
            inputs.is_turn_of_first = is_turn_of_first;
        });
        assert_eq!(short(&report), (Health::Healthy, "ok"));
        assert_eq!(report.states[0].error.as_deref(), error);
    }
}
