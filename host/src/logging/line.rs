//! One event as a line of text.

use std::{
    borrow::Cow,
    fmt::{Debug, Write as _},
};

use jiff::Timestamp;
use serde_json::Value;
use tracing::{
    Event,
    field::{Field, Visit},
};

use super::{PLUGIN_TARGET, word};
use crate::text::{printable, printable_json};

/// Keys that every line has; a field of that name gets a `field_` in front.
const OWN_KEYS: [&str; 5] = ["level", "ts", "logger", "caller", "msg"];

/// As a JSON object on one line, newline included. Characters that would drive a terminal, or change the order of others, are
/// escaped: messages and fields quote names that plugins, files and processes chose.
pub fn json(event: &Event<'_>, now: Timestamp) -> String {
    let content = Content::of(event);
    let metadata = event.metadata();
    let mut line = String::with_capacity(256);
    let mut pair = |key: &str, value: &Value| {
        line.push(if line.is_empty() { '{' } else { ',' });
        let _ = write!(line, "{}:{value}", Value::from(key));
    };
    pair("level", &word(*metadata.level()).into());
    pair(
        "ts",
        &now.strftime("%Y-%m-%dT%H:%M:%S.%3fZ").to_string().into(),
    );
    if metadata.target() == PLUGIN_TARGET {
        // Where gpud passes a plugin's line on is of no interest.
        pair("logger", &PLUGIN_TARGET.into());
    } else if let Some((file, number)) = metadata.file().zip(metadata.line()) {
        pair("caller", &format!("{}:{number}", short(file)).into());
    }
    pair("msg", &content.message.into());
    for (name, value) in &content.fields {
        if OWN_KEYS.contains(name) {
            pair(&format!("field_{name}"), value);
        } else {
            pair(name, value);
        }
    }
    line.push_str("}\n");
    if let Cow::Owned(escaped) = printable_json(&line) {
        return escaped;
    }
    line
}

/// As `level: message key=value …`, newline included.
pub fn plain(event: &Event<'_>) -> String {
    let content = Content::of(event);
    let mut line = format!("{}: {}", word(*event.metadata().level()), content.message);
    for (name, value) in &content.fields {
        let _ = match value {
            Value::String(text) => write!(line, " {name}={text}"),
            other => write!(line, " {name}={other}"),
        };
    }
    printable(&line) + "\n"
}

/// The text without line breaks, which JSON would spell as `\\n` in the middle of a sentence.
fn one_line(text: &str) -> String {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.collect::<Vec<_>>().join(" ")
}

/// The file with its folder.
fn short(path: &str) -> &str {
    let mut slashes = path.rmatch_indices('/').map(|(at, _)| at + 1);
    slashes.nth(1).and_then(|at| path.get(at..)).unwrap_or(path)
}

/// An event's message and fields.
#[derive(Default)]
struct Content {
    message: String,
    fields: Vec<(&'static str, Value)>,
}

impl Content {
    fn of(event: &Event<'_>) -> Self {
        let mut content = Self::default();
        event.record(&mut content);
        content
    }

    fn add(&mut self, field: &Field, value: impl Into<Value>) {
        self.fields.push((field.name(), value.into()));
    }
}

impl Visit for Content {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        let text = format!("{value:?}");
        self.record_str(field, &text);
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        let value = one_line(value);
        if field.name() == "message" {
            self.message = value;
        } else {
            self.add(field, value);
        }
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.add(field, value);
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.add(field, value);
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.add(field, value);
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        self.add(field, value);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use tracing_subscriber::{
        Layer,
        layer::{Context, SubscriberExt as _},
    };

    use super::*;

    struct Keep(Arc<Mutex<Vec<[String; 2]>>>);

    impl<S: tracing::Subscriber> Layer<S> for Keep {
        fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
            let now = Timestamp::from_millisecond(1_770_091_506_078).unwrap();
            self.0
                .lock()
                .unwrap()
                .push([json(event, now), plain(event)]);
        }
    }

    fn lines(log: impl FnOnce()) -> Vec<[String; 2]> {
        let kept = Arc::default();
        let subscriber = tracing_subscriber::registry().with(Keep(Arc::clone(&kept)));
        tracing::subscriber::with_default(subscriber, log);
        std::mem::take(&mut kept.lock().unwrap())
    }

    #[test]
    fn an_event_in_both_forms() {
        let error = std::io::Error::other("no\nspace");
        let at = line!() + 2;
        let found = lines(|| {
            tracing::warn!(count = 3, yes = true, share = 0.5, level = "x", %error, "it \"failed\"");
        });
        let json = &found[0][0];
        assert_eq!(
            *json,
            format!(
                "{{\"level\":\"warn\",\"ts\":\"2026-02-03T04:05:06.078Z\",\"caller\":\"logging/line.rs:{at}\",\
                 \"msg\":\"it \\\"failed\\\"\",\"count\":3,\"yes\":true,\"share\":0.5,\"field_level\":\"x\",\
                 \"error\":\"no space\"}}\n"
            )
        );
        assert_eq!(
            found[0][1],
            "warn: it \"failed\" count=3 yes=true share=0.5 level=x error=no space\n"
        );
    }

    #[test]
    fn a_name_of_somebody_else_drives_no_terminal() {
        const NAME: &str = "\u{202e}gnp\u{9b}31m";
        let found = lines(|| tracing::info!(component = NAME, "a\u{7f}"));
        let [json, plain] = &found[0];
        assert!(json.is_ascii() && plain.is_ascii(), "{json} {plain}");
        assert!(!json.contains('\u{7f}'), "{json}");
        let read: Value = serde_json::from_str(json).unwrap();
        assert_eq!(
            (&read["component"], &read["msg"]),
            (&NAME.into(), &"a\u{7f}".into())
        );
    }

    #[test]
    fn a_plugins_line_names_the_plugin_and_no_place_of_ours() {
        let found = lines(|| tracing::info!(target: "plugin", plugin = "acme", "hi"));
        assert_eq!(
            found[0][0],
            "{\"level\":\"info\",\"ts\":\"2026-02-03T04:05:06.078Z\",\"logger\":\"plugin\",\"msg\":\"hi\",\"plugin\":\"acme\"}\n"
        );
    }

    #[test]
    fn short_paths() {
        for (path, expected) in [
            ("host/src/node/kmsg/reader.rs", "kmsg/reader.rs"),
            ("/a.rs", "/a.rs"),
            ("src/main.rs", "src/main.rs"),
            ("main.rs", "main.rs"),
        ] {
            assert_eq!(short(path), expected);
        }
    }
}
