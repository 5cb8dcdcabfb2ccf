//! GPM metrics, which need two samples.

use super::*;

#[tokio::test]
async fn gpm_takes_two_samples_and_frees_the_thread_in_between() {
    let driver = Faulty::of(1);
    let nvml = nvml(&driver, QUICK);
    let devices = nvml.devices().await.unwrap();
    let device = &devices[0];
    let (metrics, temperature) = tokio::join!(
        device.gpm(vec![2], Duration::from_millis(1)),
        device.temperature(0)
    );
    assert_eq!(metrics, Ok(vec![(2, 50.0)]));
    assert_eq!(temperature, Ok(40));
    assert_eq!(driver.calls("nvmlGpmSampleGet"), 1);
    let too_many = device.gpm(vec![2; 65], Duration::ZERO).await;
    assert!(matches!(too_many, Err(SourceError::Invalid(_))));
}

#[tokio::test]
async fn gpm_of_a_gpu_that_hangs_leaves_the_others_theirs() {
    let driver = Faulty::of(3);
    let nvml = nvml(&driver, SHARING);
    let devices = nvml.devices().await.unwrap();
    driver.script(|script| {
        script.hanging.insert(1);
    });
    let period = Duration::from_millis(1);
    for _ in 0..2 {
        let found = nvml.gpm_of(&devices, vec![2], period).await;
        assert_eq!(found[0], Ok(vec![(2, 50.0)]));
        let text = found[1].clone().unwrap_err().to_string();
        assert!(
            text.contains("nvmlGpmSampleGet of GPU 1") && text.contains("not answering"),
            "{text}"
        );
        assert_eq!(found[2], Ok(vec![(2, 50.0)]));
    }
    // What was answered lately is not asked again, and one that hangs takes one thread.
    assert_eq!(driver.calls("nvmlGpmSampleGet"), 3);
    driver.script(|script| script.hanging.clear());
    while nvml.gpm_of(&devices, vec![2], period).await[1].is_err() {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn nobody_waits_for_a_second_gpm_sample_where_there_was_no_first() {
    let driver = Faulty::of(2);
    driver.below().change(|gpus| {
        for gpu in gpus {
            gpu.answers.remove(&Reading::GpmSample);
        }
    });
    let nvml = nvml(&driver, SHARING);
    let devices = nvml.devices().await.unwrap();
    let gpus: Vec<_> = devices.iter().map(Device::gpu).collect();
    let period = Duration::from_secs(24 * 3600);
    let asked = nvml.shared.gpm.metrics(&gpus, vec![2], period);
    let found = tokio::time::timeout(Duration::from_secs(600), asked).await;
    let found = found.expect("an answer on the same day");
    assert!(found.iter().all(Result::is_err), "{found:?}");
    assert_eq!(driver.calls("nvmlGpmMetricsGet"), 0);
}
