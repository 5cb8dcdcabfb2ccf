//! The library through `nvml-wrapper`, as gpud uses it.

mod common;

use common::Mock;
use nvml_wrapper::enum_wrappers::device::{
    Clock, EccCounter, MemoryError, MemoryLocation, TemperatureSensor, TemperatureThreshold,
};
use nvml_wrapper::error::NvmlError;
use nvml_wrapper::structs::device::FieldId;

#[test]
fn every_product_is_walked_without_surprises() {
    for product in gpud_nvml_mock::scenario::product::Product::all() {
        let mock = Mock::new(&format!("product: {}", product.name));
        let nvml = mock.nvml();
        assert_eq!(nvml.sys_driver_version().unwrap(), product.driver_version);
        assert_eq!(
            nvml.sys_cuda_driver_version().unwrap(),
            product.cuda_version
        );
        assert_eq!(nvml.device_count().unwrap(), product.gpus);
        for index in 0..product.gpus {
            let gpu = nvml.device_by_index(index).unwrap();
            assert_eq!(gpu.index().unwrap(), index);
            assert!(gpu.name().unwrap().starts_with("NVIDIA "));
            let uuid = gpu.uuid().unwrap();
            let bus_id = gpu.pci_info().unwrap().bus_id;
            assert_eq!(
                nvml.device_by_uuid(uuid.as_str()).unwrap().index().unwrap(),
                index
            );
            assert_eq!(
                nvml.device_by_pci_bus_id(bus_id.as_str())
                    .unwrap()
                    .index()
                    .unwrap(),
                index
            );
            let memory = gpu.memory_info().unwrap();
            assert_eq!(memory.total, memory.used + memory.free + memory.reserved);
            assert!(
                gpu.temperature(TemperatureSensor::Gpu).unwrap()
                    < gpu
                        .temperature_threshold(TemperatureThreshold::Slowdown)
                        .unwrap()
            );
            assert!(gpu.power_usage().unwrap() < gpu.enforced_power_limit().unwrap());
            assert!(
                gpu.clock_info(Clock::Memory).unwrap()
                    <= gpu.max_clock_info(Clock::Memory).unwrap()
            );
            gpu.utilization_rates().unwrap();
            gpu.brand().unwrap();
            gpu.architecture().unwrap();
            gpu.running_compute_processes().unwrap();
            gpu.running_graphics_processes().unwrap();
            gpu.current_throttle_reasons().unwrap();
            gpu.num_cores().unwrap();
            gpu.vbios_version().unwrap();
            gpu.current_pcie_link_gen().unwrap();
            assert_eq!(gpu.max_pcie_link_width().unwrap(), 16);
            gpu.total_energy_consumption().unwrap();
        }
    }
}

#[test]
fn readings_of_the_scenario_come_back() {
    let mock = Mock::new(
        "product: h100\ngpu:\n  3:\n    temperature: {gpu: 88}\n    power: {usage: 699000}\n    persistence_mode: false\n    \
         ecc: {volatile_uncorrected: {dram: 5}, aggregate_uncorrected: {sram: 2}}\n    \
         nvlink: {link: {7: {active: false, crc_flit: 11}}}\n    \
         compute_processes: [{pid: 77, used_memory: 1024, sm: 50}, {pid: 78}]\n",
    );
    let nvml = mock.nvml();
    let gpu = nvml.device_by_index(3).unwrap();
    assert_eq!(gpu.temperature(TemperatureSensor::Gpu).unwrap(), 88);
    assert_eq!(gpu.power_usage().unwrap(), 699_000);
    assert!(!gpu.is_in_persistent_mode().unwrap());
    assert_eq!(
        gpu.memory_error_counter(
            MemoryError::Uncorrected,
            EccCounter::Volatile,
            MemoryLocation::Device
        )
        .unwrap(),
        5
    );
    assert_eq!(
        gpu.total_ecc_errors(MemoryError::Uncorrected, EccCounter::Aggregate)
            .unwrap(),
        2
    );
    assert!(!gpu.link_wrapper_for(7).is_active().unwrap());
    assert!(gpu.link_wrapper_for(8).is_active().unwrap());
    let error = nvml_wrapper::enum_wrappers::nv_link::ErrorCounter::DlCrcFlit;
    assert_eq!(gpu.link_wrapper_for(7).error_counter(error).unwrap(), 11);
    assert!(matches!(
        gpu.link_wrapper_for(18).is_active(),
        Err(NvmlError::InvalidArg)
    ));
    let processes = gpu.running_compute_processes().unwrap();
    assert_eq!(
        processes.iter().map(|p| p.pid).collect::<Vec<_>>(),
        [77, 78]
    );
    assert!(matches!(
        processes[1].used_gpu_memory,
        nvml_wrapper::enums::device::UsedGpuMemory::Unavailable
    ));
    let samples = gpu.process_utilization_stats(None).unwrap();
    assert_eq!(
        samples
            .iter()
            .map(|s| (s.pid, s.sm_util))
            .collect::<Vec<_>>(),
        [(77, 50)]
    );
}

