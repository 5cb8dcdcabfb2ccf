//! Values as Go's `%v` prints them: keys of steps, and error messages.

use std::borrow::Cow;

use serde_json::Value;

use super::budget::{Budget, Limit};
use super::item::{Item, View};

/// Longest rendition of a value inside an error message, in bytes. GPUd prints it whole.
const MAX_EXCERPT: usize = 4096;

/// The shortest digits that read back, with an exponent below 1e-4 and from 1e6 on.
pub(super) fn number(value: f64) -> String {
    if value.is_nan() {
        return "NaN".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { "+Inf" } else { "-Inf" }.to_owned();
    }
    if value == 0.0 || (1e-4..1e6).contains(&value.abs()) {
        return value.to_string();
    }
    let text = format!("{value:e}");
    match text.split_once('e') {
        Some((digits, exponent)) => {
            let (sign, exponent) = match exponent.strip_prefix('-') {
                Some(rest) => ('-', rest),
                None => ('+', exponent),
            };
            format!("{digits}e{sign}{exponent:0>2}")
        }
        None => text,
    }
}

impl<'a> Item<'a> {
    /// Name of the Go type.
    pub fn go_type(&self) -> &'static str {
        match self.view() {
            View::Null => "<nil>",
            View::Bool(_) => "bool",
            View::Number(_) => "float64",
            View::Text(_) => "string",
            View::List(_) => "[]interface {}",
            View::Object(_) => "map[string]interface {}",
        }
    }

    /// The whole text, for use as a key.
    pub fn to_text(&self, budget: &Budget) -> Result<Cow<'a, str>, Limit> {
        match self {
            Self::Text(text) => Ok(Cow::Borrowed(text)),
            Self::Json(Value::String(text)) => Ok(Cow::Borrowed(text)),
            _ => {
                let mut out = String::new();
                self.print(&mut out, &mut |text| budget.keep(text))?;
                Ok(Cow::Owned(out))
            }
        }
    }

    /// The text, cut at a bound, for messages.
    pub fn excerpt(&self) -> String {
        let mut out = String::new();
        let mut left = MAX_EXCERPT;
        let whole = self.print(&mut out, &mut |text| {
            left = left.checked_sub(text + 1).ok_or("full")?;
            Ok::<_, &str>(())
        });
        if whole.is_err() {
            out.push('…');
        }
        out
    }

    /// Appends to `out`, asking `allow` before each text of so many bytes and each node.
    fn print<E>(
        &self,
        out: &mut String,
        allow: &mut impl FnMut(usize) -> Result<(), E>,
    ) -> Result<(), E> {
        match self.view() {
            View::Text(text) => {
                allow(text.len())?;
                out.push_str(text);
            }
            View::Null => {
                allow(0)?;
                out.push_str("<nil>");
            }
            View::Bool(value) => {
                allow(0)?;
                out.push_str(if value { "true" } else { "false" });
            }
            View::Number(value) => {
                allow(0)?;
                out.push_str(&number(value));
            }
            View::List(_) => {
                allow(0)?;
                out.push('[');
                for (n, item) in self.children().enumerate() {
                    if n > 0 {
                        out.push(' ');
                    }
                    item.print(out, allow)?;
                }
                out.push(']');
            }
            View::Object(members) => {
                allow(0)?;
                out.push_str("map[");
                for (n, (key, value)) in members.iter().enumerate() {
                    if n > 0 {
                        out.push(' ');
                    }
                    allow(key.len())?;
                    out.push_str(key);
                    out.push(':');
                    Item::Json(value).print(out, allow)?;
                }
                out.push(']');
            }
        }
        Ok(())
    }
}
