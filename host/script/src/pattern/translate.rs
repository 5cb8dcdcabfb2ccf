//! From Go's grammar to the syntax of the crate `regex`.
//!
//! Only whether a text matches is asked, so groups capture nothing and greediness is dropped. Every character is
//! written as a number and every flag where it applies: nothing that is written can mean something else to the crate.

use std::fmt::Write as _;

use super::{
    PatternError, PatternFault, bracket,
    escape::{self, NOTHING, next, taken},
    group::{Count, Flags, Group, Weight, counter},
};

/// Most groups and repetitions inside each other.
pub(super) const MAX_DEPTH: u32 = 100;
/// Largest count, alone or multiplied with those of the repetitions inside.
const MAX_REPEAT: u32 = 1000;

/// Most code points in the classes of a pattern whose letter case is folded. The crate goes through them one by one: 10 ms
/// for a class of all, and 64 KiB have room for thousands.
const MAX_FOLDED: u32 = 64 << 20;

/// Translates a pattern.
pub(super) fn translate(pattern: &str) -> Result<String, PatternError> {
    let mut translator = Translator {
        pattern,
        flags: Flags::default(),
        group: Group::default(),
        outer: Vec::new(),
        folded: 0,
    };
    let mut rest = pattern;
    // Where the repetition began that was read last, if nothing followed it yet.
    let mut repeated: Option<&str> = None;
    while let Some((c, after)) = next(rest) {
        let previous = repeated.take();
        rest = match c {
            '(' => translator.open(rest)?,
            ')' => translator.close(after)?,
            '|' => translator.or(after),
            '*' | '+' | '?' => {
                repeated = Some(rest);
                translator.repeat(rest, after, Count::of(c), previous)?
            }
            '{' => match counter(after) {
                Some((count, after)) => {
                    repeated = Some(rest);
                    translator.repeat(rest, after, count, previous)?
                }
                None => translator.literal(c, after),
            },
            '^' if translator.flags.lines => translator.atom("(?m:^)", after),
            '^' => translator.atom(r"\A", after),
            '$' if translator.flags.lines => translator.atom("(?m:$)", after),
            '$' => translator.atom(r"\z", after),
            '.' if translator.flags.newline => translator.atom("(?s:.)", after),
            '.' => translator.atom(r"[^\n]", after),
            '[' => {
                let (class, rest) = bracket::class(rest)?;
                translator.wide_class(&class.text, class.span, rest)?
            }
            '\\' => translator.escape(rest)?,
            c => translator.literal(c, after),
        };
    }
    if !translator.outer.is_empty() {
        return Err(PatternError::new(PatternFault::MissingParenthesis, pattern));
    }
    Ok(translator.group.text)
}

struct Translator<'a> {
    pattern: &'a str,
    flags: Flags,
    group: Group,
    outer: Vec<Group>,
    /// Code points in classes whose letter case is folded.
    folded: u32,
}