#[test]
fn field_values() {
    let mock = Mock::new(
        "product: h100\nall: {recovery_action: 2, nvlink: {link: {3: {replay: 6}}}, fields: {\"250\": -3, \"94\": {error: no_data}}}",
    );
    let nvml = mock.nvml();
    let gpu = nvml.device_by_index(0).unwrap();
    let values = gpu
        .field_values_for(&[
            FieldId(230),
            FieldId(82),
            FieldId(161),
            FieldId(94),
            FieldId(9999),
        ])
        .unwrap();
    let shown: Vec<String> = values
        .iter()
        .map(|v| {
            v.as_ref()
                .map_or_else(|e| format!("{e:?}"), |s| format!("{:?}", s.value))
        })
        .collect();
    assert!(shown[0].contains("U32(2)"), "{shown:?}");
    assert!(shown[1].contains("U32(38)"), "{shown:?}");
    assert!(shown[3].contains("NoData"), "{shown:?}");
    assert!(shown[4].contains("NotSupported"), "{shown:?}");
}

#[test]
fn every_return_code_comes_through() {
    for code in gpud_nvml_mock::code::Code::all()
        .chain([gpud_nvml_mock::code::Code(31)])
        .filter(|code| code.0 != 0)
    {
        let mock = Mock::new(&format!(
            "product: h100\nfaults: [{{call: nvmlDeviceGetPowerUsage, gpu: 1, error: {code}}}]"
        ));
        let nvml = mock.nvml();
        let error = nvml.device_by_index(1).unwrap().power_usage().unwrap_err();
        match error {
            NvmlError::UnexpectedVariant(number) => assert_eq!(number, code.0),
            known => assert_eq!(nvml_wrapper_sys_code(known), code.0),
        }
        nvml.device_by_index(0).unwrap().power_usage().unwrap();
    }
}

fn nvml_wrapper_sys_code(error: NvmlError) -> u32 {
    nvml_wrapper_sys::bindings::nvmlReturn_t::from(error)
}

#[test]
fn a_gpu_that_is_lost_and_one_that_needs_a_reset() {
    let mock = Mock::new(
        "product: h100\ngpu: {1: {state: lost}, 2: {state: lost_after_lookup}, 3: {state: needs_reset, recovery_action: 1}, 7: {state: absent}}",
    );
    let nvml = mock.nvml();
    assert_eq!(nvml.device_count().unwrap(), 7);
    assert!(matches!(
        nvml.device_by_index(1).unwrap_err(),
        NvmlError::GpuLost
    ));
    let lost = nvml.device_by_index(2).unwrap();
    assert!(matches!(lost.uuid().unwrap_err(), NvmlError::GpuLost));
    let reset = nvml.device_by_index(3).unwrap();
    reset.uuid().unwrap();
    assert!(matches!(
        reset.power_usage().unwrap_err(),
        NvmlError::ResetRequired
    ));
    assert!(matches!(
        nvml.device_by_index(7).unwrap_err(),
        NvmlError::InvalidArg
    ));
}

#[test]
fn gpm_over_two_samples() {
    let mock = Mock::new("product: h100\ngpu: {0: {gpm: {metrics: {2: 12.5, 3: null}}}}");
    let nvml = mock.nvml();
    let gpu = nvml.device_by_index(0).unwrap();
    assert!(gpu.gpm_support().unwrap());
    use nvml_wrapper::enums::gpm::GpmMetricId;
    let (first, second) = (gpu.gpm_sample().unwrap(), gpu.gpm_sample().unwrap());
    let metrics = nvml_wrapper::gpm::gpm_metrics_get(
        &nvml,
        &first,
        &second,
        &[GpmMetricId::SmUtil, GpmMetricId::SmOccupancy],
    )
    .unwrap();
    assert!((metrics[0].as_ref().unwrap().value - 12.5).abs() < f64::EPSILON);
    assert!(matches!(metrics[1], Err(NvmlError::NotSupported)));
    drop((first, second));
    let frees = mock
        .calls()
        .iter()
        .filter(|call| call.starts_with("nvmlGpmSampleFree"))
        .count();
    assert_eq!(frees, 2);
}

