//! Calls that do not come back.

use std::time::{Duration, Instant};

use gpud::node::{error::SourceError, nvml::LibraryStatus};

use super::machine::{Machine, QUICK, until};

const HANGS: &str = "
product: h100-sxm
faults: [{call: nvmlDeviceGetTemperature, gpu: 2, hang: forever}]
";

#[tokio::test]
async fn a_gpu_that_hangs_delays_no_other_and_can_return() {
    let machine = Machine::new("product: h100-sxm\n");
    let devices = machine.devices().await;
    assert!(devices[2].temperature(0).await.is_ok());
    machine.change(HANGS);
    let error = loop {
        if let Err(error) = devices[2].temperature(0).await {
            break error;
        }
    };
    assert!(
        matches!(&error, SourceError::TimedOut { after, last_good: Some(_), .. } if *after >= QUICK.deadline),
        "{error:?}"
    );
    let began = Instant::now();
    let error = devices[2].power().await.unwrap_err();
    assert!(began.elapsed() < QUICK.deadline / 2);
    let text = error.to_string();
    assert!(text.contains("nvmlDeviceGetTemperature hangs"), "{text}");
    for (index, gpu) in devices.iter().enumerate().filter(|(index, _)| *index != 2) {
        assert!(gpu.temperature(0).await.is_ok(), "{index}");
    }
    assert_eq!(machine.nvml.view().await.library, LibraryStatus::Loaded);
    machine.change("product: h100-sxm\n");
    until("GPU 2 answers again", || async {
        devices[2].temperature(0).await.is_ok()
    })
    .await;
}

/// While one GPU hangs, readings of another do not wait for it: far less than its deadline in the middle of 200. The
/// benchmark shows by how much.
#[tokio::test]
async fn others_are_not_delayed() {
    let machine = Machine::new("product: h100-sxm\n");
    let devices = machine.devices().await;
    let round = || async {
        let mut took = Vec::new();
        for _ in 0..200 {
            let began = Instant::now();
            devices[5].temperature(0).await.unwrap();
            took.push(began.elapsed());
        }
        took.sort();
        took[100]
    };
    let alone = round().await;
    machine.change(HANGS);
    while devices[2].temperature(0).await.is_ok() {}
    let asking = tokio::spawn({
        let hung = devices[2].clone();
        async move {
            loop {
                let _ = hung.temperature(0).await;
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        }
    });
    let beside = round().await;
    asking.abort();
    machine.change("product: h100-sxm\n");
    assert!(
        beside < alone + QUICK.deadline / 10,
        "{alone:?} alone, {beside:?} beside a GPU that hangs"
    );
}

#[tokio::test]
async fn a_list_that_hangs_is_replaced_by_the_last_one() {
    let machine = Machine::new("product: h100-sxm\n");
    machine.devices().await;
    machine.change(
        "product: h100-sxm\nfaults: [{call: nvmlDeviceGetHandleByIndex*, gpu: 6, hang: forever}]\n",
    );
    for _ in 0..5 {
        let devices = machine.devices().await;
        assert_eq!(devices.len(), 8);
        assert!(devices[0].temperature(0).await.is_ok());
    }
    machine.change("product: h100-sxm\n");
    assert_eq!(machine.devices().await.len(), 8);
}

#[tokio::test]
async fn slow_is_not_hung() {
    let machine = Machine::new(
        "product: h100-sxm\nfaults: [{call: nvmlDeviceGetPowerUsage, gpu: 4, hang_ms: 100}]\n",
    );
    let gpu = machine.gpu(4).await;
    let began = Instant::now();
    assert!(gpu.power().await.is_ok());
    assert!(began.elapsed() >= Duration::from_millis(100));
}
