//! The output of `gpud explain xid 79`: the catalogues' entries for a code. The checkers judge a sample line of it, so
//! the GPU, process and time of that line are left out.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::{
    HostJudgement,
    error_code::{ErrorCode, Family},
    print,
};
use crate::{
    cli::terminal::printable,
    component::offline::Judgement,
    model::{Event, HealthState},
    summary::causes,
};

/// The separator between an error and the device in a message.
const DETECTED_ON: &str = " detected on ";
/// End of the reason of a state that the site's policy decided.
const SITE_POLICY: &str = " (site policy)";
/// Facts of the sample line itself, by their keys.
const OF_THE_LINE: [&str; 13] = [
    "address",
    "channel",
    "data",
    "detail",
    "device_uuid",
    "gpu",
    "link",
    "partition",
    "pid",
    "process",
    "row",
    "subpartition",
    "mig_instance",
];
/// Keys of an event's or a state's document that hold a time, a device or a line.
const OF_THE_SAMPLE: [&str; 5] = ["time", "last_time", "count", "subject", "evidence"];

impl Family {
    fn component(self) -> &'static str {
        match self {
            Self::Xid => "accelerator-nvidia-error-xid",
            Self::Sxid => "accelerator-nvidia-error-sxid",
        }
    }

    /// Returns where NVIDIA describes the codes.
    fn reference(self) -> &'static str {
        causes::reference(self.component())
    }

    fn causes(self, code: i64) -> Vec<&'static str> {
        causes::of(self.component(), code)
    }
}

/// The catalogues' entries for a code.
pub struct Explained<'a> {
    code: ErrorCode,
    event: &'a Event,
    judgement: &'a Judgement,
}

impl<'a> Explained<'a> {
    /// Returns what is known of a code; `None` if no catalogue has it.
    pub fn of(code: ErrorCode, hosts: &'a [HostJudgement]) -> Option<Self> {
        let mut judgements = hosts.iter().flat_map(|host| &host.judgements);
        let judgement = judgements.find(|one| one.component == code.family.component())?;
        let event = &judgement.events.first()?.event;
        fact(event, "unlisted").is_none().then_some(Self {
            code,
            event,
            judgement,
        })
    }

    /// For people.
    pub fn text(&self) -> String {
        let mut text = String::new();
        let mut line = |heading: &str, value: &str| {
            if !value.is_empty() {
                let _ = writeln!(text, "    {heading}: {}", printable(value));
            }
        };
        line("severity", self.event.event_type.as_str());
        let causes = self.code.family.causes(self.code.number);
        line("likely causes", &causes.join(", "));
        let by_site = match self.is_by_site() {
            true => SITE_POLICY,
            false => "",
        };
        line("to do", &(self.actions().join(", ") + by_site));
        let pairs: Vec<_> = self.facts().cloned().collect();
        print::facts(&mut text, &pairs);
        format!(
            "{}: {}\n{text}    reference: {}\n    component: {}\n",
            self.code,
            printable(self.meaning()),
            self.code.family.reference(),
            self.code.family.component(),
        )
    }

    /// Adds the code to a document, and takes out of it what only the sample line says.
    pub fn json(&self, document: &str) -> String {
        let mut document: Value = serde_json::from_str(document).unwrap_or_default();
        without_sample(&mut document);
        if let Some(fields) = document.as_object_mut() {
            fields.insert(
                "code".to_owned(),
                json!({
                    "family": self.code.family.name(),
                    "number": self.code.number,
                    "sub_code": self.code.sub_code,
                    "meaning": self.meaning(),
                    "severity": self.event.event_type.as_str(),
                    "likely_causes": self.code.family.causes(self.code.number),
                    "actions": self.actions(),
                    "reference": self.code.family.reference(),
                }),
            );
        }
        format!("{document}\n")
    }

    /// Returns the words of the catalogue, without the code, as in `XID 48 DBE (…) detected on …` and `SXID 1(x) detected …`.
    fn meaning(&self) -> &str {
        let message = before_device(&self.event.message);
        let number = self.code.number.to_string();
        let (_, words) = message.split_once(&number).unwrap_or(("", message));
        let words = without_sub_code(words).trim_start();
        let inner = words
            .strip_prefix('(')
            .and_then(|inner| inner.strip_suffix(')'));
        match inner.unwrap_or(words) {
            "" => "no description",
            words => words,
        }
    }

    /// Returns what to do: as the state has it, else as the catalogue that is used.
    fn actions(&self) -> Vec<String> {
        let of_state = |state: &HealthState| {
            let actions = state.suggested_actions.as_ref();
            actions.map(|actions| {
                let actions = actions.repair_actions.iter();
                actions
                    .map(|action| action.as_str().to_owned())
                    .collect::<Vec<_>>()
            })
        };
        if let Some(actions) = self.judgement.states.iter().find_map(of_state) {
            return actions;
        }
        let verdict = match fact(self.event, "xid_catalog") {
            Some("nvidia") => fact(self.event, "nvidia_verdict"),
            _ => fact(self.event, "gpud_verdict"),
        };
        let action = verdict.and_then(|verdict| verdict.split_once(", "));
        action
            .map(|(_, action)| action.to_owned())
            .into_iter()
            .collect()
    }

    /// Returns whether the site's policy decided the verdict.
    fn is_by_site(&self) -> bool {
        let mut states = self.judgement.states.iter();
        states.any(|state| state.reason.ends_with(SITE_POLICY))
    }

