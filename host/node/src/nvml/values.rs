//! The questions to a driver about a GPU, and its answers: plain values with NVML's own numbers.
//!
//! Numbers of enums are those of `nvml.h` and are passed on as they are, so that a value that a newer driver knows is
//! never an error here.

/// The identity of a GPU. It does not change while the driver is loaded, but for its index.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Identity {
    /// Position in NVML's order.
    pub index: u32,
    /// `GPU-…`.
    pub uuid: String,
    /// Product name as NVML gives it.
    pub name: String,
    /// PCI id, lower case, with a domain of four digits where that is enough: `0000:0f:00.0`.
    pub bus_id: String,
    /// `nvmlBrandType_t`.
    pub brand: u32,
    /// CUDA compute capability, major and minor.
    pub compute_capability: (u32, u32),
    /// Serial number of the board, where there is one.
    pub serial: Option<String>,
    /// `/dev/nvidia‹n›`, where there is one.
    pub minor_number: Option<u32>,
    /// Board id, where there is one.
    pub board_id: Option<u32>,
    /// Further facts by name: `vbios`, `inforom-image`, `board-part-number`, `chassis-serial`,
    /// `gsp-firmware`, `gsp-mode`, `gsp-default-mode`.
    pub extra: Vec<(String, String)>,
}

impl Identity {
    /// A further fact.
    pub fn fact(&self, name: &str) -> Option<&str> {
        let mut facts = self.extra.iter();
        facts
            .find(|(key, _)| key == name)
            .map(|(_, value)| value.as_str())
    }

    /// False for one that wanted a reset when it was asked who it is: all NVIDIA GPUs have a compute capability.
    pub fn is_whole(&self) -> bool {
        self.compute_capability != (0, 0)
    }

    /// Returns the name for errors: one that an operator can look up.
    pub fn label(&self) -> String {
        match self.bus_id.as_str() {
            "" => format!("GPU {} ({})", self.index, self.uuid),
            bus_id => format!("GPU {} ({}, {bus_id})", self.index, self.uuid),
        }
    }
}

/// Frame buffer, bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Memory {
    /// All.
    pub total: u64,
    /// Kept by the driver; 0 where only version 1 of the call works.
    pub reserved: u64,
    /// Free.
    pub free: u64,
    /// In use.
    pub used: u64,
}

/// Percent of the last sample period.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Utilization {
    /// A kernel was running.
    pub gpu: u32,
    /// Memory was being read or written.
    pub memory: u32,
}

/// Milliwatts; `None` where not supported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Power {
    /// Drawn now.
    pub usage: Option<u32>,
    /// Limit in force.
    pub enforced_limit: Option<u32>,
    /// Limit set by management.
    pub management_limit: Option<u32>,
}

/// ECC switched on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct EccMode {
    /// Now.
    pub current: bool,
    /// After the next reset.
    pub pending: bool,
}

/// Row remapping.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RemappedRows {
    /// Rows remapped after corrected errors.
    pub correctable: u32,
    /// Rows remapped after uncorrectable errors.
    pub uncorrectable: u32,
    /// A remapping waits for a reset.
    pub pending: bool,
    /// A remapping failed.
    pub failed: bool,
}

/// Memory banks by how many spare rows they have left.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RowHistogram {
    /// All spare rows.
    pub max: u32,
    /// Many.
    pub high: u32,
    /// Some.
    pub partial: u32,
    /// Few.
    pub low: u32,
    /// None.
    pub none: u32,
}

/// Errors of on-chip memory (SRAM), by `nvmlEccSramErrorStatus_t`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SramEcc {
    /// Uncorrectable parity errors over the life of the board.
    pub aggregate_uncorrectable_parity: u64,
    /// Uncorrectable SEC-DED errors over the life of the board.
    pub aggregate_uncorrectable_sec_ded: u64,
    /// Correctable errors over the life of the board.
    pub aggregate_correctable: u64,
    /// Uncorrectable parity errors since the last reset.
    pub volatile_uncorrectable_parity: u64,
    /// Uncorrectable SEC-DED errors since the last reset.
    pub volatile_uncorrectable_sec_ded: u64,
    /// Correctable errors since the last reset.
    pub volatile_correctable: u64,
    /// Uncorrectable errors in the L2 cache over the life of the board.
    pub aggregate_uncorrectable_l2: u64,
    /// The same in the streaming multiprocessors.
    pub aggregate_uncorrectable_sm: u64,
    /// The same in the PCIe unit.
    pub aggregate_uncorrectable_pcie: u64,
    /// The same in microcontrollers.
    pub aggregate_uncorrectable_microcontroller: u64,
    /// The same in other units.
    pub aggregate_uncorrectable_other: u64,
    /// The errors passed the driver's threshold for a field diagnosis.
    pub threshold_exceeded: bool,
}

/// Error counters of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct NvlinkErrors {
    /// Replays.
    pub replay: u64,
    /// Recoveries.
    pub recovery: u64,
    /// CRC errors of flow-control digits.
    pub crc: u64,
}

