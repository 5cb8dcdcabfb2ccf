//! Prefixes of other tools, found from the message's side.

use super::*;

const TEXT: &str = "NVRM: Xid (PCI:0000:3b:00): 79, pid='<unknown>', GPU has fallen off the bus.";

/// What one line is read as: the wall-clock time if it has one, the host, the level, and microseconds since boot.
struct Case(
    &'static str,
    Option<&'static str>,
    Option<&'static str>,
    u8,
    u64,
);

const PREFIXES: [Case; 65] = [
    // Bare.
    Case("kernel: ", None, None, 6, 0),
    Case("kernel: [   24.422640] ", None, None, 6, 24_422_640),
    Case("kernel: [ 993.6] ", None, None, 6, 993_600_000),
    Case(
        "Nov 18 15:03:52 h kernel[0]: ",
        Some("2026-11-18T15:03:52Z"),
        Some("h"),
        6,
        0,
    ),
    Case(
        "2026-04-22 21:27:51,003 h kernel: ",
        Some("2026-04-22T21:27:51.003Z"),
        Some("h"),
        6,
        0,
    ),
    // Months of other languages.
    Case(
        "kwi 15 07:56:59 h kernel: ",
        Some("2026-04-15T07:56:59Z"),
        Some("h"),
        6,
        0,
    ),
    Case(
        "paź 15 07:56:59 h kernel: ",
        Some("2026-10-15T07:56:59Z"),
        Some("h"),
        6,
        0,
    ),
    Case(
        "Mär 29 07:56:59 h kernel: ",
        Some("2026-03-29T07:56:59Z"),
        Some("h"),
        6,
        0,
    ),
    Case(
        "Dez  9 07:56:59 h kernel: ",
        Some("2025-12-09T07:56:59Z"),
        Some("h"),
        6,
        0,
    ),
    Case(
        "janv. 29 07:56:59 h kernel: ",
        Some("2026-01-29T07:56:59Z"),
        Some("h"),
        6,
        0,
    ),
    Case(
        "août 29 07:56:59 h kernel: ",
        Some("2026-08-29T07:56:59Z"),
        Some("h"),
        6,
        0,
    ),
    Case(
        "ene 29 07:56:59 h kernel: ",
        Some("2026-01-29T07:56:59Z"),
        Some("h"),
        6,
        0,
    ),
    Case(
        "giu 29 07:56:59 h kernel: ",
        Some("2026-06-29T07:56:59Z"),
        Some("h"),
        6,
        0,
    ),
    Case(
        "out 29 07:56:59 h kernel: ",
        Some("2026-10-29T07:56:59Z"),
        Some("h"),
        6,
        0,
    ),
    Case(
        "mrt 29 07:56:59 h kernel: ",
        Some("2026-03-29T07:56:59Z"),
        Some("h"),
        6,
        0,
    ),
    Case(
        "мая 29 07:56:59 h kernel: ",
        Some("2026-05-29T07:56:59Z"),
        Some("h"),
        6,
        0,
    ),
    Case(
        "zář 29 07:56:59 h kernel: ",
        Some("2026-09-29T07:56:59Z"),
        Some("h"),
        6,
        0,
    ),
    Case(
        "11月 20 07:56:59 h kernel: ",
        Some("2026-11-20T07:56:59Z"),
        Some("h"),
        6,
        0,
    ),
    Case(
        "29. Mär 07:56:59 h kernel: ",
        Some("2026-03-29T07:56:59Z"),
        Some("h"),
        6,
        0,
    ),
    // Other orders of date and time.
    Case(
        "04 Aug, 14:03:52 h kernel: ",
        Some("2026-08-04T14:03:52Z"),
        Some("h"),
        6,
        0,
    ),
    Case(
        "2025 Jul  2 06:56:57.749644 h ERR kernel: [  993.622973] ",
        Some("2025-07-02T06:56:57.749Z"),
        Some("h"),
        3,
        993_622_973,
    ),
    Case(
        "2025 Jul  2 06:56:57.7 h ERR kernel: [ 993.6] ",
        Some("2025-07-02T06:56:57.700Z"),
        Some("h"),
        3,
        993_600_000,
    ),
    Case(
        "Sat Nov 18 15:03:52 2017 kern.err kernel: [    9.000001] ",
        Some("2017-11-18T15:03:52Z"),
        None,
        3,
        9_000_001,
    ),
    Case(
        "21.11.2026 02:03:04 h kernel: ",
        Some("2026-11-21T02:03:04Z"),
        Some("h"),
        6,
        0,
    ),
    Case(
        "11/21/2026 02:03:04 AM h kernel: ",
        Some("2026-11-21T02:03:04Z"),
        Some("h"),
        6,
        0,
    ),
    Case(
        "2026/11/20 02:03:04 h kernel: ",
        Some("2026-11-20T02:03:04Z"),
        Some("h"),
        6,
        0,
    ),
    Case(
        "20-Nov-2026 02:03:04 h kernel: ",
        Some("2026-11-20T02:03:04Z"),
        Some("h"),
        6,
        0,
    ),
    Case(
        "Nov 20 02:03:04 UTC h kernel: ",
        Some("2026-11-20T02:03:04Z"),
        Some("h"),
        6,
        0,
    ),
    Case(
        "1795140000 h kernel: ",
        Some("2026-11-20T02:00:00Z"),
        Some("h"),
        6,
        0,
    ),
    // Talos.
    Case(
        "10.0.0.1: kern:     err: [2026-04-22T21:27:51.3Z]: ",
        Some("2026-04-22T21:27:51.300Z"),
        Some("10.0.0.1"),
        3,
        0,
    ),
    Case(
        "10.0.0.1: kern: warning: [2026-04-22T21:27:51.3Z]: ",
        Some("2026-04-22T21:27:51.300Z"),
        Some("10.0.0.1"),
        4,
        0,
    ),
    // dmesg -T in the user's language.
    Case(
        "[Fr Nov 20 08:00:01 2026] ",
        Some("2026-11-20T08:00:01Z"),
        None,
        6,
        0,
    ),
    Case(
        "[ven. nov. 20 08:00:01 2026] ",
        Some("2026-11-20T08:00:01Z"),
        None,
        6,
        0,
    ),
    Case(
        "[五 11月 20 08:00:01 2026] ",
        Some("2026-11-20T08:00:01Z"),
        None,
        6,
        0,
    ),
    Case(
        "[Пт ноя  6 08:00:01 2026] ",
        Some("2026-11-06T08:00:01Z"),
        None,
        6,
        0,
    ),
    Case(
        "h1: [lun. janv. 29 10:30:21 2024] ",
        Some("2024-01-29T10:30:21Z"),
        Some("h1"),
        6,
        0,
    ),
    // A console's lines, dated by what recorded them.
    Case(
        "[2026-11-20 08:00:01] [    9.000001] ",
        Some("2026-11-20T08:00:01Z"),
        None,
        6,
        9_000_001,
    ),
    // A name that some syslog daemons have for the kernel.
    Case(
        "Nov 20 08:00:01 h vmunix: [    9.000001] ",
        Some("2026-11-20T08:00:01Z"),
        Some("h"),
        6,
        9_000_001,
    ),
    // RFC 5424.
    Case(
        "<3>1 2026-11-20T08:00:01.5Z h kernel - - - ",
        Some("2026-11-20T08:00:01.500Z"),
        Some("h"),
        3,
        0,
    ),
    Case(
        "<3>1 2026-11-20T08:00:01Z h kernel - - [meta k=\"a]b\"] [    9.000001] ",
        Some("2026-11-20T08:00:01Z"),
        Some("h"),
        3,
        9_000_001,
    ),
    // BSD, consoles, Android.
    Case(
        "<3>Jul  2 06:56:57 h kernel: ",
        Some("2026-07-02T06:56:57Z"),
        Some("h"),
        3,
        0,
    ),
    Case("<3>kernel: ", None, None, 3, 0),
    Case("<6>[    9.000001][    T1] ", None, None, 6, 9_000_001),
    Case(
        "\u{1b}[32m[    9.000001] \u{1b}[0m",
        None,
        None,
        6,
        9_000_001,
    ),
    Case("[    9.0] ", None, None, 6, 9_000_000),
    // grep, pdsh, quotations, numbered lines, hypervisors, containers.
    Case(
        "messages:Jun 17 20:18:08 h kernel: ",
        Some("2026-06-17T20:18:08Z"),
        Some("h"),
        6,
        0,
    ),
    Case(
        "/var/log/syslog.1:12:Mar  7 21:45:36 h kernel: [75145.414575] ",
        Some("2026-03-07T21:45:36Z"),
        Some("h"),
        6,
        75_145_414_575,
    ),
    Case("dmesg.txt:[    9.000001] ", None, None, 6, 9_000_001),
    Case("dmesg.txt:3,7,9000001,-;", None, None, 3, 9_000_001),
    Case("dmesg.txt:", None, None, 6, 0),
    Case("h1: [ 14280.400001] ", None, Some("h1"), 6, 14_280_400_001),
    Case("h1: [ 14280.4] ", None, Some("h1"), 6, 14_280_400_000),
    Case("h1: 3,7,9000001,-;", None, Some("h1"), 3, 9_000_001),
    Case("> [    9.000001] ", None, None, 6, 9_000_001),
    Case("> > >[    9.000001] ", None, None, 6, 9_000_001),
    Case(
        "> Jun 17 20:18:08 h kernel: ",
        Some("2026-06-17T20:18:08Z"),
        Some("h"),
        6,
        0,
    ),
    Case("  123  [    9.000001] ", None, None, 6, 9_000_001),
    Case(
        "123\tJun 17 20:18:08 h kernel: ",
        Some("2026-06-17T20:18:08Z"),
        Some("h"),
        6,
        0,
    ),
    Case(
        "2023-12-04T10:49:30.127Z In(05) vcpu-5 - Guest: <3>[39291577.009543] ",
        Some("2023-12-04T10:49:30.127Z"),
        None,
        3,
        39_291_577_009_543,
    ),
    Case(
        "2026-11-20T08:00:01.123456789Z [    9.000001] ",
        Some("2026-11-20T08:00:01.123Z"),
        None,
        6,
        9_000_001,
    ),
    Case(
        "2026-11-20T08:00:01.123456789Z stderr F <3>[    9.000001] ",
        Some("2026-11-20T08:00:01.123Z"),
        None,
        3,
        9_000_001,
    ),
    Case(
        "[pod/dmesg-x7/main] [    9.000001] ",
        None,
        None,
        6,
        9_000_001,
    ),
    Case(
        "dmesg-1  | [    9.000001] ",
        None,
        Some("dmesg-1"),
        6,
        9_000_001,
    ),
    Case(
        "time=2026-11-20T08:00:01Z host=h msg=[    9.000001] ",
        Some("2026-11-20T08:00:01Z"),
        Some("h"),
        6,
        9_000_001,
    ),
    Case("", None, None, 6, 0),
];

