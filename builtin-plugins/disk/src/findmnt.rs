//! `findmnt --target ‹path› --json --df`: which filesystem holds a path (util-linux).

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::humanize;

/// Arguments of the call.
pub fn arguments(target: &str) -> Vec<String> {
    ["--target", target, "--json", "--df"]
        .map(str::to_owned)
        .to_vec()
}

/// A target with the filesystems that hold it, as the `data` document shows it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    /// The requested path.
    pub target: String,
    /// What holds it.
    pub filesystems: Vec<Filesystem>,
}

/// One filesystem.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Filesystem {
    /// Where it is mounted.
    pub mounted_point: String,
    /// Device, and the directory in it for a bind mount.
    pub sources: Vec<String>,
    /// Type.
    pub fstype: String,
    /// As findmnt prints it.
    pub size_humanized: String,
    /// Bytes, as exact as the printed size.
    pub size_bytes: u64,
    /// As findmnt prints it.
    pub used_humanized: String,
    /// Bytes, as exact as the printed size.
    pub used_bytes: u64,
    /// As findmnt prints it.
    pub available_humanized: String,
    /// Bytes, as exact as the printed size.
    pub available_bytes: u64,
    /// As findmnt prints it.
    pub used_percent_humanized: String,
    /// 0 to 100.
    pub used_percent: u32,
}

#[derive(Deserialize)]
struct FindmntDocument {
    filesystems: Vec<Row>,
}

#[derive(Deserialize)]
struct Row {
    #[serde(default)]
    target: String,
    #[serde(default)]
    source: String,
    #[serde(default)]
    fstype: String,
    size: Value,
    used: Value,
    avail: Value,
    #[serde(rename = "use%")]
    used_percent: Value,
}

/// Reads the answer.
///
/// # Errors
/// In words: no JSON, or a size that is not there.
pub fn parse(target: &str, text: &str) -> Result<Answer, String> {
    let document: FindmntDocument =
        serde_json::from_str(text).map_err(|error| error.to_string())?;
    let filesystems = document
        .filesystems
        .into_iter()
        .map(Filesystem::from_row)
        .collect::<Result<_, _>>()?;
    Ok(Answer {
        target: target.to_owned(),
        filesystems,
    })
}

impl Filesystem {
    fn from_row(row: Row) -> Result<Self, String> {
        // Its units are powers of 1024.
        let size = |value: &Value, name: &str| {
            let text = plain(value);
            let bytes =
                humanize::parse(&text, 1024.0).ok_or_else(|| format!("{name} is {value}"))?;
            Ok::<_, String>((text, bytes))
        };
        let (size_humanized, size_bytes) = size(&row.size, "size")?;
        let (used_humanized, used_bytes) = size(&row.used, "used")?;
        let (available_humanized, available_bytes) = size(&row.avail, "avail")?;
        let used_percent_humanized = plain(&row.used_percent);
        let used_percent = used_percent_humanized
            .trim_end_matches('%')
            .trim()
            .parse()
            .map_err(|_| format!("use% is {}", row.used_percent))?;
        Ok(Self {
            mounted_point: row.target,
            sources: sources(&row.source),
            fstype: row.fstype,
            size_humanized,
            size_bytes,
            used_humanized,
            used_bytes,
            available_humanized,
            available_bytes,
            used_percent_humanized,
            used_percent,
        })
    }
}

fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.trim().to_owned(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

/// `/dev/x[/sub]` is a device and a directory in it; several stand with commas.
fn sources(source: &str) -> Vec<String> {
    let parts = source
        .split(['[', ','])
        .map(|part| part.trim_end_matches(']').trim());
    parts
        .filter(|part| !part.is_empty())
        .map(str::to_owned)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROW: &str = r#"{"filesystems":[{"source":"/dev/vda[/sub]","fstype":"ext4","size":"1.5T","used":"14.6G","avail":"0","use%":"6%","target":"/"}]}"#;

    #[test]
    fn an_answer_is_read() {
        let answer = parse("/var/lib/kubelet", ROW).unwrap();
        let expected = r#"{"target":"/var/lib/kubelet","filesystems":[{"mounted_point":"/","sources":["/dev/vda","/sub"],"fstype":"ext4","size_humanized":"1.5T","size_bytes":1649267441664,"used_humanized":"14.6G","used_bytes":15676630630,"available_humanized":"0","available_bytes":0,"used_percent_humanized":"6%","used_percent":6}]}"#;
        assert_eq!(serde_json::to_string(&answer).unwrap(), expected);
    }

    #[test]
    fn what_is_missing_is_named() {
        let cases = [
            (ROW.replace(r#""14.6G""#, "null"), "used is null"),
            (ROW.replace(r#""6%""#, r#""-""#), "use% is \"-\""),
            (ROW.replace(r#""size":"1.5T","#, ""), "missing field `size`"),
            ("findmnt: bad\n{}".to_owned(), "expected"),
        ];
        for (text, expected) in cases {
            let error = parse("/", &text).unwrap_err();
            assert!(error.contains(expected), "{error}");
        }
    }
}
