//! `pack.yaml`: what a vendor says of a pack.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::{PackRefusal, check_path};
use crate::{
    capability::Grants,
    spec::{self, Plugin},
};

/// Its name inside a pack.
pub(crate) const MANIFEST_FILE: &str = "pack.yaml";
/// Largest one, bytes.
const MAX_BYTES: usize = 1 << 20;
/// Longest name and version.
const MAX_NAME: usize = 64;
/// Longest text for people.
const MAX_TEXT: usize = 4096;
/// Most plugins, and most items of any list.
const MAX_ITEMS: usize = 100;

/// What a pack is.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// Lower-case letters, digits and dashes; one pack of a name is installed at a time.
    pub name: String,
    /// Its author, for people.
    pub vendor: String,
    /// `1.2.3`, or with a suffix as in `1.2.3-rc.1`.
    pub version: String,
    /// One line.
    #[serde(default)]
    pub description: String,
    /// What the machine has to have.
    #[serde(default)]
    pub needs: Needs,
    /// A file of the pack for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub docs: Option<String>,
    /// Its plugins.
    pub plugins: Vec<PackPlugin>,
}

/// What the machine has to have.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Needs {
    /// The least version of gpud, such as `0.1.0`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gpud: Option<String>,
    /// Programs that its plugins run; where one is missing, that is said, and the pack is installed all the same.
    pub programs: Vec<String>,
}

/// One plugin: an entry of a spec.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct PackPlugin {
    /// `plugin_name` of the entry.
    pub name: String,
    /// The component, a file of the pack.
    pub file: String,
    /// What it asks for, as `grants` of an entry.
    #[serde(default)]
    pub grants: Map<String, Value>,
    /// Its defaults; an operator's own keys take the place of these.
    #[serde(default)]
    pub config: Map<String, Value>,
    /// `limits` of the entry.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub limits: Map<String, Value>,
    /// `tags` of the entry.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// `interval` of the entry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval: Option<String>,
    /// `timeout` of the entry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<String>,
    /// `run_mode` of the entry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_mode: Option<String>,
}

impl Manifest {
    /// Reads and checks it.
    ///
    /// # Errors
    /// [`PackRefusal`], naming the key.
    pub fn parse(bytes: &[u8]) -> Result<Self, PackRefusal> {
        let refuse = |why: String| PackRefusal(format!("{MANIFEST_FILE}: {why}"));
        if bytes.len() > MAX_BYTES {
            return Err(refuse(format!(
                "{} bytes, more than {MAX_BYTES}",
                bytes.len()
            )));
        }
        let text = std::str::from_utf8(bytes).map_err(|_| refuse("it is not UTF-8".to_owned()))?;
        let manifest: Self =
            serde_yaml::from_str(text).map_err(|error| refuse(error.to_string()))?;
        manifest.check().map_err(refuse)?;
        Ok(manifest)
    }

    fn check(&self) -> Result<(), String> {
        check_name(&self.name).map_err(|why| format!("name: {why}"))?;
        version(&self.version).ok_or_else(|| not_a_version("version", &self.version))?;
        if let Some(least) = &self.needs.gpud {
            version(least).ok_or_else(|| not_a_version("needs.gpud", least))?;
        }
        if self.vendor.trim().is_empty() {
            return Err("vendor: it says who made the pack, and cannot be empty".to_owned());
        }
        for (key, text) in [("vendor", &self.vendor), ("description", &self.description)] {
            if text.len() > MAX_TEXT {
                return Err(format!("{key}: {} bytes, more than {MAX_TEXT}", text.len()));
            }
        }
        if self.plugins.is_empty() {
            return Err("plugins: there is none".to_owned());
        }
        let lists = [
            ("plugins", self.plugins.len()),
            ("needs.programs", self.needs.programs.len()),
        ];
        for (key, count) in lists {
            if count > MAX_ITEMS {
                return Err(format!("{key}: {count}, more than {MAX_ITEMS}"));
            }
        }
        if let Some(docs) = &self.docs {
            check_path(docs).map_err(|why| format!("docs: {why}"))?;
        }
        for plugin in &self.plugins {
            check_path(&plugin.file)
                .map_err(|why| format!("plugin {:?}: file: {why}", plugin.name))?;
            let grants = Value::Object(plugin.grants.clone());
            Grants::parse(&grants).map_err(|why| format!("plugin {:?}: {why}", plugin.name))?;
        }
        self.entries("", &BTreeMap::new())
            .map(drop)
            .map_err(|PackRefusal(why)| why)
    }

    /// Whether this gpud is new enough.
    ///
    /// # Errors
    /// [`PackRefusal`].
    pub fn check_gpud(&self, ours: &str) -> Result<(), PackRefusal> {
        let Some(least) = &self.needs.gpud else {
            return Ok(());
        };
        match (version(least), version(ours)) {
            (Some(least), Some(ours)) if least <= ours => Ok(()),
            _ => Err(PackRefusal(format!(
                "pack {} {} needs gpud {least} or later, and this is {ours}",
                self.name, self.version
            ))),
        }
    }

    /// Whether this is an earlier version than the other one.
    pub(crate) fn is_older_than(&self, other: &Self) -> bool {
        version(&self.version) < version(&other.version)
    }

