//! What is not about readings: symbols, buffers, files, time, hangs, the log of calls.

#![allow(unsafe_code, reason = "calls C functions")]

mod common;

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use common::{Mock, until};
use gpud_nvml_mock::code::Code;
use gpud_nvml_mock::functions::NAMES;
use gpud_nvml_mock::install::{InstallError, built, install};
use nvml_wrapper::Nvml;
use nvml_wrapper::error::NvmlError;
use nvml_wrapper_sys::bindings::*;

#[test]
fn all_functions_are_there() {
    let mock = Mock::new("product: h100");
    let raw = mock.raw();
    let missing: Vec<&&str> = NAMES.iter().filter(|name| !raw.has(name)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn functions_that_the_scenario_takes_away_are_not_there() {
    let mock = Mock::new(include_str!("../scenarios/old-driver.yaml"));
    let raw = mock.raw();
    assert!(!raw.has("nvmlDeviceGetMemoryInfo_v2"));
    assert!(!raw.has("nvmlDeviceGetGpuFabricInfo"));
    assert!(raw.has("nvmlDeviceGetMemoryInfo"));
    assert!(!raw.has("nvmlDeviceGetGpuFabricInfoV"));
    assert!(raw.has("nvmlDeviceGetName"));
    let nvml = mock.nvml();
    let error = nvml.device_by_index(0).unwrap().memory_info().unwrap_err();
    assert!(
        matches!(error, NvmlError::FailedToLoadSymbol(_)),
        "{error:?}"
    );
    assert_eq!(nvml.sys_driver_version().unwrap(), "470.239.06");
}

#[test]
fn a_function_that_is_not_in_the_library_cannot_be_taken_out() {
    let error =
        gpud_nvml_mock::install::without(b"\0nvmlInit\0".to_vec(), &["nvmlShutdown"]).unwrap_err();
    assert!(matches!(error, InstallError::NoSymbol(name) if name == "nvmlShutdown"));
}

#[test]
fn texts_need_room_for_their_end() {
    let mock = Mock::new("product: h100\nall: {name: abcdef, serial: null}");
    let raw = mock.raw();
    let gpu = raw.device(0);
    for (length, want) in [
        (0, (7, "")),
        (6, (7, "")),
        (7, (0, "abcdef")),
        (96, (0, "abcdef")),
    ] {
        let (code, text) = raw.text("nvmlDeviceGetName", gpu, length);
        assert_eq!(code, want.0, "{length}");
        if code == 0 {
            assert_eq!(text, want.1);
        }
    }
    assert_eq!(
        raw.text("nvmlDeviceGetSerial", gpu, 30).0,
        Code::NOT_SUPPORTED.0
    );
}

#[test]
fn what_is_no_handle_and_what_is_null_is_refused() {
    let mock = Mock::new("product: h100");
    let raw = mock.raw();
    let mut power = 0_u32;
    for handle in [
        0,
        1,
        usize::MAX,
        0x4d4f_434b_0000_0000 + (8 << 16),
        0x4d4f_434b_0000_0001,
    ] {
        let code = raw.with("nvmlDeviceGetPowerUsage", handle, &mut power);
        // The last is a MIG device that is not there.
        assert!([2, 3].contains(&code), "{handle:#x}: {code}");
    }
    let gpu = raw.device(0);
    // SAFETY: the library looks for null.
    let code = unsafe {
        let function: libloading::Symbol<unsafe extern "C" fn(usize, *mut u32) -> u32> =
            raw.0.get(b"nvmlDeviceGetPowerUsage").unwrap();
        function(gpu, std::ptr::null_mut())
    };
    assert_eq!(code, 2);
}

#[test]
fn init_is_counted() {
    let mock = Mock::new("product: h100");
    let raw = mock.raw();
    let ask = || raw.out("nvmlDeviceGetCount_v2", &mut 0_u32);
    assert_eq!(ask(), 0);
    assert_eq!(raw.call0("nvmlInit_v2"), 0);
    assert_eq!(raw.call0("nvmlShutdown"), 0);
    assert_eq!(ask(), 0);
    assert_eq!(raw.call0("nvmlShutdown"), 0);
    assert_eq!(ask(), 1);
    assert_eq!(raw.call0("nvmlShutdown"), 1);
}

#[test]
fn version_tags_are_looked_at() {
    let mock = Mock::new("product: gb200");
    let raw = mock.raw();
    let gpu = raw.device(0);
    // A size below the version, wrong in one or the other.
    for (version, want) in [
        (0x0300_0028_u32, 0),
        (0x0200_0024, 0),
        (0x0100_0028, 25),
        (0x0300_0024, 25),
        (0, 25),
        (3, 25),
    ] {
        let mut info = [0xaa_u8; 64];
        info[..4].copy_from_slice(&version.to_ne_bytes());
        assert_eq!(
            raw.with("nvmlDeviceGetGpuFabricInfoV", gpu, &mut info),
            want,
            "{version:#x}"
        );
        let written = if want == 0 {
            (version & 0xff_ffff) as usize
        } else {
            4
        };
        assert!(
            info[written..].iter().all(|b| *b == 0xaa),
            "{version:#x}: wrote past the struct"
        );
        if want == 0 {
            assert_eq!(info[4..8], [0xa1, 0xb2, 0xc3, 0xd4]);
            assert_eq!(info[28], 3);
        }
    }
    for (name, version, size) in [
        ("nvmlDeviceGetMemoryInfo_v2", 0x0200_0028_u32, 40),
        ("nvmlDeviceGetMarginTemperature", 0x0100_0008, 8),
        ("nvmlDeviceGetPlatformInfo", 0x0100_002c, 44),
        ("nvmlDeviceGetPlatformInfo", 0x0200_002c, 44),
        ("nvmlDeviceGetSramEccErrorStatus", 0x0100_0068, 104),
        ("nvmlDeviceGetPciInfoExt", 0x0100_0040, 64),
        ("nvmlDeviceGetPdi", 0x0100_0010, 16),
        ("nvmlGpmQueryDeviceSupport", 1, 8),
        ("nvmlGpmQueryDeviceSupport", 0x0100_0008, 8),
    ] {
        let mut info = [0xaa_u8; 128];
        info[..4].copy_from_slice(&version.to_ne_bytes());
        assert_eq!(raw.with(name, gpu, &mut info), 0, "{name}");
        assert!(
            info[size..].iter().all(|b| *b == 0xaa),
            "{name} wrote past its struct"
        );
        info[..4].copy_from_slice(&(version ^ 0x80).to_ne_bytes());
        assert_eq!(raw.with(name, gpu, &mut info), 25, "{name}");
    }
}

#[test]
fn errors_of_sram_are_distinguished() {
    let mock = Mock::new(
        "product: h100\nall: {ecc: {sram_threshold_exceeded: true, aggregate_uncorrected: {sram: 7}, volatile_uncorrected: {sram: 3}, sram: {aggregate_parity: 2, l2: 4, sm: 1}}}",
    );
    let raw = mock.raw();
    let mut status = [0_u64; 13];
    status[0] = 0x0100_0068;
    let code = raw.with(
        "nvmlDeviceGetSramEccErrorStatus",
        raw.device(0),
        &mut status,
    );
    assert_eq!(code, 0);
    // Parity, SEC-DED and correctable of the board's life, then since the last reset; L2, SM, PCIe, microcontroller, other.
    assert_eq!(status[1..12], [2, 5, 0, 0, 3, 0, 4, 1, 0, 0, 2]);
    // The flag has 32 bits, and nothing of meaning behind it.
    assert_eq!(status[12].to_ne_bytes()[..4], 1_u32.to_ne_bytes());
}

#[test]
fn lists_say_how_long_they_are() {
    let mock = Mock::new("product: h100\nall: {compute_processes: [{pid: 1}, {pid: 2}, {pid: 3}]}");
    let raw = mock.raw();
    let gpu = raw.device(0);
    // SAFETY: the buffers are as long as is said.
    unsafe {
        type List = unsafe extern "C" fn(usize, *mut u32, *mut nvmlProcessInfo_v2_t) -> u32;
        let list: libloading::Symbol<List> = raw
            .0
            .get(b"nvmlDeviceGetComputeRunningProcesses_v3")
            .unwrap();
        let mut count = 0;
        assert_eq!(
            (list(gpu, &raw mut count, std::ptr::null_mut()), count),
            (7, 3)
        );
        let mut entries = [nvmlProcessInfo_v2_t {
            pid: 0,
            usedGpuMemory: 0,
            gpuInstanceId: 0,
            computeInstanceId: 0,
        }; 4];
        count = 2;
        assert_eq!(
            (
                list(gpu, &raw mut count, entries.as_mut_ptr()),
                count,
                entries[0].pid
            ),
            (7, 3, 0)
        );
        count = 4;
        assert_eq!(
            (
                list(gpu, &raw mut count, entries.as_mut_ptr()),
                count,
                entries[2].pid,
                entries[3].pid
            ),
            (0, 3, 3, 0)
        );
        // The oldest version has shorter entries.
        let mut old = [0_u64; 8];
        count = 3;
        let list: libloading::Symbol<unsafe extern "C" fn(usize, *mut u32, *mut u64) -> u32> =
            raw.0.get(b"nvmlDeviceGetComputeRunningProcesses").unwrap();
        assert_eq!(
            (
                list(gpu, &raw mut count, old.as_mut_ptr()),
                old[4] as u32,
                old[6]
            ),
            (0, 3, 0)
        );
    }
}

#[test]
fn a_memory_sensor_is_there_only_where_the_scenario_has_one() {
    let mock = Mock::new("product: h100\ngpu: {1: {temperature: {sensor_1: 44}}}");
    let raw = mock.raw();
    let mut degrees = 0;
    assert_eq!(
        raw.with2("nvmlDeviceGetTemperature", raw.device(0), 1, &mut degrees),
        2
    );
    assert_eq!(
        (
            raw.with2("nvmlDeviceGetTemperature", raw.device(1), 1, &mut degrees),
            degrees
        ),
        (0, 44)
    );
}

#[test]
fn a_changed_file_is_loaded_and_a_broken_one_is_not() {
    let mock = Mock::new("product: h100");
    let nvml = mock.nvml();
    let gpu = nvml.device_by_index(0).unwrap();
    assert_eq!(gpu.power_usage().unwrap(), 71_000);
    mock.change("product: h100\nall: {power: {usage: 5}}\n");
    assert_eq!(gpu.power_usage().unwrap(), 5);
    mock.change("product: h100\nall: {power: {usage: five}}\n");
    assert_eq!(gpu.power_usage().unwrap(), 5);
    mock.change("product: h100\nall: {power: {usage: 6}}\n\n\n");
    assert_eq!(gpu.power_usage().unwrap(), 6);
}

#[test]
fn readings_change_with_time() {
    let mock = Mock::new(
        "product: h100\ntimeline:\n- {after_ms: 150, gpu: 0, set: {state: lost}}\n- {after_ms: 3600000, gpu: 1, set: {state: lost}}",
    );
    let began = Instant::now();
    let nvml = mock.nvml();
    let gpu = nvml.device_by_index(0).unwrap();
    let lost = until("GPU 0 is lost", || gpu.power_usage().err());
    assert!(matches!(lost, NvmlError::GpuLost), "{lost:?}");
    assert!(began.elapsed() >= Duration::from_millis(150));
    nvml.device_by_index(1).unwrap().power_usage().unwrap();
}

#[test]
fn a_call_that_hangs_holds_up_no_other_and_ends_when_the_file_says_so() {
    let mock = Mock::new(
        "product: h100\nfaults: [{call: nvmlDeviceGetPowerUsage, gpu: 0, hang: forever}]",
    );
    let nvml = Arc::new(mock.nvml());
    let ask = |nvml: &Nvml, gpu| nvml.device_by_index(gpu).unwrap().power_usage().unwrap();
    let hanging = std::thread::spawn({
        let nvml = Arc::clone(&nvml);
        move || ask(&nvml, 0)
    });
    until("the call hangs", || {
        let hangs = "nvmlDeviceGetPowerUsage gpu=0 arg=- hangs".to_owned();
        mock.calls().contains(&hangs).then_some(())
    });
    ask(&nvml, 1);
    assert!(
        !hanging.is_finished(),
        "another GPU answers in the meantime"
    );
    mock.change("product: h100\nall: {power: {usage: 9}}");
    assert_eq!(hanging.join().unwrap(), 9);
}

#[test]
fn a_slow_call_comes_back_late() {
    let mock = Mock::new(
        "product: h100\nfaults: [{call: nvmlDeviceGetName, gpu: 2, hang_ms: 120, error: timeout}]",
    );
    let nvml = mock.nvml();
    let gpu = nvml.device_by_index(2).unwrap();
    let began = Instant::now();
    assert!(matches!(gpu.name().unwrap_err(), NvmlError::Timeout));
    assert!(began.elapsed() >= Duration::from_millis(120));
}

#[test]
fn calls_are_logged() {
    let mock = Mock::new(
        "product: h100\nfaults: [{call: nvmlDeviceGetTemperatureThreshold, arg: 2, error: 3}]",
    );
    let nvml = mock.nvml();
    let gpu = nvml.device_by_index(4).unwrap();
    use nvml_wrapper::enum_wrappers::device::TemperatureThreshold;
    gpu.temperature_threshold(TemperatureThreshold::Slowdown)
        .unwrap();
    gpu.temperature_threshold(TemperatureThreshold::MemoryMax)
        .unwrap_err();
    drop(nvml);
    let calls = mock.calls();
    let want = [
        "nvmlInit_v2 gpu=- arg=- rc=0",
        "nvmlSystemGetDriverVersion gpu=- arg=- rc=0",
        "nvmlDeviceGetHandleByIndex_v2 gpu=4 arg=4 rc=0",
        "nvmlDeviceGetTemperatureThreshold gpu=4 arg=1 rc=0",
        "nvmlDeviceGetTemperatureThreshold gpu=4 arg=2 rc=3",
        "nvmlShutdown gpu=- arg=- rc=0",
    ];
    assert_eq!(calls, want);
}

#[test]
fn init_fails_as_the_scenario_says() {
    for (error, fits) in [
        ("driver_not_loaded", 9),
        ("lib_rm_version_mismatch", 18),
        ("unknown", 999),
    ] {
        let mock = Mock::new(&format!(
            "product: h100\nfaults: [{{call: nvmlInit, error: {error}, times: 1}}]"
        ));
        let failed = Nvml::builder()
            .lib_path(mock.library.as_os_str())
            .init()
            .map(|_| ())
            .unwrap_err();
        assert_eq!(nvmlReturn_t::from(failed), fits);
        // A driver that comes later.
        mock.nvml().device_count().unwrap();
    }
}

/// A process of its own, because the complaint goes to its standard error.
#[test]
fn a_file_that_is_no_scenario_fails_init_and_says_where() {
    if std::env::var_os("NVML_MOCK_CHILD").is_some() {
        let mock = std::env::var_os("NVML_MOCK_CHILD").unwrap();
        let error = Nvml::builder()
            .lib_path(&mock)
            .init()
            .map(|_| ())
            .unwrap_err();
        assert!(matches!(error, NvmlError::Unknown));
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let library = install(&built().unwrap(), "product: h100", dir.path()).unwrap();
    let file = dir.path().join("other.yaml");
    std::fs::write(&file, "product: h100\nall:\n  power: {usage: much}\n").unwrap();
    let output = std::process::Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "a_file_that_is_no_scenario_fails_init_and_says_where",
            "--nocapture",
        ])
        .env("NVML_MOCK_CHILD", &library)
        .env(gpud_nvml_mock::source::SCENARIO_ENV, &file)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    let want = format!(
        "nvml-mock: {}:3:18: at `all.power.usage`: invalid u32",
        file.display()
    );
    assert!(said.contains(&want), "{said}");
}

#[test]
fn a_scenario_that_does_not_parse_is_not_installed() {
    let dir = tempfile::tempdir().unwrap();
    let error = install(&built().unwrap(), "product: [", dir.path()).unwrap_err();
    assert!(matches!(error, InstallError::Scenario(_)), "{error}");
}
