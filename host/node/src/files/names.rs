//! Names that are not UTF-8. Linux lets a name hold any byte, plugins exchange texts: a byte that is no part of UTF-8 is
//! shown as `\xff`, and a path that is given so is opened with that byte.
//!
//! Only bytes from 0x80 on are written so, so no escape stands for a slash, a dot or a zero. A name that holds such a text
//! itself is opened first.

use std::{borrow::Cow, ffi::OsString, fmt::Write as _, os::unix::ffi::OsStringExt as _};

/// Returns a name or text as it is shown.
pub fn shown(bytes: &[u8]) -> Cow<'_, str> {
    if let Ok(text) = std::str::from_utf8(bytes) {
        return Cow::Borrowed(text);
    }
    let mut text = String::with_capacity(bytes.len() + 16);
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        for byte in chunk.invalid() {
            // Writing to a string never fails.
            let _ = write!(text, "\\x{byte:02x}");
        }
    }
    Cow::Owned(text)
}

/// Returns the path that is meant by a shown one; `None` if nothing in it is escaped.
pub fn raw(path: &str) -> Option<OsString> {
    let (before, _) = path.split_once("\\x")?;
    let mut bytes = Vec::with_capacity(path.len());
    bytes.extend_from_slice(before.as_bytes());
    let mut rest = path.get(before.len()..)?;
    let mut any = false;
    while let Some(character) = rest.chars().next() {
        let (taken, left) = rest.split_at(character.len_utf8());
        match escaped(rest) {
            Some((byte, after)) => {
                bytes.push(byte);
                rest = after;
                any = true;
            }
            None => {
                bytes.extend_from_slice(taken.as_bytes());
                rest = left;
            }
        }
    }
    any.then(|| OsString::from_vec(bytes))
}

/// Splits an escaped byte off.
fn escaped(text: &str) -> Option<(u8, &str)> {
    let digits = text.strip_prefix("\\x")?.get(..2)?;
    let is_plain = digits
        .bytes()
        .all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte));
    let byte = u8::from_str_radix(digits, 16).ok()?;
    (is_plain && byte >= 0x80).then_some(())?;
    Some((byte, text.get(4..)?))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn only_bytes_that_are_no_utf8_are_escaped() {
        for (bytes, text) in [
            (&b"/data"[..], "/data"),
            (b"/d\xffta", "/d\\xffta"),
            ("/dätä".as_bytes(), "/dätä"),
            (b"\xc3", "\\xc3"),
            (b"a\\xffb", "a\\xffb"),
        ] {
            assert_eq!(shown(bytes), text);
        }
    }

    #[test]
    fn an_escape_never_stands_for_a_separator() {
        for plain in [
            "/a",
            "/a\\x2fb",
            "/a\\x2e\\x2e",
            "/a\\x00",
            "/a\\xF",
            "/a\\xFF",
            "/a\\xg0",
        ] {
            assert_eq!(raw(plain), None, "{plain}");
        }
        assert_eq!(
            raw("/ä\\x2f\\xffb"),
            Some(OsString::from_vec(
                "/ä\\x2f".bytes().chain(*b"\xffb").collect()
            ))
        );
    }

    proptest! {
        #[test]
        fn what_is_shown_is_found_again(bytes in proptest::collection::vec(any::<u8>(), 0..40)) {
            let text = shown(&bytes).into_owned();
            let again = raw(&text).map_or(text.into_bytes(), OsString::into_vec);
            // A name that holds the text of an escape itself is the one exception.
            if !bytes.windows(2).any(|pair| pair == b"\\x") {
                prop_assert_eq!(again, bytes);
            }
        }

        #[test]
        fn any_path_is_survived(path in ".{0,60}") {
            raw(&path);
        }
    }
}
