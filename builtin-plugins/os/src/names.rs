//! Patterns for process names: the part of regular expressions that names need, matched without compiling anything.
//!
//! Literal text (punctuation may be escaped with `\`), `.*` between literals, `|` between alternatives, `^` and `$`
//! at the ends of an alternative. Anything else is refused rather than misread.

/// A list of patterns; any may match.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Names {
    written: Vec<String>,
    alternatives: Vec<Alternative>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Alternative {
    at_start: bool,
    at_end: bool,
    /// What stands between `.*`; at least one, possibly empty.
    literals: Vec<String>,
}

impl Names {
    /// Reads patterns; blank ones are left out.
    ///
    /// # Errors
    /// In words, the pattern and what cannot be used in it.
    pub fn parse(patterns: &[String]) -> Result<Self, String> {
        let mut names = Self::default();
        for pattern in patterns
            .iter()
            .map(|pattern| pattern.trim())
            .filter(|pattern| !pattern.is_empty())
        {
            let alternatives = parse_pattern(pattern)
                .map_err(|why| format!("invalid blocked process name regex {pattern:?}: {why}"))?;
            names.alternatives.extend(alternatives);
            names.written.push(pattern.to_owned());
        }
        Ok(names)
    }

    /// Whether there is no pattern.
    pub fn is_empty(&self) -> bool {
        self.alternatives.is_empty()
    }

    /// Whether a name matches any pattern.
    pub fn matches(&self, name: &str) -> bool {
        self.alternatives
            .iter()
            .any(|alternative| alternative.matches(name))
    }

    /// As written, with commas.
    pub fn joined(&self) -> String {
        self.written.join(",")
    }
}

fn parse_pattern(pattern: &str) -> Result<Vec<Alternative>, String> {
    let mut alternatives = Vec::new();
    let mut current = Alternative::new();
    let mut chars = pattern.chars().peekable();
    let mut first = true;
    while let Some(c) = chars.next() {
        match c {
            '|' => {
                alternatives.push(std::mem::replace(&mut current, Alternative::new()));
                first = true;
                continue;
            }
            '^' if first => current.at_start = true,
            '$' if matches!(chars.peek(), None | Some('|')) => current.at_end = true,
            '.' if chars.peek() == Some(&'*') => {
                chars.next();
                // `.*?` and `.*+` mean something else.
                if matches!(chars.peek(), Some('?' | '+' | '*' | '{')) {
                    return Err("only literal text, ^, $, .* and | can be used".to_owned());
                }
                current.literals.push(String::new());
            }
            '\\' => match chars.next() {
                Some(escaped) if escaped.is_ascii_punctuation() => current.push(escaped),
                _ => return Err("\\ can only stand before punctuation".to_owned()),
            },
            '.' | '^' | '$' | '*' | '+' | '?' | '(' | ')' | '[' | ']' | '{' | '}' => {
                return Err("only literal text, ^, $, .* and | can be used".to_owned());
            }
            literal => current.push(literal),
        }
        first = false;
    }
    alternatives.push(current);
    Ok(alternatives)
}

impl Alternative {
    fn new() -> Self {
        Self {
            at_start: false,
            at_end: false,
            literals: vec![String::new()],
        }
    }

    fn push(&mut self, c: char) {
        if let Some(literal) = self.literals.last_mut() {
            literal.push(c);
        }
    }

    /// Each literal is taken at its first place, except the last one when it must end the name.
    fn matches(&self, name: &str) -> bool {
        let mut rest = name;
        for (position, literal) in self.literals.iter().enumerate() {
            let is_last = position + 1 == self.literals.len();
            let must_start = position == 0 && self.at_start;
            if is_last && self.at_end {
                return if must_start {
                    rest == literal
                } else {
                    rest.ends_with(literal.as_str())
                };
            }
            let after = if must_start {
                rest.strip_prefix(literal.as_str())
            } else {
                rest.split_once(literal.as_str()).map(|(_, after)| after)
            };
            match after {
                Some(after) => rest = after,
                None => return false,
            }
        }
        true
    }
}

#[cfg(test)]
mod tests;
