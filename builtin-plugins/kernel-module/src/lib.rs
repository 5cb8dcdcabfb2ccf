//! `kernel-module`: the loaded kernel modules, and whether those that the operator requires are among them.
//!
//! A module that is built into the kernel is there, too.

pub mod config;
pub mod evaluate;
pub mod modules;

use gpud_sdk::{AccessError, CheckContext, Checker, Descriptor, Error, Report, sysfs};

use config::Config;
use evaluate::Machine;

/// Some 300 modules of some 100 bytes.
const MAX_MODULES_BYTES: u32 = 1 << 20;
/// A distribution's kernel has some 1,000 built-in modules; 50 bytes each.
const MAX_BUILTIN_BYTES: u32 = 2 << 20;
const MAX_SMALL_BYTES: u32 = 4096;

/// The checker.
pub struct KernelModule;

impl Checker for KernelModule {
    fn check(context: &CheckContext) -> Result<Report, Error> {
        let config = Config::parse(&gpud_sdk::config::document()).map_err(Error::failed)?;
        Ok(evaluate::judge(context, &config, &Node))
    }
}

/// The machine.
struct Node;

impl Machine for Node {
    fn loaded(&self) -> Result<String, AccessError> {
        sysfs::read_to_string("/proc/modules", MAX_MODULES_BYTES)
    }

    fn built_in(&self) -> Result<String, AccessError> {
        let release = sysfs::read_to_string("/proc/sys/kernel/osrelease", MAX_SMALL_BYTES)?;
        let path = modules::builtin_path(&release).ok_or_else(|| {
            AccessError::NotFound("modules.builtin of a kernel without a plain name".to_owned())
        })?;
        sysfs::read_to_string(&path, MAX_BUILTIN_BYTES)
    }

    fn has_folder(&self, module: &str) -> Result<bool, AccessError> {
        match sysfs::stat(&format!("/sys/module/{module}")) {
            Ok(_) => Ok(true),
            Err(AccessError::NotFound(_)) => Ok(false),
            Err(error) => Err(error),
        }
    }
}

gpud_sdk::member!("kernel-module" => KernelModule: Descriptor::new(
    "kernel-module",
    "Loaded kernel modules, and whether the required ones are there",
)
.config_schema(config::SCHEMA));
