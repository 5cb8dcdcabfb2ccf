use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::OsString,
    sync::{Condvar, Mutex, atomic::AtomicU32},
};

use super::{
    driver::{Answer, DriverStamp, NoDriver, Slot},
    fault::Fault,
    simulated::SimulatedGpu,
    values::{Identity, Reading, Value},
    *,
};

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

    fn open(&self, index: u32) -> Answer<Slot> {
        self.count_and_hang("open", LIST);
        if let Some(code) = self.state.lock().unwrap().closed.get(&index) {
            return Err(Fault::new("nvmlDeviceGetHandleByIndex_v2", *code));
        }
        self.below().open(index)
    }

    fn uuid(&self, gpu: Slot) -> Answer<String> {
        self.below().uuid(gpu)
    }

    fn read(&self, gpu: Slot, reading: &Reading) -> Answer {
        let hangs_at = if *reading == Reading::Identity {
            LIST
        } else {
            gpu.0
        };
        self.count_and_hang(reading.call(), hangs_at);
        self.below().read(gpu, reading)
    }

    fn p2p_status(&self, from: Slot, to: Slot) -> Answer<u32> {
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
const QUICK: Timing = Timing {
    deadline: Duration::from_millis(200),
    shared_for: Duration::ZERO,
    again_after: Duration::MAX,
    round: Duration::ZERO,
    patience: Duration::from_millis(200),
    first: Duration::from_millis(300),
};

/// As on a real machine, but for the waits.
const SHARING: Timing = Timing {
    shared_for: Duration::from_secs(60),
    round: Duration::from_secs(60),
    ..QUICK
};

fn nvml(driver: &Arc<Faulty>, timing: Timing) -> Nvml {
    let driver: Arc<dyn Driver> = Arc::clone(driver) as Arc<dyn Driver>;
    Nvml::of(Box::new(Always(driver)), timing)
}

#[tokio::test]
async fn gpus_are_listed_and_asked() {
    let driver = Faulty::of(2);
    let nvml = nvml(&driver, QUICK);
    let view = nvml.view().await;
    assert_eq!(view.library, Library::Loaded);
    assert_eq!(view.product_name(), "NVIDIA H100 80GB HBM3");
    assert_eq!(view.driver_version.as_deref(), Ok("570.1.2"));
    let devices = nvml.devices().await.unwrap();
    let uuids: Vec<String> = devices
        .iter()
        .map(|it| it.identity().uuid.clone())
        .collect();
    assert_eq!(uuids, ["GPU-0", "GPU-1"]);
    assert_eq!(devices[1].temperature(0).await, Ok(41));
    assert_eq!(devices[1].p2p_status(&devices[0]).await, Ok(0));
    assert_eq!(
        devices[0].memory().await,
        Err(SourceError::NotSupported(
            "nvmlDeviceGetMemoryInfo_v2 of GPU 0 (GPU-0, 0000:00:00.0)".into()
        ))
    );
}

#[tokio::test]
async fn what_several_ask_at_once_is_asked_once() {
    let driver = Faulty::of(1);
    let nvml = nvml(&driver, SHARING);
    let asked = (0..20).map(|_| async {
        let devices = nvml.devices().await.unwrap();
        devices[0].temperature(0).await
    });
    for answer in futures_util::future::join_all(asked).await {
        assert_eq!(answer, Ok(40));
    }
    assert_eq!(driver.calls("count"), 1);
    assert_eq!(driver.calls("nvmlDeviceGetName"), 1);
    assert_eq!(driver.calls("nvmlDeviceGetTemperature"), 1);
}

#[tokio::test]
async fn questions_of_the_last_round_are_taken_along_and_those_that_nobody_repeats_are_not() {
    let driver = Faulty::of(1);
    let timing = Timing {
        again_after: Duration::ZERO,
        ..SHARING
    };
    let nvml = nvml(&driver, timing);
    let gpu = &nvml.devices().await.unwrap()[0];
    let calls = || {
        let calls = ["Temperature", "PersistenceMode", "EccMode"];
        calls.map(|call| driver.calls(&format!("nvmlDeviceGet{call}")))
    };
    gpu.temperature(0).await.unwrap();
    assert_eq!(calls(), [1, 0, 0]);
    gpu.persistence_mode().await.unwrap();
    assert_eq!(calls(), [2, 1, 0], "it was asked for");
    // Whether there is an answer or none.
    assert!(gpu.ecc_mode().await.is_err());
    assert_eq!(calls(), [2, 2, 1], "nobody has asked for it since");
    // An answer that was taken along counts like any other.
    assert_eq!(gpu.temperature(0).await, Ok(40));
    assert_eq!(calls(), [2, 2, 1]);
}

#[tokio::test]
async fn a_round_has_its_answers_before_anybody_waits_for_them() {
    let driver = Faulty::of(2);
    let timing = Timing {
        again_after: Duration::ZERO,
        ..SHARING
    };
    let nvml = nvml(&driver, timing);
    let devices = nvml.devices().await.unwrap();
    let (temperature, mode) = (Reading::Temperature(0), Reading::PersistenceMode);
    // Nobody has asked for anything yet.
    nvml.ask_again().await;
    assert_eq!(driver.calls("nvmlDeviceGetTemperature"), 0);
    for device in &devices {
        device.temperature(0).await.unwrap();
    }
    nvml.ask_again().await;
    assert_eq!(driver.calls("nvmlDeviceGetTemperature"), 4);
    for (device, degrees) in devices.iter().zip([40, 41]) {
        let mut known = device.cached_answers().unwrap();
        assert_eq!(known.get(&temperature), Some(Ok(&Value::Number(degrees))));
        assert_eq!(known.get(&mode), None, "not asked yet");
    }

    // A GPU that hangs holds up the round for a moment, and the others have their answers.
    driver.script(|script| {
        script.hanging_calls.insert("nvmlDeviceGetTemperature");
    });
    nvml.ask_again().await;
    driver.script(|script| script.hanging_calls.clear());
    assert_eq!(driver.calls("nvmlDeviceGetTemperature"), 6);

    let lately = Timing {
        again_after: Duration::from_secs(3600),
        ..SHARING
    };
    let driver = Faulty::of(1);
    let nvml = self::nvml(&driver, lately);
    nvml.devices().await.unwrap()[0]
        .temperature(0)
        .await
        .unwrap();
    nvml.ask_again().await;
    assert_eq!(
        driver.calls("nvmlDeviceGetTemperature"),
        1,
        "it was of this round"
    );
}

#[tokio::test]
async fn after_a_refresh_nothing_is_answered_from_before() {
    let driver = Faulty::of(1);
    let long = Timing {
        round: Duration::from_secs(3600),
        ..SHARING
    };
    let nvml = nvml(&driver, long);
    let ask = || async { nvml.devices().await.unwrap()[0].temperature(0).await };
    let calls = || {
        (
            driver.calls("count"),
            driver.calls("nvmlDeviceGetTemperature"),
        )
    };
    for _ in 0..2 {
        ask().await.unwrap();
        assert_eq!(calls(), (1, 1), "shared");
    }
    nvml.refresh();
    for _ in 0..2 {
        ask().await.unwrap();
        assert_eq!(calls(), (2, 2), "read again, and shared again");
    }

    // An answer that is under way when a reader asks for the present is one of the past.
    nvml.refresh();
    let device = nvml.devices().await.unwrap().remove(0);
    driver.script(|script| {
        script.hanging.insert(0);
    });
    let other = device.clone();
    let slow = tokio::spawn(async move { other.temperature(0).await });
    while driver.calls("nvmlDeviceGetTemperature") < 3 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    nvml.refresh();
    driver.script(|script| script.hanging.clear());
    device.temperature(0).await.unwrap();
    assert_eq!(driver.calls("nvmlDeviceGetTemperature"), 4);
    assert!(slow.await.unwrap().is_ok());
}

#[tokio::test]
async fn prepared_questions_are_asked_once_and_a_hang_is_reported() {
    let driver = Faulty::of(2);
    let nvml = nvml(&driver, SHARING);
    let devices = nvml.devices().await.unwrap();
    let readings = [
        Reading::Temperature(0),
        Reading::PersistenceMode,
        Reading::EccMode,
    ];
    devices[0].prepare(&readings).await;
    let calls = || {
        let calls = ["Temperature", "PersistenceMode", "EccMode"];
        calls.map(|call| driver.calls(&format!("nvmlDeviceGet{call}")))
    };
    assert_eq!(calls(), [1, 1, 1]);
    assert_eq!(devices[0].temperature(0).await, Ok(40));
    assert_eq!(devices[0].persistence_mode().await, Ok(true));
    assert!(devices[0].ecc_mode().await.is_err());
    devices[0].prepare(&readings).await;
    assert_eq!(calls(), [1, 1, 1]);

    driver.script(|script| {
        script.hanging_calls.insert("nvmlDeviceGetPersistenceMode");
    });
    devices[1].prepare(&readings).await;
    assert_eq!(devices[1].temperature(0).await, Ok(41));
    let hanging = devices[1].persistence_mode().await.unwrap_err();
    assert!(matches!(hanging, SourceError::TimedOut { .. }), "{hanging}");
    driver.script(|script| script.hanging_calls.clear());
}

#[tokio::test]
async fn pairs_among_gpus_are_answered_in_their_order_and_those_of_a_gpu_that_hangs_fail() {
    let driver = Faulty::of(3);
    let nvml = nvml(&driver, QUICK);
    let devices = nvml.devices().await.unwrap();
    assert_eq!(nvml.p2p_among(&devices).await, [Ok(0), Ok(0), Ok(0)]);
    assert_eq!(nvml.p2p_among(&devices[..1]).await, []);
    driver.script(|script| {
        script.hanging.insert(2);
    });
    devices[2].temperature(0).await.unwrap_err();
    let found = nvml.p2p_among(&devices).await;
    let answered: Vec<bool> = found.iter().map(Result::is_ok).collect();
    assert_eq!(answered, [true, false, false], "{found:?}");
    driver.script(|script| script.hanging.clear());
}

#[tokio::test]
async fn what_hangs_on_the_way_does_not_take_the_answer_that_was_there() {
    let driver = Faulty::of(1);
    let timing = Timing {
        again_after: Duration::ZERO,
        ..SHARING
    };
    let nvml = nvml(&driver, timing);
    let gpu = nvml.devices().await.unwrap().remove(0);
    gpu.temperature(0).await.unwrap();
    driver.script(|script| {
        script.hanging_calls.insert("nvmlDeviceGetTemperature");
    });
    assert!(gpu.persistence_mode().await.is_ok());
    let other = gpu.ecc_mode().await.unwrap_err().to_string();
    assert!(
        other.contains("not answering, nvmlDeviceGetTemperature hangs"),
        "{other}"
    );
    driver.script(|script| script.hanging_calls.clear());
}

#[tokio::test]
async fn a_gpu_that_hangs_is_reported_and_the_other_goes_on_and_its_recovery_is_noticed() {
    let driver = Faulty::of(2);
    let nvml = nvml(&driver, QUICK);
    let devices = nvml.devices().await.unwrap();
    assert_eq!(devices[0].temperature(0).await, Ok(40));
    driver.script(|script| {
        script.hanging.insert(0);
    });
    let hung = devices[0].temperature(0).await;
    let Err(SourceError::TimedOut {
        what,
        after,
        last_good: Some(_),
    }) = hung
    else {
        panic!("{hung:?}");
    };
    assert_eq!(
        what,
        "nvmlDeviceGetTemperature of GPU 0 (GPU-0, 0000:00:00.0): not answering"
    );
    assert!(after >= QUICK.deadline);
    // The next one waits for nothing, and says what hangs.
    let began = Instant::now();
    let next = devices[0].persistence_mode().await.unwrap_err().to_string();
    assert!(began.elapsed() < QUICK.deadline, "{:?}", began.elapsed());
    assert!(
        next.starts_with(
            "nvmlDeviceGetPersistenceMode of GPU 0 (GPU-0, 0000:00:00.0): not answering, \
             nvmlDeviceGetTemperature hangs: no answer for "
        ),
        "{next}"
    );
    assert!(matches!(
        devices[0].presence().await,
        Err(SourceError::TimedOut { .. })
    ));
    // A pair with it is not even tried.
    assert!(devices[1].p2p_status(&devices[0]).await.is_err());
    assert_eq!(driver.calls("p2p"), 0);
    assert_eq!(devices[1].temperature(0).await, Ok(41));
    driver.script(|script| script.hanging.clear());
    while devices[0].temperature(0).await.is_err() {
        tokio::task::yield_now().await;
    }
    assert_eq!(devices[0].presence().await, Ok(()));
    assert_eq!(driver.calls("nvmlDeviceGetTemperature"), 4);
}

#[tokio::test]
async fn a_list_that_hangs_leaves_the_old_one_in_use() {
    let driver = Faulty::of(2);
    let nvml = nvml(&driver, QUICK);
    assert_eq!(nvml.devices().await.unwrap().len(), 2);
    driver.script(|script| {
        script.hanging.insert(LIST);
    });
    for _ in 0..3 {
        let devices = nvml.devices().await.unwrap();
        assert_eq!(devices[1].temperature(0).await, Ok(41));
    }
    assert_eq!(nvml.view().await.library, Library::Loaded);
    driver.script(|script| script.hanging.clear());
    let counted = driver.calls("count");
    while driver.calls("count") == counted {
        nvml.view().await;
    }
}

#[tokio::test]
async fn a_driver_that_never_starts_says_where_it_hangs() {
    let driver = Faulty::of(1);
    driver.script(|script| {
        script.hanging.insert(LIST);
    });
    let nvml = nvml(&driver, QUICK);
    let view = nvml.view().await;
    assert_eq!(
        view.library,
        Library::Failed("nvmlDeviceGetCount_v2 has not come back for 0 s".into())
    );
    assert!(nvml.devices().await.is_err());
    driver.script(|script| script.hanging.clear());
    while nvml.view().await.library != Library::Loaded {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_lost_gpu_keeps_its_name_and_the_others_go_on() {
    let driver = Faulty::of(3);
    let nvml = nvml(&driver, QUICK);
    nvml.devices().await.unwrap();
    driver.script(|script| {
        script.closed.insert(1, fault::GPU_IS_LOST);
    });
    let devices = nvml.devices().await.unwrap();
    assert_eq!(devices.len(), 3);
    assert_eq!(
        devices[1].temperature(0).await,
        Err(SourceError::SourceLost(
            "nvmlDeviceGetHandleByIndex_v2 of GPU 1 (GPU-1, 0000:01:00.0)".into()
        ))
    );
    assert!(devices[1].presence().await.is_err());
    assert_eq!(devices[2].temperature(0).await, Ok(42));
    // No longer listed at all.
    driver.script(|script| {
        script.closed.clear();
        script.count = Some(Ok(2));
    });
    let devices = nvml.devices().await.unwrap();
    assert_eq!(devices[1].temperature(0).await, Ok(41));
    let gone = devices[2].temperature(0).await.unwrap_err();
    assert!(matches!(gone, SourceError::SourceLost(_)), "{gone}");
    // And back.
    driver.script(|script| script.count = None);
    let devices = nvml.devices().await.unwrap();
    assert_eq!(devices[2].temperature(0).await, Ok(42));
}

#[tokio::test]
async fn a_gpu_that_was_never_seen_alive_is_not_overlooked() {
    let driver = Faulty::of(2);
    driver.script(|script| {
        script.closed.insert(0, fault::GPU_IS_LOST);
    });
    let nvml = nvml(&driver, QUICK);
    let devices = nvml.devices().await.unwrap();
    assert_eq!(devices[0].identity().uuid, "unknown-gpu-0");
    assert!(matches!(
        devices[0].presence().await,
        Err(SourceError::SourceLost(_))
    ));
    assert_eq!(nvml.view().await.product_name(), "NVIDIA H100 80GB HBM3");
    driver.script(|script| script.closed.clear());
    let devices = nvml.devices().await.unwrap();
    assert_eq!(devices.len(), 2);
    assert_eq!(devices[0].identity().uuid, "GPU-0");
}

#[tokio::test]
async fn a_driver_without_a_usable_list_has_failed() {
    for (script, text) in [
        (
            Script {
                count: Some(Err(Fault::new("nvmlDeviceGetCount_v2", 999))),
                ..Script::default()
            },
            "error getting device count: Unknown Error",
        ),
        (
            Script {
                count: Some(Ok(u32::MAX)),
                ..Script::default()
            },
            "error getting device count: 4294967295 GPUs are more than the 128 that are believed",
        ),
        (
            Script {
                closed: BTreeMap::from([(0, 999), (1, 999)]),
                ..Script::default()
            },
            "error getting device handle for index '0': Unknown Error",
        ),
    ] {
        let driver = Faulty::of(2);
        driver.script(|before| *before = script);
        let nvml = nvml(&driver, QUICK);
        assert_eq!(nvml.view().await.library, Library::Failed(text.into()));
        driver.script(|script| *script = Script::default());
        assert_eq!(nvml.view().await.library, Library::Loaded);
        // The driver goes bad: its GPUs are no longer there to be asked.
        let devices = nvml.devices().await.unwrap();
        driver.script(|script| {
            script.count = Some(Err(Fault::new("nvmlDeviceGetCount_v2", 1)));
        });
        assert!(nvml.devices().await.is_err());
        assert!(matches!(
            devices[0].temperature(0).await,
            Err(SourceError::NotFound(_))
        ));
    }
}

#[tokio::test]
async fn displays_of_workstations_are_left_out() {
    let driver = Faulty::of(2);
    driver
        .below()
        .change(|gpus| gpus[0].identity.name = "DGX Display".into());
    let nvml = nvml(&driver, QUICK);
    for _ in 0..2 {
        let devices = nvml.devices().await.unwrap();
        assert_eq!(devices.len(), 1);
        assert_eq!(devices[0].identity().uuid, "GPU-1");
    }
}

#[tokio::test]
async fn gpm_takes_two_samples_and_frees_the_thread_in_between() {
    let driver = Faulty::of(1);
    let nvml = nvml(&driver, QUICK);
    let devices = nvml.devices().await.unwrap();
    let device = &devices[0];
    let (metrics, temperature) = tokio::join!(
        device.gpm(vec![2], Duration::from_millis(1)),
        device.temperature(0)
    );
    assert_eq!(metrics, Ok(vec![(2, 50.0)]));
    assert_eq!(temperature, Ok(40));
    assert_eq!(driver.calls("nvmlGpmSampleGet"), 1);
    let too_many = device.gpm(vec![2; 65], Duration::ZERO).await;
    assert!(matches!(too_many, Err(SourceError::Invalid(_))));
}

#[tokio::test]
async fn gpm_of_a_gpu_that_hangs_leaves_the_others_theirs() {
    let driver = Faulty::of(3);
    let nvml = nvml(&driver, SHARING);
    let devices = nvml.devices().await.unwrap();
    driver.script(|script| {
        script.hanging.insert(1);
    });
    let period = Duration::from_millis(1);
    for _ in 0..2 {
        let found = nvml.gpm_of(&devices, vec![2], period).await;
        assert_eq!(found[0], Ok(vec![(2, 50.0)]));
        let text = found[1].clone().unwrap_err().to_string();
        assert!(
            text.contains("nvmlGpmSampleGet of GPU 1") && text.contains("not answering"),
            "{text}"
        );
        assert_eq!(found[2], Ok(vec![(2, 50.0)]));
    }
    // What was answered lately is not asked again, and one that hangs takes one thread.
    assert_eq!(driver.calls("nvmlGpmSampleGet"), 3);
    driver.script(|script| script.hanging.clear());
    while nvml.gpm_of(&devices, vec![2], period).await[1].is_err() {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn nobody_waits_for_a_second_gpm_sample_where_there_was_no_first() {
    let driver = Faulty::of(2);
    driver.below().change(|gpus| {
        for gpu in gpus {
            gpu.answers.remove(&Reading::GpmSample);
        }
    });
    let nvml = nvml(&driver, SHARING);
    let devices = nvml.devices().await.unwrap();
    let gpus: Vec<_> = devices.iter().map(Device::gpu).collect();
    let period = Duration::from_secs(24 * 3600);
    let asked = nvml.shared.gpm.metrics(&gpus, vec![2], period);
    let found = tokio::time::timeout(Duration::from_secs(600), asked).await;
    let found = found.expect("an answer on the same day");
    assert!(found.iter().all(Result::is_err), "{found:?}");
    assert_eq!(driver.calls("nvmlGpmMetricsGet"), 0);
}

/// A driver whose library was found by name, at a place that nobody else looks at.
struct ByName(Arc<Faulty>);

impl Opener for ByName {
    fn open(&self) -> Result<Arc<dyn Driver>, NoDriver> {
        match self.0.is_in_place() {
            true => Ok(Arc::clone(&self.0) as Arc<dyn Driver>),
            false => Err(NoDriver::NotThere("nothing here".into())),
        }
    }
}

#[tokio::test]
async fn a_library_whose_file_was_deleted_is_let_go() {
    let driver = Faulty::of(1);
    let faults = Injected {
        lost: ["GPU-9".to_owned()].into(),
        ..Injected::default()
    };
    for opener in [
        Box::new(ByName(Arc::clone(&driver))) as Box<dyn Opener>,
        faults.over(Box::new(ByName(Arc::clone(&driver)))),
    ] {
        let nvml = Nvml::of(opener, QUICK);
        let device = nvml.devices().await.unwrap().remove(0);
        assert_eq!(device.temperature(0).await, Ok(40));
        driver.script(|script| script.is_deleted = true);
        assert_eq!(
            nvml.view().await.library,
            Library::NotFound("nothing here".into())
        );
        assert!(matches!(
            device.temperature(0).await,
            Err(SourceError::NotFound(_))
        ));
        driver.script(|script| script.is_deleted = false);
        assert_eq!(nvml.view().await.library, Library::Loaded);
    }
}

/// A driver that is installed, upgraded and removed.
#[derive(Default)]
struct Installed {
    version: AtomicU32,
    opened: Arc<AtomicU32>,
}

struct Installation(Arc<Installed>);

impl Opener for Installation {
    fn open(&self) -> Result<Arc<dyn Driver>, NoDriver> {
        let version = self.0.version.load(Ordering::SeqCst);
        if version == 0 {
            return Err(NoDriver::NotThere("nothing here".into()));
        }
        self.0.opened.fetch_add(1, Ordering::SeqCst);
        Ok(Arc::new(Simulated::new(
            &format!("{version}.0"),
            0,
            vec![gpu(0)],
        )))
    }

    fn stamp(&self) -> DriverStamp {
        let version = self.0.version.load(Ordering::SeqCst);
        vec![("/lib".into(), 0, u64::from(version), None)]
    }
}

#[tokio::test]
async fn a_driver_comes_changes_and_goes_without_a_restart() {
    let installed = Arc::new(Installed::default());
    let nvml = Nvml::of(Box::new(Installation(Arc::clone(&installed))), QUICK);
    assert_eq!(
        nvml.view().await.library,
        Library::NotFound("nothing here".into())
    );
    assert_eq!(nvml.take_inventory().await, None);
    installed.version.store(550, Ordering::SeqCst);
    let device = nvml.devices().await.unwrap().remove(0);
    assert_eq!(device.temperature(0).await, Ok(40));
    let inventory = nvml.take_inventory().await.unwrap();
    assert_eq!(inventory.driver_version, "550.0");
    installed.version.store(570, Ordering::SeqCst);
    assert_eq!(nvml.take_inventory().await.unwrap().driver_version, "570.0");
    // The handle is of the driver that went.
    assert!(matches!(
        device.temperature(0).await,
        Err(SourceError::NotFound(_))
    ));
    assert_eq!(installed.opened.load(Ordering::SeqCst), 2);
    installed.version.store(0, Ordering::SeqCst);
    assert!(matches!(nvml.view().await.library, Library::NotFound(_)));
    assert_eq!(nvml.take_inventory().await, None);
    assert_eq!(nvml.inventory(), None);
}

#[tokio::test]
async fn the_mock_of_the_environment() {
    let options = Options::from_variables(|name| {
        let value = match name {
            "GPUD_NVML_MOCK_ALL_SUCCESS" => "true",
            "GPUD_NVML_INJECT_REMAPPED_ROWS_PENDING" => "TRUE",
            "GPUD_NVML_LIBRARY_PATH" => "",
            _ => return None,
        };
        Some(OsString::from(value))
    });
    assert_eq!(
        options,
        Options {
            mock: true,
            ..Options::default()
        }
    );
    let nvml = Nvml::new(options);
    let inventory = nvml.take_inventory().await.unwrap();
    assert_eq!(inventory.driver_version, "535.161.08");
    assert_eq!(inventory.cuda_version, 12_000);
    assert_eq!(inventory.memory_total, Some(0));
    assert_eq!(inventory.gpus[0].uuid, "mock");
    let devices = nvml.devices().await.unwrap();
    assert_eq!(devices[0].nvlinks().await.map(|links| links.len()), Ok(18));
    assert_eq!(devices[0].ecc_total(0, 1).await, Ok(1));
    assert!(devices[0].fabric().await.is_err());
}

#[test]
fn pci_ids_as_the_kernel_writes_them() {
    for (nvml, kernel) in [
        ("00000000:0F:00.0", "0000:0f:00.0"),
        ("00000018:01:00.0", "0018:01:00.0"),
        ("0000:0f:00.0", "0000:0f:00.0"),
        ("00010000:01:00.0", "00010000:01:00.0"),
        ("", ""),
    ] {
        assert_eq!(values::bus_id(nvml), kernel);
    }
}
