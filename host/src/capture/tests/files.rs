//! Saved logs of public reports (`tests/kernel-logs`), each read to the last line.

use std::{collections::BTreeMap, fs, path::Path};

use super::*;

/// A file that is not one log with times, of which every line is a message or a part of one.
struct Odd {
    file: &'static str,
    hosts: &'static [&'static str],
    clock: Clock,
    unparsable: u64,
}

const fn odd(file: &'static str, hosts: &'static [&'static str], clock: Clock) -> Odd {
    Odd {
        file,
        hosts,
        clock,
        unparsable: 0,
    }
}

fn read_all() -> BTreeMap<String, Capture> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/kernel-logs");
    let mut all = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|end| end == "txt") {
            let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
            all.insert(name, capture(fs::read(&path).unwrap()));
        }
    }
    assert!(all.len() >= 35, "{} files", all.len());
    all
}

#[test]
fn every_file_is_read_to_the_last_line() {
    let mut seen = String::new();
    for (name, capture) in read_all() {
        let hosts: Vec<_> = capture
            .logs
            .iter()
            .map(|log| log.host.as_deref().unwrap_or("-"))
            .collect();
        let clocks: Vec<_> = capture.logs.iter().map(|log| log.clock).collect();
        seen.push_str(&format!(
            "{name}: {} messages, {} skipped, {} unparsable {:?}, {hosts:?} {clocks:?}\n",
            capture.message_count(),
            capture.skipped,
            capture.unparsable,
            capture.first_unparsable
        ));
    }
    println!("{seen}");
    panic!("{}", odd("x", &[], Clock::None).file);
}
