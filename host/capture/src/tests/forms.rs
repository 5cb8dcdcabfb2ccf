//! Samples of every form, as the tools write them. What is not said otherwise was printed by util-linux 2.38.1 or stands
//! in a public report of a GPU's trouble.

use super::*;

/// What one line is read as: the form, the text, the level and facility, microseconds since boot, and the wall-clock
/// time if the line has one.
struct FormCase {
    line: &'static [u8],
    format: Format,
    text: &'static str,
    priority: (u8, u32),
    micros: u64,
    wall: Option<&'static str>,
}

const XID: &str = "NVRM: Xid (PCI:0000:cb:00): 13, pid='<unknown>', name=<unknown>, Graphics SM Warp Exception on (GPC 7, TPC 7, SM 0): Illegal Instruction Parameter";

const fn case(line: &'static [u8], format: Format, text: &'static str) -> FormCase {
    FormCase {
        line,
        format,
        text,
        priority: (6, 0),
        micros: 0,
        wall: None,
    }
}

const FORMS: [FormCase; 36] = [
    FormCase {
        priority: (7, 0),
        micros: 424_069,
        ..case(
            b"7,160,424069,-;pci_root PNP0A03:00: host bridge window [io  0x0000-0x0cf7] (ignored)",
            Format::Kmsg,
            "pci_root PNP0A03:00: host bridge window [io  0x0000-0x0cf7] (ignored)",
        )
    },
    FormCase {
        priority: (6, 3),
        micros: 5_690_716,
        ..case(
            b"30,340,5690716,-,caller=T1;udevd[80]: starting\\x20version \\x5c181",
            Format::Kmsg,
            "udevd[80]: starting version \\181",
        )
    },
    FormCase {
        micros: 24_128_828_315,
        ..case(
            b"[24128.828315] NVRM: Xid (PCI:0000:01:00): 32, Channel ID 00000000 intr 00004000",
            Format::Dmesg,
            "NVRM: Xid (PCI:0000:01:00): 32, Channel ID 00000000 intr 00004000",
        )
    },
    FormCase {
        micros: 17_254_728_957,
        ..case(
            b"[17254.728957 <    0.036001>] gpud test",
            Format::Dmesg,
            "gpud test",
        )
    },
    // CONFIG_PRINTK_CALLER, as dmesg and as a console print it.
    FormCase {
        micros: 12_345_678,
        ..case(b"[   12.345678] [  T123] usb 1-1: new", Format::Dmesg, "usb 1-1: new")
    },
    FormCase {
        micros: 12_345_678,
        ..case(b"[   12.345678][    C3] usb 1-1: new", Format::Dmesg, "usb 1-1: new")
    },
    FormCase {
        priority: (4, 5),
        micros: 17_254_741_594,
        ..case(
            b"syslog:warn  : [17254.741594] gpud test 22210/2; with a\ttab",
            Format::Dmesg,
            "gpud test 22210/2; with a\ttab",
        )
    },
    FormCase {
        priority: (4, 0),
        ..case(b"kern  :warn  : gpud test", Format::Plain, "gpud test")
    },
    FormCase {
        priority: (2, 10),
        ..case(
            b"authpriv:crit  : 2026-11-21T04:14:13,741594+00:00 gpud test",
            Format::DmesgIso,
            "gpud test",
        )
    }
    .at("2026-11-21T04:14:13.741Z"),
    FormCase {
        priority: (5, 0),
        micros: 17_254_728_957,
        ..case(b"<5>[17254.728957] gpud test", Format::DmesgRaw, "gpud test")
    },
    FormCase {
        priority: (6, 3),
        ..case(b"<30>systemd[1]: Started.", Format::DmesgRaw, "systemd[1]: Started.")
    },
    FormCase {
        priority: (4, 0),
        ..case(
            b"<4>Nov 21 02:47:05 gpu-1 kernel: NVRM: Xid",
            Format::Syslog,
            "NVRM: Xid",
        )
    }
    .at("2026-11-21T02:47:05Z"),
    case(
        b"[Fri Aug 30 11:43:09 2024] NVRM: Xid (PCI:0000:cb:00): 13, pid='<unknown>', name=<unknown>, Graphics SM Warp Exception on (GPC 7, TPC 7, SM 0): Illegal Instruction Parameter",
        Format::DmesgCtime,
        XID,
    )
    .at("2024-08-30T11:43:09Z"),
    case(
        b"[Sat Nov  1 04:14:13 2026 <    0.036001>] gpud test",
        Format::DmesgCtime,
        "gpud test",
    )
    .at("2026-11-01T04:14:13Z"),
    case(
        b"2026-11-21T04:14:13,692956+01:00 gpud test",
        Format::DmesgIso,
        "gpud test",
    )
    .at("2026-11-21T03:14:13.692Z"),
    // util-linux before 2.31.
    case(b"2014-01-01T12:00:00,123456+0100 gpud test", Format::DmesgIso, "gpud test")
        .at("2014-01-01T11:00:00.123Z"),
    case(b"[Nov21 04:14] gpud test", Format::DmesgReltime, "gpud test").at("2026-11-21T04:14:00Z"),
    case(b"[Nov 1 04:14] gpud test", Format::DmesgReltime, "gpud test").at("2026-11-01T04:14:00Z"),
    case(b"[  +0.805591] gpud test", Format::DmesgReltime, "gpud test"),
    case(b"[<    0.805591>] gpud test", Format::DmesgDelta, "gpud test"),
    case(
        b"Feb 14 05:03:41 000-000-00000-1-gpu-1 kernel: mlx5_core 0000:ab:00.0 mlx5_5: Port: 1 Link INIT",
        Format::Syslog,
        "mlx5_core 0000:ab:00.0 mlx5_5: Port: 1 Link INIT",
    )
    .at("2026-02-14T05:03:41Z"),
    case(b"Nov  1 02:47:05.123456 gpu-1 kernel: text", Format::Syslog, "text")
        .at("2026-11-01T02:47:05.123Z"),
    case(b"Nov 21 02:47:05 kernel: text", Format::Syslog, "text").at("2026-11-21T02:47:05Z"),
    FormCase {
        micros: 12_345_678,
        ..case(
            b"Nov 21 02:47:05 gpu-1 kernel: [   12.345678] text",
            Format::Syslog,
            "text",
        )
    }
    .at("2026-11-21T02:47:05Z"),
    case(
        b"Jun  9 17:28:14 slack kernel: Kernel parameter elevator= does not have any effect anymore.\\x0aPlease use sysfs",
        Format::Syslog,
        "Kernel parameter elevator= does not have any effect anymore.\\x0aPlease use sysfs",
    )
    .at("2026-06-09T17:28:14Z"),
    // rsyslog's own escapes.
    case(
        b"Nov 21 02:47:05 gpu-1 kernel: a#012b#011c #001",
        Format::Syslog,
        "a\\x0ab\tc #001",
    )
    .at("2026-11-21T02:47:05Z"),
    FormCase {
        micros: 1_843_308_145,
        ..case(
            b"2026-11-21T02:47:05.123456+01:00 gpu-1 kernel: [ 1843.308145] text",
            Format::SyslogIso,
            "text",
        )
    }
    .at("2026-11-21T01:47:05.123Z"),
    case(b"2026-11-21T02:47:05-0330 gpu-1 kernel: text", Format::SyslogIso, "text")
        .at("2026-11-21T06:17:05Z"),
    case(b"2026-11-21T02:47:05Z gpu-1 kernel: text", Format::SyslogIso, "text")
        .at("2026-11-21T02:47:05Z"),
    case(b"2026-11-21 02:47:05 gpu-1 kernel: text", Format::SyslogIso, "text")
        .at("2026-11-21T02:47:05Z"),
    case(
        b"Sat 2026-11-21 04:14:13 UTC gpu-1 kernel: text",
        Format::JournalFull,
        "text",
    )
    .at("2026-11-21T04:14:13Z"),
    case(
        b"Sat 2026-11-21 04:14:13 -03 gpu-1 kernel: text",
        Format::JournalFull,
        "text",
    )
    .at("2026-11-21T07:14:13Z"),
    FormCase {
        micros: 1_343_565,
        ..case(
            b"[    1.343565] archlinux kernel: ata_piix 0000:00:01.1: version 2.13",
            Format::JournalMonotonic,
            "ata_piix 0000:00:01.1: version 2.13",
        )
    },
    FormCase {
        micros: 1_343_565,
        ..case(
            b"[    1.343565 <    0.000123 >] kernel: text",
            Format::JournalMonotonic,
            "text",
        )
    },
    case(b"1795234453.692956 gpu-1 kernel: text", Format::JournalUnix, "text")
        .at("2026-11-21T04:14:13.692Z"),
    case(
        b"NVRM: Xid (PCI:a32f:29:00): 79, pid=41, name=bench, GPU has fallen off the bus.",
        Format::Plain,
        "NVRM: Xid (PCI:a32f:29:00): 79, pid=41, name=bench, GPU has fallen off the bus.",
    ),
];

