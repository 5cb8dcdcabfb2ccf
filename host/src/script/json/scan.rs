//! Whether a text starts with a JSON object, where that ends, and if not, what Go says of it.
//!
//! The decoder proper, `serde_json`, tells neither where an object goes wrong in Go's words nor which bytes are its own.

use std::fmt;

use super::JsonError;

/// Most objects and arrays inside each other: what `serde_json` takes.
const MAX_DEPTH: usize = 127;

/// Where a scan ended without an object: how many bytes were good, and what is wrong then.
#[derive(Debug)]
pub(super) struct Stop {
    pub at: usize,
    pub error: JsonError,
}

/// What was being read when a wrong character was met.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// The start of a value.
    Value,
    /// The start of a key.
    Key,
    /// Behind a key.
    AfterKey,
    /// Behind a member of an object.
    AfterMember,
    /// Behind an element of an array.
    AfterElement,
    /// A string.
    String,
    /// Behind a backslash.
    Escape,
    /// Behind `\u`.
    HexEscape,
    /// Behind a minus.
    Number,
    /// Behind a decimal point.
    Fraction,
    /// Behind the `e` of a number.
    Exponent,
    /// `true`, `false` or `null`, which would go on with this letter.
    Literal(&'static str, u8),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Value => "looking for beginning of value",
            Self::Key => "looking for beginning of object key string",
            Self::AfterKey => "after object key",
            Self::AfterMember => "after object key:value pair",
            Self::AfterElement => "after array element",
            Self::String => "in string literal",
            Self::Escape => "in string escape code",
            Self::HexEscape => r"in \u hexadecimal character escape",
            Self::Number => "in numeric literal",
            Self::Fraction => "after decimal point in numeric literal",
            Self::Exponent => "in exponent of numeric literal",
            Self::Literal(word, letter) => {
                return write!(f, "in literal {word} (expecting '{}')", char::from(*letter));
            }
        })
    }
}

/// What may come next between two tokens.
#[derive(Clone, Copy)]
enum Next {
    Value,
    /// A value or the end of the array just begun.
    ValueOrEnd,
    Key,
    /// A key or the end of the object just begun.
    KeyOrEnd,
    Colon,
    /// A comma or the end of the innermost object or array.
    CommaOrEnd,
}

#[derive(Clone, Copy, PartialEq)]
enum Container {
    Object,
    Array,
}

/// The length of the object that the text, whose first byte is `{`, starts with.
pub(super) fn object(text: &[u8]) -> Result<usize, Stop> {
    let mut scan = Scan {
        text,
        at: 0,
        too_large: None,
    };
    let mut open: Vec<Container> = Vec::new();
    let mut next = Next::Value;
    loop {
        scan.skip_space();
        let byte = scan.peek()?;
        let inside = open.last().copied();
        next = match (next, byte) {
            (Next::Value | Next::ValueOrEnd, b'{' | b'[') => {
                if open.len() >= MAX_DEPTH {
                    return Err(scan.stop(JsonError::TooDeep));
                }
                scan.at += 1;
                let (container, next) = match byte {
                    b'{' => (Container::Object, Next::KeyOrEnd),
                    _ => (Container::Array, Next::ValueOrEnd),
                };
                open.push(container);
                next
            }
            (Next::ValueOrEnd, b']') | (Next::KeyOrEnd, b'}') => scan.close(&mut open),
            (Next::CommaOrEnd, b']') if inside == Some(Container::Array) => scan.close(&mut open),
            (Next::CommaOrEnd, b'}') if inside == Some(Container::Object) => scan.close(&mut open),
            (Next::Value | Next::ValueOrEnd, _) => {
                scan.scalar(byte)?;
                Next::CommaOrEnd
            }
            (Next::Key | Next::KeyOrEnd, b'"') => {
                scan.string()?;
                Next::Colon
            }
            (Next::Colon, b':') => {
                scan.at += 1;
                Next::Value
            }
            (Next::CommaOrEnd, b',') => {
                scan.at += 1;
                match inside {
                    Some(Container::Object) => Next::Key,
                    _ => Next::Value,
                }
            }
            (Next::Key | Next::KeyOrEnd, _) => return Err(scan.wrong(byte, Place::Key)),
            (Next::Colon, _) => return Err(scan.wrong(byte, Place::AfterKey)),
            (Next::CommaOrEnd, _) => {
                let place = match inside {
                    Some(Container::Object) => Place::AfterMember,
                    _ => Place::AfterElement,
                };
                return Err(scan.wrong(byte, place));
            }
        };
        if open.is_empty() {
            // Go finds out about a number only when the whole is known to be JSON.
            return match scan.too_large.take() {
                Some(number) => Err(scan.stop(JsonError::NumberRange(number))),
                None => Ok(scan.at),
            };
        }
    }
}