#[test]
fn any_prefix_is_taken_off() {
    for Case(prefix, time, host, level, micros) in PREFIXES {
        // Beside a line of another format, which decides nothing.
        let text = format!("[    1.000001] other: line\n{prefix}{TEXT}\n");
        let capture = capture(&text);
        assert_eq!((capture.unparsable, capture.skipped), (0, 0), "{prefix}");
        let log = capture.log();
        assert_eq!(log.host.as_deref(), host, "{prefix}");
        let message = &log.messages[1];
        assert_eq!(message.text, TEXT, "{prefix}");
        assert_eq!(message.level, level, "{prefix}");
        assert_eq!(message.monotonic_micros, micros, "{prefix}");
        if let Some(time) = time {
            assert_eq!(message.time, at(time), "{prefix}");
        }
        assert_eq!(log.clock == Clock::Wall, time.is_some(), "{prefix}");
    }
}

#[test]
fn collectors_put_the_message_into_a_field() {
    for (line, time) in [
        (
            r#"{"@timestamp":"2026-11-20T08:00:01.000Z","host":"h","message":"NVRM: Xid: x"}"#,
            Some("2026-11-20T08:00:01Z"),
        ),
        (
            r#"{"log":"[    9.000001] NVRM: Xid: x\n","stream":"stdout","time":"2026-11-20T08:00:01.5Z"}"#,
            Some("2026-11-20T08:00:01.500Z"),
        ),
        (
            r#"{"jsonPayload":{"message":"kernel: NVRM: Xid: x"},"timestamp":"2026-11-20T08:00:01Z"}"#,
            Some("2026-11-20T08:00:01Z"),
        ),
        (
            r#"{"_raw":"Nov 20 08:00:01 h kernel: NVRM: Xid: x"}"#,
            Some("2026-11-20T08:00:01Z"),
        ),
        (
            r#"{"ident":"kernel","message":"NVRM: Xid: x","ts":1795140000}"#,
            Some("2026-11-20T02:00:00Z"),
        ),
        (
            r#""2026-11-20T08:00:01.000+0000",h,"[    9.000001] NVRM: Xid: x""#,
            Some("2026-11-20T08:00:01Z"),
        ),
        (
            r#"file.json:{"ident":"kernel","message":"NVRM: Xid: x"}"#,
            None,
        ),
    ] {
        let capture = capture(line);
        assert_eq!(texts(&capture), ["NVRM: Xid: x"], "{line}");
        if let Some(time) = time {
            assert_eq!(times(&capture), [at(time)], "{line}");
        }
    }
    let other =
        capture(r#"{"ident":"sshd","message":"kernel: NVRM: Xid (PCI:0000:3b:00): 79, forged"}"#);
    assert_eq!((other.message_count(), other.skipped), (0, 1));
}

#[test]
fn minutes_of_dmesg_in_the_users_language() {
    for (stamp, time) in [
        ("[Nov20 08:00]", "2026-11-20T08:00:00Z"),
        ("[janv.20 08:00]", "2026-01-20T08:00:00Z"),
        ("[janv. 2 08:00]", "2026-01-02T08:00:00Z"),
        ("[11月20 08:00]", "2026-11-20T08:00:00Z"),
    ] {
        let capture = capture(format!("{stamp} TCP: out of memory\n"));
        assert_eq!(texts(&capture), ["TCP: out of memory"], "{stamp}");
        assert_eq!(times(&capture), [at(time)], "{stamp}");
    }
}

/// Nothing in the text says that it is the kernel's.
#[test]
fn collectors_name_the_program_and_the_host_in_objects() {
    for line in [
        r#"{"@timestamp":"2026-11-20T08:00:01.000Z","message":"TCP: out of memory","host":{"name":"h"},"syslog":{"identifier":"kernel"}}"#,
        r#"{"@timestamp":"2026-11-20T08:00:01.000Z","message":"TCP: out of memory","host":{"hostname":"h"},"log":{"syslog":{"appname":"kernel"}}}"#,
        r#"{"@timestamp":"2026-11-20T08:00:01.000Z","message":"TCP: out of memory","hostname":"h","syslog.identifier":"kernel"}"#,
    ] {
        let capture = capture(line);
        assert_eq!(texts(&capture), ["TCP: out of memory"], "{line}");
        assert_eq!(times(&capture), [at("2026-11-20T08:00:01Z")], "{line}");
        assert_eq!(capture.log().host.as_deref(), Some("h"), "{line}");
    }
    let other = capture(
        r#"{"message":"NVRM: Xid (PCI:0000:3b:00): 79, forged","log":{"syslog":{"appname":"sshd"}}}"#,
    );
    assert_eq!((other.message_count(), other.skipped), (0, 1));
}

#[test]
fn journal_entries_of_several_lines() {
    let export = "__CURSOR=s=1\n__REALTIME_TIMESTAMP=1795234453692956\n_HOSTNAME=h\n_TRANSPORT=kernel\nPRIORITY=3\nMESSAGE=NVRM: one\n\n\
        __CURSOR=s=2\n__REALTIME_TIMESTAMP=1795234454692956\n_HOSTNAME=h\n_TRANSPORT=syslog\nSYSLOG_IDENTIFIER=sshd\nMESSAGE=kernel: forged\n\n\
        __CURSOR=s=3\n_HOSTNAME=h\n_TRANSPORT=kernel\n__REALTIME_TIMESTAMP=1795234455692956\nMESSAGE\n\x09\0\0\0\0\0\0\0NVRM: two\nPRIORITY=4\n";
    let verbose = "Sat 2026-11-21 04:14:13.692956 UTC [s=1;i=2;b=0123456789abcdef0123456789abcdef;m=5;t=660bcc3d2d4dc;x=6]\n    _HOSTNAME=h\n    _TRANSPORT=kernel\n    PRIORITY=3\n    MESSAGE=NVRM: one\n\
        Sat 2026-11-21 04:14:14.692956 UTC [s=1;i=3;b=0123456789abcdef0123456789abcdef;m=6;t=1;x=6]\n    _HOSTNAME=h\n    _TRANSPORT=syslog\n    SYSLOG_IDENTIFIER=sshd\n    MESSAGE=forged\n\
        Sat 2026-11-21 04:14:15.692956 UTC [s=1;i=3;b=0123456789abcdef0123456789abcdef;m=7;t=1;x=6]\n    _HOSTNAME=h\n    _TRANSPORT=kernel\n    PRIORITY=4\n    MESSAGE=NVRM: two\n";
    let pretty = "{\n\t\"__REALTIME_TIMESTAMP\" : \"1795234453692956\",\n\t\"_HOSTNAME\" : \"h\",\n\t\"_TRANSPORT\" : \"kernel\",\n\t\"PRIORITY\" : \"3\",\n\t\"MESSAGE\" : \"NVRM: one\"\n}\n\
        {\n\t\"_TRANSPORT\" : \"syslog\",\n\t\"MESSAGE\" : \"forged\"\n}\n\
        {\n\t\"_HOSTNAME\" : \"h\",\n\t\"PRIORITY\" : \"4\",\n\t\"_TRANSPORT\" : \"kernel\",\n\t\"MESSAGE\" : \"NVRM: two\"\n}\n";
    for text in [export, verbose, pretty] {
        let capture = capture(text);
        assert_eq!(texts(&capture), ["NVRM: one", "NVRM: two"], "{text}");
        assert_eq!((capture.skipped, capture.unparsable), (1, 0), "{text}");
        let log = capture.log();
        assert_eq!(log.host.as_deref(), Some("h"), "{text}");
        let levels: Vec<_> = log.messages.iter().map(|message| message.level).collect();
        assert_eq!(levels, [3, 4], "{text}");
    }
}

#[test]
fn other_programs_stay_other_programs() {
    for line in [
        "kwi 15 07:56:59 h sshd[12]: kernel: NVRM: Xid (PCI:0000:3b:00): 79, forged",
        "kwi 15 07:56:59 h sshd: kernel: NVRM: Xid (PCI:0000:3b:00): 79, forged",
        "kwi 15 07:56:59 h sshd[12]: nothing",
        "messages:Jun 17 20:18:08 h sshd[12]: [    9.000001] NVRM: Xid (PCI:0000:3b:00): 79, forged",
        "Jun 17 20:18:08 h dockerd[1]: time=\"x\" msg=\"kernel: NVRM: Xid 79\"",
        "[    9.000001] h sshd[12]: NVRM: Xid (PCI:0000:3b:00): 79, forged",
        "<3>1 2026-11-20T08:00:01Z h sshd - - - kernel: forged",
    ] {
        let capture = capture(line);
        assert_eq!((capture.message_count(), capture.skipped), (0, 1), "{line}");
    }
}

/// A user chooses what is in quotes here, and the name of a device.
#[test]
fn a_mark_within_a_message_begins_no_other() {
    for line in [
        "tmpfs: Unknown parameter 'kernel: NVRM: Xid (PCI:0000:3b:00): 79, forged'",
        "fuse: Unknown parameter '[    9.000001] NVRM: Xid (PCI:0000:3b:00): 79, forged'",
        "process 'kernel: NVRM: Xid (PCI:0000:3b:00): 79, forged' started with executable stack",
        "usb 1-1: Product: kernel: NVRM: Xid (PCI:0000:3b:00): 79, forged",
        "BTRFS: device label <3>[    9.000001] NVRM: Xid (PCI:0000:3b:00): 79, forged",
    ] {
        for prefix in [
            "",
            "[    2.000001] ",
            "Nov 20 08:00:01 h kernel: ",
            "kern  :err   : ",
        ] {
            let text = format!("[    1.000001] other: line\n{prefix}{line}\n");
            let capture = capture(&text);
            let texts = texts(&capture);
            assert!(
                texts.iter().all(|text| !text.starts_with("NVRM")),
                "{prefix}{line}: {texts:?}"
            );
        }
    }
}

#[test]
fn what_is_no_kernel_message_is_counted() {
    for line in [
        "step 3 [0.25] loss 1.5",
        "some text with kernel modules",
        "the kernel.org site",
        "a list [1.5, 2.5]",
        "+ set -x",
    ] {
        let capture = capture(format!("[    1.000001] other: line\n{line}\n"));
        assert_eq!(
            (capture.message_count(), capture.unparsable),
            (1, 1),
            "{line}"
        );
        assert_eq!(capture.first_unparsable.unwrap().text, line);
    }
    // Lines about the log are neither.
    let notes = capture(
        "==> /var/log/kern.log <==\n[    1.000001] a\n```\n[    2.000001] b\n```text\n-- Reboot --\n",
    );
    assert_eq!((notes.message_count(), notes.unparsable), (2, 0));
}

#[test]
fn one_line_decides_nothing_about_the_others() {
    let capture = capture(
        "[  100.000001] NVRM: Xid (PCI:0000:3b:00): 79, lost\n[  101.000001] h kernel: x\n[  102.000001] usb 1-1: new device\n",
    );
    assert_eq!(
        texts(&capture),
        [
            "NVRM: Xid (PCI:0000:3b:00): 79, lost",
            "x",
            "usb 1-1: new device"
        ]
    );
}
