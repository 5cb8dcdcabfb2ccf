use super::*;
use gpud_sdk::nvml::Library;
use gpud_sdk::{Health, Trigger};

fn context() -> CheckContext {
    CheckContext {
        component: crate::COMPONENT.into(),
        now: 1_740_824_500_000,
        trigger: Trigger::Scheduled,
        boot_id: "b0".into(),
        boot_time: 0,
        previous_check: None,
        extra: Vec::new(),
    }
}

fn driver(library: Library, product: &str) -> Driver {
    Driver {
        library,
        product: Ok(product.into()),
    }
}

fn h100() -> Driver {
    driver(Library::Loaded, "NVIDIA H100 80GB HBM3")
}

fn no_driver() -> Driver {
    driver(Library::NotFound("libnvidia-ml.so.1".into()), "")
}

#[test]
fn in_use_or_not() {
    for (text, reason, data) in [
        (
            "ib_core 434176 9 rdma_cm,nvidia_peermem,mlx5_ib, Live 0x0\nnvidia_peermem 16384 0 - Live 0x0\n",
            "ibcore successfully loaded peermem module",
            r#"{"peer_mem_module_output":{"raw":"ib_core               434176  9 rdma_cm,nvidia_peermem,mlx5_ib\nnvidia_peermem         16384  0","ibcore_using_peermem_module":true}}"#,
        ),
        (
            "ib_core 434176 8 rdma_cm,mlx5_ib, Live 0x0\n",
            "ibcore is not using peermem module",
            r#"{"peer_mem_module_output":{"raw":"","ibcore_using_peermem_module":false}}"#,
        ),
    ] {
        let report = check(&context(), &h100(), || Ok(text.into()), || unreachable!()).unwrap();
        let expected = HealthState::healthy(&context(), reason).info("data", data);
        assert_eq!(report, Report::of(expected));
    }
}

#[test]
fn unreadable_modules() {
    let denied = || Err(AccessError::Denied("/proc/modules".into()));
    let report = check(&context(), &h100(), denied, || unreachable!()).unwrap();
    let expected = HealthState::degraded(
        &context(),
        "unknown: the kernel modules cannot be read (/proc/modules: permission denied)",
    )
    .error("/proc/modules: permission denied");
    assert_eq!(report, Report::of(expected));
}

#[test]
fn a_kernel_without_modules() {
    let absent = || Err(AccessError::NotFound("/proc/modules".into()));
    for stored in [false, true] {
        let report = check(&context(), &h100(), absent, || Ok(stored)).unwrap();
        assert_eq!(report.supported, stored);
        assert_eq!(
            report.states,
            [HealthState::healthy(&context(), NO_MODULES)]
        );
    }
}

#[test]
fn without_a_driver_there_is_nothing_to_read() {
    let nameless = driver(Library::Loaded, "");
    for (driver, stored, reason) in [
        (no_driver(), false, "NVIDIA NVML library is not loaded"),
        (no_driver(), true, "NVIDIA NVML library is not loaded"),
        (
            nameless,
            false,
            "NVIDIA NVML is loaded but GPU is not detected (missing product name)",
        ),
    ] {
        let report = check(&context(), &driver, || unreachable!(), || Ok(stored)).unwrap();
        assert_eq!(report.supported, stored);
        assert_eq!(report.states, [HealthState::healthy(&context(), reason)]);
    }
    let unreadable = || Err(AccessError::Other("disk full".into()));
    let failed = check(&context(), &no_driver(), || unreachable!(), unreadable);
    assert_eq!(
        failed,
        Err(Error::Source(AccessError::Other("disk full".into())))
    );
}

#[test]
fn nvml_that_fails_asks_for_a_reboot() {
    let failed = driver(Library::Failed("Unknown Error".into()), "");
    let report = check(&context(), &failed, || unreachable!(), || unreachable!()).unwrap();
    assert!(report.supported);
    let state = &report.states[0];
    assert_eq!(
        (&state.health, state.reason.as_str()),
        (
            &Health::Unhealthy,
            "NVML initialization error: Unknown Error"
        )
    );
    let actions = state.suggested_actions.as_ref().unwrap();
    assert_eq!(actions.repair_actions, [RepairAction::RebootSystem]);
    assert_eq!(state.extra_info, []);
}
