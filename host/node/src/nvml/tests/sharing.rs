//! Answers that several callers share, and questions that are asked again each round.

use super::*;

#[tokio::test]
async fn what_several_ask_at_once_is_asked_once() {
    let driver = Faulty::of(1);
    let nvml = nvml(&driver, SHARING);
    let asked = (0..20).map(|_| async {
        let devices = nvml.devices().await.unwrap();
        devices[0].temperature(0).await
    });
    for answer in futures_util::future::join_all(asked).await {
        assert_eq!(answer, Ok(40));
    }
    assert_eq!(driver.calls("count"), 1);
    assert_eq!(driver.calls("nvmlDeviceGetName"), 1);
    assert_eq!(driver.calls("nvmlDeviceGetTemperature"), 1);
}

#[tokio::test]
async fn questions_of_the_last_round_are_taken_along_and_those_that_nobody_repeats_are_not() {
    let driver = Faulty::of(1);
    let timing = NvmlTiming {
        again_after: Duration::ZERO,
        ..SHARING
    };
    let nvml = nvml(&driver, timing);
    let gpu = &nvml.devices().await.unwrap()[0];
    let calls = || {
        let calls = ["Temperature", "PersistenceMode", "EccMode"];
        calls.map(|call| driver.calls(&format!("nvmlDeviceGet{call}")))
    };
    gpu.temperature(0).await.unwrap();
    assert_eq!(calls(), [1, 0, 0]);
    gpu.persistence_mode().await.unwrap();
    assert_eq!(calls(), [2, 1, 0], "it was asked for");
    // Whether there is an answer or none.
    assert!(gpu.ecc_mode().await.is_err());
    assert_eq!(calls(), [2, 2, 1], "nobody has asked for it since");
    // An answer that was taken along counts like any other.
    assert_eq!(gpu.temperature(0).await, Ok(40));
    assert_eq!(calls(), [2, 2, 1]);
}

#[tokio::test]
async fn a_round_has_its_answers_before_anybody_waits_for_them() {
    let driver = Faulty::of(2);
    let timing = NvmlTiming {
        again_after: Duration::ZERO,
        ..SHARING
    };
    let nvml = nvml(&driver, timing);
    let devices = nvml.devices().await.unwrap();
    let (temperature, mode) = (Reading::Temperature(0), Reading::PersistenceMode);
    // Nobody has asked for anything yet.
    nvml.ask_again().await;
    assert_eq!(driver.calls("nvmlDeviceGetTemperature"), 0);
    for device in &devices {
        device.temperature(0).await.unwrap();
    }
    nvml.ask_again().await;
    assert_eq!(driver.calls("nvmlDeviceGetTemperature"), 4);
    for (device, degrees) in devices.iter().zip([40, 41]) {
        let mut known = device.cached_answers().unwrap();
        assert_eq!(known.get(&temperature), Some(Ok(&Value::Number(degrees))));
        assert_eq!(known.get(&mode), None, "not asked yet");
    }

    // A GPU that hangs holds up the round for a moment, and the others have their answers.
    driver.script(|script| {
        script.hanging_calls.insert("nvmlDeviceGetTemperature");
    });
    nvml.ask_again().await;
    driver.script(|script| script.hanging_calls.clear());
    assert_eq!(driver.calls("nvmlDeviceGetTemperature"), 6);

    let lately = NvmlTiming {
        again_after: Duration::from_secs(3600),
        ..SHARING
    };
    let driver = Faulty::of(1);
    let nvml = self::nvml(&driver, lately);
    nvml.devices().await.unwrap()[0]
        .temperature(0)
        .await
        .unwrap();
    nvml.ask_again().await;
    assert_eq!(
        driver.calls("nvmlDeviceGetTemperature"),
        1,
        "it was of this round"
    );
}

#[tokio::test]
async fn after_a_refresh_nothing_is_answered_from_before() {
    let driver = Faulty::of(1);
    let long = NvmlTiming {
        round: Duration::from_secs(3600),
        ..SHARING
    };
    let nvml = nvml(&driver, long);
    let ask = || async { nvml.devices().await.unwrap()[0].temperature(0).await };
    let calls = || {
        (
            driver.calls("count"),
            driver.calls("nvmlDeviceGetTemperature"),
        )
    };
    for _ in 0..2 {
        ask().await.unwrap();
        assert_eq!(calls(), (1, 1), "shared");
    }
    nvml.refresh();
    for _ in 0..2 {
        ask().await.unwrap();
        assert_eq!(calls(), (2, 2), "read again, and shared again");
    }

    // An answer that is under way when a reader asks for the present is one of the past.
    nvml.refresh();
    let device = nvml.devices().await.unwrap().remove(0);
    driver.script(|script| {
        script.hanging.insert(0);
    });
    let other = device.clone();
    let slow = tokio::spawn(async move { other.temperature(0).await });
    while driver.calls("nvmlDeviceGetTemperature") < 3 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    nvml.refresh();
    driver.script(|script| script.hanging.clear());
    device.temperature(0).await.unwrap();
    assert_eq!(driver.calls("nvmlDeviceGetTemperature"), 4);
    assert!(slow.await.unwrap().is_ok());
}

#[tokio::test]
async fn prepared_questions_are_asked_once_and_a_hang_is_reported() {
    let driver = Faulty::of(2);
    let nvml = nvml(&driver, SHARING);
    let devices = nvml.devices().await.unwrap();
    let readings = [
        Reading::Temperature(0),
        Reading::PersistenceMode,
        Reading::EccMode,
    ];
    devices[0].prepare(&readings).await;
    let calls = || {
        let calls = ["Temperature", "PersistenceMode", "EccMode"];
        calls.map(|call| driver.calls(&format!("nvmlDeviceGet{call}")))
    };
    assert_eq!(calls(), [1, 1, 1]);
    assert_eq!(devices[0].temperature(0).await, Ok(40));
    assert_eq!(devices[0].persistence_mode().await, Ok(true));
    assert!(devices[0].ecc_mode().await.is_err());
    devices[0].prepare(&readings).await;
    assert_eq!(calls(), [1, 1, 1]);

    driver.script(|script| {
        script.hanging_calls.insert("nvmlDeviceGetPersistenceMode");
    });
    devices[1].prepare(&readings).await;
    assert_eq!(devices[1].temperature(0).await, Ok(41));
    let hanging = devices[1].persistence_mode().await.unwrap_err();
    assert!(matches!(hanging, SourceError::TimedOut { .. }), "{hanging}");
    driver.script(|script| script.hanging_calls.clear());
}
