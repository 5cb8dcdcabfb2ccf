//! `container-storage`: room where container runtimes and the kubelet keep images, layers and volumes.
//!
//! No runtime is asked: what counts is what is left of their filesystems, and what the kubelet does when it gets short.

pub mod evaluate;

use gpud_sdk::findings;
use gpud_sdk::{AccessError, CheckContext, Checker, Descriptor, Error, Report, sysfs};

use evaluate::{Config, FOLDERS, FolderSpace, SCHEMA};

/// The checker.
pub struct ContainerStorage;

impl Checker for ContainerStorage {
    fn check(context: &CheckContext) -> Result<Report, Error> {
        let config = Config::parse(&gpud_sdk::config::document()).map_err(Error::failed)?;
        let mut found = Vec::new();
        for (who, path) in FOLDERS.iter().zip(config.paths()) {
            let room = match sysfs::statvfs(&path) {
                Ok(usage) => Ok(usage),
                Err(AccessError::NotFound(_)) => continue,
                Err(error) => Err(error.text()),
            };
            found.push(FolderSpace { who, path, room });
        }
        findings::check(|before| Ok(evaluate::judge(context, &config, &found, before)))
    }
}

gpud_sdk::member!("container-storage" => ContainerStorage: Descriptor::new(
    "container-storage",
    "Room for images, layers and volumes of containers",
)
.metric(evaluate::SIZE, "Size of the filesystem that holds the folder (bytes), by owner and path")
.metric(evaluate::AVAILABLE, "Room that is left on it (bytes), by owner and path")
.config_schema(SCHEMA));