/// One link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Nvlink {
    /// Its number, from 0.
    pub link: u32,
    /// Up?
    pub active: bool,
    /// Its counters; 0 for one that does not answer, `None` when none does.
    pub errors: Option<NvlinkErrors>,
}

/// Membership in an NVLink fabric.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Fabric {
    /// Hyphenated, lower case; empty when all zero.
    pub cluster_uuid: String,
    /// Clique.
    pub clique_id: u32,
    /// `nvmlGpuFabricState_t`.
    pub state: u8,
    /// NVML return code of the registration.
    pub status: u32,
    /// Health mask, where the versioned call works.
    pub health_mask: Option<u32>,
    /// Health summary, where version 3 of it works.
    pub health_summary: Option<u8>,
}

/// A process that computes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GpuProcess {
    /// Process id.
    pub pid: u32,
    /// Bytes in use; `None` where the driver does not know.
    pub used_memory: Option<u64>,
}

/// The recent usage of a process, percent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProcessUse {
    /// Process id.
    pub pid: u32,
    /// Microseconds since 1970, of the sample.
    pub time_us: u64,
    /// Share of SM time.
    pub sm: u32,
    /// Share of memory time.
    pub memory: u32,
    /// Usage of the encoder.
    pub encoder: u32,
    /// Usage of the decoder.
    pub decoder: u32,
}

/// A MIG device of a GPU.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MigDevice {
    /// Its index below its GPU; indices may have holes.
    pub index: u32,
    /// `MIG-…`.
    pub uuid: String,
    /// Name with its profile.
    pub name: String,
    /// GPU instance.
    pub gpu_instance: Option<u32>,
    /// Compute instance.
    pub compute_instance: Option<u32>,
    /// Frame buffer, bytes.
    pub memory: Option<Memory>,
    /// Multiprocessors.
    pub multiprocessors: Option<u32>,
}

/// PCIe generation and lanes; `None` where not supported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PcieLink {
    /// Generation now; drops when the GPU is idle.
    pub generation: Option<u32>,
    /// Lanes now.
    pub width: Option<u32>,
    /// Highest generation of GPU and slot.
    pub max_generation: Option<u32>,
    /// Most lanes of GPU and slot.
    pub max_width: Option<u32>,
}

/// A question about one GPU, with its arguments. Also the key under which its answer is shared.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Reading {
    /// [`Identity`].
    Identity,
    /// [`Memory`].
    Memory,
    /// [`Utilization`].
    Utilization,
    /// MHz, by `nvmlClockType_t`.
    Clock(u32),
    /// Bits of `nvmlClocksEventReasons`.
    ClockEventReasons,
    /// [`Power`].
    Power,
    /// On?
    PersistenceMode,
    /// Degrees Celsius, by `nvmlTemperatureSensors_t`.
    Temperature(u32),
    /// Degrees Celsius, by `nvmlTemperatureThresholds_t`.
    TemperatureThreshold(u32),
    /// Degrees Celsius left until slowdown.
    TemperatureMargin,
    /// [`EccMode`].
    EccMode,
    /// Count, by `nvmlMemoryErrorType_t` and `nvmlEccCounterType_t`.
    EccTotal(u32, u32),
    /// Count, as [`Reading::EccTotal`] and by `nvmlMemoryLocation_t`.
    EccCount(u32, u32, u32),
    /// [`RemappedRows`].
    RemappedRows,
    /// [`RowHistogram`].
    RowHistogram,
    /// [`SramEcc`].
    SramEcc,
    /// Link up?
    NvlinkActive(u32),
    /// [`NvlinkErrors`].
    NvlinkErrors(u32),
    /// All links.
    Nvlinks,
    /// [`Fabric`].
    Fabric,
    /// Processes that compute.
    Processes,
    /// The usage of processes in the last minute, newest sample of each.
    ProcessUse,
    /// MIG mode on?
    MigMode,
    /// The MIG devices.
    MigDevices,
    /// [`PcieLink`].
    PcieLink,
    /// `nvmlFieldValue_t` by field and scope.
    FieldValue(u32, u32),
    /// Takes and keeps a GPM sample, instead of one that was kept.
    GpmSample,
    /// Takes a further sample; returns the metrics between it and the stored one, by id. The number is the time
    /// between, in milliseconds, and only distinguishes answers.
    GpmMetrics(Vec<u32>, u32),
}