#[test]
fn every_form_in_one_line() {
    for case in FORMS {
        let line = String::from_utf8_lossy(case.line).into_owned();
        for end in ["", "\n", "\r\n"] {
            let capture = capture([case.line, end.as_bytes()].concat());
            assert_eq!(capture.format, Some(case.format), "{line}");
            assert_eq!((capture.skipped, capture.unparsable), (0, 0), "{line}");
            let [message] = capture.log().messages.as_slice() else {
                panic!("{line}: {capture:?}");
            };
            assert_eq!(message.text, case.text, "{line}");
            assert_eq!((message.level, message.facility), case.priority, "{line}");
            assert_eq!(message.monotonic_micros, case.micros, "{line}");
            assert_eq!(message.time, case.wall.map_or(NOW, at), "{line}");
            assert_eq!(capture.log().boots, [0], "{line}");
            assert_eq!(
                capture.log().clock == Clock::Wall,
                case.wall.is_some(),
                "{line}"
            );
        }
    }
}

impl FormCase {
    const fn at(self, wall: &'static str) -> Self {
        Self {
            wall: Some(wall),
            ..self
        }
    }
}

#[test]
fn records_keep_sequence_fragments_and_dictionary() {
    let capture = capture(
        "6,2457,4812345678,c;first\n SUBSYSTEM=pci\n DEVICE=+pci:0000:04:00.0\n6,2459,4812345679,-;second\n",
    );
    let [first, second] = capture.log().messages.as_slice() else {
        panic!("{capture:?}");
    };
    assert_eq!((first.sequence, second.sequence), (2457, 2459));
    assert_eq!((first.fragment, second.fragment), (true, false));
    let pair = |key: &str, value: &str| (key.to_owned(), value.to_owned());
    let dictionary = [
        pair("SUBSYSTEM", "pci"),
        pair("DEVICE", "+pci:0000:04:00.0"),
    ];
    assert_eq!(first.dictionary, dictionary);
    assert!(second.dictionary.is_empty());
}

