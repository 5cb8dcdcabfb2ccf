//! Tokens of a query: those of Go's `text/scanner`, with letters, digits and `_` in names.
//!
//! The scanner complains about nothing: a literal without end or a number without digits is a token all the same, and
//! reading its value fails later, if it is read at all.

use std::fmt;

use crate::wire::go_quote;

/// The kind of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    End,
    Ident,
    Int,
    Float,
    Char,
    Text,
    RawText,
    Symbol(char),
}

/// In Go's words.
impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::End => "EOF",
            Self::Ident => "Ident",
            Self::Int => "Int",
            Self::Float => "Float",
            Self::Char => "Char",
            Self::Text => "String",
            Self::RawText => "RawString",
            Self::Symbol(c) => return f.write_str(&go_quote(&c.to_string())),
        })
    }
}

/// A token and its position, in bytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Token {
    pub kind: Kind,
    pub start: usize,
    pub end: usize,
}

/// Reads tokens.
#[derive(Debug)]
pub(super) struct Scanner<'q> {
    text: &'q str,
    at: usize,
}

impl<'q> Scanner<'q> {
    pub fn new(text: &'q str) -> Self {
        let at = if text.starts_with('\u{feff}') { 3 } else { 0 };
        Self { text, at }
    }

    pub fn text(&self) -> &'q str {
        self.text
    }

    /// In bytes, how far the text has been read.
    pub fn position(&self) -> usize {
        self.at
    }

    /// The next character.
    pub fn peek(&self) -> Option<char> {
        self.text.get(self.at..)?.chars().next()
    }

    /// Moves past the next character.
    pub fn bump(&mut self) -> Option<char> {
        let next = self.peek()?;
        self.at += next.len_utf8();
        Some(next)
    }

    /// Reads a token, white space and comments before it left out.
    pub fn scan(&mut self) -> Token {
        loop {
            self.skip_while(|c| matches!(c, ' ' | '\t' | '\n' | '\r'));
            let start = self.at;
            let kind = match self.peek() {
                None => Kind::End,
                Some(c) if is_letter(c) => {
                    self.skip_while(|c| is_letter(c) || c.is_numeric());
                    Kind::Ident
                }
                Some(c) if c.is_ascii_digit() => self.number(),
                Some(c) => {
                    self.bump();
                    match c {
                        '"' => self.quoted('"', Kind::Text),
                        '\'' => self.quoted('\'', Kind::Char),
                        '`' => {
                            self.skip_while(|c| c != '`');
                            self.bump();
                            Kind::RawText
                        }
                        '.' if self.peek().is_some_and(|c| c.is_ascii_digit()) => {
                            self.fraction(10);
                            Kind::Float
                        }
                        '/' if self.comment() => continue,
                        c => Kind::Symbol(c),
                    }
                }
            };
            let end = self.at;
            return Token { kind, start, end };
        }
    }

    fn skip_while(&mut self, wanted: impl Fn(char) -> bool) {
        while self.peek().is_some_and(&wanted) {
            self.bump();
        }
    }

    /// Moves past the next character if it is one of `these`.
    fn accept(&mut self, these: &[char]) -> Option<char> {
        self.peek().filter(|c| these.contains(c))?;
        self.bump()
    }

    fn number(&mut self) -> Kind {
        let mut base = 10;
        if self.accept(&['0']).is_some() {
            base = match self.accept(&['x', 'X', 'o', 'O', 'b', 'B']) {
                Some('x' | 'X') => 16,
                _ => 10,
            };
        }
        self.digits(base);
        let dot = self.accept(&['.']).is_some();
        let exponent = self.fraction(base);
        if dot || exponent {
            Kind::Float
        } else {
            Kind::Int
        }
    }

    /// What may follow a number's point: digits and an exponent. Whether there is an exponent.
    fn fraction(&mut self, base: u32) -> bool {
        self.digits(base);
        let exponent = self.accept(&['e', 'E', 'p', 'P']).is_some();
        if exponent {
            self.accept(&['+', '-']);
            self.digits(10);
        }
        exponent
    }

    fn digits(&mut self, base: u32) {
        self.skip_while(|c| c.is_digit(base) || c == '_');
    }

    /// The rest of a quoted literal. Without end it runs past the next line break.
    fn quoted(&mut self, quote: char, kind: Kind) -> Kind {
        while let Some(c) = self.bump() {
            if c == quote || c == '\n' {
                break;
            }
            // Only an escape that may contain the quote matters here.
            if c == '\\' {
                self.accept(&[quote, '\\']);
            }
        }
        kind
    }

    /// The rest of a comment, if it is one.
    fn comment(&mut self) -> bool {
        match self.accept(&['/', '*']) {
            Some('/') => self.skip_while(|c| c != '\n'),
            Some(_) => {
                let rest = self.text.get(self.at..).unwrap_or_default();
                self.at += rest.find("*/").map_or(rest.len(), |end| end + 2);
            }
            None => return false,
        }
        true
    }
}

/// What a name may start with. A little wider than Go's letters (some marks), as are numerals against its digits.
fn is_letter(c: char) -> bool {
    c == '_' || c.is_alphabetic()
}
