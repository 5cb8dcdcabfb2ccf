//! Base64 as Go's standard decoder reads it, with the same byte in the complaint.
//!
//! No crate agrees with it: line breaks anywhere are skipped, padding is mandatory, and the error names the input byte.

/// Text that is not base64.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("illegal base64 data at input byte {0}")]
pub struct InvalidBase64(pub usize);

/// Decodes the standard alphabet. CR and LF are skipped wherever they stand; left-over bits of the last group are ignored.
///
/// # Errors
/// [`InvalidBase64`], with the offset of the offending byte as Go counts it.
pub fn decode(text: &str) -> Result<Vec<u8>, InvalidBase64> {
    let mut out = Vec::with_capacity(text.len() / 4 * 3);
    let mut input = text
        .bytes()
        .enumerate()
        .filter(|(_, byte)| !matches!(byte, b'\r' | b'\n'));
    let mut group: u32 = 0;
    let mut filled = 0;
    while let Some((at, byte)) = input.next() {
        if let Some(bits) = sextet(byte) {
            group = group << 6 | u32::from(bits);
            filled += 1;
            if filled == 4 {
                out.extend(group.to_be_bytes().iter().skip(1));
                (group, filled) = (0, 0);
            }
            continue;
        }
        if byte != b'=' || filled < 2 {
            return Err(InvalidBase64(at));
        }
        if filled == 2 {
            match input.next() {
                Some((_, b'=')) => {}
                Some((at, _)) => return Err(InvalidBase64(at - 1)),
                None => return Err(InvalidBase64(text.len())),
            }
        }
        if let Some((at, _)) = input.next() {
            return Err(InvalidBase64(at));
        }
        let whole = group << (6 * (4 - filled));
        out.extend(whole.to_be_bytes().iter().skip(1).take(filled - 1));
        return Ok(out);
    }
    if filled > 0 {
        return Err(InvalidBase64(text.len() - filled));
    }
    Ok(out)
}

fn sextet(byte: u8) -> Option<u8> {
    match byte {
        b'A'..=b'Z' => Some(byte - b'A'),
        b'a'..=b'z' => Some(byte - b'a' + 26),
        b'0'..=b'9' => Some(byte - b'0' + 52),
        b'+' => Some(62),
        b'/' => Some(63),
        _ => None,
    }
}
