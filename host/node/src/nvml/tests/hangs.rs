//! A driver or a GPU that does not answer.

use super::*;

#[tokio::test]
async fn pairs_among_gpus_are_answered_in_their_order_and_those_of_a_gpu_that_hangs_fail() {
    let driver = Faulty::of(3);
    let nvml = nvml(&driver, QUICK);
    let devices = nvml.devices().await.unwrap();
    assert_eq!(nvml.p2p_among(&devices).await, [Ok(0), Ok(0), Ok(0)]);
    assert_eq!(nvml.p2p_among(&devices[..1]).await, []);
    driver.script(|script| {
        script.hanging.insert(2);
    });
    devices[2].temperature(0).await.unwrap_err();
    let found = nvml.p2p_among(&devices).await;
    let answered: Vec<bool> = found.iter().map(Result::is_ok).collect();
    assert_eq!(answered, [true, false, false], "{found:?}");
    driver.script(|script| script.hanging.clear());
}

#[tokio::test]
async fn what_hangs_on_the_way_does_not_take_the_answer_that_was_there() {
    let driver = Faulty::of(1);
    let timing = NvmlTiming {
        again_after: Duration::ZERO,
        ..SHARING
    };
    let nvml = nvml(&driver, timing);
    let gpu = nvml.devices().await.unwrap().remove(0);
    gpu.temperature(0).await.unwrap();
    driver.script(|script| {
        script.hanging_calls.insert("nvmlDeviceGetTemperature");
    });
    assert!(gpu.persistence_mode().await.is_ok());
    let other = gpu.ecc_mode().await.unwrap_err().to_string();
    assert!(
        other.contains("not answering, nvmlDeviceGetTemperature hangs"),
        "{other}"
    );
    driver.script(|script| script.hanging_calls.clear());
}

#[tokio::test]
async fn a_gpu_that_hangs_is_reported_and_the_other_goes_on_and_its_recovery_is_noticed() {
    let driver = Faulty::of(2);
    let nvml = nvml(&driver, QUICK);
    let devices = nvml.devices().await.unwrap();
    assert_eq!(devices[0].temperature(0).await, Ok(40));
    driver.script(|script| {
        script.hanging.insert(0);
    });
    let hung = devices[0].temperature(0).await;
    let Err(SourceError::TimedOut {
        what,
        after,
        last_good: Some(_),
    }) = hung
    else {
        panic!("{hung:?}");
    };
    assert_eq!(
        what,
        "nvmlDeviceGetTemperature of GPU 0 (GPU-0, 0000:00:00.0): not answering"
    );
    assert!(after >= QUICK.deadline);
    // The next one waits for nothing, and says what hangs.
    let began = Instant::now();
    let next = devices[0].persistence_mode().await.unwrap_err().to_string();
    assert!(began.elapsed() < QUICK.deadline, "{:?}", began.elapsed());
    assert!(
        next.starts_with(
            "nvmlDeviceGetPersistenceMode of GPU 0 (GPU-0, 0000:00:00.0): not answering, \
             nvmlDeviceGetTemperature hangs: no answer for "
        ),
        "{next}"
    );
    assert!(matches!(
        devices[0].presence().await,
        Err(SourceError::TimedOut { .. })
    ));
    // A pair with it is not even tried.
    assert!(devices[1].p2p_status(&devices[0]).await.is_err());
    assert_eq!(driver.calls("p2p"), 0);
    assert_eq!(devices[1].temperature(0).await, Ok(41));
    driver.script(|script| script.hanging.clear());
    while devices[0].temperature(0).await.is_err() {
        tokio::task::yield_now().await;
    }
    assert_eq!(devices[0].presence().await, Ok(()));
    assert_eq!(driver.calls("nvmlDeviceGetTemperature"), 4);
}

#[tokio::test]
async fn a_list_that_hangs_leaves_the_old_one_in_use() {
    let driver = Faulty::of(2);
    let nvml = nvml(&driver, QUICK);
    assert_eq!(nvml.devices().await.unwrap().len(), 2);
    driver.script(|script| {
        script.hanging.insert(LIST);
    });
    for _ in 0..3 {
        let devices = nvml.devices().await.unwrap();
        assert_eq!(devices[1].temperature(0).await, Ok(41));
    }
    assert_eq!(nvml.view().await.library, LibraryStatus::Loaded);
    driver.script(|script| script.hanging.clear());
    let counted = driver.calls("count");
    while driver.calls("count") == counted {
        nvml.view().await;
    }
}

#[tokio::test]
async fn a_driver_that_never_starts_says_where_it_hangs() {
    let driver = Faulty::of(1);
    driver.script(|script| {
        script.hanging.insert(LIST);
    });
    let nvml = nvml(&driver, QUICK);
    let view = nvml.view().await;
    assert_eq!(
        view.library,
        LibraryStatus::Failed("nvmlDeviceGetCount_v2 has not come back for 0 s".into())
    );
    assert!(nvml.devices().await.is_err());
    driver.script(|script| script.hanging.clear());
    while nvml.view().await.library != LibraryStatus::Loaded {
        tokio::task::yield_now().await;
    }
}
