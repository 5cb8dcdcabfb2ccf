//! What a healthy machine answers.

use std::time::Duration;

use gpud::node::{
    error::SourceError,
    nvml::{
        LibraryStatus,
        values::{EccMode, SramEcc},
    },
};

use super::machine::Machine;

const H100: &str = "
product: h100-sxm
gpus: 2
driver_version: 570.133.20
cuda_version: 12080
all:
  utilization: {gpu: 99, memory: 52}
  temperature: {gpu: 61, memory: 72, margin: -3, slowdown: 92}
  power: {usage: 641000}
  clocks: {event_reasons: 72, graphics: 1980, memory: 2619}
  memory: {total: 85899345920, used: 71940702208}
  persistence_mode: true
  recovery_action: 2
  remapped_rows: {correctable: 1, uncorrectable: 2, pending: true, failed: false}
  nvlink: {count: 18, all: {active: true, replay: 3}, link: {5: {active: false, crc_flit: 9}}}
  gpm: {supported: true, metrics: {2: 97.5, 3: 44.0}}
  compute_processes: [{pid: 4001, used_memory: 71940702208, sm: 99, memory: 52}, {pid: 4002}]
";

#[tokio::test]
async fn the_driver_and_the_identities_of_the_gpus_are_read() {
    let machine = Machine::new(H100);
    let view = machine.nvml.view().await;
    assert_eq!(view.library, LibraryStatus::Loaded);
    assert_eq!(view.driver_version.as_deref(), Ok("570.133.20"));
    assert_eq!(view.cuda_version, Ok(12_080));
    assert!(view.product_name().contains("H100"));
    let devices = machine.devices().await;
    assert_eq!(devices.len(), 2);
    for (index, device) in devices.iter().enumerate() {
        let who = device.identity();
        assert_eq!(who.index as usize, index);
        assert!(who.uuid.starts_with("GPU-"), "{who:?}");
        assert_eq!(who.bus_id.len(), "0000:0f:00.0".len(), "{who:?}");
        assert_eq!(who.compute_capability, (9, 0));
        assert!(who.serial.is_some() && who.minor_number.is_some());
        assert!(who.fact("vbios").is_some(), "{who:?}");
        // The mock says that the firmware runs wherever the scenario gives it a version.
        let gsp = who.fact("gsp-firmware").is_some();
        assert_eq!(
            who.fact("gsp-mode"),
            Some(if gsp { "enabled" } else { "disabled" })
        );
        assert_eq!(who.fact("gsp-default-mode"), who.fact("gsp-mode"));
        assert!(who.fact("inforom-image").is_some(), "{who:?}");
    }
}

#[tokio::test]
async fn readings() {
    let machine = Machine::new(H100);
    let gpu = machine.gpu(1).await;
    let memory = gpu.memory().await.unwrap();
    assert_eq!(memory.total, 85_899_345_920);
    assert_eq!(memory.used, 71_940_702_208);
    let utilization = gpu.utilization().await.unwrap();
    assert_eq!((utilization.gpu, utilization.memory), (99, 52));
    assert_eq!(gpu.clock(0).await, Ok(1980));
    assert_eq!(gpu.clock(2).await, Ok(2619));
    assert_eq!(gpu.clock_event_reasons().await, Ok(72));
    let power = gpu.power().await.unwrap();
    assert_eq!(power.usage, Some(641_000));
    assert!(power.enforced_limit.is_some());
    assert_eq!(gpu.persistence_mode().await, Ok(true));
    assert_eq!(gpu.temperature(0).await, Ok(61));
    assert_eq!(gpu.temperature(1).await, Ok(72));
    assert_eq!(gpu.temperature_threshold(1).await, Ok(92));
    assert_eq!(gpu.temperature_margin().await, Ok(-3));
    assert_eq!(
        gpu.ecc_mode().await,
        Ok(EccMode {
            current: true,
            pending: true
        })
    );
    assert_eq!(gpu.ecc_total(1, 0).await, Ok(0));
    assert_eq!(gpu.ecc_count(1, 0, 2).await, Ok(0));
    let rows = gpu.remapped_rows().await.unwrap();
    assert_eq!((rows.correctable, rows.uncorrectable), (1, 2));
    assert!(rows.pending && !rows.failed);
    assert!(gpu.row_histogram().await.is_ok());
    let pcie = gpu.pcie_link().await.unwrap();
    assert!(pcie.generation.is_some() && pcie.max_width.is_some());
    assert_eq!(gpu.field_value(230, 0).await, Ok(2.0));
    assert_eq!(gpu.presence().await, Ok(()));
}

