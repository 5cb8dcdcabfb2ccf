//! What one GPU answers. The field names are the keys of scenario files.

use serde::Deserialize;

use super::fabric::FabricPatch;
use super::mig::MigPatch;
use super::nvlink::NvLinkPatch;
use super::patch::{Patch, readings};
use super::tables::{FieldsPatch, GpmPatch};

/// How the GPU is doing as a whole.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Health {
    /// Answers.
    #[default]
    Ok,
    /// Fell off the bus: every call on its handle, and every lookup of it, gives `NVML_ERROR_GPU_IS_LOST` (15).
    Lost,
    /// As `lost`, but looking it up still works; only calls on the handle give 15.
    LostAfterLookup,
    /// Every call on its handle gives `NVML_ERROR_RESET_REQUIRED` (16); looking it up and asking who it is works.
    NeedsReset,
    /// Not enumerated: the GPUs behind it move up, and calls on its old handle give 15.
    Absent,
}

readings! {
    /// One GPU.
    Gpu, GpuPatch {
        /// How it is doing as a whole.
        state: Health,
        /// Product name, `NVIDIA H100 80GB HBM3`.
        name: String,
        /// `nvmlBrandType_t`.
        brand: u32,
        /// `nvmlDeviceArchitecture_t`: 7 Ampere, 8 Ada, 9 Hopper, 10 Blackwell.
        architecture: u32,
        /// CUDA compute capability, major and minor.
        compute_capability: [i32; 2],
        /// `GPU-…`.
        uuid: String,
        /// Board serial number.
        serial: String,
        /// Device node number.
        minor_number: u32,
        /// Board id.
        board_id: u32,
        /// Board part number.
        board_part_number: String,
        /// 1 on a board with several GPUs.
        multi_gpu_board: u32,
        /// VBIOS version.
        vbios: String,
        /// InfoROM image version.
        inforom_image: String,
        /// InfoROM object OEM.
        inforom_oem: String,
        /// InfoROM object ECC.
        inforom_ecc: String,
        /// InfoROM object power.
        inforom_power: String,
        /// Checksum of the InfoROM's configuration.
        inforom_checksum: u32,
        /// Whether the InfoROM validates; `false` gives 14.
        inforom_valid: bool,
        /// GSP firmware version.
        gsp_version: String,
        /// Module id.
        module_id: u32,
        /// NUMA node of the GPU's host side.
        numa_node: u32,
        /// NUMA node of the GPU's memory (Grace).
        memory_numa_node: u32,
        /// CUDA cores.
        cores: u32,
        /// Interrupt number.
        irq: u32,
        /// Persistence mode.
        persistence_mode: bool,
        /// `nvmlComputeMode_t`.
        compute_mode: u32,
        /// `nvmlPstates_t`.
        performance_state: u32,
        /// A display is initialised.
        display_active: bool,
        /// A display is connected.
        display_mode: bool,
        /// `NVML_GPU_RECOVERY_ACTION_*`: 0 none, 1 reset, 2 reboot, 3 drain, 4 drain and reset. Field 230.
        recovery_action: u32,
        /// Fan speeds, percent, one for each fan.
        fans: Vec<u32>,
        /// Fan speeds, revolutions per minute.
        fans_rpm: Vec<u32>,
        /// Chip-to-chip link to the CPU (Grace).
        c2c: bool,
        /// Protected device identifier.
        pdi: u64,
        /// Processes that compute.
        compute_processes: Vec<Process>,
        /// Processes that draw.
        graphics_processes: Vec<Process>,
    } groups {
        /// Bus.
        pci: PciPatch,
        /// Frame buffer.
        memory: MemoryPatch,
        /// Busy or not.
        utilization: UtilizationPatch,
        /// Degrees Celsius.
        temperature: TemperaturePatch,
        /// Power.
        power: PowerPatch,
        /// Clocks.
        clocks: ClocksPatch,
        /// ECC.
        ecc: super::ecc::EccPatch,
        /// Row remapping.
        remapped_rows: super::ecc::RowsPatch,
        /// Page retirement, before Ampere.
        retired_pages: super::ecc::PagesPatch,
        /// NVLink.
        nvlink: NvLinkPatch,
        /// NVLink fabric.
        fabric: FabricPatch,
        /// Place in a rack.
        platform: super::fabric::PlatformPatch,
        /// MIG.
        mig: MigPatch,
        /// GPM.
        gpm: GpmPatch,
        /// Answers of `nvmlDeviceGetFieldValues` by field id, in place of those made from the other readings.
        fields: FieldsPatch,
    }
}

