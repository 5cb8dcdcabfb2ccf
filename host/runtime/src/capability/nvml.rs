//! `nvml`: GPUs, by [`crate::node::nvml`].
//!
//! Nothing is decided here: numbers of the contract's enums are NVML's, and each question of a device is one of the
//! node's. Waits end a little before the call's own deadline, so that the guest hears what did not answer.

mod all;

use std::time::Duration;

use wasmtime::component::Resource;

use super::{
    Call,
    wire::{
        nvml::{
            Answer, Clock, ComputeProcess, EccError, EccMode, EccPeriod, FabricInfo, GpmMetric,
            GpmReading, GpuAnswers, Host, HostDevice, Identity, Library, MemoryInfo,
            MemoryLocation, MigDevice, Nvlink, NvlinkErrors, PcieLink, Power, ProcessUtilization,
            Question, RemappedRows, RowHistogram, SramEccStatus, TemperatureSensor,
            TemperatureThreshold, Utilization,
        },
        types::{AccessError, TimeoutInfo},
    },
};
use crate::node::{
    error::SourceError,
    nvml::{Device, LibraryStatus, fault::Fault, values},
};

/// The part of the call's time that remains for the guest after an answer.
const FOR_THE_GUEST: Duration = Duration::from_millis(200);
/// Bytes that the bill counts for a value other than texts and lists.
const VALUE_BYTES: usize = 8;

impl Call {
    /// Waits for an answer of the machine, at most until the call's deadline.
    async fn nvml_wait<T>(
        &mut self,
        what: &str,
        answer: impl Future<Output = T>,
    ) -> Result<T, AccessError> {
        let left = self.remaining().saturating_sub(FOR_THE_GUEST);
        let answer = tokio::time::timeout(left, answer);
        self.wait(answer).await.map_err(|_| {
            AccessError::TimedOut(TimeoutInfo {
                what: format!("{what} (this call's time is over)"),
                after_ms: u64::try_from(left.as_millis()).unwrap_or(u64::MAX),
                last_good: None,
            })
        })
    }

    /// A question about a device.
    async fn nvml_ask<T, A, F>(
        &mut self,
        what: &str,
        device: &Resource<Device>,
        ask: impl FnOnce(Device) -> F,
        size: impl FnOnce(&T) -> usize,
    ) -> Result<A, AccessError>
    where
        F: Future<Output = Result<T, SourceError>>,
        A: From<T>,
    {
        self.enter(what)?;
        let device = self.nvml_device(device)?;
        let answer = self.nvml_wait(what, ask(device)).await??;
        self.charge(what, size(&answer))?;
        Ok(answer.into())
    }

    fn nvml_device(&self, device: &Resource<Device>) -> Result<Device, AccessError> {
        let device = self.table.get(device);
        // A handle of this type is in the table for as long as the guest has it.
        device
            .cloned()
            .map_err(|error| AccessError::InvalidArgument(error.to_string()))
    }
}

impl Host for Call {
    async fn library_status(&mut self) -> Library {
        const WHAT: &str = "nvml.library-status";
        if let Err(error) = self.enter(WHAT) {
            return Library::Other(format!("{error:?}"));
        }
        let nvml = self.node.nvml.clone();
        match self.nvml_wait(WHAT, nvml.view()).await {
            Ok(view) => match &view.library {
                LibraryStatus::Loaded => Library::Loaded,
                LibraryStatus::NotFound(text) => Library::NotFound(text.clone()),
                LibraryStatus::Failed(text) => Library::Failed(text.clone()),
            },
            Err(_) => Library::Other("NVML has not answered yet".to_owned()),
        }
    }

    async fn driver_version(&mut self) -> Result<String, AccessError> {
        const WHAT: &str = "nvml.driver-version";
        self.enter(WHAT)?;
        let nvml = self.node.nvml.clone();
        let view = self.nvml_wait(WHAT, nvml.view()).await?;
        view.library.works()?;
        let version = view.driver_version.clone().map_err(of_the_driver)?;
        self.charge(WHAT, version.len())?;
        Ok(version)
    }

