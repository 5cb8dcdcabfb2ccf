//! The translator's record of an open group and of a repetition.

#[derive(Clone, Copy, Default)]
pub(super) struct Flags {
    /// `i`: case is folded.
    pub(super) fold: bool,
    /// `m`: `^` and `$` match at lines.
    pub(super) lines: bool,
    /// `s`: `.` matches a newline.
    pub(super) newline: bool,
}

/// The weight of a repetition or a group: the product of the nested counts, and their depth.
#[derive(Clone, Copy)]
pub(super) struct Weight {
    pub(super) repeats: u32,
    pub(super) depth: u32,
}

impl Weight {
    pub(super) const ONE: Self = Self {
        repeats: 1,
        depth: 0,
    };

    pub(super) fn max(self, other: Self) -> Self {
        Self {
            repeats: self.repeats.max(other.repeats),
            depth: self.depth.max(other.depth),
        }
    }
}

/// An open group, or the whole pattern.
pub(super) struct Group {
    /// Translated so far.
    pub(super) text: String,
    /// Of all in it but the last atom.
    pub(super) weight: Weight,
    /// What a repetition would repeat: where it starts in `text`, and its weight.
    pub(super) last: Option<(usize, Weight)>,
    /// The flags that apply again after the group.
    pub(super) flags: Flags,
}

impl Default for Group {
    fn default() -> Self {
        Self {
            text: String::new(),
            weight: Weight::ONE,
            last: None,
            flags: Flags::default(),
        }
    }
}

impl Group {
    pub(super) fn push(&mut self, text: &str, weight: Weight) {
        self.settle();
        self.last = Some((self.text.len(), weight));
        self.text.push_str(text);
    }

    /// The last atom can no longer be repeated.
    pub(super) fn settle(&mut self) {
        if let Some((_, weight)) = self.last.take() {
            self.weight = self.weight.max(weight);
        }
    }
}

/// How often.
#[derive(Clone, Copy)]
pub(super) struct Count {
    pub(super) min: u32,
    pub(super) max: Option<u32>,
    /// A counter in braces, not one of `*`, `+`, `?`.
    pub(super) counted: bool,
}

impl Count {
    pub(super) fn of(operator: char) -> Self {
        let (min, max) = match operator {
            '*' => (0, None),
            '+' => (1, None),
            _ => (0, Some(1)),
        };
        Self {
            min,
            max,
            counted: false,
        }
    }
}

/// Reads a counter behind its `{`: `2}`, `2,}`, `2,3}`. Anything else is no counter, and the brace a character.
pub(super) fn counter(text: &str) -> Option<(Count, &str)> {
    let (min, rest) = number(text)?;
    let (max, rest) = match rest.strip_prefix(',') {
        None => (Some(min), rest),
        Some(rest) if rest.starts_with('}') => (None, rest),
        Some(rest) => number(rest).map(|(max, rest)| (Some(max), rest))?,
    };
    let count = Count {
        min,
        max,
        counted: true,
    };
    Some((count, rest.strip_prefix('}')?))
}

/// A decimal number without leading zeros. One that is too large for us is as good as any above the limit.
fn number(text: &str) -> Option<(u32, &str)> {
    let end = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    let (digits, rest) = text.split_at(end);
    if digits.is_empty() || (digits.len() > 1 && digits.starts_with('0')) {
        return None;
    }
    Some((digits.parse().unwrap_or(u32::MAX), rest))
}
