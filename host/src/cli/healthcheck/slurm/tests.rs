use std::{fs, path::Path, process::Command};

use super::*;
use crate::cli::{
    components::ComponentSelection,
    healthcheck::testing::{named_states, no_daemon},
};

/// Records its arguments and plays one node of Slurm: `show` prints the file `node`, `update` fails if `refuse` is there.
const SCONTROL: &str = r#"#!/bin/sh
folder=${0%/*}
printf '%s|' "$@" >>"$folder/calls"
echo >>"$folder/calls"
case $1 in
show) if [ -e "$folder/node" ]; then cat "$folder/node"; else echo "Node $3 not found"; exit 1; fi ;;
update) if [ -e "$folder/refuse" ]; then echo "slurm_update error: Access/permission denied" >&2; exit 1; fi ;;
esac
"#;

fn scontrol(folder: &Path, node: Option<&str>) -> PathBuf {
    let path = folder.join("scontrol");
    // A shell writes it: a test that starts a program at the same moment would hold a file open that this one is writing.
    let written = Command::new("sh")
        .args([
            "-c",
            "printf %s \"$1\" >\"$2\" && chmod 755 \"$2\"",
            "sh",
            SCONTROL,
        ])
        .arg(&path)
        .status()
        .unwrap();
    assert!(written.success());
    let _ = fs::remove_file(folder.join("calls"));
    if let Some(node) = node {
        fs::write(folder.join("node"), node).unwrap();
    }
    path
}

fn options(scontrol: PathBuf) -> SlurmOptions {
    SlurmOptions {
        drain_on: FailOn::Unhealthy,
        dry_run: false,
        drain_if_unreachable: false,
        node: Some("n1".to_owned()),
        scontrol: Some(scontrol),
    }
}

fn verdict(name: &str) -> Result<Verdict, HealthcheckError> {
    match named_states().into_iter().find(|(known, _)| *known == name) {
        Some((_, states)) => Verdict::of(&states, &ComponentSelection::default(), &[]),
        None => Err(no_daemon()),
    }
}

/// Lines, exit status and calls of scontrol for each verdict on each kind of node.
#[tokio::test]
async fn lines_and_calls() {
    let folder = tempfile::tempdir().unwrap();
    let mut text = String::new();
    for node in [
        "State=IDLE",
        "State=IDLE+DRAIN\nReason=gpud: disk: full [root@2026-11-26T02:58:56]",
        "State=IDLE+DRAIN\nReason=bad dimm [ops@2026-11-26T02:58:56]",
    ] {
        for name in [
            "healthy",
            "degraded",
            "unhealthy",
            "partly started",
            "no daemon",
        ] {
            for dry_run in [false, true] {
                let options = SlurmOptions {
                    dry_run,
                    ..options(scontrol(folder.path(), Some(node)))
                };
                let exit = answer(&options, &verdict(name)).await;
                let calls = fs::read_to_string(folder.path().join("calls")).unwrap_or_default();
                text.push_str(&format!(
                    "{}, {name}{}: {}\n  {}",
                    node.replace('\n', " "),
                    if dry_run { ", dry run" } else { "" },
                    exit.code,
                    exit.stdout
                ));
                for call in calls.lines() {
                    text.push_str(&format!("  > {call}\n"));
                }
            }
        }
    }
    insta::assert_snapshot!(text);
}

#[tokio::test]
async fn no_answer_drains_where_that_was_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let options = SlurmOptions {
        drain_if_unreachable: true,
        ..options(scontrol(folder.path(), Some("State=IDLE")))
    };
    let exit = answer(&options, &verdict("no daemon")).await;
    assert_eq!(exit.code, 1);
    assert_eq!(
        exit.stdout,
        "drained n1: gpud: does not answer: cannot reach https://localhost:15132: Connection refused; is gpud running?\n"
    );
}

/// A typing error in `--components` of a health check would else drain every node of a cluster.
#[tokio::test]
async fn a_mistake_of_the_command_line_drains_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let options = SlurmOptions {
        drain_if_unreachable: true,
        ..options(scontrol(folder.path(), Some("State=IDLE")))
    };
    let (_, states) = named_states().remove(0);
    let nothing = ComponentSelection::parse("nosuch");
    let exit = answer(&options, &Verdict::of(&states, &nothing, &[])).await;
    assert_eq!(exit.code, 0);
    assert_eq!(
        exit.stdout,
        "n1 is left alone: gpud has none of the components that count\n"
    );
    assert!(!folder.path().join("calls").exists(), "Slurm was asked");
}

#[tokio::test]
async fn degraded_drains_where_that_was_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let options = SlurmOptions {
        drain_on: FailOn::Degraded,
        ..options(scontrol(folder.path(), Some("State=IDLE")))
    };
    let exit = answer(&options, &verdict("degraded")).await;
    assert_eq!(exit.code, 1);
    assert_eq!(exit.stdout, "drained n1: gpud: disk: /data is 91 % full\n");
}

/// A healthy node must not be drained by Slurm because of the status of this command.
#[tokio::test]
async fn a_failure_of_slurm_is_reported_and_drains_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = scontrol(folder.path(), None);
    let exit = answer(&options(path.clone()), &verdict("healthy")).await;
    assert_eq!(
        (exit.code, exit.stdout.as_str()),
        (
            0,
            "cannot look at this node in Slurm: scontrol show: exit status 1: Node n1 not found\n"
        )
    );
    fs::write(folder.path().join("node"), "State=IDLE").unwrap();
    fs::write(folder.path().join("refuse"), "").unwrap();
    let exit = answer(&options(path), &verdict("unhealthy")).await;
    assert_eq!(exit.code, 1);
    assert!(
        exit.stdout.starts_with(
            "cannot drain this node in Slurm: scontrol update: exit status 1: slurm_update error: Access/permission denied; it is unfit: accelerator-nvidia-error-xid: "
        ),
        "{}",
        exit.stdout
    );
    let nowhere = options(folder.path().join("nowhere"));
    let exit = answer(&nowhere, &verdict("healthy")).await;
    assert_eq!(exit.code, 0);
    assert!(exit.stdout.contains("--scontrol: "), "{}", exit.stdout);
}

#[tokio::test]
async fn other_nodes_cannot_be_meant() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["ALL", "n[1-9]", "a,b", ""] {
        let options = SlurmOptions {
            node: Some(name.to_owned()),
            ..options(scontrol(folder.path(), Some("State=IDLE")))
        };
        let exit = answer(&options, &verdict("unhealthy")).await;
        assert!(
            exit.stdout.contains("is not the name of one node"),
            "{}",
            exit.stdout
        );
        assert!(!folder.path().join("calls").exists(), "{name}");
    }
}

#[tokio::test]
async fn a_reason_is_one_short_line() {
    let folder = tempfile::tempdir().unwrap();
    let states = [crate::cli::healthcheck::testing::state(
        "x",
        "Unhealthy",
        &"long\nword ".repeat(200),
        &[],
    )];
    let judged = Verdict::of(&states, &ComponentSelection::default(), &[]);
    answer(
        &options(scontrol(folder.path(), Some("State=IDLE"))),
        &judged,
    )
    .await;
    let calls = fs::read_to_string(folder.path().join("calls")).unwrap();
    assert_eq!(calls.lines().count(), 2);
    let reason = calls.split("|Reason=").nth(1).unwrap();
    assert!(reason.len() <= REASON + "|\n".len(), "{reason}");
}
