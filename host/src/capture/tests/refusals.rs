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
        assert!(capture.messages.is_empty() && capture.boots.is_empty());
    }
}

#[test]
fn compressed_and_binary_files_are_named() {
    for (bytes, message) in [
        (
            &b"\x1f\x8b\x08\0"[..],
            "compressed with gzip; decompress it first",
        ),
        (b"\xfd7zXZ\0\0", "compressed with xz; decompress it first"),
        (
            b"\x28\xb5\x2f\xfd\x04",
            "compressed with zstd; decompress it first",
        ),
        (b"BZh91AY", "compressed with bzip2; decompress it first"),
        (
            b"LPKSHHRH\0",
            "a binary file of systemd's journal; convert it first: journalctl --file FILE -o json _TRANSPORT=kernel",
        ),
    ] {
        assert_eq!(refused(bytes).to_string(), message);
    }
}

#[test]
fn too_large_a_file_is_refused() {
    let size = MAX_BYTES + 1;
    assert_eq!(refused(&vec![b'\n'; size]), CaptureError::TooLarge(size));
}

#[test]
fn too_many_messages_are_refused() {
    let text = "<6>\n".repeat(MAX_MESSAGES);
    assert_eq!(capture(&text).messages.len(), MAX_MESSAGES);
    assert_eq!(
        refused(format!("{text}<6>").as_bytes()),
        CaptureError::TooManyMessages
    );
}

#[test]
fn a_long_line_is_counted_and_its_beginning_shown() {
    let start = "[    1.000000] ";
    let fits = "x".repeat(MAX_LINE - start.len());
    let capture = capture(format!("{start}{fits}x\n{start}{fits}\n"));
    assert_eq!(texts(&capture), [fits]);
    let first = capture.first_unparsable.unwrap();
    assert_eq!((capture.unparsable, first.line), (1, 1));
    assert_eq!(first.text.len(), 200);
}

#[test]
fn a_message_does_not_grow_without_bound() {
    let line = format!("               {}\n", "x".repeat(1000));
    let capture = capture(format!("[    1.000000] a\n{}", line.repeat(100)));
    assert_eq!(capture.messages.len(), 1);
    let length = capture.messages[0].text.len();
    assert!(
        (MAX_LINE - 2000..=MAX_LINE + 4).contains(&length),
        "{length}"
    );
    assert!(capture.unparsable > 30);
}
