//! Files that are no text, and limits.

use super::*;

fn refused(bytes: &[u8]) -> CaptureError {
    read(bytes, NOW, &TimeZone::UTC).unwrap_err()
}

#[test]
fn an_empty_file_is_no_error() {
    for text in ["", "\n", "\r\n\n", "\u{feff}"] {
        let capture = capture(text);
        assert_eq!((capture.format, capture.unparsable), (None, 0));
        assert!(capture.log().messages.is_empty() && capture.log().boots.is_empty());
    }
}

#[test]
fn too_many_messages_are_refused() {
    let read = |count| {
        let text = "<6>\n".repeat(count);
        read_up_to(1000, text.as_bytes(), NOW, &TimeZone::UTC)
    };
    assert_eq!(read(1000).unwrap().log().messages.len(), 1000);
    assert_eq!(read(1001), Err(CaptureError::TooManyMessages));
}

#[test]
fn a_long_line_is_cut_and_counted() {
    let start = "[    1.000000] ";
    let fits = "x".repeat(MAX_LINE - start.len());
    let capture = capture(format!("{start}{fits}x\n{start}{fits}\n"));
    assert_eq!(texts(&capture), [fits.clone(), fits]);
    assert_eq!((capture.cut, capture.unparsable), (1, 0));
}

#[test]
fn a_message_does_not_grow_without_bound() {
    let line = format!("               {}\n", "x".repeat(1000));
    let capture = capture(format!("[    1.000000] a\n{}", line.repeat(100)));
    assert_eq!(capture.log().messages.len(), 1);
    let length = capture.log().messages[0].text.len();
    assert!(
        (MAX_LINE - 2000..=MAX_LINE + 4).contains(&length),
        "{length}"
    );
    assert!(capture.unparsable > 30);
}

const LOG: &str = "[    1.000000] one: 1\n[    2.000000] NVRM: Xid (PCI:0000:3b:00): 79, lost\n";

#[test]
fn packed_and_binary_files_are_named() {
    for (bytes, message) in [
        (&b"BZh91AY"[..], "compressed with bzip2; unpack it first"),
        (b"PK\x03\x04", "a zip archive; unpack it first"),
        (
            b"LPKSHHRH\0",
            "a binary file of systemd's journal; convert it first: journalctl --file FILE -o json _TRANSPORT=kernel",
        ),
        (
            b"\x7fELF\x02\x01\x01",
            "a binary file, not a text; save the kernel log with dmesg or journalctl -k",
        ),
        (
            b"\x01\x02\x03\x04\xfe\xff\x80\n\x01",
            "a binary file, not a text; save the kernel log with dmesg or journalctl -k",
        ),
    ] {
        assert_eq!(refused(bytes).to_string(), message);
    }
    for start in [
        &b"\x1f\x8b\x08\0"[..],
        b"\xfd7zXZ\0\0",
        b"\x28\xb5\x2f\xfd\x04",
    ] {
        let error = refused(start);
        assert!(matches!(error, CaptureError::Damaged(..)), "{error}");
        assert!(
            error.to_string().starts_with("cannot decompress it ("),
            "{error}"
        );
    }
    // Binary data around messages keeps nobody from reading them.
    let mixed = capture([&[1, 2, 3, 0xff, 0xfe, 9, b'\n'][..], LOG.as_bytes()].concat());
    assert_eq!(texts(&mixed).len(), 2);
    assert_eq!(mixed.unparsable, 1);
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    use std::io::Write as _;
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    packed.write_all(bytes).unwrap();
    packed.finish().unwrap()
}

/// `LOG`, compressed by xz 5.8.
const XZ: &[u8] = include_bytes!("log.txt.xz");
/// `LOG`, compressed by zstd 1.5.
const ZSTD: &[u8] = include_bytes!("log.txt.zst");

