//! Commands that install, update and look after the service, and those of GPUd that this build does not have.

use std::{path::PathBuf, time::Duration};

use super::*;
use crate::cli::{
    completion::CompletionOptions,
    down::DownOptions,
    man::ManOptions,
    metadata::MetadataOptions,
    notify::NO_CONTROL_PLANE,
    release::NO_SIGNING,
    status::StatusOptions,
    unavailable::{NothingToDo, Unavailable},
    up::UpOptions,
    update::{self, UpdateOptions},
};

#[test]
fn commands_of_the_service() {
    let up = |listen_address: Option<&str>| {
        task(UpOptions {
            data_dir: "/d".into(),
            is_folder_named: true,
            db_in_memory: false,
            listen_address: listen_address.map(str::to_owned),
            install_root: None,
        })
    };
    let status = |watch, json| {
        task(StatusOptions {
            data_dir: "/d".into(),
            server: String::new(),
            watch,
            json,
            classic: false,
        })
    };
    let metadata = |json, set: Option<(&str, &str)>| {
        task(MetadataOptions {
            data_dir: "/d".into(),
            json,
            reboot_history: true,
            set: set.map(|(key, value)| (key.into(), value.into())),
        })
    };
    for (line, expected) in [
        ("up|--data-dir=/d", up(None)),
        (
            "up|--data-dir=/d|--listen-address=:15132",
            up(Some(":15132")),
        ),
        (
            "down|--data-dir=/d|--reset-state",
            task(DownOptions {
                data_dir: "/d".into(),
                reset_state: true,
            }),
        ),
        ("status|--data-dir=/d", status(false, false)),
        ("st|-w|--json|-data-dir|/d", status(true, true)),
        (
            "metadata|--data-dir=/d|--reboot-history|--output-format=JSON|--set-key=a|--set-value=b",
            metadata(true, Some(("a", "b"))),
        ),
        (
            "metadata|--data-dir=/d|--reboot-history|--set-key=a",
            metadata(false, None),
        ),
        (
            "completion|fish",
            task(CompletionOptions {
                shell: clap_complete::Shell::Fish,
            }),
        ),
        (
            "man|scan|--dir=/m",
            task(ManOptions {
                topic: vec!["scan".into()],
                dir: Some("/m".into()),
            }),
        ),
    ] {
        let invocation = read(line).unwrap();
        assert_asks_for(&invocation, expected.as_ref(), line);
        assert_eq!(invocation.log.level, LogLevel::Warn, "{line}");
        assert!(invocation.notes.is_empty(), "{:?}", invocation.notes);
    }
}

#[test]
fn commands_that_this_build_does_not_have() {
    for (line, expected) in [
        ("notify|startup", task(NothingToDo(NO_CONTROL_PLANE))),
        (
            "nt|shutdown|--data-dir=/d",
            task(NothingToDo(NO_CONTROL_PLANE)),
        ),
        ("update|check", task(Unavailable(update::NO_CHECK))),
        (
            "release|sign-key|--root-priv-path=a|--sign-pub-path=b|--sig-path=c",
            task(Unavailable(NO_SIGNING)),
        ),
        (
            "release|gen-key|--root|--priv-path=a",
            task(Unavailable(NO_SIGNING)),
        ),
    ] {
        let invocation = read(line).unwrap();
        assert_asks_for(&invocation, expected.as_ref(), line);
        assert_eq!(invocation.log.level, LogLevel::Warn, "{line}");
        assert!(invocation.notes.is_empty(), "{:?}", invocation.notes);
    }
}

#[test]
fn an_update_names_its_place() {
    let options = values::<UpdateOptions>;
    let found = options("update|--from=/srv/gpud");
    assert_eq!(found.source.to_string(), "/srv/gpud");
    assert_eq!(found.public_key, PathBuf::from("/etc/gpud/release.pub"));
    assert_eq!(
        (found.limits.wait, found.limits.settle),
        (Duration::from_secs(60), Duration::from_secs(10))
    );
    assert!(found.version.is_none() && !found.allow_downgrade && !found.dry_run);
    // GPUd's names of the same.
    let found = options("update|--url=https://host/x|--next-version=v1.2.3");
    assert_eq!(found.source.to_string(), "https://host/x");
    assert_eq!(found.version.as_deref(), Some("v1.2.3"));
    let found = options(
        "update|--from=a|--public-key=k|--allow-downgrade|--dry-run|--restart|sv restart gpud|--wait=2s|--settle=-1s|--data-dir=/d",
    );
    assert!(found.allow_downgrade && found.dry_run);
    assert_eq!(found.restart.as_deref(), Some("sv restart gpud"));
    assert_eq!(
        (found.limits.wait, found.limits.settle),
        (Duration::from_secs(2), Duration::ZERO)
    );
    assert_eq!(found.data_dir, Some("/d".into()));
    assert!(failure("update").starts_with("--from names"));
}

#[test]
fn joining_a_platform_is_explained_in_one_line() {
    let line = "up|--data-dir=/d|--token=t|--endpoint=e|--private-ip=1.2.3.4|--public-ip=1.2.3.4|--region=r|\
        --node-group=g|--node-labels={}|--gpu-count=8|--session-protocol=v2|--machine-id=m|--machine-id-overwrite|\
        --refresh-session-token";
    let notes = read(line).unwrap().notes;
    assert_eq!(
        notes,
        [
            "this build has no control plane and no self-update: --token, --endpoint, --private-ip, --public-ip, --region, \
             --node-group, --node-labels, --gpu-count, --machine-id, --machine-id-overwrite, --refresh-session-token, \
             --session-protocol ignored"
        ]
    );
    assert!(
        read("up|--data-dir=/d|--session-protocol=auto")
            .unwrap()
            .notes
            .is_empty()
    );
}
