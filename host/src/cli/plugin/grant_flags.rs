//! `--grant` and `--config`: what a spec would say, on the command line.
//!
//! A grant is a line of a spec (`sysfs: ["/proc/stat"]`, as messages of gpud propose it), or shorter: `kmsg`,
//! `sysfs=/proc/stat,/sys/class/hwmon/**`, `exec=bash`, `net=loopback:9100`. Several add up.

use std::path::Path;

use serde_json::{Map, Value, json};

use crate::{capability::Grants, node::trusted::Opener, spec::MAX_JSON_BYTES};

/// Reads all `--grant` flags. Gives them as a spec has them, checked.
///
/// # Errors
/// In words, naming the flag.
pub fn grants(flags: &[String]) -> Result<Value, String> {
    let mut all = Map::new();
    for flag in flags {
        let wrong = |problem: String| format!("--grant {flag:?}: {problem}");
        for (word, value) in one(flag).map_err(wrong)? {
            let joined = match all.remove(&word) {
                Some(before) => joined(before, value),
                None => value,
            };
            all.insert(word, joined);
        }
    }
    let all = Value::Object(all);
    Grants::parse(&all).map_err(|error| format!("--grant: {error}"))?;
    Ok(all)
}

fn one(flag: &str) -> Result<Map<String, Value>, String> {
    let end = flag.find(['=', ':']).unwrap_or(flag.len());
    let (word, rest) = flag.split_at(end);
    if rest.starts_with(':') {
        return mapping(flag);
    }
    let value = match (word.trim(), rest.strip_prefix('=')) {
        (_, None) => Value::Bool(true),
        ("exec", Some("bash")) => json!("bash"),
        ("net", Some(endpoints)) => net(endpoints)?,
        (_, Some("true")) => Value::Bool(true),
        (_, Some("false")) => Value::Bool(false),
        (_, Some(items)) => items.split(',').map(str::trim).map(Value::from).collect(),
    };
    Ok(Map::from_iter([(word.trim().to_owned(), value)]))
}

/// `unix:/run/x.sock,loopback:9100,tcp:host:port`.
fn net(endpoints: &str) -> Result<Value, String> {
    let mut net = Map::new();
    for endpoint in endpoints.split(',').map(str::trim) {
        let (kind, rest) = endpoint
            .split_once(':')
            .ok_or("expected unix:‹path›, loopback:‹port› or tcp:‹host:port›")?;
        let value = match kind {
            "loopback" => json!(
                rest.parse::<u16>()
                    .map_err(|_| format!("{rest:?} is no port"))?
            ),
            _ => json!(rest),
        };
        let list = net.entry(kind).or_insert_with(|| json!([]));
        if let Some(list) = list.as_array_mut() {
            list.push(value);
        }
    }
    Ok(Value::Object(net))
}

/// Lists add up, mappings of lists too; of anything else the last wins.
fn joined(before: Value, after: Value) -> Value {
    match (before, after) {
        (Value::Array(mut all), Value::Array(more)) => {
            all.extend(more);
            Value::Array(all)
        }
        (Value::Object(mut all), Value::Object(more)) => {
            for (key, value) in more {
                let value = match all.remove(&key) {
                    Some(before) => joined(before, value),
                    None => value,
                };
                all.insert(key, value);
            }
            Value::Object(all)
        }
        (_, after) => after,
    }
}

/// Reads `--config`: a mapping in YAML or JSON, or `@FILE` with one. Without the flag it is empty.
///
/// # Errors
/// In words.
pub fn config(flag: Option<&str>) -> Result<Value, String> {
    let Some(flag) = flag else {
        return Ok(json!({}));
    };
    let wrong = |problem: String| format!("--config: {problem}");
    let document = match flag.strip_prefix('@') {
        Some(file) => {
            let file = Path::new(file);
            let bytes = Opener::of_command()
                .read(file, MAX_JSON_BYTES)
                .map_err(|error| wrong(error.to_string()))?;
            let text = String::from_utf8(bytes)
                .map_err(|_| wrong(format!("{} is not UTF-8", file.display())))?;
            mapping(&text)
        }
        None => mapping(flag),
    };
    document.map(Value::Object).map_err(wrong)
}

/// A mapping of YAML or JSON; none at all is an empty one.
///
/// # Errors
/// In words.
pub fn mapping(text: &str) -> Result<Map<String, Value>, String> {
    if text.len() > MAX_JSON_BYTES {
        return Err(format!("more than {MAX_JSON_BYTES} bytes"));
    }
    let read: Option<Map<String, Value>> =
        serde_yaml::from_str(text).map_err(|error| format!("it is no mapping: {error}"))?;
    Ok(read.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn all(flags: &[&str]) -> Result<Value, String> {
        let flags: Vec<_> = flags.iter().map(|flag| (*flag).to_owned()).collect();
        grants(&flags)
    }

    #[test]
    fn short_and_long_forms_add_up() {
        assert_eq!(
            all(&[
                "kmsg",
                "sysfs=/proc/stat, /sys/class/hwmon/**",
                "sysfs: [\"/proc/uptime\"]",
                "exec=/usr/bin/lsblk",
                "net=unix:/run/x.sock,loopback:9100",
                "net=tcp:10.0.0.1:2049,loopback:80",
                "history=true",
            ])
            .unwrap(),
            json!({
                "kmsg": true,
                "sysfs": ["/proc/stat", "/sys/class/hwmon/**", "/proc/uptime"],
                "exec": ["/usr/bin/lsblk"],
                "net": {"unix": ["/run/x.sock"], "loopback": [9100, 80], "tcp": ["10.0.0.1:2049"]},
                "history": true,
            })
        );
        assert_eq!(all(&["exec=bash"]).unwrap(), json!({"exec": "bash"}));
        assert_eq!(all(&[]).unwrap(), json!({}));
    }

    #[test]
    fn mistakes_are_reported() {
        for (flag, expected) in [
            ("sysf=/x", "unknown interface `sysf`"),
            ("sysfs=relative", "grants.sysfs"),
            ("kmsg=maybe", "grants.kmsg: expected true or false"),
            ("net=loopback:x", "\"x\" is no port"),
            ("net=nothing", "expected unix:"),
            ("net=udp:1", "unknown field `udp`"),
            ("sysfs: [", "it is no mapping"),
            ("", "unknown interface ``"),
        ] {
            let error = all(&[flag]).unwrap_err();
            assert!(
                error.contains(expected) && error.starts_with("--grant"),
                "{flag}: {error}"
            );
        }
    }

    #[test]
    fn configurations_are_mappings() {
        assert_eq!(config(None).unwrap(), json!({}));
        assert_eq!(config(Some("warn: 80")).unwrap(), json!({"warn": 80}));
        assert_eq!(config(Some(r#"{"warn":80}"#)).unwrap(), json!({"warn": 80}));
        assert_eq!(config(Some("")).unwrap(), json!({}));
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "a: [1]\n").unwrap();
        let named = format!("@{}", file.path().display());
        assert_eq!(config(Some(&named)).unwrap(), json!({"a": [1]}));
        for wrong in ["[1]", "5", "@/nonexistent/config"] {
            assert!(config(Some(wrong)).unwrap_err().starts_with("--config: "));
        }
    }

    proptest! {
        #[test]
        fn any_text_is_grants_or_an_error(flag in ".{0,80}") {
            let _ = all(&[&flag]);
            let _ = net(&flag);
            let _ = mapping(&flag);
        }
    }
}
