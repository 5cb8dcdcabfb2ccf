//! Answers that cannot be right are passed on as they are: what they mean is for checkers. Nothing falls over.

use std::time::Duration;

use super::machine::Machine;

#[tokio::test]
async fn readings_that_cannot_be() {
    let machine = Machine::new(
        "
product: h100-sxm
gpu:
  0: {temperature: {gpu: 4294967295, margin: -2147483648}, power: {usage: 4294967295}}
  1: {temperature: {gpu: 0}, power: {usage: 0, limit: 0}, clocks: {graphics: 0}}
  2: {memory: {total: 0, used: 18446744073709551615}}
  3: {utilization: {gpu: 4294967295, memory: 101}}
  4: {name: '', uuid: '', serial: 'N/A'}
  5: {ecc: {volatile_uncorrected: {dram: 18446744073709551615, sram: 1}}}
  6: {brand: 4294967295, fabric: {state: 255, status: 4294967295}}
  7: {gpm: {metrics: {2: -1.0, 3: 1.0e308, 5: .nan}}}
",
    );
    let devices = machine.devices().await;
    assert_eq!(devices.len(), 8);
    assert_eq!(devices[0].temperature(0).await, Ok(u32::MAX));
    assert_eq!(devices[0].temperature_margin().await, Ok(i32::MIN));
    assert_eq!(devices[1].clock(0).await, Ok(0));
    assert_eq!(devices[2].memory().await.map(|it| it.total), Ok(0));
    assert_eq!(devices[3].utilization().await.map(|it| it.memory), Ok(101));
    assert_eq!(devices[4].identity().uuid, "unknown-gpu-4");
    assert!(devices[4].temperature(0).await.is_ok());
    assert_eq!(devices[5].ecc_count(1, 0, 2).await, Ok(u64::MAX));
    assert_eq!(devices[6].identity().brand, u32::MAX);
    assert_eq!(devices[6].fabric().await.map(|it| it.state), Ok(255));
    let metrics = devices[7].gpm(vec![2, 3, 5], Duration::from_millis(10));
    assert_eq!(metrics.await, Ok(vec![(2, -1.0), (3, 1.0e308)]));
}

#[tokio::test]
async fn counts_that_change_between_two_calls() {
    let machine = Machine::new(
        "
product: h100-sxm
timeline:
  - {after_call: nvmlDeviceGetCount, calls: 1, gpus: 7}
  - {after_call: nvmlDeviceGetCount, calls: 2, gpus: 8}
  - {after_call: nvmlDeviceGetComputeRunningProcesses, calls: 1, set: {compute_processes: [{pid: 1}]}}
  - {after_call: nvmlDeviceGetComputeRunningProcesses, calls: 2, set: {compute_processes: [{pid: 1}, {pid: 2}]}}
",
    );
    for _ in 0..3 {
        let devices = machine.devices().await;
        for gpu in &devices {
            let _ = gpu.processes().await;
        }
    }
    let devices = machine.devices().await;
    assert_eq!(devices.len(), 8);
    for gpu in devices {
        assert!(gpu.temperature(0).await.is_ok());
    }
}

#[tokio::test]
async fn many_processes() {
    let processes: Vec<String> = (1..=500).map(|pid| format!("{{pid: {pid}}}")).collect();
    let machine = Machine::new(&format!(
        "product: h100-sxm\ngpus: 1\nall: {{compute_processes: [{}]}}\n",
        processes.join(", ")
    ));
    let found = machine.gpu(0).await.processes().await.unwrap();
    assert_eq!(found.len(), 500);
}
