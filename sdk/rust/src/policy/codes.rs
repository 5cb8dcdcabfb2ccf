//! A site's own view of errors that have numbers ([`error_codes`](crate::error_codes)): how serious, what to do, and after how many
//! reboots to look at the hardware.

use std::fmt::{self, Display, Write};

use serde_json::Value;

use super::words::{
    POLICY, SEVERITIES, Weight, bare, list, quoted, read_actions, read_weight, refuse, shown,
};
use crate::catalog::Action;
use crate::error_codes::Key;

/// Keys of an entry.
const SEVERITY: &str = "severity";
const ACTIONS: &str = "actions";
const THRESHOLD: &str = "reboot_threshold";
const UNLISTED: &str = "unlisted";

/// A policy's settings for an error. The others are as in the catalogue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Ruling<'a> {
    /// How it weighs.
    pub weight: Option<Weight>,
    /// What to do, most important first; may be empty: nothing.
    pub actions: Option<&'a [Action]>,
    /// Reboots after which it asks for an inspection; at least 1.
    pub reboot_threshold: Option<u32>,
}

/// Which errors a policy can name.
#[derive(Debug, Clone, Copy)]
pub struct Codes {
    /// What the catalogue has: `Xid` or `SXid`, for messages.
    pub family: &'static str,
    /// Version of the catalogue, for messages.
    pub version: u32,
    /// True for those that a line can have at all.
    pub possible: fn(&Key) -> bool,
    /// True for those that the catalogue lists.
    pub listed: fn(&Key) -> bool,
}

/// A site's policy for errors that have numbers; nothing by default.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CodePolicy {
    /// In the order of their keys.
    entries: Vec<(Key, ListedCode)>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct ListedCode {
    weight: Option<Weight>,
    actions: Option<Vec<Action>>,
    reboot_threshold: Option<u32>,
    unlisted: bool,
}

/// As it was given, as JSON.
impl Display for ListedCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut between = "{";
        if let Some(weight) = self.weight {
            let word = SEVERITIES.iter().find(|(_, known)| *known == weight);
            let word = word.map_or("", |(word, _)| word);
            write!(f, "{between}\"{SEVERITY}\":\"{word}\"")?;
            between = ",";
        }
        if let Some(actions) = &self.actions {
            write!(f, "{between}\"{ACTIONS}\":")?;
            list(f, actions.iter().map(|action| action.word()))?;
            between = ",";
        }
        if let Some(reboots) = self.reboot_threshold {
            write!(f, "{between}\"{THRESHOLD}\":{reboots}")?;
            between = ",";
        }
        if self.unlisted {
            write!(f, "{between}\"{UNLISTED}\":true")?;
        }
        f.write_str("}")
    }
}

impl CodePolicy {
    /// Reads the value of [`POLICY`]: an object of entries by error. Unlike the numbers of a configuration it is taken
    /// whole or not at all: half a policy could hide what the site wants to see.
    ///
    /// # Errors
    /// In words, with the place of each mistake and what is allowed there.
    pub fn read(value: &Value, codes: Codes) -> Result<Self, String> {
        let Some(given) = value.as_object() else {
            let family = codes.family;
            return Err(format!("configuration: {POLICY} is no object of {family}s"));
        };
        let mut mistakes = Vec::new();
        let mut entries: Vec<(Key, ListedCode)> = Vec::new();
        for (name, value) in given {
            let place = format!("{POLICY}[{}]", quoted(name));
            match read_key(name) {
                Some(key) => {
                    let entry = read_entry(&place, &key, value, codes, &mut mistakes);
                    entries.extend(entry.map(|entry| (key, entry)));
                }
                None => mistakes.push(format!(
                    "{place} names no {}; written are they as reasons have them: {}",
                    codes.family, "79, 145.3 or 145.3 (err status 0x00000004)"
                )),
            }
        }
        entries.sort_unstable_by_key(|(key, _)| *key);
        let twice = entries.windows(2).filter_map(|pair| match pair {
            [(one, _), (next, _)] if one == next => Some(one),
            _ => None,
        });
        mistakes.extend(twice.map(|key| format!("{POLICY}[\"{key}\"]: given twice")));
        refuse(mistakes)?;
        Ok(Self { entries })
    }

