use super::*;

fn bad(recovery: &[Recovery]) -> HealthState {
    HealthState {
        name: Some("fan".into()),
        health: Health::Unhealthy,
        reason: "stopped".into(),
        recovery: recovery.to_vec(),
        latch: true,
        ..HealthState::default()
    }
}

fn good() -> HealthState {
    HealthState {
        name: Some("fan".into()),
        reason: "ok".into(),
        ..HealthState::default()
    }
}

/// Health shown after a latched bad state, then a good one at `now` in `boot`.
fn after(recovery: &[Recovery], now: UnixMillis, boot: &str) -> Health {
    let mut held = BTreeMap::new();
    let (shown, changes) = merge(&mut held, vec![bad(recovery)], 10, "boot-1");
    assert_eq!(shown[0].health, Health::Unhealthy);
    assert_eq!(changes.save.len(), 1);
    let (shown, changes) = merge(&mut held, vec![good()], now, boot);
    assert_eq!(shown.len(), 1);
    assert_eq!(
        changes.delete.len(),
        usize::from(shown[0].health == Health::Healthy)
    );
    shown[0].health.clone()
}

#[test]
fn each_way_of_recovery_clears_and_others_do_not() {
    assert_eq!(after(&[], 20, "boot-1"), Health::Healthy);
    assert_eq!(
        after(&[Recovery::SetHealthy], 20, "boot-2"),
        Health::Unhealthy
    );
    assert_eq!(
        after(&[Recovery::NextGoodReading], 20, "boot-1"),
        Health::Healthy
    );
    assert_eq!(after(&[Recovery::Reboot], 20, "boot-1"), Health::Unhealthy);
    assert_eq!(after(&[Recovery::Reboot], 20, "boot-2"), Health::Healthy);
    assert_eq!(after(&[Recovery::At(30)], 20, "boot-1"), Health::Unhealthy);
    assert_eq!(after(&[Recovery::At(30)], 30, "boot-1"), Health::Healthy);
}

#[test]
fn a_latched_state_that_is_not_reported_any_more_is_still_shown() {
    let mut held = BTreeMap::new();
    merge(&mut held, vec![bad(&[Recovery::SetHealthy])], 10, "b");
    let other = HealthState {
        name: Some("psu".into()),
        ..HealthState::default()
    };
    let (shown, changes) = merge(&mut held, vec![other], 20, "b");
    assert_eq!(
        shown.iter().map(|s| s.health.rank()).collect::<Vec<_>>(),
        [0, 3]
    );
    assert_eq!(changes, Changes::default());
}

#[test]
fn the_same_verdict_is_written_once() {
    let mut held = BTreeMap::new();
    let later = HealthState {
        time: Some(99),
        ..bad(&[])
    };
    assert_eq!(merge(&mut held, vec![bad(&[])], 10, "b").1.save.len(), 1);
    assert_eq!(merge(&mut held, vec![later], 20, "b").1.save.len(), 0);
}
