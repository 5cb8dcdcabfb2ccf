//! A JSON object a line, as log collectors write them, with the message in one of its fields.

use serde_json::Value;

use super::{
    Context,
    escape::{self, Backslash},
    format::Format,
    header,
    hosts::NO_HOST,
    kernel_text,
    line::{self, Line, Message},
    prefixed,
    stamp::Stamp,
};

/// The keys in which collectors store the text, most specific first.
const TEXTS: &[&str] = &[
    "MESSAGE",
    "message",
    "msg",
    "log",
    "textPayload",
    "_raw",
    "line",
    "body",
    "text",
    "event",
];
/// Objects that may hold the fields.
const WRAPPERS: &[&str] = &[
    "jsonPayload",
    "fields",
    "result",
    "_source",
    "data",
    "event",
];
const HOSTS: &[&str] = &[
    "_HOSTNAME",
    "hostname",
    "host",
    "node",
    "Computer",
    "fromhost",
];
const PROGRAMS: &[&str] = &[
    "SYSLOG_IDENTIFIER",
    "ident",
    "appname",
    "app-name",
    "program",
    "syslog_program",
    "programname",
    // Of Filebeat, which reads the journal.
    "syslog.identifier",
    "log.syslog.appname",
];
const TIMES: &[&str] = &[
    "@timestamp",
    "timestamp",
    "time",
    "ts",
    "_time",
    "__REALTIME_TIMESTAMP",
    "date",
];

/// Bytes before the object: the name of a file or a host.
const MAX_PREFIX: usize = 300;

/// Reads a line that is a JSON object, behind a prefix or not; [`Line::Unknown`] if there is no message in it.
pub(super) fn read(line: &[u8], context: &mut Context) -> Line {
    if line.last() != Some(&b'}') {
        return Line::Unknown;
    }
    let start = line.get(..MAX_PREFIX).unwrap_or(line);
    let at = start.iter().position(|&byte| byte == b'{');
    let object = at
        .and_then(|at| str::from_utf8(line.get(at..)?).ok())
        .and_then(|object| serde_json::from_str::<Value>(object).ok());
    match object.as_ref() {
        Some(object) if object.is_object() => of_object(object, context),
        _ => Line::Unknown,
    }
}

fn of_object(object: &Value, context: &mut Context) -> Line {
    let Some(text) = field(object, TEXTS) else {
        return Line::Unknown;
    };
    let text = text.trim_end_matches(['\n', '\r']).as_bytes();
    let program = field(object, PROGRAMS);
    if program
        .as_deref()
        .is_some_and(|program| program != "kernel")
    {
        return Line::Other(Format::JsonLines);
    }
    let of_kernel = program.is_some();
    let line = match line::read(text, context) {
        Line::Unknown if kernel_text::begins_message(text) => plain(text),
        Line::Unknown => match prefixed::read_marked(text, context) {
            Line::Unknown if of_kernel => plain(text),
            line => line,
        },
        line => line,
    };
    let Line::Message(mut message) = line else {
        return line;
    };
    message.format = Format::JsonLines;
    message.indent = 0;
    if message.host == NO_HOST
        && let Some(host) = field(object, HOSTS)
    {
        message.host = context.hosts.number(host.as_bytes());
    }
    if message.stamp.wall().is_none()
        && let Some(time) = field(object, TIMES)
        && let Some(stamp) = header::read(time.as_bytes(), &mut context.calendar).stamp
    {
        message.stamp = stamp;
    }
    Line::Message(message)
}

fn plain(text: &[u8]) -> Line {
    let text = escape::text(text, Backslash::Character);
    Line::Message(Message::new(Format::JsonLines, Stamp::None, text))
}

/// The first of these fields that is there, in the object or in one that it wraps.
fn field(object: &Value, names: &[&str]) -> Option<String> {
    let wrapped = WRAPPERS.iter().filter_map(|name| object.get(name));
    [object].into_iter().chain(wrapped).find_map(|object| {
        let mut values = names.iter().filter_map(|name| value(object, name));
        values.find_map(text_of)
    })
}

/// The value of a key, or of keys within one another with points between them.
fn value<'v>(object: &'v Value, path: &str) -> Option<&'v Value> {
    object.get(path).or_else(|| {
        let (first, rest) = path.split_once('.')?;
        value(object.get(first)?, rest)
    })
}

fn text_of(value: &Value) -> Option<String> {
    match value {
        Value::String(text) if !text.is_empty() => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        // `"host": {"name": "n1"}`.
        Value::Object(inner) => ["name", "hostname"]
            .iter()
            .find_map(|key| inner.get(*key)?.as_str())
            .map(str::to_owned),
        _ => None,
    }
}