impl Reading {
    /// The C function behind it, for errors; the first one where there are several.
    pub fn call(&self) -> &'static str {
        match self {
            Self::Identity => "nvmlDeviceGetName",
            Self::Memory => "nvmlDeviceGetMemoryInfo_v2",
            Self::Utilization => "nvmlDeviceGetUtilizationRates",
            Self::Clock(_) => "nvmlDeviceGetClockInfo",
            Self::ClockEventReasons => "nvmlDeviceGetCurrentClocksEventReasons",
            Self::Power => "nvmlDeviceGetPowerUsage",
            Self::PersistenceMode => "nvmlDeviceGetPersistenceMode",
            Self::Temperature(_) => "nvmlDeviceGetTemperature",
            Self::TemperatureThreshold(_) => "nvmlDeviceGetTemperatureThreshold",
            Self::TemperatureMargin => "nvmlDeviceGetMarginTemperature",
            Self::EccMode => "nvmlDeviceGetEccMode",
            Self::EccTotal(..) => "nvmlDeviceGetTotalEccErrors",
            Self::EccCount(..) => "nvmlDeviceGetMemoryErrorCounter",
            Self::RemappedRows => "nvmlDeviceGetRemappedRows",
            Self::RowHistogram => "nvmlDeviceGetRowRemapperHistogram",
            Self::SramEcc => "nvmlDeviceGetSramEccErrorStatus",
            Self::NvlinkActive(_) | Self::Nvlinks => "nvmlDeviceGetNvLinkState",
            Self::NvlinkErrors(_) => "nvmlDeviceGetNvLinkErrorCounter",
            Self::Fabric => "nvmlDeviceGetGpuFabricInfoV",
            Self::Processes => "nvmlDeviceGetComputeRunningProcesses_v3",
            Self::ProcessUse => "nvmlDeviceGetProcessUtilization",
            Self::MigMode => "nvmlDeviceGetMigMode",
            Self::MigDevices => "nvmlDeviceGetMigDeviceHandleByIndex",
            Self::PcieLink => "nvmlDeviceGetCurrPcieLinkGeneration",
            Self::FieldValue(..) => "nvmlDeviceGetFieldValues",
            Self::GpmSample => "nvmlGpmSampleGet",
            Self::GpmMetrics(..) => "nvmlGpmMetricsGet",
        }
    }

    /// May its answer be given to others, too?
    pub(super) fn is_shared(&self) -> bool {
        !matches!(self, Self::GpmSample)
    }

    /// May it be asked without the questions that belong before it? GPM metrics are the difference of two samples.
    pub(super) fn stands_alone(&self) -> bool {
        !matches!(self, Self::GpmSample | Self::GpmMetrics(..))
    }
}

macro_rules! values {
    ($($(#[$doc:meta])* $case:ident($type:ty),)+) => {
        /// An answer.
        #[derive(Debug, Clone, PartialEq)]
        pub enum Value {
            $($(#[$doc])* $case($type),)+
        }

        $(
            impl From<$type> for Value {
                fn from(value: $type) -> Self {
                    Self::$case(value)
                }
            }

            impl TryFrom<Value> for $type {
                type Error = Value;

                fn try_from(value: Value) -> Result<Self, Value> {
                    match value {
                        Value::$case(value) => Ok(value),
                        other => Err(other),
                    }
                }
            }
        )+
    };
}

values! {
    /// Nothing but that it was done.
    Done(()),
    /// Yes or no.
    Flag(bool),
    /// A number of 32 bits.
    Number(u32),
    /// A number that may be negative.
    Signed(i32),
    /// A count or a mask.
    Count(u64),
    /// A number with a fraction.
    Real(f64),
    /// Its identity.
    Identity(Box<Identity>),
    /// Frame buffer.
    Memory(Memory),
    /// Busy or not.
    Utilization(Utilization),
    /// Power.
    Power(Power),
    /// ECC on or off.
    EccMode(EccMode),
    /// Row remapping.
    RemappedRows(RemappedRows),
    /// Spare rows.
    RowHistogram(RowHistogram),
    /// Errors of on-chip memory.
    SramEcc(SramEcc),
    /// Counters of a link.
    NvlinkErrors(NvlinkErrors),
    /// All links.
    Nvlinks(Vec<Nvlink>),
    /// Fabric.
    Fabric(Fabric),
    /// Processes.
    Processes(Vec<GpuProcess>),
    /// Their usage.
    ProcessUse(Vec<ProcessUse>),
    /// MIG devices.
    MigDevices(Vec<MigDevice>),
    /// PCIe.
    PcieLink(PcieLink),
    /// GPM metrics: id and value.
    Gpm(Vec<(u32, f64)>),
}

/// A PCI id as NVML writes it (`00000000:0F:00.0`) the way the kernel does (`0000:0f:00.0`). A domain that needs more
/// than four digits keeps them.
pub fn bus_id(of_nvml: &str) -> String {
    let lower = of_nvml.trim().to_ascii_lowercase();
    let long = lower.split(':').next().is_some_and(|part| part.len() == 8);
    match lower.strip_prefix("0000") {
        Some(short) if long => short.to_owned(),
        _ => lower,
    }
}

/// 16 bytes as a hyphenated UUID; empty when all are zero.
pub fn uuid_text(bytes: [u8; 16]) -> String {
    if bytes == [0; 16] {
        return String::new();
    }
    uuid::Uuid::from_bytes(bytes).hyphenated().to_string()
}
