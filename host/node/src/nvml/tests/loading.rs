//! Which driver is loaded: one that is installed, upgraded, removed or pretended while gpud runs.

use std::{ffi::OsString, sync::atomic::AtomicU32};

use super::*;
use crate::nvml::driver::{DriverStamp, NoDriver};

/// A driver whose library was found by name, at a place that nobody else looks at.
struct ByName(Arc<Faulty>);

impl DriverOpener for ByName {
    fn open(&self) -> Result<Arc<dyn Driver>, NoDriver> {
        match self.0.is_in_place() {
            true => Ok(Arc::clone(&self.0) as Arc<dyn Driver>),
            false => Err(NoDriver::NotThere("nothing here".into())),
        }
    }
}

#[tokio::test]
async fn a_library_whose_file_was_deleted_is_let_go() {
    let driver = Faulty::of(1);
    let faults = Injected {
        lost: ["GPU-9".to_owned()].into(),
        ..Injected::default()
    };
    for opener in [
        Box::new(ByName(Arc::clone(&driver))) as Box<dyn DriverOpener>,
        faults.over(Box::new(ByName(Arc::clone(&driver)))),
    ] {
        let nvml = Nvml::of(opener, QUICK);
        let device = nvml.devices().await.unwrap().remove(0);
        assert_eq!(device.temperature(0).await, Ok(40));
        driver.script(|script| script.is_deleted = true);
        assert_eq!(
            nvml.view().await.library,
            LibraryStatus::NotFound("nothing here".into())
        );
        assert!(matches!(
            device.temperature(0).await,
            Err(SourceError::NotFound(_))
        ));
        driver.script(|script| script.is_deleted = false);
        assert_eq!(nvml.view().await.library, LibraryStatus::Loaded);
    }
}

#[tokio::test]
async fn a_slow_search_for_a_driver_is_not_at_once_a_driver_that_hangs() {
    let absent = LibraryStatus::NotFound("nothing here".into());
    let slow = NvmlTiming {
        first: Duration::from_secs(600),
        ..QUICK
    };
    for (timing, is_given_up) in [(slow, false), (QUICK, true)] {
        let driver = Faulty::of(1);
        driver.script(|script| script.is_deleted = true);
        let nvml = Nvml::of(Box::new(ByName(Arc::clone(&driver))), timing);
        assert_eq!(nvml.view().await.library, absent);
        driver.script(|script| {
            script.is_deleted = false;
            script.hanging.insert(LIST);
        });
        if is_given_up {
            while nvml.view().await.library == absent {
                tokio::task::yield_now().await;
            }
        }
        let is_absent = nvml.view().await.library == absent;
        assert_eq!(is_absent, !is_given_up);
        driver.script(|script| script.hanging.clear());
        while nvml.view().await.library != LibraryStatus::Loaded {
            tokio::task::yield_now().await;
        }
    }
}

/// A driver that is installed, upgraded and removed.
#[derive(Default)]
struct Installed {
    version: AtomicU32,
    opened: Arc<AtomicU32>,
}

struct Installation(Arc<Installed>);

impl DriverOpener for Installation {
    fn open(&self) -> Result<Arc<dyn Driver>, NoDriver> {
        let version = self.0.version.load(Ordering::SeqCst);
        if version == 0 {
            return Err(NoDriver::NotThere("nothing here".into()));
        }
        self.0.opened.fetch_add(1, Ordering::SeqCst);
        Ok(Arc::new(Simulated::new(
            &format!("{version}.0"),
            0,
            vec![gpu(0)],
        )))
    }

    fn stamp(&self) -> DriverStamp {
        let version = self.0.version.load(Ordering::SeqCst);
        vec![("/lib".into(), 0, u64::from(version), None)]
    }
}

#[tokio::test]
async fn a_driver_comes_changes_and_goes_without_a_restart() {
    let installed = Arc::new(Installed::default());
    let nvml = Nvml::of(Box::new(Installation(Arc::clone(&installed))), QUICK);
    assert_eq!(
        nvml.view().await.library,
        LibraryStatus::NotFound("nothing here".into())
    );
    assert_eq!(nvml.take_inventory().await, None);
    installed.version.store(550, Ordering::SeqCst);
    let device = nvml.devices().await.unwrap().remove(0);
    assert_eq!(device.temperature(0).await, Ok(40));
    let inventory = nvml.take_inventory().await.unwrap();
    assert_eq!(inventory.driver_version, "550.0");
    installed.version.store(570, Ordering::SeqCst);
    assert_eq!(nvml.take_inventory().await.unwrap().driver_version, "570.0");
    // The handle is of the driver that went.
    assert!(matches!(
        device.temperature(0).await,
        Err(SourceError::NotFound(_))
    ));
    assert_eq!(installed.opened.load(Ordering::SeqCst), 2);
    installed.version.store(0, Ordering::SeqCst);
    assert!(matches!(
        nvml.view().await.library,
        LibraryStatus::NotFound(_)
    ));
    assert_eq!(nvml.take_inventory().await, None);
    assert_eq!(nvml.inventory(), None);
}

#[tokio::test]
async fn the_mock_of_the_environment() {
    let options = Options::from_variables(|name| {
        let value = match name {
            "GPUD_NVML_MOCK_ALL_SUCCESS" => "true",
            "GPUD_NVML_INJECT_REMAPPED_ROWS_PENDING" => "TRUE",
            "GPUD_NVML_LIBRARY_PATH" => "",
            _ => return None,
        };
        Some(OsString::from(value))
    });
    assert_eq!(
        options,
        Options {
            mock: true,
            ..Options::default()
        }
    );
    let nvml = Nvml::new(options);
    let inventory = nvml.take_inventory().await.unwrap();
    assert_eq!(inventory.driver_version, "535.161.08");
    assert_eq!(inventory.cuda_version, 12_000);
    assert_eq!(inventory.memory_total, Some(0));
    assert_eq!(inventory.gpus[0].uuid, "mock");
    let devices = nvml.devices().await.unwrap();
    assert_eq!(devices[0].nvlinks().await.map(|links| links.len()), Ok(18));
    assert_eq!(devices[0].ecc_total(0, 1).await, Ok(1));
    assert!(devices[0].fabric().await.is_err());
}
