//! `nvml`: GPUs. See [`crate::node::nvml`] for what this build can answer.

use wasmtime::component::Resource;

use super::{
    Call,
    wire::{
        nvml::{
            Clock, ComputeProcess, EccError, EccMode, EccPeriod, FabricInfo, GpmMetric, Host,
            HostDevice, Identity, Library, MemoryInfo, MemoryLocation, NvlinkErrors, Power,
            RemappedRows, TemperatureSensor, TemperatureThreshold, Utilization,
        },
        types::AccessError,
    },
};
use crate::node::nvml::{Device, Library as Found};

impl Host for Call {
    async fn library_status(&mut self) -> Library {
        match self.enter("nvml.library-status") {
            Ok(_) => {
                let Found::NotFound(text) = self.node.nvml.library_status();
                Library::NotFound(text)
            }
            Err(error) => Library::Other(format!("{error:?}")),
        }
    }

    async fn driver_version(&mut self) -> Result<String, AccessError> {
        self.enter("nvml.driver-version")?;
        Err(self.node.nvml.unavailable().into())
    }

    async fn cuda_version(&mut self) -> Result<u32, AccessError> {
        self.enter("nvml.cuda-version")?;
        Err(self.node.nvml.unavailable().into())
    }

    async fn product_name(&mut self) -> Result<String, AccessError> {
        self.enter("nvml.product-name")?;
        Err(self.node.nvml.unavailable().into())
    }

    async fn devices(&mut self) -> Result<Vec<Resource<Device>>, AccessError> {
        self.enter("nvml.devices")?;
        Err(self.node.nvml.unavailable().into())
    }
}

/// A handle needs a [`Device`], and there are none: the answer is what any use of the library gives.
macro_rules! without_devices {
    ($($name:ident($($argument:ident: $type:ty),*) -> $answer:ty;)*) => {
        impl HostDevice for Call {
            async fn identity(&mut self, _device: Resource<Device>) -> Identity {
                Identity {
                    index: 0,
                    uuid: String::new(),
                    name: String::new(),
                    bus_id: String::new(),
                    brand: 0,
                    compute_capability: (0, 0),
                    serial: None,
                    minor_number: None,
                    board_id: None,
                    extra: Vec::new(),
                }
            }

            $(
                async fn $name(
                    &mut self,
                    _device: Resource<Device>,
                    $($argument: $type),*
                ) -> Result<$answer, AccessError> {
                    $(let _ = $argument;)*
                    self.enter(concat!("nvml.device.", stringify!($name)))?;
                    Err(self.node.nvml.unavailable().into())
                }
            )*

            async fn drop(&mut self, device: Resource<Device>) -> wasmtime::Result<()> {
                self.table.delete(device)?;
                Ok(())
            }
        }
    };
}

without_devices! {
    memory_info() -> MemoryInfo;
    utilization() -> Utilization;
    clock_mhz(which: Clock) -> u32;
    clock_event_reasons() -> u64;
    power() -> Power;
    persistence_mode() -> bool;
    temperature(sensor: TemperatureSensor) -> u32;
    temperature_threshold(threshold: TemperatureThreshold) -> u32;
    temperature_margin() -> i32;
    ecc_mode() -> EccMode;
    ecc_total(error: EccError, period: EccPeriod) -> u64;
    ecc_count(error: EccError, period: EccPeriod, location: MemoryLocation) -> u64;
    remapped_rows() -> RemappedRows;
    nvlink_active(link: u32) -> bool;
    nvlink_errors(link: u32) -> NvlinkErrors;
    nvlink_p2p_status(other: Resource<Device>) -> u32;
    fabric_info() -> FabricInfo;
    compute_processes() -> Vec<ComputeProcess>;
    gpm_metrics(ids: Vec<u32>, period_ms: u32) -> Vec<GpmMetric>;
    mig_enabled() -> bool;
    field_value(field: u32, scope: u32) -> f64;
}
