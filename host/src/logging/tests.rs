use std::fs;

use super::*;

#[test]
fn levels_by_name() {
    for (name, level) in [
        ("", None),
        ("debug", Some(LogLevel::Debug)),
        ("INFO", Some(LogLevel::Info)),
        ("Warn", Some(LogLevel::Warn)),
        ("error", Some(LogLevel::Error)),
        ("dpanic", Some(LogLevel::Off)),
        ("PANIC", Some(LogLevel::Off)),
        ("fatal", Some(LogLevel::Off)),
    ] {
        assert_eq!(LogLevel::parse(name), Ok(level), "{name}");
    }
    let error = LogLevel::parse("verbose").unwrap_err();
    assert_eq!(error.to_string(), r#"unrecognized level: "verbose""#);
    assert!(LogLevel::parse(" info").is_err());
}

#[test]
fn warnings_about_what_clients_send_are_left_out() {
    for level in [LogLevel::Debug, LogLevel::Info, LogLevel::Warn] {
        let filter = level.filter();
        for library in [
            "h2::proto::streams::recv",
            "hyper_util::server",
            "rustls::conn",
        ] {
            assert!(!filter.would_enable(library, &Level::WARN), "{library}");
            assert!(filter.would_enable(library, &Level::ERROR), "{library}");
        }
        assert!(filter.would_enable("wasmtime", &Level::WARN));
        assert!(filter.would_enable("gpud::daemon", &Level::WARN));
        assert!(filter.would_enable("gpud_server::listener", &Level::WARN));
    }
    assert!(!LogLevel::Off.filter().would_enable("h2", &Level::ERROR));
}

#[test]
fn a_file_that_was_moved_away_is_opened_again() {
    let folder = tempfile::tempdir().unwrap();
    let (path, moved) = (folder.path().join("log"), folder.path().join("log-1"));
    let writer = Writer::start(Box::new(RotatingFile::open(&path).unwrap())).unwrap();
    let reopener = Reopener {
        file: Some((path.clone(), writer.sink())),
    };
    writer.sink().send("before\n".to_owned());
    fs::rename(&path, &moved).unwrap();
    reopener.reopen().unwrap();
    writer.sink().send("after\n".to_owned());
    drop(writer);
    assert_eq!(fs::read_to_string(&moved).unwrap(), "before\n");
    assert_eq!(fs::read_to_string(&path).unwrap(), "after\n");
    Reopener::default().reopen().unwrap();
}

#[test]
fn a_level_lets_through_what_it_says_and_little_of_libraries() {
    let folder = tempfile::tempdir().unwrap();
    for (level, expected) in [
        (LogLevel::Debug, "d i w e plugin library-w"),
        (LogLevel::Info, "i w e plugin library-w"),
        (LogLevel::Warn, "w e library-w"),
        (LogLevel::Error, "e"),
        (LogLevel::Off, ""),
    ] {
        let path = folder.path().join(format!("{level:?}"));
        let writer = Writer::start(Box::new(RotatingFile::open(&path).unwrap())).unwrap();
        let lines = Lines {
            json: true,
            sink: Some(writer.sink()),
        };
        let subscriber = tracing_subscriber::registry().with(lines.with_filter(level.filter()));
        tracing::subscriber::with_default(subscriber, || {
            tracing::debug!("d");
            tracing::info!("i");
            tracing::warn!("w");
            tracing::error!("e");
            tracing::info!(target: "plugin", "plugin");
            tracing::info!(target: "wasmtime", "library-i");
            tracing::warn!(target: "wasmtime", "library-w");
        });
        drop(writer);
        let text = fs::read_to_string(&path).unwrap();
        let messages: Vec<_> = text
            .lines()
            .map(|line| {
                let line: serde_json::Value = serde_json::from_str(line).unwrap();
                line["msg"].as_str().unwrap().to_owned()
            })
            .collect();
        assert_eq!(messages.join(" "), expected, "{level:?}");
    }
}