#[test]
fn mig_devices() {
    let mock = Mock::new(include_str!("../scenarios/mig.yaml"));
    let nvml = mock.nvml();
    let gpu = nvml.device_by_index(0).unwrap();
    assert!(gpu.mig_mode().unwrap().current == 1);
    assert!(matches!(
        gpu.utilization_rates().unwrap_err(),
        NvmlError::NotSupported
    ));
    let mig = gpu.mig_device_by_index(1).unwrap();
    assert_eq!(mig.name().unwrap(), "NVIDIA A100-SXM4-80GB MIG 1g.10gb");
    assert!(mig.uuid().unwrap().starts_with("MIG-00000001-"));
    assert_eq!(mig.memory_info().unwrap().total, 9856 << 20);
    assert!(matches!(
        mig.power_usage().unwrap_err(),
        NvmlError::NotSupported
    ));
    assert!(
        gpu.mig_device_by_index(0)
            .unwrap()
            .running_compute_processes()
            .unwrap()
            .len()
            == 1
    );
    assert!(mig.running_compute_processes().unwrap().is_empty());
    assert!(matches!(
        gpu.mig_device_by_index(2).unwrap_err(),
        NvmlError::NotFound
    ));
    let again = nvml.device_by_uuid(mig.uuid().unwrap()).unwrap();
    assert!(again.mig_is_mig_device_handle().unwrap());
}

#[test]
fn peer_to_peer_over_nvlink() {
    use nvml_wrapper::enum_wrappers::device::{P2pCapabilitiesIndex, P2pStatus};
    let mock = Mock::new("product: h100\np2p: [{gpus: [0, 1], index: 2, status: 5}]");
    let nvml = mock.nvml();
    let gpu = |n| nvml.device_by_index(n).unwrap();
    let status = |a, b| {
        gpu(a)
            .p2p_status(&gpu(b), P2pCapabilitiesIndex::NvLink)
            .unwrap()
    };
    assert!(matches!(status(1, 0), P2pStatus::NotSupported));
    assert!(matches!(status(1, 2), P2pStatus::Ok));
}

#[test]
fn numbers_that_change_between_two_calls() {
    let mock = Mock::new(include_str!("../scenarios/counts-change.yaml"));
    let nvml = mock.nvml();
    let counts: Vec<u32> = (0..4).map(|_| nvml.device_count().unwrap()).collect();
    assert_eq!(counts, [8, 7, 8, 8]);
    // The wrapper asks for the size first; by the second call there is one more, for which it has left room.
    assert_eq!(
        nvml.device_by_index(0)
            .unwrap()
            .running_compute_processes()
            .unwrap()
            .len(),
        0
    );
    assert_eq!(
        nvml.device_by_index(0)
            .unwrap()
            .running_compute_processes()
            .unwrap()
            .len(),
        2
    );
}

#[test]
fn absurd_readings_come_through_as_they_are() {
    let mock = Mock::new(include_str!("../scenarios/absurd.yaml"));
    let nvml = mock.nvml();
    let gpu = |n| nvml.device_by_index(n).unwrap();
    assert_eq!(
        gpu(0).temperature(TemperatureSensor::Gpu).unwrap(),
        u32::MAX
    );
    assert_eq!(gpu(1).enforced_power_limit().unwrap(), 0);
    let memory = gpu(2).memory_info().unwrap();
    assert_eq!((memory.total, memory.used, memory.free), (0, u64::MAX, 0));
    assert_eq!(gpu(4).name().unwrap(), "");
    assert_eq!(
        gpu(5)
            .total_ecc_errors(MemoryError::Uncorrected, EccCounter::Volatile)
            .unwrap(),
        u64::MAX
    );
    assert!(matches!(
        gpu(6).brand().unwrap_err(),
        NvmlError::UnexpectedVariant(u32::MAX)
    ));
}
