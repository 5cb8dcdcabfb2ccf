use proptest::prelude::*;

use super::*;

const BOOT: BootClock = BootClock::booted_at(1_000);

#[test]
fn reads_a_full_record() {
    let raw = b"30,2457,4812345678,c,caller=T42;NVRM: Xid (PCI:0000:04:00): 79\\x0a; lost\n SUBSYSTEM=pci\n DEVICE=+pci:0000:04:00.0\nnoise\n";
    assert_eq!(
        parse(raw, BOOT).unwrap(),
        KernelMessage {
            sequence: 2457,
            time: 4_813_345,
            monotonic_micros: 4_812_345_678,
            level: 6,
            facility: 3,
            text: "NVRM: Xid (PCI:0000:04:00): 79\\x0a; lost".into(),
            dictionary: vec![
                ("SUBSYSTEM".into(), "pci".into()),
                ("DEVICE".into(), "+pci:0000:04:00.0".into())
            ],
            fragment: true,
        }
    );
}

#[test]
fn is_lenient_where_gpud_is() {
    let cases: [(&[u8], &str); 7] = [
        (b"6,1,2;three fields", "three fields"),
        (b"+6,+1,+2,-,new,fields;x\n", "x"),
        (b"6,1,2,-;  leading blanks stay", "  leading blanks stay"),
        (b"6,1,2,-;", ""),
        (b"6,1,2,-;\n KEY=v\n", ""),
        (b"6,1,2,-;bad \xff byte\n", "bad \\xff byte"),
        (b"6,1,2,-;\\x09first is a tab\n", "\tfirst is a tab"),
    ];
    for (raw, text) in cases {
        let message = parse(raw, BOOT).unwrap();
        assert_eq!(
            (message.text.as_str(), message.sequence, message.fragment),
            (text, 1, false),
            "{raw:?}"
        );
    }
}

#[test]
fn refuses_what_is_no_record() {
    let long = [b"6,1,2,-;".as_slice(), &[b'x'; MAX_RECORD]].concat();
    let cases: [(&[u8], RecordError); 9] = [
        (b"", RecordError::NoSemicolon),
        (b"6,1,2,- text", RecordError::NoSemicolon),
        (b"6,1;text", RecordError::FewFields),
        (b"x,1,2,-;t", RecordError::BadNumber("priority")),
        (b"4294967296,1,2,-;t", RecordError::BadNumber("priority")),
        (b"6,,2,-;t", RecordError::BadNumber("sequence number")),
        (b"6,-1,2,-;t", RecordError::BadNumber("sequence number")),
        (b"6,1, 2,-;t", RecordError::BadNumber("timestamp")),
        (&long, RecordError::TooLong(MAX_RECORD + 8)),
    ];
    for (raw, error) in cases {
        assert_eq!(parse(raw, BOOT), Err(error), "{raw:?}");
    }
}

fn encode(message: &KernelMessage) -> Vec<u8> {
    let flags = if message.fragment { "c" } else { "-" };
    let prefix = message.facility * 8 + u32::from(message.level);
    let mut raw = format!(
        "{prefix},{},{},{flags};{}\n",
        message.sequence, message.monotonic_micros, message.text
    );
    for (key, value) in &message.dictionary {
        raw.push_str(&format!(" {key}={value}\n"));
    }
    raw.into_bytes()
}

proptest! {
    #[test]
    fn never_panics(raw in proptest::collection::vec(any::<u8>(), 0..300)) {
        let _ = parse(&raw, BOOT);
    }

    #[test]
    fn never_panics_on_near_records(raw in "[0-9+,;x \\n=-]{0,60}") {
        let _ = parse(raw.as_bytes(), BOOT);
    }

    #[test]
    fn round_trips(
        sequence in any::<u64>(),
        monotonic_micros in any::<u64>(),
        level in 0u8..8,
        facility in 0u32..200,
        text in "[^\\pC\\\\]{0,200}",
        dictionary in proptest::collection::vec(("[A-Z_]{1,9}", "[^\\pC\\\\]{0,30}"), 0..4),
        fragment in any::<bool>(),
    ) {
        let time = BOOT.unix_ms(monotonic_micros);
        let message = KernelMessage { sequence, time, monotonic_micros, level, facility, text, dictionary, fragment };
        prop_assert_eq!(parse(&encode(&message), BOOT).unwrap(), message);
    }
}