    async fn cuda_version(&mut self) -> Result<u32, AccessError> {
        const WHAT: &str = "nvml.cuda-version";
        self.enter(WHAT)?;
        let nvml = self.node.nvml.clone();
        let view = self.nvml_wait(WHAT, nvml.view()).await?;
        view.library.works()?;
        self.charge(WHAT, VALUE_BYTES)?;
        Ok(view.cuda_version.clone().map_err(of_the_driver)?)
    }

    async fn product_name(&mut self) -> Result<String, AccessError> {
        const WHAT: &str = "nvml.product-name";
        self.enter(WHAT)?;
        let nvml = self.node.nvml.clone();
        let view = self.nvml_wait(WHAT, nvml.view()).await?;
        view.library.works()?;
        let name = view.product_name();
        self.charge(WHAT, name.len())?;
        Ok(name)
    }

    async fn devices(&mut self) -> Result<Vec<Resource<Device>>, AccessError> {
        const WHAT: &str = "nvml.devices";
        self.enter(WHAT)?;
        let nvml = self.node.nvml.clone();
        let devices = self.nvml_wait(WHAT, nvml.devices()).await??;
        self.charge(WHAT, devices.len() * VALUE_BYTES)?;
        let handles = devices.into_iter().map(|device| {
            let handle = self.table.push(device);
            handle.map_err(|error| AccessError::OverBudget(format!("{WHAT}: {error}")))
        });
        handles.collect()
    }

    async fn gpm_metrics_of_all(
        &mut self,
        ids: Vec<u32>,
        period_ms: u32,
    ) -> Result<Vec<GpmReading>, AccessError> {
        const WHAT: &str = "nvml.gpm-metrics-of-all";
        self.enter(WHAT)?;
        let nvml = self.node.nvml.clone();
        let period = Duration::from_millis(period_ms.into());
        let devices = self.nvml_wait(WHAT, nvml.devices()).await??;
        let found = self
            .nvml_wait(WHAT, nvml.gpm_of(&devices, ids, period))
            .await?;
        let uuids = devices.iter().map(|device| device.identity().uuid.clone());
        let readings: Vec<_> = uuids.zip(found).collect();
        let size = |(uuid, metrics): &(String, Result<Vec<(u32, f64)>, _>)| {
            uuid.len() + metrics.as_ref().map_or(0, |metrics| metrics.len() * 16)
        };
        self.charge(WHAT, readings.iter().map(size).sum())?;
        let reading = |(uuid, metrics): (String, Result<Vec<_>, SourceError>)| GpmReading {
            uuid,
            metrics: metrics
                .map(|metrics| metrics.into_iter().map(Into::into).collect())
                .map_err(Into::into),
        };
        Ok(readings.into_iter().map(reading).collect())
    }

    async fn ask_all(&mut self, questions: Vec<Question>) -> Result<Vec<GpuAnswers>, AccessError> {
        all::ask(self, &questions).await
    }

    async fn nvlink_p2p_among(
        &mut self,
        uuids: Vec<String>,
    ) -> Result<Vec<Result<u32, AccessError>>, AccessError> {
        all::p2p_among(self, &uuids).await
    }
}

fn of_the_driver(fault: Fault) -> SourceError {
    fault.to_source("the driver", Duration::ZERO, None)
}

/// The questions that are the node's with another spelling.
macro_rules! questions {
    ($($name:ident($($argument:ident: $kind:ty),*) -> $answer:ty = $ask:ident($($value:expr),*);)+) => {
        $(
            async fn $name(
                &mut self,
                device: Resource<Device>,
                $($argument: $kind),*
            ) -> Result<$answer, AccessError> {
                let ask = move |device: Device| async move { device.$ask($($value),*).await };
                self.nvml_ask(concat!("nvml.device.", stringify!($name)), &device, ask, |_| {
                    size_of::<$answer>()
                })
                .await
            }
        )+
    };
}

