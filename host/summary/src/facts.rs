//! What an Xid or SXid line says of its device and process, and what GPUd's and NVIDIA's catalogues make of it.

use serde::{Deserialize, Serialize};

/// A fact about an event.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Fact {
    /// What it is, for a person.
    pub name: String,
    /// Its value.
    pub value: String,
}

/// Keys of an event, with the name that a person reads.
const NAMES: [(&str, &str); 9] = [
    ("gpu", "GPU"),
    ("process", "process"),
    ("pid", "pid"),
    ("channel", "channel"),
    ("link", "link"),
    ("row", "row"),
    ("address", "address"),
    ("recovery_action_label", "recovery action"),
    ("note", "note"),
];

/// Returns the value of a key.
pub(super) fn value<'a>(extra_info: &'a [(String, String)], key: &str) -> Option<&'a str> {
    let mut pairs = extra_info.iter();
    let found = pairs.find(|(known, _)| known == key);
    found.map(|(_, value)| value.as_str())
}

/// Returns the facts of an error with a number, in the order in which they are read; none of another event.
pub fn error_facts(extra_info: &[(String, String)]) -> Vec<Fact> {
    let of = |key: &str| value(extra_info, key);
    let (Some(gpud), Some(nvidia)) = (of("gpud_verdict"), of("nvidia_verdict")) else {
        return Vec::new();
    };
    let mut facts = Vec::new();
    let mut add = |name: &str, value: String| {
        facts.push(Fact {
            name: name.to_owned(),
            value,
        });
    };
    for (key, name) in NAMES {
        if let Some(value) = of(key) {
            add(name, value.to_owned());
        }
    }
    if let Some(code) = of("caused_by") {
        add("caused by", format!("Xid {code}; look there"));
    }
    if let Some(code) = of("part_of") {
        add("part of", format!("Xid {code}"));
    }
    if let Some(asked) = of("recovery_action_of_154") {
        add("Xid 154 of this GPU asks for", asked.to_owned());
    }
    if let Some(count) = of("gpus_of_same_process") {
        let name = format!("the same process met it on {count} GPUs");
        add(
            &name,
            "the application is at fault, not the GPUs".to_owned(),
        );
    }
    if let Some(means) = of("vendor_means") {
        add("NVIDIA's present meaning", means.to_owned());
    }
    match of("gpud_own_verdict") {
        Some(own) => {
            add("GPUd's view", own.to_owned());
            add("default here", gpud.to_owned());
        }
        None => add("GPUd's view", gpud.to_owned()),
    }
    let own = match (of("vendor_action"), of("vendor_action_words")) {
        (Some(word), Some(words)) => format!("{word}, {words} ({nvidia})"),
        _ => format!("no action named ({nvidia})"),
    };
    add("NVIDIA's view", own);
    if let Some(next) = of("vendor_investigates") {
        add("NVIDIA's next step", next.to_owned());
    }
    facts
}

/// Returns the catalogue that is used, `gpud` or `nvidia`, where the two differ about an error.
pub fn differing_catalog(extra_info: &[(String, String)]) -> Option<&str> {
    value(extra_info, "verdicts_differ")?;
    Some(value(extra_info, "xid_catalog").unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_are_named_for_a_person() {
        let pairs = |list: &[(&str, &str)]| -> Vec<(String, String)> {
            let list = list.iter();
            list.map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
                .collect()
        };
        let both = [
            ("gpud_verdict", "Fatal, REBOOT_SYSTEM"),
            ("nvidia_verdict", "Fatal, REBOOT_SYSTEM"),
        ];
        let mut all = vec![
            ("verdicts_differ", "true"),
            ("xid_catalog", "nvidia"),
            ("caused_by", "149"),
            ("pid", "7"),
            ("gpus_of_same_process", "4"),
        ];
        all.extend(both);
        let all = pairs(&all);
        let named: Vec<String> = error_facts(&all)
            .into_iter()
            .map(|fact| format!("{}: {}", fact.name, fact.value))
            .collect();
        assert_eq!(
            named,
            [
                "pid: 7",
                "caused by: Xid 149; look there",
                "the same process met it on 4 GPUs: the application is at fault, not the GPUs",
                "GPUd's view: Fatal, REBOOT_SYSTEM",
                "NVIDIA's view: no action named (Fatal, REBOOT_SYSTEM)",
            ]
        );
        assert_eq!(differing_catalog(&all), Some("nvidia"));
        assert_eq!(differing_catalog(&pairs(&both)), None);
        // Events of other components have no two views.
        assert!(error_facts(&pairs(&[("gpu", "x"), ("pid", "7")])).is_empty());
    }
}
