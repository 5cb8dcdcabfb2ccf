use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Condvar, Mutex},
};

use super::{
    driver::{Answer, GpuHandle},
    fault::Fault,
    simulated::SimulatedGpu,
    values::{Identity, Reading, Value},
    *,
};

mod gpm_samples;
mod hangs;
mod listing;
mod loading;
mod sharing;

/// A driver whose calls are counted, and can hang or fail.
#[derive(Default)]
struct Faulty {
    below: Option<Simulated>,
    state: Mutex<Script>,
    released: Condvar,
}

#[derive(Default)]
struct Script {
    /// GPUs all of whose readings hang; `u32::MAX` is the list of GPUs.
    hanging: BTreeSet<u32>,
    /// Calls that hang, of whatever GPU.
    hanging_calls: BTreeSet<&'static str>,
    /// GPUs that cannot be opened.
    closed: BTreeMap<u32, u32>,
    /// The file that it was loaded from was deleted.
    is_deleted: bool,
    /// How many the driver lists, if not all.
    count: Option<Answer<u32>>,
    calls: BTreeMap<String, u32>,
}

const LIST: u32 = u32::MAX;

impl Faulty {
    fn of(gpus: u32) -> Arc<Self> {
        let gpus = (0..gpus).map(gpu).collect();
        Arc::new(Self {
            below: Some(Simulated::new("570.1.2", 12_080, gpus)),
            ..Self::default()
        })
    }

    fn below(&self) -> &Simulated {
        self.below.as_ref().unwrap()
    }

    fn script(&self, change: impl FnOnce(&mut Script)) {
        change(&mut self.state.lock().unwrap());
        self.released.notify_all();
    }

    fn calls(&self, call: &str) -> u32 {
        let state = self.state.lock().unwrap();
        state.calls.get(call).copied().unwrap_or(0)
    }

    fn count_and_hang(&self, call: &str, gpu: u32) {
        let mut state = self.state.lock().unwrap();
        *state.calls.entry(call.to_owned()).or_default() += 1;
        while state.hanging.contains(&gpu) || state.hanging_calls.contains(call) {
            state = self.released.wait(state).unwrap();
        }
    }
}

impl Driver for Faulty {
    fn is_in_place(&self) -> bool {
        !self.state.lock().unwrap().is_deleted
    }

    fn driver_version(&self) -> Answer<String> {
        self.below().driver_version()
    }

    fn cuda_version(&self) -> Answer<u32> {
        self.below().cuda_version()
    }

    fn count(&self) -> Answer<u32> {
        self.count_and_hang("count", LIST);
        let scripted = self.state.lock().unwrap().count.clone();
        scripted.unwrap_or_else(|| self.below().count())
    }

    fn open(&self, index: u32) -> Answer<GpuHandle> {
        self.count_and_hang("open", LIST);
        if let Some(code) = self.state.lock().unwrap().closed.get(&index) {
            return Err(Fault::new("nvmlDeviceGetHandleByIndex_v2", *code));
        }
        self.below().open(index)
    }

    fn uuid(&self, gpu: GpuHandle) -> Answer<String> {
        self.below().uuid(gpu)
    }

    fn read(&self, gpu: GpuHandle, reading: &Reading) -> Answer {
        let hangs_at = if *reading == Reading::Identity {
            LIST
        } else {
            gpu.0
        };
        self.count_and_hang(reading.call(), hangs_at);
        self.below().read(gpu, reading)
    }

    fn p2p_status(&self, from: GpuHandle, to: GpuHandle) -> Answer<u32> {
        self.count_and_hang("p2p", from.0);
        self.count_and_hang("p2p", to.0);
        Ok(0)
    }
}

fn gpu(index: u32) -> SimulatedGpu {
    let mut gpu = SimulatedGpu::new(Identity {
        index,
        uuid: format!("GPU-{index}"),
        name: "NVIDIA H100 80GB HBM3".into(),
        bus_id: format!("0000:0{index}:00.0"),
        ..Identity::default()
    });
    gpu.answers
        .insert(Reading::Temperature(0), Ok(Value::Number(40 + index)));
    gpu.answers
        .insert(Reading::PersistenceMode, Ok(Value::Flag(true)));
    gpu.answers.insert(Reading::GpmSample, Ok(Value::Done(())));
    gpu.answers.insert(
        Reading::GpmMetrics(vec![2], 10),
        Ok(Value::Gpm(vec![(2, 50.0)])),
    );
    gpu
}

/// Nothing is shared and every list is fresh; waits are short.
const QUICK: NvmlTiming = NvmlTiming {
    deadline: Duration::from_millis(200),
    shared_for: Duration::ZERO,
    again_after: Duration::MAX,
    round: Duration::ZERO,
    patience: Duration::from_millis(200),
    first: Duration::from_millis(300),
};

/// As on a real machine, but for the waits.
const SHARING: NvmlTiming = NvmlTiming {
    shared_for: Duration::from_secs(60),
    round: Duration::from_secs(60),
    ..QUICK
};

fn nvml(driver: &Arc<Faulty>, timing: NvmlTiming) -> Nvml {
    let driver: Arc<dyn Driver> = Arc::clone(driver) as Arc<dyn Driver>;
    Nvml::of(Box::new(PresentDriver(driver)), timing)
}
