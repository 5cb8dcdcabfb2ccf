//! Which lines belong together, which are the kernel's, and what only looks like something else.

use super::*;

const LOST: &str = "NVRM: The NVIDIA GPU 0000:b3:00.0\\x0aNVRM: (PCI ID: 10de:26b5) installed in this system has\\x0aNVRM: fallen off the bus and is not responding to commands.";

#[test]
fn a_message_of_several_lines_is_one() {
    let third = "NVRM: fallen off the bus and is not responding to commands.";
    let second = "NVRM: (PCI ID: 10de:26b5) installed in this system has";
    // How a tool begins the first line, and the further ones.
    for (first_start, start) in [
        ("[ 1843.308145] ", "               "),
        (
            "kern  :warn  : [ 1843.308145] ",
            "                              ",
        ),
        // util-linux before 2.33 and with -r: no indentation.
        ("[ 1843.308145] ", ""),
        ("<4>[ 1843.308145] ", ""),
        // /proc/kmsg: the stamp again.
        ("[ 1843.308145] ", "[ 1843.308145] "),
        ("<4>[ 1843.308145] ", "<4>[ 1843.308145] "),
        ("[Sat Nov 21 00:57:22 2026] ", "                           "),
        (
            "2026-11-21T00:57:22,308145+01:00 ",
            "                                 ",
        ),
        (
            "Nov 21 02:47:05 gpu-1 kernel: ",
            "                              ",
        ),
        (
            "Nov 21 02:47:05 gpu-1 kernel: [ 1843.308145] ",
            "Nov 21 02:47:05 gpu-1 kernel: [ 1843.308145] ",
        ),
        (
            "[ 1843.308145] gpu-1 kernel: ",
            "                             ",
        ),
        ("Nov 21 02:47:05 gpu-1 kernel: ", "    "),
        ("", ""),
    ] {
        let text = format!(
            "{first_start}NVRM: The NVIDIA GPU 0000:b3:00.0\n{start}{second}\n{start}{third}\n{first_start}NVRM: next: one\n"
        );
        let capture = capture(&text);
        assert_eq!(texts(&capture), [LOST, "NVRM: next: one"], "{text}");
        assert_eq!(capture.unparsable, 0, "{text}");
    }
}

#[test]
fn a_request_beyond_the_end_is_one_message_with_its_disk() {
    let joined = "fio: attempt to access beyond end of device\\x0aloop0: rw=0, sector=1, nr_sectors = 2 limit=1";
    for start in ["               ", "", "[ 1843.308145] "] {
        let text = format!(
            "[ 1843.308145] fio: attempt to access beyond end of device\n{start}loop0: rw=0, sector=1, nr_sectors = 2 limit=1\n[ 1843.308145] other: one\n"
        );
        assert_eq!(texts(&capture(&text)), [joined, "other: one"], "{text}");
    }
}

#[test]
fn the_drivers_other_messages_stay_apart() {
    let gpu = "[ 1843.308145] NVRM: The NVIDIA GPU 0000:b3:00.0";
    for (text, count) in [
        (
            format!("{gpu}\n[ 1843.308145] NVRM: Xid (PCI:0000:b3:00): 79, x\n"),
            2,
        ),
        (
            format!("{gpu}\n[ 1843.308145] NVRM: GPU 0000:b3:00.0: x\n"),
            2,
        ),
        (format!("{gpu}\n{gpu}\n"), 2),
        (format!("{gpu}\n[ 1843.308146] NVRM: later\n"), 2),
        (format!("{gpu} ended.\n[ 1843.308145] NVRM: next\n"), 2),
        (format!("{gpu}\n[ 1843.308145] nvidia: other\n"), 2),
        (
            format!("{gpu}\n{}", "[ 1843.308145] NVRM: more\n".repeat(8)),
            6,
        ),
    ] {
        assert_eq!(capture(&text).log().messages.len(), count, "{text}");
    }
}