#[tokio::test]
async fn errors_of_on_chip_memory_by_kind_and_unit() {
    let machine = Machine::new(
        "
product: h100-sxm
gpus: 2
gpu:
  1:
    ecc:
      sram_threshold_exceeded: true
      volatile_corrected: {sram: 9}
      volatile_uncorrected: {sram: 5}
      aggregate_uncorrected: {sram: 7}
      sram: {aggregate_parity: 2, volatile_parity: 1, l2: 3, sm: 1, microcontroller: 1}
",
    );
    let well = machine.gpu(0).await.sram_ecc().await;
    assert_eq!(well, Ok(SramEcc::default()));
    let errors = SramEcc {
        aggregate_uncorrectable_parity: 2,
        aggregate_uncorrectable_sec_ded: 5,
        volatile_uncorrectable_parity: 1,
        volatile_uncorrectable_sec_ded: 4,
        volatile_correctable: 9,
        aggregate_uncorrectable_l2: 3,
        aggregate_uncorrectable_sm: 1,
        aggregate_uncorrectable_microcontroller: 1,
        aggregate_uncorrectable_other: 2,
        threshold_exceeded: true,
        ..SramEcc::default()
    };
    assert_eq!(machine.gpu(1).await.sram_ecc().await, Ok(errors));
    let off = Machine::new("product: h100-sxm\ngpus: 1\nall: {ecc: {current: false}}\n");
    let refused = off.gpu(0).await.sram_ecc().await;
    assert!(
        matches!(refused, Err(SourceError::NotSupported(_))),
        "{refused:?}"
    );
}

#[tokio::test]
async fn links_fabric_and_pairs() {
    let machine = Machine::new(H100);
    let devices = machine.devices().await;
    let links = devices[0].nvlinks().await.unwrap();
    assert_eq!(links.len(), 18);
    assert!(links[4].active && !links[5].active);
    assert_eq!(links[5].errors.map(|errors| errors.crc), Some(9));
    assert_eq!(devices[0].nvlink_active(5).await, Ok(false));
    assert_eq!(
        devices[0]
            .nvlink_errors(4)
            .await
            .map(|errors| errors.replay),
        Ok(3)
    );
    assert_eq!(devices[0].p2p_status(&devices[1]).await, Ok(0));
    let fabric = devices[0].fabric().await.unwrap();
    assert_eq!(fabric.state, 3, "{fabric:?}");
    assert!(fabric.health_mask.is_some() && fabric.health_summary.is_some());
}

#[tokio::test]
async fn processes_and_gpm() {
    let machine = Machine::new(H100);
    let gpu = machine.gpu(0).await;
    let processes = gpu.processes().await.unwrap();
    let pids: Vec<u32> = processes.iter().map(|process| process.pid).collect();
    assert_eq!(pids, [4001, 4002]);
    assert_eq!(processes[0].used_memory, Some(71_940_702_208));
    let used = gpu.process_use().await.unwrap();
    let used: Vec<(u32, u32)> = used.iter().map(|it| (it.pid, it.sm)).collect();
    assert!(used.contains(&(4001, 99)), "{used:?}");
    let metrics = gpu.gpm(vec![2, 3, 99], Duration::from_millis(20)).await;
    assert_eq!(metrics, Ok(vec![(2, 97.5), (3, 44.0)]));
}

#[tokio::test]
async fn mig_devices_of_their_gpu() {
    let machine = Machine::new(
        "
product: a100-sxm
gpus: 2
gpu:
  0:
    mig:
      enabled: true
      devices:
        - {profile: 3g.40gb, gpu_instance: 1, slices: 3, multiprocessors: 42, memory_mib: 40192}
        - {profile: 1g.10gb, gpu_instance: 9, slices: 1, multiprocessors: 14, memory_mib: 9856}
",
    );
    let devices = machine.devices().await;
    assert_eq!(devices[0].mig_mode().await, Ok(true));
    assert_eq!(devices[1].mig_mode().await, Ok(false));
    let parts = devices[0].mig_devices().await.unwrap();
    assert_eq!(parts.len(), 2);
    assert!(parts[0].uuid.starts_with("MIG-"), "{parts:?}");
    assert_eq!(parts[0].gpu_instance, Some(1));
    assert_eq!(parts[1].gpu_instance, Some(9));
    assert_eq!(parts[1].multiprocessors, Some(14));
    assert_eq!(devices[1].mig_devices().await.unwrap_or_default(), []);
}

#[tokio::test]
async fn a_workstation_without_links_and_fabric() {
    let machine = Machine::new("product: rtx-6000-ada\ngpus: 1\n");
    let gpu = machine.gpu(0).await;
    let unsupported = |error: SourceError| matches!(error, SourceError::NotSupported(_));
    assert!(gpu.nvlinks().await.is_err_and(unsupported));
    let gpm = gpu.gpm(vec![2], Duration::from_millis(10)).await;
    assert!(gpm.is_err_and(unsupported));
}
