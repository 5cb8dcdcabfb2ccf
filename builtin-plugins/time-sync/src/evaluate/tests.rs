use super::*;
use gpud_sdk::Health;
use gpud_sdk::testing::test_context;

const BOOT: u64 = 1_800_000_000;

/// Checks at seconds after boot, each with a source and how far the boot time moved.
fn run(config: &str, checks: &[(u64, Source, i64)]) -> (Health, String, Vec<String>) {
    let config = Config::parse(config).unwrap();
    let (mut saved, mut memory) = (None, Memory::default());
    let mut answer = (Health::Healthy, String::new(), Vec::new());
    for &(after, source, moved) in checks {
        let boot = BOOT.saturating_add_signed(moved);
        let context = test_context("time-sync", (boot + after) * 1000);
        let mut kept = SyncMemory::restore(saved.as_deref(), "b-1");
        let (report, now) = judge(&context, &config, &source, Some(boot), &mut kept, &memory);
        (saved, memory) = (Some(kept.save()), now);
        let state = &report.states[0];
        answer.0 = state.health.clone();
        answer.1.clone_from(&state.reason);
        answer
            .2
            .extend(report.events.iter().map(|event| event.name.clone()));
    }
    answer
}

const fn chrony(synchronised: bool, offset: f64) -> Source {
    Source::Chrony {
        synchronised,
        offset,
        measured: BOOT,
        interval: 64.0,
        distance: 0.01,
    }
}

/// chrony that says that all is well.
const fn unmeasured(measured: u64, interval: f64, distance: f64) -> Source {
    Source::Chrony {
        synchronised: true,
        offset: 0.0,
        measured,
        interval,
        distance,
    }
}

const fn systemd(synchronised: bool, service: bool) -> Source {
    Source::Systemd {
        synchronised,
        service,
    }
}

#[test]
fn verdicts() {
    for (config, checks, health, reason) in [
        (
            "{}",
            vec![(60, chrony(true, 0.001), 0)],
            Health::Healthy,
            "the clock is synchronised",
        ),
        (
            "{}",
            vec![(60, chrony(true, 0.2), 0)],
            Health::Degraded,
            "the clock is 0.200 s off, more than 0.1 s",
        ),
        (
            "{}",
            vec![(60, systemd(true, true), 0)],
            Health::Healthy,
            "the clock is synchronised",
        ),
        (
            "{}",
            vec![(60, unmeasured(BOOT - 432_000, 1043.2, 5.4), 0)],
            Health::Degraded,
            "chrony has not measured the clock for 120 h, so its verdict does not count",
        ),
        (
            r#"{"max_age_hours":240}"#,
            vec![(60, unmeasured(BOOT - 432_000, 1043.2, 5.4), 0)],
            Health::Healthy,
            "the clock is synchronised",
        ),
        // Measured every day, as somebody wants it.
        (
            "{}",
            vec![(60, unmeasured(BOOT - 90_000, 86_400.0, 0.5), 0)],
            Health::Healthy,
            "the clock is synchronised",
        ),
        (
            "{}",
            vec![(60, unmeasured(BOOT, 64.0, 16.5), 0)],
            Health::Degraded,
            "chrony cannot tell the time to more than 16.5 s",
        ),
        (
            "{}",
            vec![(60, unmeasured(0, 64.0, 0.1), 0)],
            Health::Healthy,
            "the clock is synchronised",
        ),
        // PTP.
        (
            "{}",
            vec![(60, systemd(true, false), 0)],
            Health::Healthy,
            "the clock is synchronised",
        ),
        (
            "{}",
            vec![(60, systemd(false, false), 0)],
            Health::Healthy,
            "no time service is switched on",
        ),
        (
            "{}",
            vec![(60, Source::Unknown, 0)],
            Health::Healthy,
            "no time service can be asked",
        ),
        (
            r#"{"required":true}"#,
            vec![(60, Source::Unknown, 0)],
            Health::Degraded,
            "no time service synchronises",
        ),
        (
            r#"{"required":true}"#,
            vec![(60, systemd(false, false), 0)],
            Health::Degraded,
            "no time service synchronises",
        ),
        (
            "{}",
            vec![
                (60, systemd(false, true), 0),
                (3_659, systemd(false, true), 0),
            ],
            Health::Healthy,
            "not synchronised yet",
        ),
        (
            "{}",
            vec![
                (60, systemd(false, true), 0),
                (3_660, systemd(false, true), 0),
            ],
            Health::Degraded,
            "the clock has not been synchronised for 60 min",
        ),
        // A clock that is set while it waits does not make the wait longer.
        (
            "{}",
            vec![
                (60, systemd(false, true), 0),
                (120, systemd(false, true), 100_000),
            ],
            Health::Healthy,
            "not synchronised yet",
        ),
        (
            "{}",
            vec![
                (60, systemd(false, true), 0),
                (120, systemd(true, true), 0),
                (3_700, systemd(false, true), 0),
            ],
            Health::Healthy,
            "not synchronised yet",
        ),
    ] {
        let (found, said, _) = run(config, &checks);
        assert_eq!(found, health, "{said}");
        assert!(said.contains(reason), "{said}");
    }
}

#[test]
fn jumps_are_events() {
    let fine = chrony(true, 0.0);
    for (moves, expected) in [
        (vec![0, 0, 0], 0),
        (vec![0, 1, 0], 0),
        (vec![0, 2, 2], 1),
        (vec![0, -3_600, -3_600], 1),
        (vec![0, 3_600, 0], 2),
    ] {
        let checks: Vec<_> = (1..)
            .zip(&moves)
            .map(|(n, &moved)| (n * 60, fine, moved))
            .collect();
        let (health, _, events) = run("{}", &checks);
        assert_eq!(
            (health, events.len()),
            (Health::Healthy, expected),
            "{moves:?}"
        );
    }
    serde_json::from_str::<serde_json::Value>(SCHEMA).unwrap();
    assert_eq!(SyncMemory::restore(Some("x"), "b").boot_id, "b");
}

#[test]
fn what_is_well_is_neither_a_finding_nor_its_beginning() {
    let sources = [
        chrony(true, 0.1),
        chrony(true, 0.101),
        chrony(false, 0.0),
        systemd(true, true),
        systemd(true, false),
        systemd(false, true),
        systemd(false, false),
        Source::Unknown,
    ];
    for document in ["{}", r#"{"required":true}"#] {
        let config = Config::parse(document).unwrap();
        let well = sources.map(|source| config.is_well(&source, BOOT));
        for (source, well) in sources.into_iter().zip(well) {
            let context = test_context("time-sync", (BOOT + 60) * 1000);
            let mut kept = SyncMemory::default();
            let before = Memory::default();
            let (report, _) = judge(&context, &config, &source, Some(BOOT), &mut kept, &before);
            let calm = report.states[0].health == Health::Healthy && kept.lost_at.is_none();
            assert_eq!(well, calm, "{document} {source:?}");
            let text = serde_json::to_string(&source).unwrap();
            assert_eq!(serde_json::from_str::<Source>(&text).unwrap(), source);
        }
        assert!(well.contains(&true) && well.contains(&false));
    }
}
