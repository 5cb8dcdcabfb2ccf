//! Values of Go literals.

/// Value of a string, raw string or character literal, quotes included, as Go's `strconv.Unquote` reads it. `None` if it
/// is not one; in particular, single quotes hold at most one character. Bytes given as `\xff` that are not UTF-8 become
/// U+FFFD.
pub(super) fn unquote(literal: &str) -> Option<String> {
    let quote = literal.chars().next()?;
    let inside = literal.strip_prefix(quote)?.strip_suffix(quote)?;
    if quote == '`' {
        return (!inside.contains('`')).then(|| inside.replace('\r', ""));
    }
    let mut bytes = Vec::with_capacity(inside.len());
    let mut rest = inside.chars();
    let mut count = 0;
    while let Some(c) = rest.next() {
        count += 1;
        match c {
            '\\' => unescape(&mut rest, quote, &mut bytes)?,
            '\n' => return None,
            c if c == quote => return None,
            c => push(&mut bytes, c),
        }
    }
    if quote == '\'' && count > 1 {
        return None;
    }
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

fn push(bytes: &mut Vec<u8>, c: char) {
    bytes.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
}

/// Parses the part after a backslash.
fn unescape(rest: &mut std::str::Chars<'_>, quote: char, bytes: &mut Vec<u8>) -> Option<()> {
    let c = rest.next()?;
    let byte = match c {
        'a' => 0x07,
        'b' => 0x08,
        'f' => 0x0c,
        'n' => b'\n',
        'r' => b'\r',
        't' => b'\t',
        'v' => 0x0b,
        '\\' => b'\\',
        'x' => u8::try_from(code(rest, 0, 2, 16)?).ok()?,
        '0'..='7' => u8::try_from(code(rest, c.to_digit(8)?, 2, 8)?).ok()?,
        'u' | 'U' => {
            let width = if c == 'u' { 4 } else { 8 };
            push(bytes, char::from_u32(code(rest, 0, width, 16)?)?);
            return Some(());
        }
        c if c == quote => {
            push(bytes, c);
            return Some(());
        }
        _ => return None,
    };
    bytes.push(byte);
    Some(())
}

/// Reads exactly `width` digits.
fn code(rest: &mut std::str::Chars<'_>, first: u32, width: usize, radix: u32) -> Option<u32> {
    (0..width).try_fold(first, |code, _| {
        let digit = rest.next()?.to_digit(radix)?;
        code.checked_mul(radix)?.checked_add(digit)
    })
}

/// Why a text is not a number, in Go's words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum NumberError {
    #[error("invalid syntax")]
    Syntax,
    #[error("value out of range")]
    Range,
}

/// A number as Go's `strconv.ParseFloat` reads it, but for hexadecimal ones (`0x1p-2`), which are refused.
pub(super) fn number(text: &str) -> Result<f64, NumberError> {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    let named = digits.starts_with(|c: char| c.is_ascii_alphabetic());
    // Go knows no signed NaN, Rust does.
    if (named && digits.len() != text.len() && digits.eq_ignore_ascii_case("nan"))
        || !underscores_separate_digits(text)
    {
        return Err(NumberError::Syntax);
    }
    let value: f64 = text
        .replace('_', "")
        .parse()
        .map_err(|_| NumberError::Syntax)?;
    if value.is_infinite() && !named {
        return Err(NumberError::Range);
    }
    Ok(value)
}

fn underscores_separate_digits(text: &str) -> bool {
    text.match_indices('_').all(|(at, _)| {
        let digit = |c: Option<char>| c.is_some_and(|c| c.is_ascii_digit());
        digit(text.get(..at).and_then(|before| before.chars().next_back()))
            && digit(text.get(at + 1..).and_then(|after| after.chars().next()))
    })
}