#[test]
fn compressed_files_are_read() {
    let plain = capture(LOG);
    let packed = gzip(LOG.as_bytes());
    let twice = [packed.clone(), packed.clone()].concat();
    for (packed, messages) in [(&packed[..], 2), (&twice, 4), (XZ, 2), (ZSTD, 2)] {
        let read = capture(packed);
        assert_eq!(read.format, plain.format);
        assert_eq!(texts(&read)[..2], texts(&plain));
        assert_eq!(texts(&read).len(), messages);
        assert_eq!(read.damaged, None);
    }
    let zstd_twice = capture([ZSTD, ZSTD].concat());
    assert_eq!(texts(&zstd_twice).len(), 4);
    assert_eq!(
        refused(&gzip(&packed)).to_string(),
        "compressed twice; unpack it first"
    );
}

#[test]
fn a_compressed_file_that_was_cut_is_read_as_far_as_it_goes() {
    let log: String = (0..20_000)
        .map(|at| format!("[ {at:5}.000000] line: {}\n", at * 7919 % 10_007))
        .collect();
    let packed = gzip(log.as_bytes());
    let read = capture(&packed[..packed.len() / 2]);
    assert!(
        read.damaged
            .is_some_and(|problem| problem.starts_with("gzip: "))
    );
    let count = read.logs[0].messages.len();
    assert!((1000..20_000).contains(&count), "{count}");
}

/// Wants no message.
struct Nothing;

impl Select for Nothing {
    type Tag = ();

    fn select(&mut self, _message: &KernelMessage) -> Option<Selection<()>> {
        None
    }
}

#[test]
fn a_line_without_end_takes_no_memory() {
    use std::io::Read as _;
    // Whatever it is made of, and with what stands around it.
    for byte in [b'x', 0, 0x80] {
        let log = LOG.as_bytes();
        let stream = log.chain(std::io::repeat(byte).take(4 << 20));
        let stream = stream.chain(&b"\n"[..]).chain(log);
        let messages = read_selected(stream, NOW, &TimeZone::UTC, &mut Nothing).unwrap();
        let read = messages.overview;
        assert_eq!(read.message_count(), 4, "{byte}");
        assert_eq!(read.cut, u64::from(byte != 0), "{byte}");
        assert_eq!(read.unparsable, u64::from(byte != 0), "{byte}");
    }
}

#[test]
fn utf_16_is_read() {
    let text = format!("{LOG}[    3.000000] caf\u{e9} \u{1f600}\r\n");
    let little: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let big: Vec<u8> = text.encode_utf16().flat_map(u16::to_be_bytes).collect();
    for bytes in [
        [&[0xff, 0xfe], &little[..]].concat(),
        [&[0xfe, 0xff], &big[..]].concat(),
        little,
        big,
    ] {
        let read = capture(bytes);
        assert_eq!(texts(&read)[2], "caf\u{e9} \u{1f600}");
        assert_eq!((texts(&read).len(), read.unparsable), (3, 0));
    }
}

#[test]
fn a_log_that_begins_and_ends_within_a_line_loses_only_these() {
    let log = "34] cut off at the start: x\n[    1.000000] one: 1\n[    2.000000] NVRM: Xid (PCI:0000:3b:00): 7";
    let read = capture(log);
    assert_eq!(texts(&read), ["one: 1", "NVRM: Xid (PCI:0000:3b:00): 7"]);
    assert_eq!(read.unparsable, 1);
}

#[test]
fn remains_of_a_crash_are_not_a_line() {
    let zeros = vec![0; 100_000];
    let log = [
        LOG.as_bytes(),
        b"[    3.000000] cut of",
        &zeros,
        b"[    0.000000] Linux version 6\n",
        &zeros,
    ]
    .concat();
    let read = capture(log);
    assert_eq!(texts(&read)[2..], ["cut of", "Linux version 6"]);
    assert_eq!((read.unparsable, read.cut), (0, 0));
    assert_eq!(read.log().boots, [0, 3]);
}

#[test]
fn line_ends_may_be_mixed() {
    let read =
        capture("[    1.000000] a\r[    2.000000] b\r\n[    3.000000] c\n[    4.000000] d\r\r\n");
    assert_eq!(texts(&read), ["a", "b", "c", "d"]);
}
