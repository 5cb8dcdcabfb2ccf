use super::*;
use proptest::prelude::*;

/// The other way round.
fn varint(mut value: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    loop {
        let low = (value & 0x7f) as u8;
        value >>= 7;
        if value == 0 {
            bytes.push(low);
            return bytes;
        }
        bytes.push(low | 0x80);
    }
}

fn encoded(number: u64, value: &Value<'_>) -> Vec<u8> {
    let (kind, body) = match value {
        Value::Number(value) => (0, varint(*value)),
        Value::Bytes(bytes) => (2, [varint(bytes.len() as u64), bytes.to_vec()].concat()),
        Value::Fixed(bytes) => (if bytes.len() == 8 { 1 } else { 5 }, bytes.to_vec()),
    };
    [varint(number << 3 | kind), body].concat()
}

#[test]
fn fields_of_all_kinds() {
    let message =
        b"\x08\x96\x01\x12\x07testing\x1d\x01\x02\x03\x04\x21\x01\x02\x03\x04\x05\x06\x07\x08";
    let found: Result<Vec<_>, _> = fields(message).collect();
    let expected = vec![
        (1, Value::Number(150)),
        (2, Value::Bytes(b"testing")),
        (3, Value::Fixed(&[1, 2, 3, 4])),
        (4, Value::Fixed(&[1, 2, 3, 4, 5, 6, 7, 8])),
    ];
    assert_eq!(found, Ok(expected));
    assert_eq!(fields(b"").count(), 0);
}

#[test]
fn nonsense() {
    for message in [
        &b"\x08"[..],
        b"\x08\x80",
        b"\x12\x05abc",
        b"\x12\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
        b"\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02",
        b"\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
        b"\x00\x01",
        b"\x0b\x0c",
        b"\x0f",
        b"\x1d\x01",
        b"<html>",
    ] {
        let found: Vec<_> = fields(message).collect();
        assert_eq!(found.last(), Some(&Err(Malformed)), "{message:?}");
    }
    assert_eq!(
        fields(b"\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01").next(),
        Some(Ok((1, Value::Number(u64::MAX))))
    );
}

#[test]
fn texts_are_bounded() {
    let long = "é".repeat(400);
    assert_eq!(Value::Bytes(long.as_bytes()).text(5), "éé");
    assert_eq!(Value::Bytes(b"\xff\xff").text(3), "\u{fffd}");
    assert_eq!(Value::Number(5).text(5), "");
}

proptest! {
    #[test]
    fn any_bytes_are_survived(message in prop::collection::vec(any::<u8>(), 0..300)) {
        prop_assert!(fields(&message).count() <= message.len());
        for field in fields(&message).flatten() {
            prop_assert!(field.1.text(16).len() <= 16);
        }
    }

    #[test]
    fn what_was_written_is_read(
        all in prop::collection::vec(
            (1_u64..1000, 0..4, any::<u64>(), prop::collection::vec(any::<u8>(), 0..20)),
            0..10,
        ),
    ) {
        let eight: Vec<[u8; 8]> = all.iter().map(|(_, _, number, _)| number.to_le_bytes()).collect();
        let expected: Vec<(u64, Value<'_>)> = all.iter().zip(&eight).map(|((field, kind, number, bytes), eight)| {
            let value = match kind {
                0 => Value::Number(*number),
                1 => Value::Bytes(bytes),
                2 => Value::Fixed(eight),
                _ => Value::Fixed(&eight[..4]),
            };
            (*field, value)
        }).collect();
        let message: Vec<u8> = expected.iter().flat_map(|(field, value)| encoded(*field, value)).collect();
        let found: Result<Vec<_>, _> = fields(&message).collect();
        prop_assert_eq!(found, Ok(expected));
    }
}
