//! The list of GPUs: those that are lost, left out or never seen, and drivers without a usable list.

use super::*;

#[tokio::test]
async fn gpus_are_listed_and_asked() {
    let driver = Faulty::of(2);
    let nvml = nvml(&driver, QUICK);
    let view = nvml.view().await;
    assert_eq!(view.library, LibraryStatus::Loaded);
    assert_eq!(view.product_name(), "NVIDIA H100 80GB HBM3");
    assert_eq!(view.driver_version.as_deref(), Ok("570.1.2"));
    let devices = nvml.devices().await.unwrap();
    let uuids: Vec<String> = devices
        .iter()
        .map(|it| it.identity().uuid.clone())
        .collect();
    assert_eq!(uuids, ["GPU-0", "GPU-1"]);
    assert_eq!(devices[1].temperature(0).await, Ok(41));
    assert_eq!(devices[1].p2p_status(&devices[0]).await, Ok(0));
    assert_eq!(
        devices[0].memory().await,
        Err(SourceError::NotSupported(
            "nvmlDeviceGetMemoryInfo_v2 of GPU 0 (GPU-0, 0000:00:00.0)".into()
        ))
    );
}

#[tokio::test]
async fn a_lost_gpu_keeps_its_name_and_the_others_go_on() {
    let driver = Faulty::of(3);
    let nvml = nvml(&driver, QUICK);
    nvml.devices().await.unwrap();
    driver.script(|script| {
        script.closed.insert(1, fault::GPU_IS_LOST);
    });
    let devices = nvml.devices().await.unwrap();
    assert_eq!(devices.len(), 3);
    assert_eq!(
        devices[1].temperature(0).await,
        Err(SourceError::SourceLost(
            "nvmlDeviceGetHandleByIndex_v2 of GPU 1 (GPU-1, 0000:01:00.0)".into()
        ))
    );
    assert!(devices[1].presence().await.is_err());
    assert_eq!(devices[2].temperature(0).await, Ok(42));
    // No longer listed at all.
    driver.script(|script| {
        script.closed.clear();
        script.count = Some(Ok(2));
    });
    let devices = nvml.devices().await.unwrap();
    assert_eq!(devices[1].temperature(0).await, Ok(41));
    let gone = devices[2].temperature(0).await.unwrap_err();
    assert!(matches!(gone, SourceError::SourceLost(_)), "{gone}");
    // And back.
    driver.script(|script| script.count = None);
    let devices = nvml.devices().await.unwrap();
    assert_eq!(devices[2].temperature(0).await, Ok(42));
}

#[tokio::test]
async fn a_gpu_that_was_never_seen_alive_is_not_overlooked() {
    let driver = Faulty::of(2);
    driver.script(|script| {
        script.closed.insert(0, fault::GPU_IS_LOST);
    });
    let nvml = nvml(&driver, QUICK);
    let devices = nvml.devices().await.unwrap();
    assert_eq!(devices[0].identity().uuid, "unknown-gpu-0");
    assert!(matches!(
        devices[0].presence().await,
        Err(SourceError::SourceLost(_))
    ));
    assert_eq!(nvml.view().await.product_name(), "NVIDIA H100 80GB HBM3");
    driver.script(|script| script.closed.clear());
    let devices = nvml.devices().await.unwrap();
    assert_eq!(devices.len(), 2);
    assert_eq!(devices[0].identity().uuid, "GPU-0");
}

#[tokio::test]
async fn a_driver_without_a_usable_list_has_failed() {
    for (script, text) in [
        (
            Script {
                count: Some(Err(Fault::new("nvmlDeviceGetCount_v2", 999))),
                ..Script::default()
            },
            "error getting device count: Unknown Error",
        ),
        (
            Script {
                count: Some(Ok(u32::MAX)),
                ..Script::default()
            },
            "error getting device count: 4294967295 GPUs are more than the 128 that are believed",
        ),
        (
            Script {
                closed: BTreeMap::from([(0, 999), (1, 999)]),
                ..Script::default()
            },
            "error getting device handle for index '0': Unknown Error",
        ),
    ] {
        let driver = Faulty::of(2);
        driver.script(|before| *before = script);
        let nvml = nvml(&driver, QUICK);
        assert_eq!(
            nvml.view().await.library,
            LibraryStatus::Failed(text.into())
        );
        driver.script(|script| *script = Script::default());
        assert_eq!(nvml.view().await.library, LibraryStatus::Loaded);
        // The driver goes bad: its GPUs are no longer there to be asked.
        let devices = nvml.devices().await.unwrap();
        driver.script(|script| {
            script.count = Some(Err(Fault::new("nvmlDeviceGetCount_v2", 1)));
        });
        assert!(nvml.devices().await.is_err());
        assert!(matches!(
            devices[0].temperature(0).await,
            Err(SourceError::NotFound(_))
        ));
    }
}

#[tokio::test]
async fn displays_of_workstations_are_left_out() {
    let driver = Faulty::of(2);
    driver
        .below()
        .change(|gpus| gpus[0].identity.name = "DGX Display".into());
    let nvml = nvml(&driver, QUICK);
    for _ in 0..2 {
        let devices = nvml.devices().await.unwrap();
        assert_eq!(devices.len(), 1);
        assert_eq!(devices[0].identity().uuid, "GPU-1");
    }
}

#[test]
fn pci_ids_as_the_kernel_writes_them() {
    for (nvml, kernel) in [
        ("00000000:0F:00.0", "0000:0f:00.0"),
        ("00000018:01:00.0", "0018:01:00.0"),
        ("0000:0f:00.0", "0000:0f:00.0"),
        ("00010000:01:00.0", "00010000:01:00.0"),
        ("", ""),
    ] {
        assert_eq!(values::bus_id(nvml), kernel);
    }
}