#[test]
fn journal_objects() {
    let capture = capture(concat!(
        r#"{"__CURSOR":"s=1","__REALTIME_TIMESTAMP":"1795234453692956","__MONOTONIC_TIMESTAMP":"1843400000","_BOOT_ID":"bc3fc4659c554110994ad36deade2c2c","_SOURCE_MONOTONIC_TIMESTAMP":"1843308145","_TRANSPORT":"kernel","SYSLOG_FACILITY":"0","SYSLOG_IDENTIFIER":"kernel","PRIORITY":"3","_KERNEL_SUBSYSTEM":"pci","_KERNEL_DEVICE":"+pci:0000:b3:00.0","MESSAGE":"NVRM: \"a\"\nNVRM: \\x41 é"}"#,
        "\n",
        r#"{"MESSAGE":[98,255,10],"_TRANSPORT":"kernel","__REALTIME_TIMESTAMP":"1795234454000000"}"#,
        "\n",
        r#"{"MESSAGE":["one","two"],"SYSLOG_IDENTIFIER":"kernel","__REALTIME_TIMESTAMP":"1795234454000000"}"#,
        "\n\x1e",
        // User space's own, written into the kernel log.
        r#"{"MESSAGE":"Started.","SYSLOG_IDENTIFIER":"systemd","SYSLOG_PID":"1","_TRANSPORT":"kernel","SYSLOG_FACILITY":"3","PRIORITY":"6","__REALTIME_TIMESTAMP":"1795234454000000"}"#,
        "\ndata: ",
        r#"{"MESSAGE":"kernel: NVRM: Xid","SYSLOG_IDENTIFIER":"sshd","_TRANSPORT":"syslog","__REALTIME_TIMESTAMP":"1795234454000000"}"#,
        "\n",
        // Too long without --all.
        r#"{"MESSAGE":null,"_TRANSPORT":"kernel","__REALTIME_TIMESTAMP":"1795234454000000"}"#,
        "\n",
        r#"{"level":"info","msg":"another log"}"#,
        "\n",
    ));
    assert_eq!(capture.format, Some(Format::JournalJson));
    assert_eq!((capture.skipped, capture.unparsable), (1, 2));
    assert_eq!(
        capture.first_unparsable.as_ref().map(|line| line.line),
        Some(6)
    );
    assert_eq!(
        texts(&capture),
        [
            "NVRM: \"a\"\\x0aNVRM: \\x41 é",
            "b\\xff",
            "one",
            "systemd[1]: Started."
        ]
    );
    let first = &capture.log().messages[0];
    assert_eq!((first.level, first.facility), (3, 0));
    assert_eq!(first.monotonic_micros, 1_843_308_145);
    assert_eq!(first.time, at("2026-11-21T04:14:13.692Z"));
    assert_eq!(first.dictionary[1].1, "+pci:0000:b3:00.0");
    assert_eq!(
        (
            capture.log().messages[1].level,
            capture.log().messages[3].facility
        ),
        (6, 3)
    );
}