impl<'a> Translator<'a> {
    fn atom(&mut self, text: &str, rest: &'a str) -> &'a str {
        self.group.push(text, Weight::ONE);
        rest
    }

    fn class(&mut self, class: &str, rest: &'a str) -> &'a str {
        if self.flags.fold {
            self.atom(&format!("(?i:{class})"), rest)
        } else {
            self.atom(class, rest)
        }
    }

    /// A class for which it matters how many code points it names.
    fn wide_class(
        &mut self,
        class: &str,
        span: u32,
        rest: &'a str,
    ) -> Result<&'a str, PatternError> {
        if self.flags.fold {
            self.folded = self.folded.saturating_add(span);
        }
        if self.folded > MAX_FOLDED {
            return Err(PatternError::new(PatternFault::TooLarge, self.pattern));
        }
        Ok(self.class(class, rest))
    }

    fn literal(&mut self, c: char, rest: &'a str) -> &'a str {
        self.class(&format!("\\x{{{:x}}}", u32::from(c)), rest)
    }

    fn or(&mut self, rest: &'a str) -> &'a str {
        self.group.settle();
        self.group.text.push('|');
        rest
    }

    fn escape(&mut self, text: &'a str) -> Result<&'a str, PatternError> {
        let after = text.strip_prefix('\\').unwrap_or(text);
        match next(after) {
            Some(('A', rest)) => return Ok(self.atom(r"\A", rest)),
            Some(('z', rest)) => return Ok(self.atom(r"\z", rest)),
            Some(('b', rest)) => return Ok(self.atom(r"(?-u:\b)", rest)),
            Some(('B', rest)) => return Ok(self.atom(r"(?-u:\B)", rest)),
            Some(('Q', rest)) => {
                let (quoted, rest) = rest.split_once("\\E").unwrap_or((rest, ""));
                for c in quoted.chars() {
                    self.literal(c, rest);
                }
                return Ok(rest);
            }
            _ => {}
        }
        if let Some(read) = escape::unicode_class(text) {
            let ((item, span), rest) = read?;
            return self.wide_class(&format!("[{item}]"), span, rest);
        }
        if let Some((item, rest)) = escape::perl_class(text) {
            return Ok(self.class(&format!("[{item}]"), rest));
        }
        let (code, rest) = escape::character(text)?;
        Ok(match char::from_u32(code) {
            Some(c) => self.literal(c, rest),
            None => self.atom(NOTHING, rest),
        })
    }

    /// Repeats the last atom. `from` starts with the operator, `after` is behind it.
    fn repeat(
        &mut self,
        from: &'a str,
        after: &'a str,
        count: Count,
        previous: Option<&str>,
    ) -> Result<&'a str, PatternError> {
        let refuse = |fault, from, rest| Err(PatternError::new(fault, taken(from, rest)));
        let Count { min, max, counted } = count;
        if min.max(max.unwrap_or(min)) > MAX_REPEAT || max.is_some_and(|max| max < min) {
            return refuse(PatternFault::RepeatCount, from, after);
        }
        // Fewest rather than most: the same texts match.
        let rest = after.strip_prefix('?').unwrap_or(after);
        if let Some(previous) = previous {
            return refuse(PatternFault::NestedRepetition, previous, rest);
        }
        let Some((start, weight)) = self.group.last else {
            return refuse(PatternFault::MissingArgument, from, rest);
        };
        let times = max.unwrap_or(min);
        let repeats = match max {
            _ if !counted => weight.repeats,
            // Nothing is left of what is inside.
            Some(0) => 1,
            _ => weight.repeats.saturating_mul(times.max(1)),
        };
        if counted && times.max(min) >= 2 && repeats > MAX_REPEAT {
            return refuse(PatternFault::RepeatCount, from, rest);
        }
        let depth = self.deeper(weight)?;
        self.group.last = Some((start, Weight { repeats, depth }));
        let text = &mut self.group.text;
        text.insert_str(start, "(?:");
        // Writing to a String cannot fail.
        let _ = match max {
            Some(max) => write!(text, "){{{min},{max}}}"),
            None => write!(text, "){{{min},}}"),
        };
        Ok(rest)
    }

    /// One level around that weight, if that is not too deep.
    fn deeper(&self, weight: Weight) -> Result<u32, PatternError> {
        if weight.depth >= MAX_DEPTH {
            return Err(PatternError::new(PatternFault::TooDeep, self.pattern));
        }
        Ok(weight.depth + 1)
    }

    /// What starts with `(`: a group, or flags for the rest of this one.
    fn open(&mut self, text: &'a str) -> Result<&'a str, PatternError> {
        let inside = text.strip_prefix('(').unwrap_or(text);
        let Some(special) = inside.strip_prefix('?') else {
            return self.enter(inside);
        };
        // Names can be spelled in two ways. Go wants to see one character of it before it takes it for a name.
        let name = [("P<", 2), ("<", 1)]
            .into_iter()
            .find_map(|(prefix, length)| {
                special
                    .strip_prefix(prefix)
                    .filter(|_| special.len() > length)
            });
        if let Some(name) = name {
            let Some((name, rest)) = name.split_once('>') else {
                return Err(PatternError::new(PatternFault::GroupName, text));
            };
            if name.is_empty() || !name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_') {
                return Err(PatternError::new(
                    PatternFault::GroupName,
                    taken(text, rest),
                ));
            }
            return self.enter(rest);
        }
        self.flags(text, special)
    }

    /// What follows `(?`: `flags)`, `flags:`, `flags-flags)` and so on.
    fn flags(&mut self, text: &'a str, special: &'a str) -> Result<&'a str, PatternError> {
        let mut flags = self.flags;
        let mut value = true;
        // Whether `-` was the last thing, or nothing was read yet.
        let mut dangling = false;
        let mut rest = special;
        while let Some((c, after)) = next(rest) {
            rest = after;
            match c {
                'i' => flags.fold = value,
                'm' => flags.lines = value,
                's' => flags.newline = value,
                // Swaps greedy and lazy, which is no matter here.
                'U' => {}
                '-' if value => {
                    value = false;
                    dangling = true;
                    continue;
                }
                ':' | ')' if !dangling => {
                    if c == ':' {
                        rest = self.enter(rest)?;
                    }
                    self.flags = flags;
                    return Ok(rest);
                }
                _ => break,
            }
            dangling = false;
        }
        Err(PatternError::new(
            PatternFault::PerlSyntax,
            taken(text, rest),
        ))
    }

    fn enter(&mut self, rest: &'a str) -> Result<&'a str, PatternError> {
        if self.outer.len() >= MAX_DEPTH as usize {
            return Err(PatternError::new(PatternFault::TooDeep, self.pattern));
        }
        let inner = Group {
            flags: self.flags,
            ..Group::default()
        };
        self.outer.push(std::mem::replace(&mut self.group, inner));
        Ok(rest)
    }

    fn close(&mut self, rest: &'a str) -> Result<&'a str, PatternError> {
        let Some(outer) = self.outer.pop() else {
            let fault = PatternFault::UnexpectedParenthesis;
            return Err(PatternError::new(fault, self.pattern));
        };
        let mut inner = std::mem::replace(&mut self.group, outer);
        inner.settle();
        let depth = self.deeper(inner.weight)?;
        self.flags = inner.flags;
        let weight = Weight {
            depth,
            ..inner.weight
        };
        self.group.push(&format!("(?:{})", inner.text), weight);
        Ok(rest)
    }
}
