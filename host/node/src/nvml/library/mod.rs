//! The real driver: NVML in a shared library, through nvml-wrapper where that passes on what NVML says, and through
//! [`raw`] where it does not.

mod opener;
mod raw;

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use nvml_wrapper::{Device, Nvml, error::NvmlError};

use super::{
    driver::{Answer, Driver, GpuHandle},
    fault::{self, Fault},
    find::LoadedFile,
    values::{
        EccMode, Identity, MigDevice, Nvlink, NvlinkErrors, PcieLink, Power, ProcessUse, Reading,
        RemappedRows, Utilization, Value, bus_id,
    },
};
use crate::clock::Clock;
pub use opener::LibraryOpener;
use raw::{Handle, Sample};

/// `NVML_NVLINK_MAX_LINKS`.
const MAX_LINKS: u32 = 18;
/// `NVML_P2P_CAPS_INDEX_NVLINK`.
const P2P_OVER_NVLINK: u32 = 2;
/// `NVML_TEMPERATURE_MEM`.
const MEMORY_SENSOR: u32 = 1;
/// `NVML_FI_DEV_MEMORY_TEMP`.
const MEMORY_TEMPERATURE: u32 = 82;
/// Most MIG devices of a GPU that are believed; hardware has 7 instances with at most 7 each.
const MAX_MIG_DEVICES: u32 = 64;
/// How far back the use of processes is looked at, microseconds.
const USE_WINDOW_US: u64 = 60_000_000;

/// NVML, started. Dropping it shuts NVML down and unloads the library.
struct Library {
    handles: Mutex<Vec<Handle>>,
    samples: Mutex<HashMap<GpuHandle, Sample>>,
    nvml: Nvml,
    /// The path at which the loader found it, if it was asked by name.
    file: Option<LoadedFile>,
}

impl Library {
    fn new(nvml: Nvml, file: Option<LoadedFile>) -> Self {
        Self {
            handles: Mutex::default(),
            samples: Mutex::default(),
            nvml,
            file,
        }
    }

    /// `Invalid Argument` for a slot that this library never gave.
    fn handle(&self, gpu: GpuHandle) -> Answer<Handle> {
        let handle = lock(&self.handles).get(gpu.0 as usize).copied();
        handle.ok_or_else(|| Fault::new("nvmlDeviceGetHandleByIndex_v2", fault::INVALID_ARGUMENT))
    }

