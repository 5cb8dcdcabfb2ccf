//! `log_path`: the file to which each check's output is appended.

use std::path::PathBuf;

use jiff::Timestamp;

use crate::model::UnixMillis;

/// The file of a plugin: `${TRIGGER}` stands for its run mode and `${PLUGIN}` for its name, both as the spec has them.
/// `None`, nothing is logged: no path, or a variable in it whose value is empty.
pub fn target(log_path: &str, plugin_name: &str, run_mode: &str) -> Option<PathBuf> {
    let mut path = log_path.to_owned();
    for (variable, value) in [("${TRIGGER}", run_mode), ("${PLUGIN}", plugin_name)] {
        if path.contains(variable) {
            if value.is_empty() {
                return None;
            }
            path = path.replace(variable, value);
        }
    }
    (!path.is_empty()).then(|| path.into())
}

/// One entry: a line with the time and the plugin, then `output=` and the output as it is, then a newline.
pub fn entry(now: UnixMillis, plugin_name: &str, run_mode: &str, output: &[u8]) -> Vec<u8> {
    // After the year 9999 the calendar ends.
    let time = i64::try_from(now / 1000)
        .ok()
        .and_then(|seconds| Timestamp::from_second(seconds).ok())
        .unwrap_or(Timestamp::MAX);
    let head = format!("[{time}] plugin={plugin_name} trigger={run_mode}\noutput=");
    [head.as_bytes(), output, b"\n"].concat()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn variables_are_replaced_and_an_empty_one_means_no_log() {
        for (log_path, name, mode, path) in [
            ("/var/log/x.log", "Fan Tray", "", Some("/var/log/x.log")),
            ("", "Fan Tray", "auto", None),
            (
                "/l/${PLUGIN}-${TRIGGER}-${PLUGIN}.log",
                "Fan Tray",
                "auto",
                Some("/l/Fan Tray-auto-Fan Tray.log"),
            ),
            ("/l/${TRIGGER}", "Fan Tray", "", None),
            ("/l/${PLUGIN}", "", "auto", None),
            ("/l/$PLUGIN${plugin}", "a", "b", Some("/l/$PLUGIN${plugin}")),
            // The one is replaced before the other.
            ("/l/${TRIGGER}", "a", "${PLUGIN}", Some("/l/a")),
        ] {
            assert_eq!(
                target(log_path, name, mode).as_deref(),
                path.map(Path::new),
                "{log_path}"
            );
        }
    }

    #[test]
    fn an_entry_byte_for_byte() {
        assert_eq!(
            entry(1_738_318_220_999, "Fan Tray", "manual", b"a\xff\nb\n"),
            b"[2025-01-31T10:10:20Z] plugin=Fan Tray trigger=manual\noutput=a\xff\nb\n\n"
        );
        let far = entry(UnixMillis::MAX, "", "", b"");
        assert!(far.ends_with(b"] plugin= trigger=\noutput=\n"));
    }
}
