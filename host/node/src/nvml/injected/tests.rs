use super::{
    super::{
        driver::PresentDriver,
        simulated::{Simulated, SimulatedGpu},
    },
    *,
};

fn driver(faults: Injected) -> (Arc<dyn Driver>, GpuHandle) {
    let below = Box::new(PresentDriver(Arc::new(Simulated::mock())));
    let driver = faults.over(below).open().unwrap();
    let slot = driver.open(0).unwrap();
    (driver, slot)
}

fn mock() -> BTreeSet<String> {
    BTreeSet::from(["mock".to_owned()])
}

#[test]
fn a_lost_gpu_still_says_who_it_is_and_lost_wins_over_reset() {
    let (driver, gpu) = driver(Injected {
        lost: mock(),
        needs_reset: mock(),
        ..Injected::default()
    });
    assert!(driver.read(gpu, &Reading::Identity).is_ok());
    let fault = driver.read(gpu, &Reading::Memory).unwrap_err();
    assert!(fault.is_lost());
    assert!(driver.p2p_status(gpu, gpu).unwrap_err().is_lost());
}

#[test]
fn rows_and_reasons_are_added_to_what_is_there() {
    let (driver, gpu) = driver(Injected {
        rows_failed: mock(),
        hw_thermal: mock(),
        hw_power_brake: BTreeSet::from(["other".to_owned()]),
        ..Injected::default()
    });
    let rows = RemappedRows {
        failed: true,
        ..RemappedRows::default()
    };
    assert_eq!(driver.read(gpu, &Reading::RemappedRows), Ok(rows.into()));
    // 1, idle, is what the driver below says.
    assert_eq!(
        driver.read(gpu, &Reading::ClockEventReasons),
        Ok(Value::Count(0x41))
    );
}

#[test]
fn switches_of_the_environment_are_for_every_gpu_and_need_no_support() {
    let gpus = vec![SimulatedGpu::new(Identity::default())];
    let below = Box::new(PresentDriver(Arc::new(Simulated::new("1.2", 0, gpus))));
    let faults = Injected {
        rows_pending_everywhere: true,
        hw_slowdown_everywhere: true,
        ..Injected::default()
    };
    let driver = faults.over(below).open().unwrap();
    let rows = RemappedRows {
        uncorrectable: 10,
        pending: true,
        ..RemappedRows::default()
    };
    assert_eq!(
        driver.read(GpuHandle(0), &Reading::RemappedRows),
        Ok(rows.into())
    );
    assert_eq!(
        driver.read(GpuHandle(0), &Reading::ClockEventReasons),
        Ok(Value::Count(0xE8))
    );
}

#[test]
fn fabric_product_and_enumeration() {
    let (driver, gpu) = driver(Injected {
        product_name: Some("NVIDIA H100 80GB HBM3".to_owned()),
        fabric_unhealthy: mock(),
        ..Injected::default()
    });
    let Ok(Value::Identity(identity)) = driver.read(gpu, &Reading::Identity) else {
        panic!("no identity");
    };
    assert_eq!(identity.name, "NVIDIA H100 80GB HBM3");
    // Not supported below, and a pretended fault does not make it supported.
    let fault = driver.read(gpu, &Reading::Fabric).unwrap_err();
    assert!(fault.is_not_supported());

    let below = Box::new(PresentDriver(Arc::new(Simulated::mock())));
    let faults = Injected {
        enumeration_fails: true,
        ..Injected::default()
    };
    let fault = faults.over(below).open().unwrap().open(0).unwrap_err();
    assert_eq!(fault.text, "Unknown Error (injected for testing)");
}
