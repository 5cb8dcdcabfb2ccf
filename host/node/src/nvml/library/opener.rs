//! Finds the library and starts it.

use std::{ffi::OsStr, path::Path, sync::Arc};

use nvml_wrapper::{Nvml, error::NvmlError};

use super::Library;
use crate::{
    nvml::{
        driver::{Driver, DriverOpener, DriverStamp, NoDriver},
        fault::Fault,
        find::{self, Candidate, LIBRARY, LibraryPaths, LoadedFile, NAME},
    },
    trusted,
};

/// Returns whether a file has a name of NVIDIA's library. Root's environment can be that of another user, who must not
/// choose which of the system's libraries is loaded.
fn is_named_so(file: &Path) -> bool {
    let name = file.file_name().unwrap_or_default();
    name.to_string_lossy().starts_with(NAME)
}

/// Looks for the library and starts it.
pub struct LibraryOpener {
    places: LibraryPaths,
}

impl LibraryOpener {
    /// Makes one that looks in these places.
    pub fn new(places: LibraryPaths) -> Self {
        Self { places }
    }
}

impl DriverOpener for LibraryOpener {
    fn open(&self) -> Result<Arc<dyn Driver>, NoDriver> {
        for candidate in self.places.candidates() {
            let by_name = OsStr::new(LIBRARY);
            let path = match &candidate {
                Candidate::File(path) if !path.exists() => continue,
                Candidate::File(path) => path.as_os_str(),
                Candidate::ByName => by_name,
            };
            // Asked by its name, the loader would give the old library again.
            if let Candidate::ByName = &candidate
                && let Some(deleted) = find::deleted_but_loaded()
            {
                let path = deleted.display();
                tracing::warn!("{path} was deleted and is still loaded: it is not used any more");
                continue;
            }
            if let Candidate::File(file) = &candidate
                && rustix::process::geteuid().is_root()
                && !is_named_so(file)
            {
                let name = file.display();
                return Err(NoDriver::Broken(format!(
                    "{name} is not loaded: NVIDIA's library is named {NAME}…, and other libraries run code of their own"
                )));
            }
            // The path may be from the environment of the user who became root. What cannot be checked is not loaded,
            // whatever the reason is: it may be something else by then.
            if let Candidate::File(file) = &candidate
                && let Err(refused) = trusted::Opener::of_command().check_program(file)
            {
                return Err(NoDriver::Broken(format!("it is not loaded: {refused}")));
            }
            match (Nvml::builder().lib_path(path).init(), &candidate) {
                (Ok(nvml), Candidate::ByName) => {
                    return Ok(Arc::new(Library::new(nvml, LoadedFile::find())));
                }
                // A change of this file changes the stamp.
                (Ok(nvml), Candidate::File(_)) => return Ok(Arc::new(Library::new(nvml, None))),
                (Err(NvmlError::LibloadingError(_)), Candidate::ByName) => {}
                (
                    Err(error @ (NvmlError::LibloadingError(_) | NvmlError::FailedToLoadSymbol(_))),
                    _,
                ) => {
                    let path = path.to_string_lossy();
                    return Err(NoDriver::Broken(format!("cannot load {path}: {error}")));
                }
                (Err(error), _) => return Err(not_started(error)),
            }
        }
        Err(NoDriver::NotThere(self.places.not_found()))
    }

    fn stamp(&self) -> DriverStamp {
        self.places.stamp()
    }
}

fn not_started(error: NvmlError) -> NoDriver {
    let fault = Fault::new("nvmlInit_v2", u32::from(error));
    let text = format!("failed to initialize NVML: {}", fault.text);
    match fault.is_no_driver() {
        true => NoDriver::NotThere(text),
        false => NoDriver::Broken(text),
    }
}
