//! From tokens to the steps of a path.

use super::parse::{ParseStop, Parser};
use super::scan::Kind;
use super::syntax::{Constant, Expr, Origin, Path, Step};

/// What brackets hold: the keys, and the first mark behind or before a key (`,` `:` `?` `]`); none for `*`.
type Bracket = (Vec<Expr>, Option<char>);

/// The library's "to the end" of a slice.
const END: f64 = i32::MAX as f64;

fn number(value: f64) -> Expr {
    Expr::Constant(Constant::Number(value))
}

impl Parser<'_> {
    /// Parses the part after `$` or `@`.
    pub(super) fn path(&mut self, origin: Origin) -> Result<Path, ParseStop> {
        let mut steps = Vec::new();
        loop {
            match self.scan() {
                Kind::Symbol('.') => self.member(&mut steps)?,
                Kind::Symbol('[') => {
                    let bracket = self.bracket()?;
                    steps.push(step(bracket)?);
                }
                Kind::Symbol('(') => steps.push(self.script()?),
                _ => {
                    self.unread();
                    let definite = steps.iter().take_while(|step| step.is_definite());
                    let multiple = steps.split_off(definite.count());
                    return Ok(Path {
                        origin,
                        definite: steps,
                        multiple,
                    });
                }
            }
        }
    }

    /// Parses the part after a point.
    fn member(&mut self, steps: &mut Vec<Step>) -> Result<(), ParseStop> {
        let step = match self.scan() {
            Kind::Ident => self.name(),
            Kind::Symbol('*') => Step::Children,
            Kind::Symbol('.') => {
                steps.push(Step::Descendants);
                self.below()?
            }
            _ => {
                let expected = [Kind::Ident, Kind::Symbol('.'), Kind::Symbol('*')];
                return Err(self.unexpected("JSON select", &expected));
            }
        };
        steps.push(step);
        Ok(())
    }

    /// Parses the part after two points.
    fn below(&mut self) -> Result<Step, ParseStop> {
        match self.scan() {
            Kind::Ident => Ok(self.name()),
            Kind::Symbol('*') => Ok(Step::Children),
            Kind::Symbol('(') => self.script(),
            Kind::Symbol('[') => match self.bracket()? {
                (_, Some(':')) => Err("mapper can not be combined with range query".to_owned()),
                (keys, Some('?')) => filter(keys),
                (keys, _) => Ok(several(keys)),
            },
            _ => {
                let expected = [Kind::Symbol('['), Kind::Ident, Kind::Symbol('*')];
                Err(self.unexpected("JSON mapper", &expected))
            }
        }
    }

    fn name(&self) -> Step {
        Step::Key(Expr::Constant(Constant::Text(self.token().to_owned())))
    }

    fn script(&mut self) -> Result<Step, ParseStop> {
        let script = self.expression()?;
        // The library's own spelling.
        self.close(')', "jsnopath script")?;
        Ok(Step::Script(script))
    }

    fn bracket(&mut self) -> Result<Bracket, ParseStop> {
        let mut keys = Vec::new();
        let mut first_mark = None;
        loop {
            let mark = match self.scan() {
                mark @ Kind::Symbol('?') => mark,
                mark @ Kind::Symbol(':') => {
                    // Nothing before the mark: the start, or between two marks the end.
                    keys.push(number(if keys.len() == 1 { END } else { 0.0 }));
                    mark
                }
                Kind::Symbol('*') => {
                    self.close(']', "JSON bracket star")?;
                    return Ok((Vec::new(), None));
                }
                mark @ Kind::Symbol(']') if first_mark == Some(':') => mark,
                _ => {
                    self.unread();
                    keys.push(self.expression()?);
                    self.scan()
                }
            };
            let mark = match mark {
                Kind::Symbol(mark @ (':' | ',' | ']')) => mark,
                Kind::Symbol('?') if keys.is_empty() => '?',
                Kind::Symbol('?') => {
                    return Err(self.unexpected("JSON filter", &[Kind::Symbol(']')]));
                }
                _ => {
                    let expected = [Kind::Symbol(':'), Kind::Symbol(',')];
                    return Err(self.unexpected("JSON bracket separator", &expected));
                }
            };
            let first = *first_mark.get_or_insert(mark);
            if mark == ']' {
                return Ok((keys, first_mark));
            }
            if mark != first {
                // The library prints character codes.
                let (first, mark) = (u32::from(first), u32::from(mark));
                return Err(format!("mixed {first} and {mark} in JSON bracket"));
            }
        }
    }
}

/// The step that brackets mean behind a value.
fn step((mut keys, mark): Bracket) -> Result<Step, ParseStop> {
    match mark {
        Some(':') => {
            if keys.len() > 3 {
                return Err("range query has at least the parameter [min:max:step]".to_owned());
            }
            let mut keys = keys.into_iter();
            let mut next = |default| keys.next().unwrap_or_else(|| number(default));
            Ok(Step::Slice {
                from: next(0.0),
                to: next(END),
                step: next(1.0),
            })
        }
        Some('?') => filter(keys),
        _ => Ok(match keys.pop() {
            Some(key) if keys.is_empty() => Step::Key(key),
            last => {
                keys.extend(last);
                several(keys)
            }
        }),
    }
}

fn several(keys: Vec<Expr>) -> Step {
    if keys.is_empty() {
        Step::Children
    } else {
        Step::Keys(keys)
    }
}

fn filter(mut keys: Vec<Expr>) -> Result<Step, ParseStop> {
    match (keys.pop(), keys.is_empty()) {
        (Some(key), true) => Ok(Step::Filter(key)),
        _ => Err("filter needs exactly one key".to_owned()),
    }
}
