//! A machine with the mock's library: a copy of its own, so that tests do not share a driver.

use std::{
    fs,
    path::PathBuf,
    sync::atomic::{AtomicUsize, Ordering},
    time::Duration,
};

use gpud::node::nvml::{Device, Nvml, NvmlTiming, Options};
use gpud_nvml_mock::install::{built, install};
use tempfile::TempDir;

/// Waits that a busy machine keeps; nothing is shared.
pub const QUICK: NvmlTiming = NvmlTiming {
    deadline: Duration::from_secs(2),
    shared_for: Duration::ZERO,
    again_after: Duration::from_secs(10),
    round: Duration::ZERO,
    patience: Duration::from_secs(2),
    first: Duration::from_secs(20),
};

/// As a daemon has it.
pub const SHARING: NvmlTiming = NvmlTiming {
    shared_for: Duration::from_secs(60),
    round: Duration::from_secs(60),
    ..QUICK
};

/// The machine.
pub struct Machine {
    folder: TempDir,
    changes: AtomicUsize,
    /// Its GPUs.
    pub nvml: Nvml,
}

impl Machine {
    /// With a driver as this scenario has it.
    pub fn new(scenario: &str) -> Self {
        Self::with_timing(scenario, QUICK)
    }

    /// The same with these waits.
    pub fn with_timing(scenario: &str, timing: NvmlTiming) -> Self {
        let machine = Self::empty(timing);
        machine.install(scenario);
        machine
    }

    /// Without a driver.
    pub fn empty(timing: NvmlTiming) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let options = Options {
            library: Some(folder.path().join("libnvidia-ml.so.1")),
            ..Options::default()
        };
        Self {
            nvml: Nvml::with_timing(options, timing),
            changes: AtomicUsize::new(0),
            folder,
        }
    }

    /// Installs a driver, or another one in its place.
    pub fn install(&self, scenario: &str) {
        install(&built().unwrap(), scenario, self.folder.path()).unwrap();
    }

    /// Removes it.
    pub fn remove(&self) {
        fs::remove_file(self.file("libnvidia-ml.so.1")).unwrap();
    }

    /// Changes the scenario of the driver that is installed. The file gets longer each time: two changes within one tick
    /// of the clock would look alike.
    pub fn change(&self, scenario: &str) {
        let part = self.file(".part");
        let changes = self.changes.fetch_add(1, Ordering::Relaxed);
        let text = format!("{scenario}\n# {}\n", "x".repeat(changes * 64));
        fs::write(&part, text).unwrap();
        fs::rename(part, self.file("nvml-mock.yaml")).unwrap();
    }

    /// A file beside the library.
    pub fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// All GPUs.
    pub async fn devices(&self) -> Vec<Device> {
        self.nvml.devices().await.unwrap()
    }

    /// One GPU.
    pub async fn gpu(&self, index: usize) -> Device {
        self.devices().await.remove(index)
    }
}

/// Asks until it is so; gives up after ten seconds.
pub async fn until<F: Future<Output = bool>>(what: &str, mut is_so: impl FnMut() -> F) {
    for _ in 0..1_000 {
        if is_so().await {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("never: {what}");
}