#[test]
fn only_the_kernels_lines_of_a_journal_count() {
    let capture = capture(
        "-- Logs begin at Wed 2015-12-02 22:53:58 IST, end at Tue 2016-09-20 17:46:04 IST. --\n\
         Sep 20 16:02:50 learner systemd-journald[342]: Runtime journal (/run/log/journal/) is 8.0M, max 79.0M, 71.0M free.\n\
         Sep 20 16:02:50 learner kernel: Linux version 4.7.0\n\
         Sep 20 16:02:51 learner sshd[12]: kernel: NVRM: Xid (PCI:0000:01:00): 79, forged\n\
         \x20                                 with a further line\n\
         Sep 20 16:02:51 kernel systemd[1]: a host of this name\n\
         Sep 20 16:02:52 learner last message repeated 3 times\n\
         Sep 20 16:02:52 learner of kernel: NVRM: Xid\n\
         Sep 20 16:02:52 learner notkernel: NVRM: Xid\n\
         Sep 20 16:02:53 learner kernel: NVRM: kernel: [ 12.3] [T1] text\n\
         -- No entries --\n-- cursor: s=9c1d\n",
    );
    assert_eq!(capture.format, Some(Format::Syslog));
    assert_eq!(
        texts(&capture),
        [
            "Linux version 4.7.0",
            // A word before the kernel is no program.
            "NVRM: Xid",
            "NVRM: kernel: [ 12.3] [T1] text"
        ]
    );
    assert_eq!((capture.skipped, capture.unparsable), (5, 0));
    assert_eq!(capture.log().boots, [0]);
}

#[test]
fn text_that_looks_like_a_beginning_stays_text() {
    for text in [
        "[ 12.3] not a stamp",
        "[ 12.345678] a stamp in a message",
        "[Sat Nov 21 04:14:13 2026] x",
        "[drm] Initialized",
        "[  OK  ] Started some_job.service.",
        "[T] x",
        "kernel: x",
        "systemd[1]: Started.",
        "host kernel: [ 12.345678] x",
        "<6>[ 12.345678] x",
        "6,1,2,-;x",
        "{\"MESSAGE\":\"x\"}",
        "Nov 21 02:47:05 host kernel: x",
        "-- Reboot --",
        " KEY=value",
        "  indented",
        "",
    ] {
        for (start, format) in [
            ("[   99.000001] ", Format::Dmesg),
            ("kern  :info  : [   99.000001] ", Format::Dmesg),
            ("[Sat Nov 21 04:14:13 2026] ", Format::DmesgCtime),
            ("2026-11-21T04:14:13,692956+01:00 ", Format::DmesgIso),
            ("6,1,2,-;", Format::Kmsg),
            (
                "Sat 2026-11-21 04:14:13 UTC gpu-1 kernel: ",
                Format::JournalFull,
            ),
        ] {
            // Here the kernel's own stamp may follow, and nothing tells it from the text.
            if format == Format::JournalFull && text.starts_with("[ 12.3") {
                continue;
            }
            // These may be journalctl's seconds since boot.
            let of_journal = text.starts_with("kernel: ") || text.starts_with("host kernel: ");
            if start.starts_with('[') && format == Format::Dmesg && of_journal {
                continue;
            }
            let capture = capture(format!("{start}{text}\n{start}a line of the kernel\n"));
            assert_eq!(texts(&capture), [text, "a line of the kernel"], "{start}");
            assert_eq!(capture.format, Some(format), "{start}{text}");
        }
    }
    // Indented as dmesg does, it belongs to the message, whatever it looks like.
    for further in ["[  100.000001] b", "{", "}", "\"dmesg\": [", "  b"] {
        let capture = capture(format!("[   99.000001] a\n               {further}\n"));
        assert_eq!(texts(&capture), [format!("a\\x0a{further}")]);
    }
}

#[test]
fn seconds_since_boot_with_programs_are_journalctls() {
    let capture = capture(
        "-- Boot bc3fc4659c554110994ad36deade2c2c --\n\
         [    1.241863] archlinux systemd[1]: Reached target System Initialization.\n\
         -- Boot 00000000000000000000000000000000 --\n\
         [    1.343565] archlinux kernel: ata_piix 0000:00:01.1: version 2.13\n\
         -- Boot bc3fc4659c554110994ad36deade2c2c --\n\
         [    5.418451] archlinux systemd[1]: unit_file_build_name_map\n\
         [    5.714681] archlinux kernel: kauditd_printk_skb: 66 callbacks suppressed\n",
    );
    assert_eq!(capture.format, Some(Format::JournalMonotonic));
    assert_eq!(
        texts(&capture),
        [
            "ata_piix 0000:00:01.1: version 2.13",
            "kauditd_printk_skb: 66 callbacks suppressed"
        ]
    );
    assert_eq!((capture.skipped, capture.unparsable), (2, 0));
    assert_eq!(capture.log().boots, [0]);
}

