//! Return codes and what they become.

use gpud::node::error::SourceError;

use super::machine::Machine;

fn kind(error: &SourceError) -> &'static str {
    match error {
        SourceError::Denied(_) => "denied",
        SourceError::NotSupported(_) => "not-supported",
        SourceError::NotFound(_) => "not-found",
        SourceError::TimedOut { .. } => "timed-out",
        SourceError::SourceLost(_) => "lost",
        SourceError::NeedsReset(_) => "reset",
        SourceError::Other(_) => "other",
        _ => "?",
    }
}

#[tokio::test]
async fn every_return_code_of_a_call() {
    let scenario = |code: u32| {
        format!(
            "product: h100-sxm\ngpus: 1\nfaults: [{{call: nvmlDeviceGetTemperature, error: {code}}}]\n"
        )
    };
    let machine = Machine::new(&scenario(1));
    let gpu = machine.gpu(0).await;
    for code in (1..31).chain([77, 999]) {
        machine.change(&scenario(code));
        let error = gpu.temperature(0).await.unwrap_err();
        let wanted = match code {
            3 | 13 => "not-supported",
            // By their texts.
            22 | 24 | 30 => "not-supported",
            4 => "denied",
            9 | 12 => "not-found",
            10 => "timed-out",
            15 => "lost",
            16 => "reset",
            _ => "other",
        };
        assert_eq!(kind(&error), wanted, "{code}: {error}");
        let text = error.to_string();
        assert!(
            text.contains("nvmlDeviceGetTemperature of GPU 0 (GPU-"),
            "{text}"
        );
    }
    machine.change(&scenario(27));
    let text = gpu.temperature(0).await.unwrap_err().to_string();
    assert!(text.ends_with(": System is not in ready state"), "{text}");
    // Other questions were not touched by any of this.
    assert!(gpu.power().await.is_ok());
}

#[tokio::test]
async fn functions_that_an_old_driver_lacks() {
    let machine = Machine::new(
        "
product: a100-sxm
gpus: 1
driver_version: 470.239.06
cuda_version: 11040
missing_symbols:
  - nvmlDeviceGetMemoryInfo_v2
  - nvmlDeviceGetCurrentClocksEventReasons
  - nvmlDeviceGetComputeRunningProcesses_v3
  - nvmlDeviceGetGpuFabricInfo
  - nvmlDeviceGetGpuFabricInfoV
  - nvmlDeviceGetMarginTemperature
  - nvmlDeviceGetPlatformInfo
  - nvmlGpmQueryDeviceSupport
all:
  clocks: {event_reasons: 4}
  compute_processes: [{pid: 7, used_memory: 1}]
",
    );
    let gpu = machine.gpu(0).await;
    // Asked by their older names.
    let memory = gpu.memory().await.unwrap();
    assert!(memory.total > 0);
    assert_eq!(memory.reserved, 0);
    assert_eq!(gpu.clock_event_reasons().await, Ok(4));
    let processes = gpu.processes().await.unwrap();
    assert_eq!(processes[0].pid, 7);
    // Not there at all.
    for error in [
        gpu.temperature_margin().await.map(|_| ()).unwrap_err(),
        gpu.fabric().await.map(|_| ()).unwrap_err(),
        gpu.gpm(vec![2], std::time::Duration::from_millis(10))
            .await
            .map(|_| ())
            .unwrap_err(),
    ] {
        assert_eq!(kind(&error), "not-supported", "{error}");
    }
}
