//! From tokens to an expression. Paths are in [`parse_path`](super::parse_path).
//!
//! The language is gval's base language: of its operators only `==`, `!=` and unary minus mean something, but the
//! characters of all others (`in` included) still stick together, so `==-1` is one unknown operator.

use std::fmt::Write as _;

use super::MAX_NESTING;
use super::literal;
use super::scan::{Kind, Scanner, Token};
use super::syntax::{Constant, Expr, Origin, Relation};

/// The problem at the current place, in the library's words.
pub(super) type ParseStop = String;

/// Reads one query.
pub(super) struct Parser<'q> {
    scanner: Scanner<'q>,
    last: Token,
    /// Whether `last` is to be read again.
    unread: bool,
    /// Whether `last` is what was read last: not behind an operator of several characters.
    placed: bool,
    nesting: usize,
}

impl<'q> Parser<'q> {
    pub fn new(text: &'q str) -> Self {
        let last = Token {
            kind: Kind::End,
            start: 0,
            end: 0,
        };
        Self {
            scanner: Scanner::new(text),
            last,
            unread: false,
            placed: false,
            nesting: 0,
        }
    }

    /// Parses the whole text as one expression. Errors contain their position.
    pub fn query(mut self) -> Result<Expr, String> {
        let whole = self.expression().and_then(|expression| match self.scan() {
            Kind::End => Ok(expression),
            _ => Err(self.unexpected("operator", &[])),
        });
        whole.map_err(|stop| self.at_place(&stop))
    }

    /// Text of the query, start of the last token, end of what was read, message.
    fn at_place(&self, stop: &str) -> String {
        let text = self.scanner.text();
        let mut message = format!("{text}\t");
        // Writing to a String cannot fail.
        if self.placed && !text.is_empty() {
            let (line, column) = place(text, self.last.start);
            let _ = write!(message, ":{line}:{column}");
        }
        let (line, column) = place(text, self.scanner.position());
        let _ = write!(message, " - {line}:{column} {stop}");
        message
    }

    pub fn scan(&mut self) -> Kind {
        if !std::mem::take(&mut self.unread) {
            self.last = self.scanner.scan();
            self.placed = true;
        }
        self.last.kind
    }

    /// Puts the last token back.
    pub fn unread(&mut self) {
        self.unread = true;
    }