    /// True when it says nothing.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Returns what it says of an error. Each part comes from the most exact entry that has it.
    pub fn ruling(&self, error: Key) -> Ruling<'_> {
        let mut ruling = Ruling::default();
        if self.is_empty() {
            return ruling;
        }
        for (_, entry) in error.widening().filter_map(|key| self.entry(key)) {
            ruling.weight = ruling.weight.or(entry.weight);
            ruling.actions = ruling.actions.or(entry.actions.as_deref());
            ruling.reboot_threshold = ruling.reboot_threshold.or(entry.reboot_threshold);
        }
        ruling
    }

    fn entry(&self, key: Key) -> Option<&(Key, ListedCode)> {
        self.entries.get(self.place(key)?)
    }

    fn place(&self, key: Key) -> Option<usize> {
        self.entries
            .binary_search_by_key(&key, |(key, _)| *key)
            .ok()
    }

    /// Returns its entries for any of these errors as they were given, as a document for programs:
    /// `{"policy":{"79":{"severity":"warning"}}}`.
    pub fn document(&self, errors: impl IntoIterator<Item = Key>) -> String {
        let mut used = vec![false; self.entries.len()];
        for key in errors.into_iter().flat_map(Key::widening) {
            let mark = self.place(key).and_then(|place| used.get_mut(place));
            if let Some(mark) = mark {
                *mark = true;
            }
        }
        let entries = self.entries.iter().zip(used);
        let used = entries.filter_map(|(entry, used)| used.then_some(entry));
        // By hand: what writes JSON of any kind would be a good part of the guest.
        let mut text = format!("{{\"{POLICY}\":");
        let mut between = '{';
        for (key, entry) in used {
            let _ = write!(text, "{between}\"{key}\":{entry}");
            between = ',';
        }
        text.push_str(if between == '{' { "{}}" } else { "}}" });
        text
    }
}

/// Returns the JSON Schema of a policy whose keys match a regular expression (as a JSON string has it, without the quotes).
pub fn schema(key_pattern: &str) -> String {
    let (mut severities, mut actions) = (String::new(), String::new());
    let _ = list(&mut severities, SEVERITIES.map(|(word, _)| word));
    let _ = list(&mut actions, Action::ALL.map(Action::word));
    [
        r#"{"type":"object","patternProperties":{""#,
        key_pattern,
        r#"":{"type":"object","minProperties":1,"properties":{"severity":{"enum":"#,
        &severities,
        r#"},"actions":{"type":"array","items":{"enum":"#,
        &actions,
        r#"}},"reboot_threshold":{"type":"integer","minimum":1},"unlisted":{"type":"boolean"}},"additionalProperties":false}},"additionalProperties":false}"#,
    ]
    .concat()
}

/// Reads what [`Key`]'s `Display` writes; the status may have fewer digits, and capitals.
fn read_key(text: &str) -> Option<Key> {
    let number = |digits: &str| {
        let fits = digits.bytes().all(|byte| byte.is_ascii_digit());
        if fits { digits.parse().ok() } else { None }
    };
    let (numbers, status) = match text.split_once(" (err status 0x") {
        None => (text, None),
        Some((numbers, rest)) => {
            let digits = rest.strip_suffix(')')?;
            let fits = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
            let status = u32::from_str_radix(digits, 16).ok().filter(|_| fits)?;
            (numbers, Some(status))
        }
    };
    let (code, sub_code) = match numbers.split_once('.') {
        None => (numbers, None),
        Some((code, sub_code)) => (code, Some(number(sub_code)?)),
    };
    // A status alone tells nothing.
    if status.is_some() && sub_code.is_none() {
        return None;
    }
    Some(Key {
        code: number(code)?,
        sub_code,
        status,
    })
}

/// Reads one entry. `None` when there is a mistake, which is noted.
fn read_entry(
    place: &str,
    key: &Key,
    value: &Value,
    codes: Codes,
    mistakes: &mut Vec<String>,
) -> Option<ListedCode> {
    let before = mistakes.len();
    let allowed = [SEVERITY, ACTIONS, THRESHOLD, UNLISTED].join(", ");
    let Some(fields) = value.as_object() else {
        mistakes.push(format!("{place} is no object; allowed in it: {allowed}"));
        return None;
    };
    let mut entry = ListedCode {
        weight: None,
        actions: None,
        reboot_threshold: None,
        unlisted: false,
    };
    for (field, value) in fields {
        let read = match field.as_str() {
            SEVERITY => read_weight(value).map(|weight| entry.weight = Some(weight)),
            ACTIONS => read_actions(value).map(|actions| entry.actions = Some(actions)),
            THRESHOLD => read_threshold(value).map(|least| entry.reboot_threshold = Some(least)),
            UNLISTED => value
                .as_bool()
                .map(|given| entry.unlisted = given)
                .ok_or_else(|| "is neither true nor false".to_owned()),
            _ => Err(format!("is not known; allowed: {allowed}")),
        };
        if let Err(why) = read {
            mistakes.push(format!("{place}.{} {why}", bare(field)));
        }
    }
    let Codes {
        family, version, ..
    } = codes;
    if !(codes.possible)(key) {
        mistakes.push(format!("{place}: there is no such {family}"));
    } else if !entry.unlisted && !(codes.listed)(key) {
        mistakes.push(format!(
            "{place}: version {version} of the catalogue has no such {family}; if it is meant, add \"{UNLISTED}\": true"
        ));
    } else if fields.keys().all(|field| field == UNLISTED) {
        mistakes.push(format!("{place} says nothing; allowed in it: {allowed}"));
    }
    (mistakes.len() == before).then_some(entry)
}

fn read_threshold(value: &Value) -> Result<u32, String> {
    let number = value.as_u64().filter(|number| *number > 0);
    let number = number.ok_or_else(|| format!("is {}, not a number from 1", shown(value)))?;
    Ok(u32::try_from(number).unwrap_or(u32::MAX))
}

#[cfg(test)]
mod tests;
