//! How often NVML is called.

use std::{collections::BTreeMap, fs};

use super::machine::{Machine, SHARING};

#[tokio::test]
async fn a_round_of_many_checkers_calls_once_for_each_reading_of_each_gpu() {
    let machine = Machine::with_timing("product: h100-sxm\n", SHARING);
    let log = machine.file("calls");
    machine.change(&format!("product: h100-sxm\ncall_log: {}\n", log.display()));
    // Nineteen components begin alike, and several want the same reading.
    let checkers = (0..19).map(|_| async {
        machine.nvml.view().await;
        for gpu in machine.devices().await {
            gpu.temperature(0).await.unwrap();
            gpu.ecc_mode().await.unwrap();
        }
    });
    futures_util::future::join_all(checkers).await;
    let text = fs::read_to_string(&log).unwrap();
    let mut calls: BTreeMap<&str, u32> = BTreeMap::new();
    for call in text.lines().filter_map(|line| line.split(' ').nth(2)) {
        *calls.entry(call).or_default() += 1;
    }
    let count = |name: &str| {
        let of = calls.iter().filter(|(call, _)| call.starts_with(name));
        of.map(|(_, count)| count).sum::<u32>()
    };
    assert_eq!(count("nvmlInit"), 1, "{calls:?}");
    assert_eq!(count("nvmlDeviceGetCount"), 1, "{calls:?}");
    assert_eq!(count("nvmlDeviceGetHandleByIndex"), 8, "{calls:?}");
    assert_eq!(count("nvmlDeviceGetName"), 8, "{calls:?}");
    assert_eq!(count("nvmlDeviceGetTemperature"), 8, "{calls:?}");
    assert_eq!(count("nvmlDeviceGetEccMode"), 8, "{calls:?}");
}