    /// The document of a spec file that loads its plugins, their files below `folder`, with an operator's own keys of
    /// configurations, by plugin.
    pub(crate) fn spec(&self, folder: &str, own: &BTreeMap<String, Map<String, Value>>) -> Value {
        let entry = |plugin: &PackPlugin| {
            let mut config = plugin.config.clone();
            config.extend(own.get(&plugin.name).cloned().unwrap_or_default());
            let path = match folder {
                "" => plugin.file.clone(),
                folder => format!("{folder}/{}", plugin.file),
            };
            let mut entry = Map::from_iter([
                ("plugin_name".to_owned(), json!(plugin.name)),
                ("plugin_type".to_owned(), json!("wasm")),
                ("path".to_owned(), json!(path)),
                ("grants".to_owned(), Value::Object(plugin.grants.clone())),
                ("config".to_owned(), Value::Object(config)),
                ("tags".to_owned(), json!(plugin.tags)),
            ]);
            if !plugin.limits.is_empty() {
                entry.insert("limits".to_owned(), Value::Object(plugin.limits.clone()));
            }
            for (key, text) in [
                ("interval", &plugin.interval),
                ("timeout", &plugin.timeout),
                ("run_mode", &plugin.run_mode),
            ] {
                if let Some(text) = text {
                    entry.insert(key.to_owned(), json!(text));
                }
            }
            Value::Object(entry)
        };
        Value::Array(self.plugins.iter().map(entry).collect())
    }

    /// The same, read as the daemon will read it.
    ///
    /// # Errors
    /// [`PackRefusal`]: what an operator's spec could not say either.
    pub(crate) fn entries(
        &self,
        folder: &str,
        own: &BTreeMap<String, Map<String, Value>>,
    ) -> Result<Vec<Plugin>, PackRefusal> {
        if let Some(unknown) = own
            .keys()
            .find(|name| !self.plugins.iter().any(|p| p.name == **name))
        {
            return Err(PackRefusal(format!(
                "there is no plugin {unknown:?} in pack {}",
                self.name
            )));
        }
        let text = self.spec(folder, own).to_string();
        let no_lists = |_: &std::path::Path| Err("a pack has no list files".to_owned());
        let read = spec::parse(text.as_bytes(), "plugins", &no_lists);
        let wrong = read
            .problems
            .iter()
            .chain(&read.duplicates())
            .next()
            .map(|problem| problem.message.clone());
        match wrong {
            Some(wrong) => Err(PackRefusal(format!("plugins: {wrong}"))),
            None => Ok(read.plugins),
        }
    }
}

/// What a new version's plugins ask for beyond what the old one's were granted, one line each.
pub fn beyond(old: &Manifest, new: &Manifest) -> Vec<String> {
    let mut more = Vec::new();
    for plugin in &new.plugins {
        let before = old.plugins.iter().find(|before| before.name == plugin.name);
        let nothing = Map::new();
        let granted = before.map_or(&nothing, |before| &before.grants);
        for (word, asked) in &plugin.grants {
            let had = granted.get(word).unwrap_or(&Value::Null);
            for item in extra(had, asked) {
                more.push(format!("{}: {word}: {item}", plugin.name));
            }
        }
    }
    more
}

/// What of a grant is not in another one.
fn extra(had: &Value, asked: &Value) -> Vec<String> {
    match (had, asked) {
        (had, asked) if had == asked => Vec::new(),
        // Bash is every program.
        (Value::String(all), Value::Array(_)) if all == "bash" => Vec::new(),
        (had, Value::Array(items)) => {
            let none = Vec::new();
            let had = had.as_array().unwrap_or(&none);
            items
                .iter()
                .filter(|item| !had.contains(item))
                .map(plain)
                .collect()
        }
        (had, Value::Object(kinds)) => kinds
            .iter()
            .flat_map(|(kind, items)| {
                let items = extra(had.get(kind).unwrap_or(&Value::Null), items).into_iter();
                items.map(move |item| format!("{kind}: {item}"))
            })
            .collect(),
        (_, Value::Bool(false) | Value::Null) => Vec::new(),
        (_, asked) => vec![plain(asked)],
    }
}

fn plain(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned)
}

/// Whether a text is the name of a pack.
///
/// # Errors
/// What a name is.
pub(crate) fn check_name(name: &str) -> Result<(), String> {
    let fits = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    let begins = name
        .bytes()
        .next()
        .is_some_and(|byte| byte.is_ascii_lowercase());
    match begins && name.len() <= MAX_NAME && name.bytes().all(fits) {
        true => Ok(()),
        false => Err(format!(
            "{name:?} is not up to {MAX_NAME} lower-case letters, digits and dashes, a letter first"
        )),
    }
}

fn not_a_version(key: &str, text: &str) -> String {
    format!("{key}: {text:?} is no version such as 1.2.3")
}

/// Three numbers, and a suffix that makes it earlier than without.
fn version(text: &str) -> Option<(u64, u64, u64, bool, &str)> {
    let (numbers, suffix) = match text.split_once('-') {
        Some((numbers, suffix)) => (numbers, suffix),
        None => (text, ""),
    };
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b".-".contains(&byte);
    let ended = text.ends_with('-') || !suffix.bytes().all(plain) || text.len() > MAX_NAME;
    let mut parts = numbers.split('.').map(|part| {
        let digits = !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        digits.then(|| part.parse::<u64>().ok()).flatten()
    });
    let found = (
        parts.next()??,
        parts.next()??,
        parts.next()??,
        suffix.is_empty(),
        suffix,
    );
    (parts.next().is_none() && !ended).then_some(found)
}

#[cfg(test)]
mod tests;