    /// Text of the last token.
    pub fn token(&self) -> &'q str {
        let Token { start, end, .. } = self.last;
        self.scanner.text().get(start..end).unwrap_or_default()
    }

    /// The last token is not one of `expected`.
    pub fn unexpected(&self, unit: &str, expected: &[Kind]) -> ParseStop {
        let mut stop = format!("unexpected {} while scanning {unit}", self.last.kind);
        for (n, kind) in expected.iter().enumerate() {
            stop.push_str(match n {
                0 => " expected ",
                n if n + 1 == expected.len() => " or ",
                _ => ", ",
            });
            let _ = write!(stop, "{kind}");
        }
        stop
    }

    /// Runs `read` one level deeper.
    fn nested<T>(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<T, ParseStop>,
    ) -> Result<T, ParseStop> {
        if self.nesting == MAX_NESTING {
            return Err(format!("nested deeper than {MAX_NESTING} levels"));
        }
        self.nesting += 1;
        let result = read(self);
        self.nesting -= 1;
        result
    }

    /// Operands with operators between them.
    pub fn expression(&mut self) -> Result<Expr, ParseStop> {
        self.nested(|parser| {
            let first = parser.operand()?;
            let mut others = Vec::new();
            while let Some(relation) = parser.relation()? {
                others.push((relation, parser.operand()?));
            }
            Ok(if others.is_empty() {
                first
            } else {
                Expr::Comparison(Box::new(first), others)
            })
        })
    }

    /// The operator that follows, if one does.
    fn relation(&mut self) -> Result<Option<Relation>, ParseStop> {
        let Kind::Symbol(first) = self.scan() else {
            self.unread();
            return Ok(None);
        };
        let mut operator = String::from(first);
        if in_operator(first) {
            while let Some(c) = self.scanner.peek().filter(|c| in_operator(*c)) {
                operator.push(c);
                self.scanner.bump();
                self.placed = false;
            }
        }
        match operator.as_str() {
            "==" => Ok(Some(Relation::Equal)),
            "!=" => Ok(Some(Relation::Unequal)),
            _ if self.placed => {
                self.unread();
                Ok(None)
            }
            unknown => Err(format!("unknown operator {unknown}")),
        }
    }

    fn operand(&mut self) -> Result<Expr, ParseStop> {
        Ok(match self.scan() {
            Kind::Int | Kind::Float => {
                let text = self.token();
                let number = literal::number(text)
                    .map_err(|why| format!("strconv.ParseFloat: parsing \"{text}\": {why}"))?;
                Expr::Constant(Constant::Number(number))
            }
            Kind::Text | Kind::RawText | Kind::Char => {
                let text = literal::unquote(self.token())
                    .ok_or("could not parse string: invalid syntax")?;
                Expr::Constant(Constant::Text(text))
            }
            Kind::Ident => match self.token() {
                "true" => Expr::Constant(Constant::Bool(true)),
                "false" => Expr::Constant(Constant::Bool(false)),
                name => self.variable(name)?,
            },
            Kind::Symbol('-') => Expr::Negative(Box::new(self.nested(Self::operand)?)),
            Kind::Symbol('(') => {
                let inside = self.expression()?;
                self.close(')', "parentheses")?;
                inside
            }
            Kind::Symbol('$') => Expr::Path(self.path(Origin::Root)?),
            Kind::Symbol('@') => Expr::Path(self.path(Origin::Current)?),
            _ => return Err(self.unexpected("extensions", &[])),
        })
    }

    /// Reads the closing bracket.
    pub fn close(&mut self, bracket: char, unit: &str) -> Result<(), ParseStop> {
        let wanted = Kind::Symbol(bracket);
        if self.scan() == wanted {
            Ok(())
        } else {
            Err(self.unexpected(unit, &[wanted]))
        }
    }

    /// Parses the part after a bare name.
    fn variable(&mut self, first: &str) -> Result<Expr, ParseStop> {
        let name = |text: &str| Expr::Constant(Constant::Text(text.to_owned()));
        let mut keys = vec![name(first)];
        loop {
            match self.scan() {
                Kind::Symbol('.') => match self.scan() {
                    Kind::Ident => keys.push(name(self.token())),
                    _ => return Err(self.unexpected("field", &[Kind::Ident])),
                },
                Kind::Symbol('[') => {
                    keys.push(self.expression()?);
                    self.close(']', "array key")?;
                }
                Kind::Symbol('(') => {
                    self.arguments()?;
                    return Ok(Expr::Call(first.to_owned(), keys));
                }
                _ => {
                    self.unread();
                    return Ok(Expr::Variable(keys));
                }
            }
        }
    }

    /// Parses the part after a name and an opening parenthesis.
    fn arguments(&mut self) -> Result<(), ParseStop> {
        if self.scan() == Kind::Symbol(')') {
            return Ok(());
        }
        self.unread();
        loop {
            self.expression()?;
            match self.scan() {
                Kind::Symbol(')') => return Ok(()),
                Kind::Symbol(',') => {}
                _ => {
                    let expected = [Kind::Symbol(')'), Kind::Symbol(',')];
                    return Err(self.unexpected("arguments", &expected));
                }
            }
        }
    }
}

/// Whether a character occurs in an operator of gval, `in` among them.
fn in_operator(c: char) -> bool {
    "?|&=!><~in^+-*/%".contains(c)
}

/// Line and column, in characters from 1, of a byte.
fn place(text: &str, at: usize) -> (usize, usize) {
    let before = text.get(..at).unwrap_or(text);
    let line = before.rsplit('\n').next().unwrap_or_default();
    (before.matches('\n').count() + 1, line.chars().count() + 1)
}