/// The same for lists.
macro_rules! lists {
    ($($name:ident($($argument:ident: $kind:ty),*) -> $item:ty = $ask:ident($($value:expr),*);)+) => {
        $(
            async fn $name(
                &mut self,
                device: Resource<Device>,
                $($argument: $kind),*
            ) -> Result<Vec<$item>, AccessError> {
                let ask = move |device: Device| async move {
                    let items = device.$ask($($value),*).await?;
                    let items: Vec<$item> = items.into_iter().map(<$item>::from).collect();
                    Ok::<_, SourceError>(items)
                };
                self.nvml_ask(concat!("nvml.device.", stringify!($name)), &device, ask, |items| {
                    items.len() * size_of::<$item>()
                })
                .await
            }
        )+
    };
}

impl HostDevice for Call {
    async fn identity(&mut self, device: Resource<Device>) -> Identity {
        // Costs nothing and cannot fail by the contract; a budget that is used up ends the call at its next question.
        let _ = self.enter("nvml.device.identity");
        let device = self.nvml_device(&device).ok();
        let found = device.map(|device| device.identity()).unwrap_or_default();
        let text = found.uuid.len() + found.name.len() + found.bus_id.len();
        let _ = self.charge("nvml.device.identity", text + 64);
        identity(&found)
    }

    questions! {
        memory_info() -> MemoryInfo = memory();
        utilization() -> Utilization = utilization();
        clock_mhz(which: Clock) -> u32 = clock(which as u32);
        clock_event_reasons() -> u64 = clock_event_reasons();
        power() -> Power = power();
        persistence_mode() -> bool = persistence_mode();
        temperature(sensor: TemperatureSensor) -> u32 = temperature(sensor as u32);
        temperature_threshold(threshold: TemperatureThreshold) -> u32 =
            temperature_threshold(threshold as u32);
        temperature_margin() -> i32 = temperature_margin();
        ecc_mode() -> EccMode = ecc_mode();
        ecc_total(error: EccError, period: EccPeriod) -> u64 =
            ecc_total(error as u32, period as u32);
        ecc_count(error: EccError, period: EccPeriod, location: MemoryLocation) -> u64 =
            ecc_count(error as u32, period as u32, location as u32);
        remapped_rows() -> RemappedRows = remapped_rows();
        nvlink_active(link: u32) -> bool = nvlink_active(link);
        nvlink_errors(link: u32) -> NvlinkErrors = nvlink_errors(link);
        fabric_info() -> FabricInfo = fabric();
        mig_enabled() -> bool = mig_mode();
        field_value(field: u32, scope: u32) -> f64 = field_value(field, scope);
        presence() -> () = presence();
        pcie_link() -> PcieLink = pcie_link();
        row_histogram() -> RowHistogram = row_histogram();
        sram_ecc_status() -> SramEccStatus = sram_ecc();
    }

    lists! {
        gpm_metrics(ids: Vec<u32>, period_ms: u32) -> GpmMetric =
            gpm(ids, Duration::from_millis(period_ms.into()));
        nvlinks() -> Nvlink = nvlinks();
        process_utilization() -> ProcessUtilization = process_use();
        mig_devices() -> MigDevice = mig_devices();
    }

    async fn nvlink_p2p_status(
        &mut self,
        device: Resource<Device>,
        other: Resource<Device>,
    ) -> Result<u32, AccessError> {
        const WHAT: &str = "nvml.device.nvlink-p2p-status";
        let to = self.nvml_device(&other)?;
        let ask = move |from: Device| async move { from.p2p_status(&to).await };
        self.nvml_ask(WHAT, &device, ask, |_| VALUE_BYTES).await
    }

    async fn compute_processes(
        &mut self,
        device: Resource<Device>,
    ) -> Result<Vec<ComputeProcess>, AccessError> {
        const WHAT: &str = "nvml.device.compute-processes";
        let ask = move |device: Device| async move { compute_processes(&device).await };
        let size = |found: &Vec<ComputeProcess>| found.len() * size_of::<ComputeProcess>();
        self.nvml_ask(WHAT, &device, ask, size).await
    }

