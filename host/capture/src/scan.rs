//! Taking a line apart from its beginning.

/// The rest of a line. A method that returns `None` leaves it somewhere in the middle: copy it first.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scan<'a>(pub &'a [u8]);

impl<'a> Scan<'a> {
    /// The next byte, left where it is.
    pub fn peek(&self) -> Option<u8> {
        self.0.first().copied()
    }

    /// Takes this text.
    pub fn literal(&mut self, text: &[u8]) -> Option<()> {
        self.0 = self.0.strip_prefix(text)?;
        Some(())
    }

    /// Takes this text if it is there.
    pub fn maybe(&mut self, text: &[u8]) -> bool {
        self.literal(text).is_some()
    }

    /// Takes spaces, as many as there are.
    pub fn spaces(&mut self) {
        self.take_while(|byte| byte == b' ');
    }

    /// Takes bytes as long as they are such.
    pub fn take_while(&mut self, such: impl Fn(u8) -> bool) -> &'a [u8] {
        let end = self.0.iter().position(|&byte| !such(byte));
        let (taken, rest) = self.0.split_at(end.unwrap_or(self.0.len()));
        self.0 = rest;
        taken
    }

    /// Takes what stands before the next space, and that space.
    pub fn word(&mut self) -> &'a [u8] {
        let word = self.take_while(|byte| byte != b' ');
        self.maybe(b" ");
        word
    }

    /// Takes exactly `count` decimal digits.
    pub fn digits(&mut self, count: usize) -> Option<u32> {
        let (digits, rest) = self.0.split_at_checked(count)?;
        let mut value: u32 = 0;
        for digit in digits {
            if !digit.is_ascii_digit() {
                return None;
            }
            value = value
                .checked_mul(10)?
                .checked_add(u32::from(digit - b'0'))?;
        }
        self.0 = rest;
        Some(value)
    }

    /// Takes a decimal number of any length.
    pub fn number(&mut self) -> Option<u64> {
        let digits = self.take_while(|byte| byte.is_ascii_digit());
        str::from_utf8(digits).ok()?.parse().ok()
    }

    /// Takes `SECONDS[.FRACTION]` in microseconds; digits beyond the sixth are dropped.
    pub fn seconds(&mut self) -> Option<u64> {
        let micros = self.number()?.checked_mul(1_000_000)?;
        if self.maybe(b".") {
            return micros.checked_add(self.fraction(100_000)?);
        }
        Some(micros)
    }

    /// Takes a decimal fraction; its first digit is worth `unit`.
    pub fn fraction(&mut self, mut unit: u64) -> Option<u64> {
        let digits = self.take_while(|byte| byte.is_ascii_digit());
        let mut value = 0;
        for digit in digits {
            value += u64::from(digit - b'0') * unit;
            unit /= 10;
        }
        (!digits.is_empty()).then_some(value)
    }

    /// Takes one of these names and says which.
    pub fn one_of(&mut self, names: &[&[u8]]) -> Option<u8> {
        let at = names.iter().position(|name| self.0.starts_with(name))?;
        self.literal(names.get(at)?)?;
        u8::try_from(at).ok()
    }
}
