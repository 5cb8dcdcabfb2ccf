use super::*;
use proptest::prelude::*;

type Collected = Result<Option<Vec<u8>>, Problem>;

fn collect(chunks: &[&[u8]], max: u64) -> Collected {
    let mut collector = Collector::new(max);
    for chunk in chunks {
        collector.add(chunk)?;
    }
    collector.finish().map_err(Problem::Odd)
}

#[test]
fn bodies() {
    let cases: [(&[&[u8]], Collected); 9] = [
        (&[], Ok(None)),
        (&[b"\0\0\0\0\0"], Ok(Some(Vec::new()))),
        (&[b"\0\0\0\0\x03abc"], Ok(Some(b"abc".to_vec()))),
        (
            &[b"\0\0", b"", b"\0\0\x03a", b"bc"],
            Ok(Some(b"abc".to_vec())),
        ),
        (
            &[b"\0\0\0\0\x03ab"],
            Err(Problem::Odd("the message breaks off")),
        ),
        (&[b"\0\0"], Err(Problem::Odd("the message breaks off"))),
        (
            &[b"\0\0\0\0\x01ab"],
            Err(Problem::Odd("more than one message")),
        ),
        (
            &[b"\x01\0\0\0\x01a"],
            Err(Problem::Odd("a compressed message that nobody asked for")),
        ),
        (
            &[b"\0\xff\xff\xff\xff"],
            Err(Problem::TooLarge(0xffff_ffff)),
        ),
    ];
    for (chunks, expected) in cases {
        assert_eq!(collect(chunks, 100), expected, "{chunks:?}");
    }
}

#[test]
fn texts_of_a_status() {
    for (encoded, expected) in [
        (
            "unknown service runtime.v1.RuntimeService",
            "unknown service runtime.v1.RuntimeService",
        ),
        ("a%20b%3A%C3%A9", "a b:é"),
        ("100%", "100%"),
        ("%zz%4", "%zz%4"),
        ("%FF", "\u{fffd}"),
        ("", ""),
    ] {
        assert_eq!(status_text(encoded.as_bytes(), 1024), expected);
    }
    assert_eq!(status_text("é".repeat(10).as_bytes(), 5), "éé");
}

proptest! {
    #[test]
    fn what_was_framed_is_found_however_it_is_cut(
        message in prop::collection::vec(any::<u8>(), 0..300), step in 1_usize..50,
    ) {
        let framed = framed(&message);
        let chunks: Vec<&[u8]> = framed.chunks(step).collect();
        prop_assert_eq!(collect(&chunks, 300), Ok(Some(message)));
    }

    #[test]
    fn any_bytes_are_survived_and_bounded(
        chunks in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..40), 0..10),
    ) {
        let chunks: Vec<&[u8]> = chunks.iter().map(Vec::as_slice).collect();
        if let Ok(Some(message)) = collect(&chunks, 16) {
            prop_assert!(message.len() <= 16);
        }
    }

    #[test]
    fn any_text_is_survived(encoded in prop::collection::vec(any::<u8>(), 0..200), max in 0_usize..64) {
        prop_assert!(status_text(&encoded, max).len() <= max);
    }
}