    async fn drop(&mut self, device: Resource<Device>) -> wasmtime::Result<()> {
        self.table.delete(device)?;
        Ok(())
    }
}

fn identity(of_node: &values::Identity) -> Identity {
    let of_node = of_node.clone();
    Identity {
        index: of_node.index,
        uuid: of_node.uuid,
        name: of_node.name,
        bus_id: of_node.bus_id,
        brand: of_node.brand,
        compute_capability: of_node.compute_capability,
        serial: of_node.serial,
        minor_number: of_node.minor_number,
        board_id: of_node.board_id,
        extra: of_node.extra,
    }
}

/// The use is asked beside the list; a list without it is still a list.
async fn compute_processes(device: &Device) -> Result<Vec<ComputeProcess>, SourceError> {
    let processes = device.processes().await?;
    let used = match processes.is_empty() {
        true => Vec::new(),
        false => device.process_use().await.unwrap_or_default(),
    };
    let with_use = processes.into_iter().map(|process| ComputeProcess {
        pid: process.pid,
        used_memory: process.used_memory,
        sm_utilization: used.iter().find(|it| it.pid == process.pid).map(|it| it.sm),
    });
    Ok(with_use.collect())
}

/// Records whose fields have the same names on both sides.
macro_rules! same {
    ($($wire:ident from $node:ident { $($field:ident),+ })+) => {
        $(
            impl From<values::$node> for $wire {
                fn from(value: values::$node) -> Self {
                    Self { $($field: value.$field),+ }
                }
            }
        )+
    };
}

same! {
    MemoryInfo from Memory { total, reserved, free, used }
    Utilization from Utilization { gpu, memory }
    Power from Power { usage, enforced_limit, management_limit }
    EccMode from EccMode { current, pending }
    RemappedRows from RemappedRows { correctable, uncorrectable, pending, failed }
    RowHistogram from RowHistogram { max, high, partial, low, none }
    SramEccStatus from SramEcc {
        aggregate_uncorrectable_parity, aggregate_uncorrectable_sec_ded, aggregate_correctable,
        volatile_uncorrectable_parity, volatile_uncorrectable_sec_ded, volatile_correctable,
        aggregate_uncorrectable_l2, aggregate_uncorrectable_sm, aggregate_uncorrectable_pcie,
        aggregate_uncorrectable_microcontroller, aggregate_uncorrectable_other,
        threshold_exceeded
    }
    NvlinkErrors from NvlinkErrors { replay, recovery, crc }
    FabricInfo from Fabric { cluster_uuid, clique_id, state, status, health_mask, health_summary }
    PcieLink from PcieLink { generation, width, max_generation, max_width }
}

impl From<values::Nvlink> for Nvlink {
    fn from(link: values::Nvlink) -> Self {
        Self {
            link: link.link,
            active: link.active,
            errors: link.errors.map(Into::into),
        }
    }
}

impl From<values::ProcessUse> for ProcessUtilization {
    fn from(used: values::ProcessUse) -> Self {
        Self {
            pid: used.pid,
            time: used.time_us / 1000,
            sm: used.sm,
            memory: used.memory,
            encoder: used.encoder,
            decoder: used.decoder,
        }
    }
}

impl From<values::MigDevice> for MigDevice {
    fn from(mig: values::MigDevice) -> Self {
        Self {
            index: mig.index,
            uuid: mig.uuid,
            name: mig.name,
            gpu_instance: mig.gpu_instance,
            compute_instance: mig.compute_instance,
            memory: mig.memory.map(Into::into),
            multiprocessors: mig.multiprocessors,
            extra: Vec::new(),
        }
    }
}

impl From<(u32, f64)> for GpmMetric {
    fn from((id, value): (u32, f64)) -> Self {
        Self { id, value }
    }
}
