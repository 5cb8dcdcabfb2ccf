//! The host that a line belongs to.

use super::*;

/// Names, messages and boots of each log.
fn hosts(capture: &Capture) -> Vec<(Option<&str>, Vec<&str>, &[usize])> {
    capture
        .logs
        .iter()
        .map(|log| {
            let texts = log.messages.iter().map(|message| message.text.as_str());
            (log.host.as_deref(), texts.collect(), log.boots.as_slice())
        })
        .collect()
}

#[test]
fn hosts_are_distinguished_and_a_boot_is_of_one() {
    let capture = capture(
        "Nov 20 08:00:01 n1 kernel: a\n\
         Nov 20 08:00:05 n2 kernel: NVRM: Xid (PCI:0000:3b:00): 79, lost\n\
         Nov 20 08:05:05 n1 kernel: Linux version 6.8.0\n\
         Nov 20 08:06:05 n2 kernel: b\n\
         Nov 20 08:06:06 n1 kernel: c\n",
    );
    assert_eq!(
        hosts(&capture),
        [
            (
                Some("n1"),
                vec!["a", "Linux version 6.8.0", "c"],
                &[0, 1][..]
            ),
            (
                Some("n2"),
                vec!["NVRM: Xid (PCI:0000:3b:00): 79, lost", "b"],
                &[0]
            ),
        ]
    );
    assert_eq!(capture.message_count(), 5);
}

#[test]
fn monotonic_clocks_of_hosts_do_not_make_boots_of_each_other() {
    let capture = capture(
        "n1: [ 9000.000001] a\nn2: [  100.000001] b\nn1: [ 9001.000001] c\nn2: [  101.000001] d\n",
    );
    assert_eq!(
        hosts(&capture),
        [
            (Some("n1"), vec!["a", "c"], &[0][..]),
            (Some("n2"), vec!["b", "d"], &[0]),
        ]
    );
}

#[test]
fn lines_without_a_host_belong_to_the_only_one() {
    let one = capture("[    1.000000] a\nNov 20 08:00:01 n1 kernel: b\n[    3.000000] c\n");
    assert_eq!(hosts(&one), [(Some("n1"), vec!["a", "b", "c"], &[0][..])]);
    let two = capture("[    1.000000] a\nn1: [    1.000000] b\nn2: [    1.000000] c\n");
    let names: Vec<_> = two.logs.iter().map(|log| log.host.as_deref()).collect();
    assert_eq!(names, [None, Some("n1"), Some("n2")]);
}

#[test]
fn every_form_tells_its_host() {
    for line in [
        "Nov 20 08:00:01 n1 kernel: x: y",
        "2026-11-20T08:00:01+00:00 n1 kernel: x: y",
        "Fri 2026-11-20 08:00:01 UTC n1 kernel: x: y",
        "[    1.000000] n1 kernel: x: y",
        "1795234453.692956 n1 kernel: x: y",
        "<3>1 2026-11-20T08:00:01Z n1 kernel - - - x: y",
        "kwi 20 08:00:01 n1 kernel: x: y",
        "2026 Nov 20 08:00:01.7 n1 ERR kernel: x: y",
        "n1: [    1.000000] x: y",
        "n1: NVRM: x: y",
        "n1: kern:     err: [2026-04-22T21:27:51.3Z]: x: y",
        "/var/log/messages:Nov 20 08:00:01 n1 kernel: x: y",
        r#"{"MESSAGE":"x: y","_TRANSPORT":"kernel","_HOSTNAME":"n1"}"#,
        r#"{"message":"[    1.000000] x: y","host":{"name":"n1"}}"#,
        "n1 | CHANGED | rc=0 >>\n[    1.000000] x: y",
        "---------------\nn1\n---------------\n[    1.000000] x: y",
    ] {
        let capture = capture(line);
        assert_eq!(capture.unparsable, 0, "{line}");
        assert_eq!(capture.log().host.as_deref(), Some("n1"), "{line}");
        assert!(texts(&capture)[0].ends_with("x: y"), "{line}");
    }
}

#[test]
fn lines_of_one_message_are_joined_among_those_of_other_hosts() {
    let capture = capture(
        "Nov 20 08:00:01 n1 kernel: NVRM: The NVIDIA GPU 0000:b3:00.0\n\
         Nov 20 08:00:01 n2 kernel: x\n\
         Nov 20 08:00:01 n1 kernel: NVRM: (PCI ID: 10de:26b5) installed in this system has\n",
    );
    assert_eq!(capture.logs[0].messages.len(), 1);
    assert_eq!(capture.logs[1].messages.len(), 1);
}

#[test]
fn too_many_hosts_are_refused() {
    let lines = |count: usize| {
        let line = |at| format!("n{at}: [    1.000000] x\n");
        (0..count).map(line).collect::<String>()
    };
    let most = super::super::hosts::MAX_HOSTS;
    assert_eq!(capture(lines(most)).logs.len(), most);
    let error = read(lines(most + 1).as_bytes(), NOW, &TimeZone::UTC).unwrap_err();
    assert_eq!(error, CaptureError::TooManyHosts);
}