    fn device(&self, gpu: GpuHandle) -> Answer<Device<'_>> {
        Ok(raw::device(&self.nvml, self.handle(gpu)?))
    }

    fn wrapped<T>(&self, call: &'static str, answer: Result<T, NvmlError>) -> Answer<T> {
        answer.map_err(|error| raw::wrapped(&self.nvml, call, error))
    }

    /// Name and UUID must be there; a GPU without the rest is still a GPU. One that is lost is not asked further.
    fn identity(&self, gpu: GpuHandle) -> Answer<Identity> {
        let (device, handle) = (self.device(gpu)?, self.handle(gpu)?);
        let uuid = self.wrapped("nvmlDeviceGetUUID", device.uuid())?;
        let name = self.wrapped("nvmlDeviceGetName", device.name())?;
        let pci = optional(self.wrapped("nvmlDeviceGetPciInfo_v3", device.pci_info()))?;
        let capability = self.wrapped(
            "nvmlDeviceGetCudaComputeCapability",
            device.cuda_compute_capability(),
        );
        let capability = optional(capability)?.map_or((0, 0), |it| (it.major, it.minor));
        let number = |number: i32| u32::try_from(number).unwrap_or(0);
        let facts = [
            (
                "vbios",
                self.wrapped("nvmlDeviceGetVbiosVersion", device.vbios_version()),
            ),
            (
                "inforom-image",
                self.wrapped(
                    "nvmlDeviceGetInforomImageVersion",
                    device.info_rom_image_version(),
                ),
            ),
            (
                "board-part-number",
                self.wrapped("nvmlDeviceGetBoardPartNumber", device.board_part_number()),
            ),
            ("chassis-serial", raw::chassis_serial(&self.nvml, handle)),
            ("gsp-firmware", raw::gsp_firmware(&self.nvml, handle)),
        ];
        let mut extra = Vec::new();
        for (key, fact) in facts {
            if let Some(fact) = optional(fact)?.filter(|fact| !fact.is_empty()) {
                extra.push((key.to_owned(), fact));
            }
        }
        if let Some((now, default)) = optional(raw::gsp_mode(&self.nvml, handle))? {
            let word = |on| if on { "enabled" } else { "disabled" };
            extra.push(("gsp-mode".to_owned(), word(now).to_owned()));
            extra.push(("gsp-default-mode".to_owned(), word(default).to_owned()));
        }
        Ok(Identity {
            index: gpu.0,
            uuid,
            name,
            bus_id: pci.map(|pci| bus_id(&pci.bus_id)).unwrap_or_default(),
            brand: optional(raw::brand(&self.nvml, handle))?.unwrap_or(0),
            compute_capability: (number(capability.0), number(capability.1)),
            serial: optional(self.wrapped("nvmlDeviceGetSerial", device.serial()))?,
            minor_number: optional(
                self.wrapped("nvmlDeviceGetMinorNumber", device.minor_number()),
            )?,
            board_id: optional(self.wrapped("nvmlDeviceGetBoardId", device.board_id()))?,
            extra,
        })
    }

    /// Drivers know a number for this sensor and refuse it; the reading is a field.
    fn memory_temperature(&self, handle: Handle) -> Answer<u32> {
        let fault = match raw::field_value(&self.nvml, handle, MEMORY_TEMPERATURE, 0) {
            #[allow(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "degrees; what does not fit becomes the nearest that does"
            )]
            Ok(celsius) => return Ok(celsius as u32),
            Err(fault) if fault.is_not_supported() => fault,
            Err(fault) => return Err(fault),
        };
        match raw::temperature(&self.nvml, handle, MEMORY_SENSOR) {
            Err(refused) if refused.code == fault::INVALID_ARGUMENT => Err(fault),
            answer => answer,
        }
    }

    fn power(&self, gpu: GpuHandle) -> Answer<Power> {
        let device = self.device(gpu)?;
        Ok(Power {
            usage: supported(self.wrapped("nvmlDeviceGetPowerUsage", device.power_usage()))?,
            enforced_limit: supported(self.wrapped(
                "nvmlDeviceGetEnforcedPowerLimit",
                device.enforced_power_limit(),
            ))?,
            management_limit: supported(self.wrapped(
                "nvmlDeviceGetPowerManagementLimit",
                device.power_management_limit(),
            ))?,
        })
    }

    fn pcie_link(&self, gpu: GpuHandle) -> Answer<PcieLink> {
        let device = self.device(gpu)?;
        let of = |call, answer| supported(self.wrapped(call, answer));
        Ok(PcieLink {
            generation: of(
                "nvmlDeviceGetCurrPcieLinkGeneration",
                device.current_pcie_link_gen(),
            )?,
            width: of(
                "nvmlDeviceGetCurrPcieLinkWidth",
                device.current_pcie_link_width(),
            )?,
            max_generation: of(
                "nvmlDeviceGetMaxPcieLinkGeneration",
                device.max_pcie_link_gen(),
            )?,
            max_width: of(
                "nvmlDeviceGetMaxPcieLinkWidth",
                device.max_pcie_link_width(),
            )?,
        })
    }

    /// A counter that does not answer is 0, unless the GPU is gone; the error is the first one if none answers.
    fn nvlink_errors(&self, gpu: GpuHandle, link: u32) -> Answer<NvlinkErrors> {
        let handle = self.handle(gpu)?;
        let counters = [0, 1, 2].map(|which| raw::nvlink_errors(&self.nvml, handle, link, which));
        if let Some(gone) = counters.iter().find_map(|counter| match counter {
            Err(fault) if fault.is_lost() || fault.needs_reset() => Some(fault),
            _ => None,
        }) {
            return Err(gone.clone());
        }
        if let [Err(fault), Err(_), Err(_)] = &counters {
            return Err(fault.clone());
        }
        let [replay, recovery, crc] = counters.map(|counter| counter.unwrap_or(0));
        Ok(NvlinkErrors {
            replay,
            recovery,
            crc,
        })
    }

    /// Links from 0 until one is not supported; links that fail otherwise are left out.
    fn nvlinks(&self, gpu: GpuHandle) -> Answer<Vec<Nvlink>> {
        let handle = self.handle(gpu)?;
        let mut links = Vec::new();
        for link in 0..MAX_LINKS {
            let active = match raw::nvlink_active(&self.nvml, handle, link) {
                Ok(active) => active,
                Err(fault) if fault.is_lost() || fault.needs_reset() => return Err(fault),
                Err(fault) if fault.is_not_supported() && links.is_empty() => return Err(fault),
                Err(fault) if fault.is_not_supported() => break,
                Err(_) => continue,
            };
            let errors = match self.nvlink_errors(gpu, link) {
                Ok(errors) => Some(errors),
                Err(fault) if fault.is_lost() || fault.needs_reset() => return Err(fault),
                Err(_) => None,
            };
            links.push(Nvlink {
                link,
                active,
                errors,
            });
        }
        Ok(links)
    }

    fn process_use(&self, gpu: GpuHandle) -> Answer<Vec<ProcessUse>> {
        let now_us = Clock::Live.now_ms().saturating_mul(1000);
        let since = now_us.saturating_sub(USE_WINDOW_US);
        let mut samples = raw::process_use(&self.nvml, self.handle(gpu)?, since)?;
        samples.sort_by_key(|sample| (sample.pid, std::cmp::Reverse(sample.time_us)));
        samples.dedup_by_key(|sample| sample.pid);
        Ok(samples)
    }

    /// The first index without a device is not the last: instances come and go.
    fn mig_devices(&self, gpu: GpuHandle) -> Answer<Vec<MigDevice>> {
        let device = self.device(gpu)?;
        let count = self.wrapped("nvmlDeviceGetMaxMigDeviceCount", device.mig_device_count())?;
        let mut found = Vec::new();
        for index in 0..count.min(MAX_MIG_DEVICES) {
            let mig = self.wrapped(
                "nvmlDeviceGetMigDeviceHandleByIndex",
                device.mig_device_by_index(index),
            );
            let mig = match mig {
                Ok(mig) => mig,
                Err(fault) if fault.code == fault::NOT_FOUND => continue,
                Err(fault) => return Err(fault),
            };
            let handle = raw::handle(&mig);
            let attributes = self.wrapped("nvmlDeviceGetAttributes_v2", mig.attributes());
            found.push(MigDevice {
                index,
                uuid: self.wrapped("nvmlDeviceGetUUID", mig.uuid())?,
                name: optional(self.wrapped("nvmlDeviceGetName", mig.name()))?.unwrap_or_default(),
                gpu_instance: optional(raw::gpu_instance(&self.nvml, handle))?,
                compute_instance: optional(raw::compute_instance(&self.nvml, handle))?,
                memory: optional(raw::memory(&self.nvml, handle))?,
                multiprocessors: optional(attributes)?.map(|it| it.multiprocessor_count),
            });
        }
        Ok(found)
    }

    fn keep_sample(&self, gpu: GpuHandle) -> Answer<()> {
        let sample = raw::gpm_sample(&self.nvml, self.handle(gpu)?)?;
        let before = lock(&self.samples).insert(gpu, sample);
        if let Some(before) = before {
            raw::gpm_free(&self.nvml, before);
        }
        Ok(())
    }

    fn gpm_metrics(&self, gpu: GpuHandle, ids: &[u32]) -> Answer<Vec<(u32, f64)>> {
        let first = lock(&self.samples).remove(&gpu);
        let Some(first) = first else {
            return Err(Fault::new("nvmlGpmMetricsGet", fault::INVALID_ARGUMENT));
        };
        let second = self
            .handle(gpu)
            .and_then(|handle| raw::gpm_sample(&self.nvml, handle));
        let answer = match second {
            Ok(second) => {
                let answer = raw::gpm_metrics(&self.nvml, &first, &second, ids);
                raw::gpm_free(&self.nvml, second);
                answer
            }
            Err(fault) => Err(fault),
        };
        raw::gpm_free(&self.nvml, first);
        answer
    }
}