struct Scan<'a> {
    text: &'a [u8],
    at: usize,
    /// The first number that no float can hold.
    too_large: Option<String>,
}

impl Scan<'_> {
    fn stop(&self, error: JsonError) -> Stop {
        Stop { at: self.at, error }
    }

    fn wrong(&self, found: u8, place: Place) -> Stop {
        self.stop(JsonError::Syntax { found, place })
    }

    fn get(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn peek(&self) -> Result<u8, Stop> {
        self.get().ok_or_else(|| self.stop(JsonError::Unfinished))
    }

    fn skip_space(&mut self) {
        while matches!(self.get(), Some(b' ' | b'\t' | b'\r' | b'\n')) {
            self.at += 1;
        }
    }

    fn close(&mut self, open: &mut Vec<Container>) -> Next {
        self.at += 1;
        open.pop();
        Next::CommaOrEnd
    }

    /// A string, number or word that starts with this byte.
    fn scalar(&mut self, byte: u8) -> Result<(), Stop> {
        match byte {
            b'"' => self.string(),
            b'-' | b'0'..=b'9' => self.number(byte),
            b't' => self.word("true"),
            b'f' => self.word("false"),
            b'n' => self.word("null"),
            _ => Err(self.wrong(byte, Place::Value)),
        }
    }

    fn word(&mut self, word: &'static str) -> Result<(), Stop> {
        for letter in word.bytes() {
            let byte = self.peek()?;
            if byte != letter {
                return Err(self.wrong(byte, Place::Literal(word, letter)));
            }
            self.at += 1;
        }
        Ok(())
    }

    fn string(&mut self) -> Result<(), Stop> {
        self.at += 1;
        loop {
            let byte = self.peek()?;
            match byte {
                0..0x20 => return Err(self.wrong(byte, Place::String)),
                b'\\' => {
                    self.at += 1;
                    self.escape()?;
                }
                _ => self.at += 1,
            }
            if byte == b'"' {
                return Ok(());
            }
        }
    }

    fn escape(&mut self) -> Result<(), Stop> {
        let byte = self.peek()?;
        match byte {
            b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => self.at += 1,
            b'u' => {
                self.at += 1;
                for _ in 0..4 {
                    let digit = self.peek()?;
                    if !digit.is_ascii_hexdigit() {
                        return Err(self.wrong(digit, Place::HexEscape));
                    }
                    self.at += 1;
                }
            }
            _ => return Err(self.wrong(byte, Place::Escape)),
        }
        Ok(())
    }

    fn number(&mut self, first: u8) -> Result<(), Stop> {
        let start = self.at;
        if first == b'-' {
            self.at += 1;
        }
        if self.get() == Some(b'0') {
            self.at += 1;
        } else {
            self.digits(Place::Number)?;
        }
        if self.get() == Some(b'.') {
            self.at += 1;
            self.digits(Place::Fraction)?;
        }
        if matches!(self.get(), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.get(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            self.digits(Place::Exponent)?;
        }
        let number = self.text.get(start..self.at).map(String::from_utf8_lossy);
        if let Some(number) = number
            && self.too_large.is_none()
            && number.parse().is_ok_and(f64::is_infinite)
        {
            self.too_large = Some(number.into_owned());
        }
        Ok(())
    }

    /// One digit at least.
    fn digits(&mut self, place: Place) -> Result<(), Stop> {
        let first = self.peek()?;
        if !first.is_ascii_digit() {
            return Err(self.wrong(first, place));
        }
        while self.get().is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
        Ok(())
    }
}