readings! {
    /// Bus.
    Pci, PciPatch {
        /// `0000:0f:00.0`; domain with four to eight digits.
        bus_id: String,
        /// Device id over vendor id, `0x233010de`.
        device_id: u32,
        /// Subsystem id.
        subsystem_id: u32,
        /// Link generation now.
        generation: u32,
        /// Link width now.
        width: u32,
        /// Highest generation of GPU and slot.
        max_generation: u32,
        /// Highest generation of the GPU.
        gpu_max_generation: u32,
        /// Highest width.
        max_width: u32,
        /// Replays.
        replays: u32,
        /// Replay counter roll-overs.
        replay_rollovers: u32,
        /// Sent, KiB/s.
        tx_kib_s: u32,
        /// Received, KiB/s.
        rx_kib_s: u32,
        /// Correctable errors.
        correctable_errors: u32,
        /// Non-fatal errors.
        non_fatal_errors: u32,
        /// Fatal errors.
        fatal_errors: u32,
        /// Transitions from L0 to recovery.
        l0_to_recovery: u32,
    }
}

readings! {
    /// Frame buffer, bytes.
    Memory, MemoryPatch {
        /// All.
        total: u64,
        /// Kept by the driver.
        reserved: u64,
        /// In use.
        used: u64,
        /// Free; by default what is left.
        free: u64,
        /// BAR1, all.
        bar1_total: u64,
        /// BAR1, in use.
        bar1_used: u64,
        /// Bus width, bits.
        bus_width: u32,
    }
}

readings! {
    /// Percent.
    Utilization, UtilizationPatch {
        /// A kernel was running.
        gpu: u32,
        /// Memory was being read or written.
        memory: u32,
        /// Encoder.
        encoder: u32,
        /// Decoder.
        decoder: u32,
        /// JPEG.
        jpeg: u32,
        /// Optical flow.
        ofa: u32,
    }
}

readings! {
    /// Degrees Celsius.
    Temperature, TemperaturePatch {
        /// Core, sensor 0.
        gpu: u32,
        /// Memory: field 82.
        memory: u32,
        /// What `nvmlDeviceGetTemperature` says for sensor 1; without it, 2 (invalid argument).
        sensor_1: u32,
        /// Left until slowdown.
        margin: i32,
        /// Threshold 0.
        shutdown: u32,
        /// Threshold 1.
        slowdown: u32,
        /// Threshold 2.
        memory_max: u32,
        /// Threshold 3.
        gpu_max: u32,
    }
}

readings! {
    /// Milliwatts.
    Power, PowerPatch {
        /// Drawn now.
        usage: u32,
        /// Average over a second; by default the usage.
        average: u32,
        /// Limit set by management.
        limit: u32,
        /// Limit in force; by default the limit set.
        enforced_limit: u32,
        /// Limit of the factory.
        default_limit: u32,
        /// Lowest limit.
        min_limit: u32,
        /// Highest limit.
        max_limit: u32,
        /// Energy since the driver was loaded, millijoules; grows with the usage from there.
        energy: u64,
        /// `nvmlPowerSource_t`.
        source: u32,
    }
}

readings! {
    /// MHz, and why they are what they are.
    Clocks, ClocksPatch {
        /// Graphics.
        graphics: u32,
        /// SM.
        sm: u32,
        /// Memory.
        memory: u32,
        /// Video.
        video: u32,
        /// Highest graphics clock.
        max_graphics: u32,
        /// Highest SM clock.
        max_sm: u32,
        /// Highest memory clock.
        max_memory: u32,
        /// Highest video clock.
        max_video: u32,
        /// Application clock, graphics.
        application_graphics: u32,
        /// Application clock, memory.
        application_memory: u32,
        /// `nvmlClocksEventReasons` bits.
        event_reasons: u64,
        /// Bits that can be set.
        supported_event_reasons: u64,
        /// Nanoseconds below the wished clocks, for `nvmlDeviceGetViolationStatus` and fields 74 to 81.
        violation_ns: u64,
    }
}

/// One process on a GPU.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Process {
    /// Process id.
    pub pid: u32,
    /// Bytes in use; absent where the driver cannot tell (all ones on the wire).
    #[serde(default)]
    pub used_memory: Option<u64>,
    /// MIG: GPU instance.
    #[serde(default = "Process::none")]
    pub gpu_instance: u32,
    /// MIG: compute instance.
    #[serde(default = "Process::none")]
    pub compute_instance: u32,
    /// Percent of SM time; absent: no utilization sample for this process.
    #[serde(default)]
    pub sm: Option<u32>,
    /// Percent of memory time.
    #[serde(default)]
    pub memory: u32,
    /// Percent of encoder time.
    #[serde(default)]
    pub encoder: u32,
    /// Percent of decoder time.
    #[serde(default)]
    pub decoder: u32,
}

impl Process {
    fn none() -> u32 {
        u32::MAX
    }
}

impl Gpu {
    /// How it is doing; `null` is as good as `ok`.
    #[must_use]
    pub fn health(&self) -> Health {
        self.state.unwrap_or_default()
    }

    /// Lays a patch over.
    pub fn patch(&mut self, patch: &GpuPatch) {
        patch.apply(self);
    }
}
