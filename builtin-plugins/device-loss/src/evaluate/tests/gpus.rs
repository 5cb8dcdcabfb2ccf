//! GPUs that do not start, and drivers that take them.

use super::*;

#[test]
fn a_gpu_that_does_not_start() {
    let state = report(&[(5, INIT), (4, INIT)], &[]).states.remove(0);
    assert_eq!(state.health, Health::Unhealthy);
    assert_eq!(
        state.reason,
        "NVIDIA driver could not bring the GPU up (0000:3b:00.0), 2 times: 0x26:0xffff:1474"
    );
    let actions = state.suggested_actions.unwrap();
    assert_eq!(actions.repair_actions, [RepairAction::RebootSystem]);
    assert_eq!(
        report(&[(5, INIT)], &[NOW - MINUTE]).states[0].health,
        Health::Healthy
    );
    // Two reboots did not help.
    let boots = [NOW - 15 * MINUTE, NOW - 35 * MINUTE];
    let state = report(&[(50, INIT), (30, INIT), (10, INIT)], &boots)
        .states
        .remove(0);
    let actions = state.suggested_actions.unwrap();
    assert_eq!(actions.repair_actions, [RepairAction::HardwareInspection]);
}

#[test]
fn nouveau_is_blamed_only_where_it_has_the_gpus() {
    let stored = incidents::as_stored(all(&[(5, CONFLICT_LINE)]));
    let state = |taken: &[&str]| {
        let taken = taken.iter().map(|id| (*id).to_owned()).collect();
        judge(
            &context(NOW),
            &Config::default(),
            &Policy::none(&CATALOG),
            &stored,
            &[],
            &Drivers::default(),
            || taken,
        )
        .states
        .remove(0)
    };
    // Passed on to virtual machines by vfio-pci, say.
    assert_eq!(state(&[]).health, Health::Healthy);
    let blamed = state(&["0000:3b:00.0", "0000:5e:00.0"]);
    assert_eq!(blamed.health, Health::Degraded);
    assert_eq!(
        blamed.reason,
        "nouveau has GPUs that are meant for the NVIDIA driver: 0000:3b:00.0, 0000:5e:00.0"
    );
}