impl Driver for Library {
    fn is_in_place(&self) -> bool {
        self.file.as_ref().is_none_or(LoadedFile::is_in_place)
    }

    fn driver_version(&self) -> Answer<String> {
        self.wrapped("nvmlSystemGetDriverVersion", self.nvml.sys_driver_version())
    }

    fn cuda_version(&self) -> Answer<u32> {
        let version = self.wrapped(
            "nvmlSystemGetCudaDriverVersion_v2",
            self.nvml.sys_cuda_driver_version(),
        )?;
        Ok(u32::try_from(version).unwrap_or(0))
    }

    fn count(&self) -> Answer<u32> {
        self.wrapped("nvmlDeviceGetCount_v2", self.nvml.device_count())
    }

    fn open(&self, index: u32) -> Answer<GpuHandle> {
        let device = self.wrapped(
            "nvmlDeviceGetHandleByIndex_v2",
            self.nvml.device_by_index(index),
        )?;
        let handle = raw::handle(&device);
        let mut handles = lock(&self.handles);
        let at = match handles.iter().position(|known| *known == handle) {
            Some(at) => at,
            None => {
                handles.push(handle);
                handles.len() - 1
            }
        };
        Ok(GpuHandle(u32::try_from(at).unwrap_or(u32::MAX)))
    }

    fn uuid(&self, gpu: GpuHandle) -> Answer<String> {
        self.wrapped("nvmlDeviceGetUUID", self.device(gpu)?.uuid())
    }

