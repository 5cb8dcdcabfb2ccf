//! The configuration document of a checker that has a policy: reading it, and its JSON Schema.

use std::fmt::Display;

use super::Policy;
use super::words::{POLICY, SEVERITIES};
use crate::catalog::{Action, Catalog};
use crate::{Error, config};

/// Reads the component's configuration: its policy, and by `parse` what is left without it.
///
/// # Errors
/// As [`settings`].
pub fn configured<C, E: Display>(
    catalog: &Catalog,
    parse: impl FnOnce(&str) -> Result<C, E>,
) -> Result<(C, Policy), Error> {
    let parse = |document: &str| parse(document).map_err(|error| error.to_string());
    settings(&config::document(), catalog, parse).map_err(Error::failed)
}

/// Reads the configuration of a component that has no other than a policy.
///
/// # Errors
/// As [`settings`].
pub fn configured_alone(catalog: &Catalog) -> Result<Policy, Error> {
    alone(&config::document(), catalog).map_err(Error::failed)
}

/// Reads a configuration document: its `policy`, and by `parse` what is left without it.
///
/// # Errors
/// In words, with the place; what is wrong with the policy first.
pub fn settings<C>(
    document: &str,
    catalog: &Catalog,
    parse: impl FnOnce(&str) -> Result<C, String>,
) -> Result<(C, Policy), String> {
    match cut(document) {
        None => Ok((parse(document)?, Policy::none(catalog))),
        Some((rest, policy)) => {
            let policy =
                serde_json::from_str(policy).map_err(|error| format!("configuration: {error}"))?;
            let policy = Policy::read(&policy, catalog)?;
            Ok((parse(&rest)?, policy))
        }
    }
}

/// Reads the document of a checker that has no other configuration.
///
/// # Errors
/// As [`settings`].
pub fn alone(document: &str, catalog: &Catalog) -> Result<Policy, String> {
    settings(document, catalog, |_| Ok(())).map(|((), policy)| policy)
}

/// Returns the document without its `policy`, and the text of that; nothing if it has none. By hand: what writes JSON of any kind
/// would be a good part of the guest. What is no JSON gives something that is none, either.
pub(super) fn cut(document: &str) -> Option<(String, &str)> {
    if !document.contains(POLICY) || !document.trim_start().starts_with('{') {
        return None;
    }
    let (mut depth, mut in_text, mut escaped) = (0_u32, false, false);
    let (mut begin, mut members, mut end) = (0, Vec::new(), None);
    for (at, byte) in document.bytes().enumerate() {
        if in_text {
            in_text = escaped || byte != b'"';
            escaped = !escaped && byte == b'\\';
            continue;
        }
        match byte {
            b'"' => in_text = true,
            b'{' | b'[' => {
                depth += 1;
                if depth == 1 {
                    begin = at + 1;
                }
            }
            b'}' | b']' => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    members.push(document.get(begin..at)?);
                    end = Some(at);
                    break;
                }
            }
            b',' if depth == 1 => {
                members.push(document.get(begin..at)?);
                begin = at + 1;
            }
            _ => {}
        }
    }
    let after = document.get(end?..)?;
    let value = |member: &&str| -> Option<usize> {
        let rest = member.trim_start().strip_prefix('"')?;
        let rest = rest.strip_prefix(POLICY)?.strip_prefix('"')?.trim_start();
        let value = rest.strip_prefix(':')?;
        Some(member.len() - value.len())
    };
    let place = members.iter().position(|member| value(member).is_some())?;
    let member = members.remove(place);
    let policy = member.get(value(&member)?..)?;
    Some((format!("{{{}{after}", members.join(",")), policy))
}

/// Returns the JSON Schema of a configuration with that of a policy put into its `properties`.
pub fn schema(of: &str, catalog: &Catalog) -> String {
    const PROPERTIES: &str = "\"properties\":";
    let Some((before, after)) = of
        .split_once(PROPERTIES)
        .and_then(|(before, after)| Some((before, after.trim_start().strip_prefix('{')?)))
    else {
        return of.to_owned();
    };
    let names: Vec<&str> = catalog.entries.iter().map(|entry| entry.name).collect();
    let words = |words: &[&str]| format!("[\"{}\"]", words.join("\",\""));
    let between = if after.trim_start().starts_with('}') {
        ""
    } else {
        ","
    };
    [
        before,
        PROPERTIES,
        "{\"",
        POLICY,
        r#"":{"description":"The site's own view of single events, by name.","type":"object","patternProperties":{"^("#,
        &names.join("|"),
        r#")$":{"type":"object","minProperties":1,"properties":{"severity":{"enum":"#,
        &words(&SEVERITIES.map(|(word, _)| word)),
        r#"},"actions":{"type":"array","items":{"enum":"#,
        &words(&Action::ALL.map(Action::word)),
        r#"}},"threshold":{"type":"integer","minimum":1},"window_seconds":{"type":"integer","minimum":1,"maximum":1209600}},"additionalProperties":false}},"additionalProperties":false}"#,
        between,
        after,
    ]
    .concat()
}

/// The schema of a checker that has no other configuration.
pub const NOTHING_ELSE: &str = r#"{"type":"object","properties":{},"additionalProperties":false}"#;
