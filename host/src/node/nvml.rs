//! NVIDIA's management library, the seam behind which the real thing will stand.
//!
//! This build cannot load NVML yet: it looks for the library where the loader would, so that it can say what was
//! looked for and what was found, and answers "not there" to everything. [`Device`] has no values for the same
//! reason; whatever would need one cannot be reached.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use super::error::SourceError;

/// Where a driver installs the library, after `GPUD_NVML_LIBRARY_PATH`; Debian, Red Hat and container layouts.
const USUAL_PLACES: [&str; 5] = [
    "/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1",
    "/usr/lib/aarch64-linux-gnu/libnvidia-ml.so.1",
    "/usr/lib64/libnvidia-ml.so.1",
    "/usr/lib/libnvidia-ml.so.1",
    "/usr/local/nvidia/lib64/libnvidia-ml.so.1",
];

/// How long a look for the library counts: a burst of Xids asks many times.
const LOOK_COUNTS: Duration = Duration::from_secs(1);

/// A GPU. It has no values in a build that cannot load NVML.
#[derive(Debug, Clone)]
pub enum Device {}

/// What is known of the library.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Library {
    /// Not on this machine, or not usable by this build; the text says which.
    NotFound(String),
}

/// The library.
#[derive(Debug, Clone)]
pub struct Nvml {
    candidates: Vec<PathBuf>,
    last_look: Arc<Mutex<Option<(Instant, Library)>>>,
}

impl Nvml {
    /// Looks in `library_path` alone if it is given (`GPUD_NVML_LIBRARY_PATH`), else in the usual places.
    pub fn new(library_path: Option<PathBuf>) -> Self {
        let candidates = match library_path {
            Some(path) => vec![path],
            None => USUAL_PLACES.iter().map(PathBuf::from).collect(),
        };
        Self {
            candidates,
            last_look: Arc::default(),
        }
    }

    /// Of a machine that is not here.
    pub fn absent() -> Self {
        Self {
            candidates: Vec::new(),
            last_look: Arc::default(),
        }
    }

    /// Is NVML there? Looked up anew every second, since drivers come and go.
    pub fn library_status(&self) -> Library {
        let mut last = self
            .last_look
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        match &*last {
            Some((at, library)) if at.elapsed() < LOOK_COUNTS => library.clone(),
            _ => {
                let library = self.look();
                *last = Some((Instant::now(), library.clone()));
                library
            }
        }
    }

    fn look(&self) -> Library {
        let found = self.candidates.iter().find(|path| Path::exists(path));
        Library::NotFound(match found {
            Some(path) => format!(
                "{} is installed, but this build of gpud cannot talk to NVML yet",
                path.display()
            ),
            None => "libnvidia-ml.so.1 not found: no NVIDIA driver on this machine".to_owned(),
        })
    }

    /// The answer to every question about the driver or its devices.
    pub fn unavailable(&self) -> SourceError {
        let Library::NotFound(text) = self.library_status();
        SourceError::NotFound(text)
    }
}