    fn read(&self, gpu: GpuHandle, reading: &Reading) -> Answer {
        let (nvml, handle) = (&self.nvml, self.handle(gpu)?);
        Ok(match *reading {
            Reading::Identity => Box::new(self.identity(gpu)?).into(),
            Reading::Memory => raw::memory(nvml, handle)?.into(),
            Reading::Utilization => {
                let rates = self.device(gpu)?.utilization_rates();
                let rates = self.wrapped("nvmlDeviceGetUtilizationRates", rates)?;
                Utilization {
                    gpu: rates.gpu,
                    memory: rates.memory,
                }
                .into()
            }
            Reading::Clock(which) => raw::clock(nvml, handle, which)?.into(),
            Reading::ClockEventReasons => raw::clock_event_reasons(nvml, handle)?.into(),
            Reading::Power => self.power(gpu)?.into(),
            Reading::PersistenceMode => raw::persistence_mode(nvml, handle)?.into(),
            Reading::Temperature(MEMORY_SENSOR) => self.memory_temperature(handle)?.into(),
            Reading::Temperature(sensor) => raw::temperature(nvml, handle, sensor)?.into(),
            Reading::TemperatureThreshold(which) => {
                raw::temperature_threshold(nvml, handle, which)?.into()
            }
            Reading::TemperatureMargin => raw::temperature_margin(nvml, handle)?.into(),
            Reading::EccMode => {
                let (current, pending) = raw::ecc_mode(nvml, handle)?;
                EccMode { current, pending }.into()
            }
            Reading::EccTotal(error, period) => raw::ecc_total(nvml, handle, error, period)?.into(),
            Reading::EccCount(error, period, place) => {
                raw::ecc_count(nvml, handle, error, period, place)?.into()
            }
            Reading::RemappedRows => {
                let (correctable, uncorrectable, pending, failed) =
                    raw::remapped_rows(nvml, handle)?;
                RemappedRows {
                    correctable,
                    uncorrectable,
                    pending,
                    failed,
                }
                .into()
            }
            Reading::RowHistogram => raw::row_histogram(nvml, handle)?.into(),
            Reading::SramEcc => raw::sram_ecc(nvml, handle)?.into(),
            Reading::NvlinkActive(link) => raw::nvlink_active(nvml, handle, link)?.into(),
            Reading::NvlinkErrors(link) => self.nvlink_errors(gpu, link)?.into(),
            Reading::Nvlinks => self.nvlinks(gpu)?.into(),
            Reading::Fabric => raw::fabric(nvml, handle)?.into(),
            Reading::Processes => raw::processes(nvml, handle)?.into(),
            Reading::ProcessUse => self.process_use(gpu)?.into(),
            Reading::MigMode => {
                let mode = self.wrapped("nvmlDeviceGetMigMode", self.device(gpu)?.mig_mode())?;
                Value::Flag(mode.current != 0)
            }
            Reading::MigDevices => self.mig_devices(gpu)?.into(),
            Reading::PcieLink => self.pcie_link(gpu)?.into(),
            Reading::FieldValue(field, scope) => {
                raw::field_value(nvml, handle, field, scope)?.into()
            }
            Reading::GpmSample => self.keep_sample(gpu)?.into(),
            Reading::GpmMetrics(ref ids, _) => self.gpm_metrics(gpu, ids)?.into(),
        })
    }

    fn p2p_status(&self, from: GpuHandle, to: GpuHandle) -> Answer<u32> {
        let (from, to) = (self.handle(from)?, self.handle(to)?);
        raw::p2p_status(&self.nvml, from, to, P2P_OVER_NVLINK)
    }
}

impl Drop for Library {
    fn drop(&mut self) {
        for (_, sample) in lock(&self.samples).drain() {
            raw::gpm_free(&self.nvml, sample);
        }
    }
}

/// Makes an answer optional, also while the GPU needs a reset. An error that says that it is lost is passed on.
fn optional<T>(answer: Answer<T>) -> Answer<Option<T>> {
    match answer {
        Ok(value) => Ok(Some(value)),
        Err(fault) if fault.is_lost() => Err(fault),
        Err(_) => Ok(None),
    }
}

/// Turns "not supported" into `None`. All other errors are returned.
fn supported<T>(answer: Answer<T>) -> Answer<Option<T>> {
    match answer {
        Ok(value) => Ok(Some(value)),
        Err(fault) if fault.is_not_supported() => Ok(None),
        Err(fault) => Err(fault),
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Nothing panics while it holds one of these, and the books would still be right.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

pub use raw::MAX_GPM_METRICS;
