//! Saved logs of public reports (`tests/kernel-logs/cases`), each read to the last line.

use std::{fs, path::Path};

use super::*;

/// From the folder of the package, where cargo runs tests.
const FOLDER: &str = "../../tests/kernel-logs/cases";
/// Hosts of the files whose lines name any.
const HOSTS: [(&str, &[&str]); 13] = [
    ("01", &["gpu-a"]),
    ("05", &["gpu-b"]),
    ("06", &["gpu-c"]),
    ("11", &["gpu-d"]),
    ("17", &["worker4"]),
    ("22", &["gpu-e"]),
    ("23", &["db-a"]),
    ("24", &["lab-a"]),
    ("32", &["gpu-f"]),
    ("38", &["n1", "n2", "n3"]),
    ("40", &["switch-a"]),
    ("41", &["node-h", "node-i"]),
    ("44", &["node-j"]),
];
/// Without any date.
const SINCE_BOOT: [&str; 13] = [
    "03", "04", "13", "19", "20", "25", "26", "27", "31", "35", "36", "37", "39",
];

#[test]
fn every_file_is_read_to_the_last_line() {
    let folder = Path::new(FOLDER);
    let mut files = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|end| end != "txt") {
            continue;
        }
        files += 1;
        let name = path.file_stem().unwrap().to_str().unwrap();
        let number = &name[..2];
        let bytes = fs::read(&path).unwrap();
        let capture = capture(&bytes);
        assert_eq!(
            (capture.unparsable, capture.skipped, capture.cut),
            (0, 0, 0),
            "{name}: {:?}",
            capture.first_unparsable
        );
        let text = String::from_utf8(bytes).unwrap();
        let lines = text.lines().filter(|line| !line.trim().is_empty()).count();
        // One message of the driver has three lines there.
        let further = if number == "03" { 2 } else { 0 };
        assert_eq!(capture.message_count(), lines - further, "{name}");
        let hosts: Vec<_> = capture
            .logs
            .iter()
            .filter_map(|log| log.host.as_deref())
            .collect();
        let expected = HOSTS.iter().find(|(of, _)| *of == number);
        assert_eq!(
            hosts,
            expected.map_or(&[][..], |(_, hosts)| hosts),
            "{name}"
        );
        for log in &capture.logs {
            let clock = match number {
                "29" => Clock::None,
                "42" => Clock::Wall,
                number if SINCE_BOOT.contains(&number) => Clock::SinceBoot,
                _ => Clock::Wall,
            };
            assert_eq!(log.clock, clock, "{name}");
            for message in &log.messages {
                let text = &message.text;
                let is_left = ["kernel: ", "<", "> "]
                    .iter()
                    .any(|start| text.starts_with(start));
                let end = text.find(']').unwrap_or(0);
                let is_stamp = text.starts_with('[') && text[..end].contains('.');
                assert!(
                    !is_left && !is_stamp && !text.contains('\r'),
                    "{name}: {text}"
                );
            }
        }
    }
    assert!(files >= 35, "{files} files");
}

/// The times that a reader would otherwise be shown as now.
#[test]
fn odd_stamps_are_dated() {
    let folder = Path::new(FOLDER);
    for (file, time) in [
        ("11-xid62-154-45-locale-month.txt", "2026-04-15T07:56:59Z"),
        (
            "12-xid120-gsp-exception-no-host.txt",
            "2026-03-29T15:38:59Z",
        ),
        ("40-syslog-year-first-sonic.txt", "2025-07-02T06:56:57.749Z"),
        ("41-grep-r-prefix.txt", "2026-06-17T20:18:08Z"),
        ("42-vmware-guest-log.txt", "2023-12-04T10:49:30.127Z"),
    ] {
        let capture = capture(fs::read(folder.join(file)).unwrap());
        assert_eq!(capture.logs[0].messages[0].time, at(time), "{file}");
    }
}