#[test]
fn other_lines_are_passed_over_and_counted() {
    let capture = capture(
        "root@gpu-1:~# dmesg | tail -2\n\n[   12.345678] one: 1\n   \n> quoted\n    [   12.345679] two: 2\nroot@gpu-1:~#\n",
    );
    assert_eq!(texts(&capture), ["one: 1", "two: 2"]);
    assert_eq!(capture.unparsable, 3);
    let first = Unparsable {
        line: 1,
        text: "root@gpu-1:~# dmesg | tail -2".into(),
    };
    assert_eq!(capture.first_unparsable, Some(first));
}

#[test]
fn forms_may_be_mixed() {
    let capture = capture(
        "[   12.345678] one\n6,7,13000000,-;two\n<3>[   14.000000] three\nkern  :err   : [   15.000000] four\n",
    );
    assert_eq!(capture.format, Some(Format::Dmesg));
    assert_eq!(texts(&capture), ["one", "two", "three", "four"]);
    let sequences: Vec<_> = capture.log().messages.iter().map(|m| m.sequence).collect();
    assert_eq!(sequences, [0, 7, 2, 3]);
}

#[test]
fn terminal_sequences_are_dropped() {
    let capture = capture(
        "\x1b[32m[17254.692956] \x1b[0m\x1b[33mnvidia: \x1b[0m\x1b[1mgpud test\x1b[0m\n\
         \x1b[32m[17254.692957] \x1b[0ma \x1b]8;;man:x(1)\x1b\\link\x1b]8;;\x07 b\n",
    );
    assert_eq!(texts(&capture), ["nvidia: gpud test", "a link b"]);
}

#[test]
fn escapes_are_decoded_once_and_control_characters_shown() {
    for (line, text) in [
        (
            &b"[    1.000000] nul \0 bad \xff caf\xc3\xa9 \x7f"[..],
            "nul \\x00 bad \\xff café \\x7f",
        ),
        (
            b"[    1.000000] esc\\x1b[31m \\ C:\\x \\xg0",
            "esc\\x1b[31m \\ C:\\x \\xg0",
        ),
        (b"6,1,2,-;\\x09a\\x5cb \xff\t", "\ta\\b \\xff\t"),
    ] {
        assert_eq!(texts(&capture(line)), [text]);
    }
}

#[test]
fn text_without_any_form_is_plain_only_if_it_looks_like_the_kernels() {
    let kernel = "Linux version 6.1.0 (debian-kernel@lists.debian.org)\nCommand line: ro quiet\nx86/fpu: Supporting XSAVE\nnvidia 0000:01:00.0: enabling device\n";
    let plain = capture(kernel);
    assert_eq!(
        (plain.format, plain.log().clock),
        (Some(Format::Plain), Clock::None)
    );
    assert_eq!((plain.log().messages.len(), plain.unparsable), (4, 0));
    assert_eq!(times(&plain), [NOW; 4]);
    // One line that has a form by chance.
    let mixed = capture(format!("{}6,1,2;x: y\n", kernel.repeat(10)));
    assert_eq!(
        (mixed.format, mixed.log().messages.len()),
        (Some(Format::Plain), 41)
    );

    for text in [
        "a b c\nd e f\n",
        "a: b\nc d\ne f\n",
        "\0: \0: \n",
        ": x\n: y\n",
        "\u{feff}\n",
        // Prefixes that are not known: the messages behind them are not at the line's beginning.
        "2026-11-20T08:00:00.123Z In(182) vmkernel: cpu12:1)TCP: out of memory\n",
        "n1 | CHANGED | rc=0 >> [   12.345678] TCP: out of memory\n",
        "I1120 08:00:00.123456 1234 kmsg.go:77] TCP: out of memory\n",
    ] {
        let capture = capture(text);
        assert_eq!(
            (capture.format, capture.log().messages.len()),
            (None, 0),
            "{text}"
        );
    }
}

/// The driver's message of three lines is one record there, so that records are never parts of each other.
#[test]
fn records_are_whole_messages() {
    let log = concat!(
        "4,10,1843308145,-;NVRM: The NVIDIA GPU 0000:b3:00.0\n",
        "4,11,1843308145,-;NVRM: (PCI ID: 10de:26b5) installed in this system has\n",
    );
    assert_eq!(texts(&capture(log)).len(), 2);
}