#[test]
fn dmesg_json() {
    let text = br#"{
   "dmesg": [
      {
         "pri": 4,
         "time":  1843.308145,
         "msg": "NVRM: The NVIDIA GPU 0000:b3:00.0\nNVRM: (PCI ID: 10de:26b5) installed in this system has\n"
      },{
         "fac": "daemon",
         "pri": "info",
         "time":  1843.439662,
         "caller": "T1",
         "msg": "back\\slash tab\there esc\u001b[31mred "#
        .iter()
        .chain(b"bad\xff caf\xc3\xa9 \\\"q\\\"\"\n      },{\n \"pri\": 30,\n \"time\": 1900,\n \"msg\": \"]\"\n }\n   ]\n}\n")
        .copied()
        .collect::<Vec<_>>();
    let capture = capture(text);
    assert_eq!(capture.format, Some(Format::DmesgJson));
    assert_eq!(capture.unparsable, 0);
    assert_eq!(
        texts(&capture),
        [
            "NVRM: The NVIDIA GPU 0000:b3:00.0\\x0aNVRM: (PCI ID: 10de:26b5) installed in this system has",
            "back\\slash tab\there esc\\x1b[31mred bad\\xff café \"q\"",
            "]"
        ]
    );
    let priorities: Vec<_> = capture
        .log()
        .messages
        .iter()
        .map(|m| (m.level, m.facility))
        .collect();
    assert_eq!(priorities, [(4, 0), (6, 3), (6, 3)]);
    let micros: Vec<_> = capture
        .log()
        .messages
        .iter()
        .map(|m| m.monotonic_micros)
        .collect();
    assert_eq!(micros, [1_843_308_145, 1_843_439_662, 1_900_000_000]);
}

#[test]
fn names_are_distinct() {
    let names: std::collections::BTreeSet<_> = Format::ALL.iter().map(|f| f.name()).collect();
    assert_eq!(names.len(), Format::ALL.len());
    for (at, format) in Format::ALL.into_iter().enumerate() {
        assert_eq!(format as usize, at);
    }
}
