//! A driver in memory: what a test wants it to be, or the one that GPUd's own test suite starts the daemon with.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use super::{
    driver::{Answer, Driver, GpuHandle},
    fault::{self, Fault},
    values::{
        EccMode, GpuProcess, Identity, Memory, NvlinkErrors, Power, Reading, RemappedRows, SramEcc,
        Utilization, Value,
    },
};

/// The default answer of a GPU.
pub type DefaultAnswer = fn(&Reading) -> Answer;

/// A GPU in memory.
#[derive(Debug, Clone)]
pub struct SimulatedGpu {
    /// Its identity; its index is its place in the list.
    pub identity: Identity,
    /// Its answers to some questions.
    pub answers: HashMap<Reading, Answer>,
    /// Its answer to all other questions.
    pub rest: DefaultAnswer,
}

impl SimulatedGpu {
    /// Knows nothing but who it is: all other questions are not supported.
    pub fn new(identity: Identity) -> Self {
        Self {
            identity,
            answers: HashMap::new(),
            rest: nothing,
        }
    }
}

/// A driver in memory.
#[derive(Debug)]
pub struct Simulated {
    driver_version: String,
    cuda_version: u32,
    gpus: Mutex<Vec<SimulatedGpu>>,
}

impl Simulated {
    /// Makes a driver with these versions (CUDA as major × 1000 + minor × 10) and GPUs.
    pub fn new(driver_version: &str, cuda_version: u32, gpus: Vec<SimulatedGpu>) -> Self {
        Self {
            driver_version: driver_version.to_owned(),
            cuda_version,
            gpus: Mutex::new(gpus),
        }
    }

    /// The machine of `GPUD_NVML_MOCK_ALL_SUCCESS`: one GPU with name and UUID `mock` that is well. The figures are
    /// those of GPUd's fixture.
    pub fn mock() -> Self {
        let identity = Identity {
            index: 0,
            uuid: "mock".to_owned(),
            name: "mock".to_owned(),
            bus_id: String::new(),
            brand: 15,
            compute_capability: (8, 0),
            serial: Some("MOCK-GPU-SERIAL".to_owned()),
            minor_number: Some(1),
            board_id: Some(123),
            extra: Vec::new(),
        };
        let gpu = SimulatedGpu {
            rest: all_success,
            ..SimulatedGpu::new(identity)
        };
        Self::new("535.161.08", 12_000, vec![gpu])
    }

    /// Changes the GPUs.
    pub fn change(&self, change: impl FnOnce(&mut Vec<SimulatedGpu>)) {
        change(&mut self.lock());
    }

    fn lock(&self) -> MutexGuard<'_, Vec<SimulatedGpu>> {
        self.gpus.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn of<T>(&self, gpu: GpuHandle, answer: impl FnOnce(&SimulatedGpu) -> Answer<T>) -> Answer<T> {
        match self.lock().get(gpu.0 as usize) {
            Some(gpu) => answer(gpu),
            None => Err(Fault::new(
                "nvmlDeviceGetHandleByIndex_v2",
                fault::INVALID_ARGUMENT,
            )),
        }
    }
}

impl Driver for Simulated {
    fn driver_version(&self) -> Answer<String> {
        Ok(self.driver_version.clone())
    }

    fn cuda_version(&self) -> Answer<u32> {
        Ok(self.cuda_version)
    }

    fn count(&self) -> Answer<u32> {
        Ok(u32::try_from(self.lock().len()).unwrap_or(u32::MAX))
    }

    fn open(&self, index: u32) -> Answer<GpuHandle> {
        self.of(GpuHandle(index), |_| Ok(GpuHandle(index)))
    }

    fn uuid(&self, gpu: GpuHandle) -> Answer<String> {
        self.of(gpu, |gpu| Ok(gpu.identity.uuid.clone()))
    }

    fn read(&self, gpu: GpuHandle, reading: &Reading) -> Answer {
        self.of(gpu, |known| {
            if let Some(answer) = known.answers.get(reading) {
                return answer.clone();
            }
            match reading {
                Reading::Identity => Ok(Value::from(Box::new(Identity {
                    index: gpu.0,
                    ..known.identity.clone()
                }))),
                other => (known.rest)(other),
            }
        })
    }

    fn p2p_status(&self, _from: GpuHandle, _to: GpuHandle) -> Answer<u32> {
        Err(Fault::new("nvmlDeviceGetP2PStatus", fault::NOT_SUPPORTED))
    }
}

/// Nothing is supported.
fn nothing(reading: &Reading) -> Answer {
    Err(Fault::new(reading.call(), fault::NOT_SUPPORTED))
}

/// Returns an answer of the GPU of [`Simulated::mock`].
fn all_success(reading: &Reading) -> Answer {
    Ok(match reading {
        Reading::Memory => Memory::default().into(),
        Reading::Utilization => Utilization::default().into(),
        Reading::Clock(_) | Reading::Temperature(_) | Reading::TemperatureThreshold(_) => {
            Value::Number(1)
        }
        Reading::ClockEventReasons => Value::Count(1),
        Reading::Power => Power {
            usage: Some(1),
            enforced_limit: Some(1),
            management_limit: Some(1),
        }
        .into(),
        Reading::PersistenceMode => Value::Flag(true),
        Reading::EccMode => EccMode {
            current: true,
            pending: true,
        }
        .into(),
        Reading::EccTotal(..) => Value::Count(1),
        Reading::EccCount(..) => Value::Count(0),
        Reading::RemappedRows => RemappedRows::default().into(),
        Reading::SramEcc => SramEcc::default().into(),
        Reading::NvlinkActive(_) => Value::Flag(false),
        Reading::NvlinkErrors(_) => NvlinkErrors::default().into(),
        Reading::Nvlinks => no_links().into(),
        Reading::Processes => vec![GpuProcess {
            pid: 999,
            used_memory: Some(0),
        }]
        .into(),
        Reading::ProcessUse => Value::ProcessUse(Vec::new()),
        other => return nothing(other),
    })
}

/// All links that NVML numbers, none of them up.
fn no_links() -> Vec<super::values::Nvlink> {
    (0..18)
        .map(|link| super::values::Nvlink {
            link,
            active: false,
            errors: Some(NvlinkErrors::default()),
        })
        .collect()
}
