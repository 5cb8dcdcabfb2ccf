//! A GPU as a caller holds it: each question with its type. Handles outlive GPUs and drivers; what they answer then says
//! so.

use std::{sync::Arc, time::Duration};

use super::{
    Nvml,
    gpu::{CachedAnswers, Gpu},
    values::{
        EccMode, Fabric, GpuProcess, Identity, Memory, MigDevice, Nvlink, NvlinkErrors, PcieLink,
        Power, ProcessUse, Reading, RemappedRows, RowHistogram, SramEcc, Utilization, Value,
    },
};
use crate::error::SourceError;

type DeviceAnswer<T> = Result<T, SourceError>;

/// A GPU.
#[derive(Clone)]
pub struct Device {
    gpu: Arc<Gpu>,
    nvml: Nvml,
}

macro_rules! questions {
    ($($(#[$doc:meta])* $name:ident($($argument:ident: $kind:ty),*) -> $answer:ty = $reading:expr;)+) => {
        $(
            $(#[$doc])*
            ///
            /// # Errors
            /// As [`Gpu::ask`].
            pub async fn $name(&self, $($argument: $kind),*) -> DeviceAnswer<$answer> {
                self.gpu.ask($reading).await
            }
        )+
    };
}

impl Device {
    pub(super) fn new(gpu: Arc<Gpu>, nvml: Nvml) -> Self {
        Self { gpu, nvml }
    }

    /// Its identity.
    pub fn identity(&self) -> Arc<Identity> {
        self.gpu.identity()
    }

    questions! {
        /// Frame buffer.
        memory() -> Memory = Reading::Memory;
        /// Busy or not.
        utilization() -> Utilization = Reading::Utilization;
        /// MHz, by `nvmlClockType_t`.
        clock(which: u32) -> u32 = Reading::Clock(which);
        /// Bits of `nvmlClocksEventReasons`.
        clock_event_reasons() -> u64 = Reading::ClockEventReasons;
        /// Milliwatts.
        power() -> Power = Reading::Power;
        /// On?
        persistence_mode() -> bool = Reading::PersistenceMode;
        /// Degrees Celsius, by `nvmlTemperatureSensors_t`.
        temperature(sensor: u32) -> u32 = Reading::Temperature(sensor);
        /// Degrees Celsius, by `nvmlTemperatureThresholds_t`.
        temperature_threshold(which: u32) -> u32 = Reading::TemperatureThreshold(which);
        /// Degrees Celsius left until slowdown.
        temperature_margin() -> i32 = Reading::TemperatureMargin;
        /// ECC on or off.
        ecc_mode() -> EccMode = Reading::EccMode;
        /// Errors by `nvmlMemoryErrorType_t` and `nvmlEccCounterType_t`.
        ecc_total(error: u32, period: u32) -> u64 = Reading::EccTotal(error, period);
        /// The same at one `nvmlMemoryLocation_t`.
        ecc_count(error: u32, period: u32, place: u32) -> u64 =
            Reading::EccCount(error, period, place);
        /// Row remapping.
        remapped_rows() -> RemappedRows = Reading::RemappedRows;
        /// Banks by spare rows.
        row_histogram() -> RowHistogram = Reading::RowHistogram;
        /// Errors of on-chip memory.
        sram_ecc() -> SramEcc = Reading::SramEcc;
        /// Link up?
        nvlink_active(link: u32) -> bool = Reading::NvlinkActive(link);
        /// Counters of a link.
        nvlink_errors(link: u32) -> NvlinkErrors = Reading::NvlinkErrors(link);
        /// All links.
        nvlinks() -> Vec<Nvlink> = Reading::Nvlinks;
        /// Fabric.
        fabric() -> Fabric = Reading::Fabric;
        /// Processes that compute.
        processes() -> Vec<GpuProcess> = Reading::Processes;
        /// The usage of processes in the last minute.
        process_use() -> Vec<ProcessUse> = Reading::ProcessUse;
        /// MIG mode on?
        mig_mode() -> bool = Reading::MigMode;
        /// MIG devices.
        mig_devices() -> Vec<MigDevice> = Reading::MigDevices;
        /// PCIe.
        pcie_link() -> PcieLink = Reading::PcieLink;
        /// A field.
        field_value(field: u32, scope: u32) -> f64 = Reading::FieldValue(field, scope);
    }

    /// GPM metrics by id; see [`Nvml::gpm_of`].
    ///
    /// # Errors
    /// As [`Gpu::ask`]; [`SourceError::Invalid`] for more than 64 ids.
    pub async fn gpm(&self, ids: Vec<u32>, period: Duration) -> DeviceAnswer<Vec<(u32, f64)>> {
        let found = self.nvml.gpm_of(std::slice::from_ref(self), ids, period);
        let missing = || Err(SourceError::NotFound("nvmlGpmMetricsGet".to_owned()));
        found.await.into_iter().next().unwrap_or_else(missing)
    }

    /// `nvmlGpuP2PStatus_t` over NVLink to another GPU.
    ///
    /// # Errors
    /// As [`Gpu::ask`].
    pub async fn p2p_status(&self, other: &Self) -> DeviceAnswer<u32> {
        let both = [self.clone(), other.clone()];
        let mut statuses = self.nvml.p2p_among(&both).await.into_iter();
        statuses
            .next()
            .unwrap_or_else(|| Err(SourceError::NotFound("nvmlDeviceGetP2PStatus".to_owned())))
    }

    /// Asks these on one way to the GPU's thread, unless they are known: questions that come next find their answers.
    pub async fn prepare(&self, readings: &[Reading]) {
        self.gpu.prepare(readings).await;
    }

    /// Returns its answers of the last [`super::gpu::SHARED_FOR`]; `None` if it cannot be asked now.
    pub fn cached_answers(&self) -> Option<CachedAnswers<'_>> {
        self.gpu.cached_answers()
    }

    /// The answer to any of the questions below.
    ///
    /// # Errors
    /// As [`Gpu::ask`].
    pub async fn value(&self, reading: Reading) -> DeviceAnswer<Value> {
        self.gpu.value(reading).await
    }

    /// When it last answered, Unix milliseconds.
    pub fn last_good(&self) -> Option<u64> {
        self.gpu.last_good()
    }

    pub(super) fn gpu(&self) -> &Arc<Gpu> {
        &self.gpu
    }

    /// Checks that the GPU is still there, with a question that each GPU has to ask its hardware for.
    ///
    /// # Errors
    /// [`SourceError::SourceLost`], [`SourceError::NeedsReset`], [`SourceError::TimedOut`], or
    /// [`SourceError::NotFound`] when the driver has gone. Other errors of the question are ignored.
    pub async fn presence(&self) -> DeviceAnswer<()> {
        Self::presence_of(self.persistence_mode().await)
    }

    /// Derives the presence of the GPU from the answer to [`Self::persistence_mode`].
    ///
    /// # Errors
    /// As [`Self::presence`].
    pub fn presence_of<T>(answer: DeviceAnswer<T>) -> DeviceAnswer<()> {
        match answer {
            Err(
                gone @ (SourceError::SourceLost(_)
                | SourceError::NeedsReset(_)
                | SourceError::NotFound(_)
                | SourceError::TimedOut { .. }),
            ) => Err(gone),
            _ => Ok(()),
        }
    }
}