    fn facts(&self) -> impl Iterator<Item = &'a (String, String)> {
        let facts = self.event.extra_info.iter();
        facts.filter(|(key, _)| !OF_THE_LINE.contains(&key.as_str()))
    }
}

fn fact<'a>(event: &'a Event, key: &str) -> Option<&'a str> {
    let mut facts = event.extra_info.iter();
    facts
        .find(|(known, _)| known == key)
        .map(|(_, value)| value.as_str())
}

/// Without the sub-code and the error status of the sample line: `.4 (err status 0x00000000) …`.
fn without_sub_code(words: &str) -> &str {
    let Some(rest) = words.strip_prefix('.') else {
        return words;
    };
    let rest = rest.trim_start_matches(|digit: char| digit.is_ascii_digit());
    match rest.trim_start().strip_prefix("(err status ") {
        Some(rest) => rest.split_once(')').map_or("", |(_, rest)| rest),
        None => rest,
    }
}

fn before_device(message: &str) -> &str {
    message
        .split_once(DETECTED_ON)
        .map_or(message, |(error, _)| error)
}

/// Removes what is of the sample line from a document and all that is in it.
fn without_sample(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|key, _| {
                !OF_THE_SAMPLE.contains(&key.as_str()) && !OF_THE_LINE.contains(&key.as_str())
            });
            for (key, value) in fields.iter_mut() {
                let is_text = matches!(key.as_str(), "message" | "reason");
                match value {
                    Value::String(text) if is_text => *text = before_device(text).to_owned(),
                    other => without_sample(other),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(without_sample),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{model::EventType, store::StoredEvent};

    fn judged(message: &str, pairs: &[(&str, &str)]) -> Vec<HostJudgement> {
        let pairs = pairs.iter();
        let event = Event {
            name: "error_xid".to_owned(),
            event_type: EventType::Fatal,
            time: 7,
            message: message.to_owned(),
            extra_info: pairs
                .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
                .collect(),
            ..Event::default()
        };
        let seen = StoredEvent {
            event,
            count: 1,
            last_time: 7,
        };
        vec![HostJudgement {
            host: None,
            last_boot: 0,
            judgements: vec![Judgement {
                component: "accelerator-nvidia-error-xid".to_owned(),
                events: vec![seen],
                ..Judgement::default()
            }],
        }]
    }

    fn xid(number: i64, sub_code: Option<u8>) -> ErrorCode {
        ErrorCode {
            family: Family::Xid,
            number,
            sub_code,
        }
    }

    const FACTS: [(&str, &str); 6] = [
        ("gpu", "GPU 0000:04:00.0"),
        ("pid", "2477"),
        ("xid_catalog", "gpud"),
        ("gpud_verdict", "Fatal, REBOOT_SYSTEM"),
        ("nvidia_verdict", "Fatal, REBOOT_SYSTEM"),
        ("vendor_means", "the GPU is gone"),
    ];

    #[test]
    fn a_code_has_a_meaning_and_neither_a_gpu_nor_a_time() {
        let hosts = judged(
            "XID 79 OFF GPU has fallen off the bus detected on GPU PCI:0000:04:00",
            &FACTS,
        );
        let explained = Explained::of(xid(79, None), &hosts).unwrap();
        assert_eq!(
            explained.text(),
            "Xid 79: OFF GPU has fallen off the bus\n\
             \x20   severity: Fatal\n\
             \x20   likely causes: hardware, driver, corrupted system memory, the bus, heat\n\
             \x20   to do: REBOOT_SYSTEM\n\
             \x20   NVIDIA's present meaning: the GPU is gone\n\
             \x20   GPUd's view: Fatal, REBOOT_SYSTEM\n\
             \x20   NVIDIA's view: no action named (Fatal, REBOOT_SYSTEM)\n\
             \x20   reference: https://docs.nvidia.com/deploy/xid-errors/\n\
             \x20   component: accelerator-nvidia-error-xid\n"
        );
        let document = r#"{"components":[{"events":[{"time":"now","message":"XID 79 x detected on PCI:0000:04:00","extra_info":{"gpu":"x","gpud_verdict":"y"}}]}]}"#;
        let shown: Value = serde_json::from_str(&explained.json(document)).unwrap();
        let event = &shown["components"][0]["events"][0];
        assert_eq!(
            *event,
            json!({"message": "XID 79 x", "extra_info": {"gpud_verdict": "y"}})
        );
        assert_eq!(shown["code"]["severity"], "Fatal");
        assert_eq!(shown["code"]["actions"], json!(["REBOOT_SYSTEM"]));
    }

    #[test]
    fn a_sub_code_stands_at_the_number_only() {
        let message =
            "XID 149.4 (err status 0x00000000) NVLINK_NETIR_ERROR NETIR link event detected on x";
        for (sub_code, number) in [(Some(4), "149.4"), (None, "149")] {
            let hosts = judged(message, &FACTS);
            let explained = Explained::of(xid(149, sub_code), &hosts).unwrap();
            let text = explained.text();
            let first = format!("Xid {number}: NVLINK_NETIR_ERROR NETIR link event\n");
            assert!(text.starts_with(&first), "{text}");
        }
    }

    #[test]
    fn a_code_that_no_catalogue_has_is_not_explained() {
        let hosts = judged("XID 9999 detected on x", &[("unlisted", "true")]);
        let code = xid(9999, None);
        assert!(Explained::of(code, &hosts).is_none());
        let of_switch = ErrorCode {
            family: Family::Sxid,
            ..code
        };
        assert!(Explained::of(of_switch, &hosts).is_none());
        assert!(Explained::of(code, &[]).is_none());
    }
}
