use super::*;
use crate::{detail, mdstat};
use gpud_sdk::Health;
use gpud_sdk::testing::test_context;

fn run(config: &str, checks: &[Result<&str, &str>], mdadm: &str) -> (Health, String, Vec<String>) {
    let context = test_context("storage-md", 1_000);
    let config = Config::parse(config).unwrap();
    let details = [("md0".to_owned(), detail::parse(mdadm))].into();
    let mut memory = Memory::default();
    let mut answer = (Health::Healthy, String::new(), Vec::new());
    for check in checks {
        let arrays = check.map(mdstat::parse);
        let arrays = arrays.as_ref().map(Vec::as_slice).map_err(|why| *why);
        let (report, after) = judge(&context, &config, arrays, &details, &memory);
        memory = after;
        answer.0 = report.states[0].health.clone();
        answer.1.clone_from(&report.states[0].reason);
        answer
            .2
            .extend(report.events.into_iter().map(|event| event.name));
    }
    answer
}

const FULL: &str = "md0 : active raid1 sdb1[1] sda1[0]\n      1 blocks super 1.2 [2/2] [UU]\n";
const HALF: &str = "md0 : active raid1 sdb1[1] sda1[0](F)\n      1 blocks super 1.2 [2/1] [_U]\n";
const REBUILD: &str = "md0 : active raid1 sdc1[2] sdb1[1]\n      1 blocks super 1.2 [2/1] [_U]\n      [>....]  recovery =  8.5% (1/2) finish=1min\n";
const SPARED: &str =
    "md0 : active raid1 sdc1[2] sdb1[1] sda1[0](F)\n      1 blocks super 1.2 [2/2] [UU]\n";
const BROKEN: &str = "md0 : broken raid0 sdb1[1] sda1[0]\n      1 blocks super 1.2 512k chunks\n";
const IDLE: &str = "md0 : inactive sdb1[1]\n      1 blocks super 1.2\n";
const IMSM: &str = "md0 : inactive sdb1[1](S)\n      1 blocks super external:imsm\n";

#[test]
fn verdicts() {
    let table =
        "  Number Major Minor RaidDevice State\n  - 0 0 0 removed\n  0 8 1 - faulty /dev/sda1\n";
    let fine = "1 arrays, all with all their devices".to_owned();
    for (config, text, mdadm, health, reason) in [
        ("{}", FULL, "", Health::Healthy, fine.clone()),
        (
            "{}",
            HALF,
            "",
            Health::Degraded,
            "md0 (raid1) has 1 of 2 devices; failed: sda1".to_owned(),
        ),
        (
            "{}",
            HALF,
            table,
            Health::Degraded,
            "md0 (raid1) has 1 of 2 devices; failed: sda1; empty place 0".to_owned(),
        ),
        (
            "{}",
            REBUILD,
            "",
            Health::Degraded,
            "md0 (raid1) has 1 of 2 devices; recovery 8.5%".to_owned(),
        ),
        (
            "{}",
            SPARED,
            "",
            Health::Degraded,
            "md0 (raid1) has a failed device; failed: sda1".to_owned(),
        ),
        (
            "{}",
            BROKEN,
            "",
            Health::Unhealthy,
            "md0 (raid0) has lost a disk that it cannot do without".to_owned(),
        ),
        (
            "{}",
            "md0 : active raid5 sdc1[2](F) sdb1[1](F) sda1[0]\n      1 blocks level 5, 512k chunk [3/1] [U__]\n",
            "",
            Health::Unhealthy,
            "md0 (raid5) has 1 of 3 devices; failed: sdb1, sdc1; raid5 cannot do without them, and every access fails".to_owned(),
        ),
        (
            "{}",
            HALF,
            "     State : clean, FAILED\n",
            Health::Unhealthy,
            "md0 (raid1) has 1 of 2 devices; failed: sda1; raid1 cannot do without them, and every access fails".to_owned(),
        ),
        (
            "{}",
            IDLE,
            "",
            Health::Unhealthy,
            format!("md0 is not running. {ASSEMBLE}"),
        ),
        ("{}", IMSM, "", Health::Healthy, fine.clone()),
        (
            r#"{"ignored_arrays":["md*"]}"#,
            HALF,
            "",
            Health::Healthy,
            fine.clone(),
        ),
        (
            r#"{"expected_arrays":["md0","md1"]}"#,
            FULL,
            "",
            Health::Unhealthy,
            format!("md1 is not there. {ASSEMBLE}"),
        ),
    ] {
        let (found, said, _) = run(config, &[Ok(text)], mdadm);
        assert_eq!((found, said), (health, reason), "{text}");
    }
}

#[test]
fn what_begins_and_ends() {
    let (.., events) = run(
        "{}",
        &[
            Ok(FULL),
            Ok(HALF),
            Err("gone"),
            Ok(HALF),
            Ok(REBUILD),
            Ok(FULL),
        ],
        "",
    );
    assert_eq!(
        events,
        [
            "storage_md_degraded",
            "storage_md_unreadable",
            "storage_md_unreadable_cleared",
            "storage_md_rebuilding",
            "storage_md_rebuilding_cleared",
        ]
    );
    let (health, reason, _) = run("{}", &[Ok(HALF), Err("gone")], "");
    assert_eq!(
        (health, reason.as_str()),
        (
            Health::Degraded,
            "/proc/mdstat cannot be read (gone); last known trouble: md0"
        )
    );
    serde_json::from_str::<serde_json::Value>(SCHEMA).unwrap();
    assert!(Config::parse("{").is_err());
}
