//! `library`: on a machine with an NVIDIA driver, are the driver's libraries there that programs need?

pub mod cache;
pub mod config;
pub mod evaluate;
pub mod links;
pub mod search;

use gpud_sdk::nvml::{self, Library};
use gpud_sdk::sysfs::FileKind;
use gpud_sdk::{AccessError, CheckContext, Checker, Descriptor, Error, Report, sysfs};

use config::Config;
use search::Machine;

/// A distribution's cache has some 200 KiB.
const MAX_CACHE_BYTES: u32 = 4 << 20;

/// The checker.
pub struct Libraries;

impl Checker for Libraries {
    fn check(context: &CheckContext) -> Result<Report, Error> {
        let config = Config::parse(&gpud_sdk::config::document()).map_err(Error::failed)?;
        let found = match nvml::library_status() {
            // Without a driver nobody needs its libraries.
            Library::NotFound(_) | Library::Other(_) => Vec::new(),
            Library::Loaded | Library::Failed(_) => search::all(&config, &Node),
        };
        // A failure of NVML's own is one of a library that was loaded.
        evaluate::judge(context, search::loaded(found))
    }
}

/// The machine.
struct Node;

impl Machine for Node {
    fn is_file(&self, path: &str) -> Result<bool, AccessError> {
        match sysfs::stat(path) {
            Ok(stat) => Ok(stat.kind == FileKind::File),
            Err(AccessError::NotFound(_)) => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn link(&self, path: &str) -> Option<String> {
        sysfs::read_link(path).ok()
    }

    fn loader_cache(&self) -> Option<Vec<u8>> {
        sysfs::read("/etc/ld.so.cache", MAX_CACHE_BYTES).ok()
    }
}

gpud_sdk::member!("library" => Libraries: Descriptor::new(
    "library",
    "Libraries of the NVIDIA driver (libnvidia-ml, libcuda)",
)
.config_schema(config::SCHEMA));
