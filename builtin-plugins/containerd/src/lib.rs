//! `containerd`: does it answer, which pods does it run, and is it set up for NVIDIA GPUs?

pub mod cri;
pub mod evaluate;
pub mod toml;
pub mod wire;

use gpud_builtin_shared::driver::Driver;
use gpud_builtin_shared::service::{self, Service};
use gpud_sdk::findings::Memory;
use gpud_sdk::net::{self, GrpcResponse};
use gpud_sdk::nvml::Library;
use gpud_sdk::program;
use gpud_sdk::settings::Settings;
use gpud_sdk::{AccessError, CheckContext, Checker, Descriptor, Error, Report, state, sysfs};

use evaluate::{Machine, Method};

const SOCKET: &str = "/run/containerd/containerd.sock";
const CRIO: &str = "/run/crio/crio.sock";
/// Places of Debian's, Docker's and upstream's packages.
const PROGRAMS: [&str; 3] = [
    "/usr/bin/containerd",
    "/usr/local/bin/containerd",
    "/usr/sbin/containerd",
];
/// Never there as a program: the daemon puts the command of `--containerd-service-active-commands` in its place.
const COMMAND: &str = "containerd-service-active";
const COMMAND_SECONDS: u32 = 5;
const CRIO_MS: u32 = 5_000;
/// Of each answer; a pod has some KiB.
const MAX_MESSAGE: u32 = 4 << 20;
const MAX_FILE: u32 = 256 << 10;
const MAX_FILES: u32 = 64;
/// How often in a row the socket was not there.
const MISSING: &str = "socket_missing";
const SCHEMA: &str = r#"{
  "type": "object",
  "additionalProperties": false,
  "properties": {
    "socket_missing": {
      "description": "Behave as if the socket were not there, for tests.",
      "type": "boolean", "default": false
    }
  }
}"#;

/// The checker.
pub struct Containerd;

impl Checker for Containerd {
    fn check(context: &CheckContext) -> Result<Report, Error> {
        let settings = Settings::parse(&gpud_sdk::config::document()).map_err(Error::failed)?;
        let node = Node {
            pretend_missing: settings.flag("socket_missing", false),
        };
        let before = Memory::load()?;
        let saved = state::get_string(MISSING)?;
        let missing = saved.as_deref().and_then(|count| count.parse().ok());
        let judged = evaluate::evaluate(context, &node, missing.unwrap_or(0), &before)?;
        judged.open.keep(&before)?;
        match judged.missing {
            0 if saved.is_some() => state::delete(MISSING)?,
            0 => {}
            count => state::set(MISSING, count.to_string().as_bytes())?,
        }
        Ok(judged.report)
    }
}

/// The machine.
struct Node {
    pretend_missing: bool,
}

impl Machine for Node {
    fn is_installed(&self) -> Result<bool, AccessError> {
        Ok(service::is_any_there(&PROGRAMS)? || self.has_socket()?)
    }

    fn has_socket(&self) -> Result<bool, AccessError> {
        Ok(!self.pretend_missing && service::is_any_there(&[SOCKET])?)
    }

    fn crio_answers(&self) -> bool {
        let version = Method::Version.path();
        net::grpc(CRIO, version, &[], MAX_MESSAGE, CRIO_MS).is_ok()
    }

    fn service(&self) -> Result<Option<Service>, AccessError> {
        Service::ask("containerd.service")
    }

    fn command(&self) -> Result<Option<bool>, AccessError> {
        let said = program::run(COMMAND, &[], COMMAND_SECONDS)?;
        Ok(said.map(|said| said.is_ok()))
    }

    fn call(&self, method: Method) -> Result<GrpcResponse, AccessError> {
        net::grpc(SOCKET, method.path(), &[], MAX_MESSAGE, method.timeout_ms())
    }

    fn has_gpu(&self) -> bool {
        let driver = Driver::ask();
        driver.library == Library::Loaded && driver.is_there()
    }

    fn files(&self, pattern: &str) -> Result<Vec<String>, AccessError> {
        let files = match sysfs::read_glob(pattern, MAX_FILE, MAX_FILES) {
            Err(AccessError::NotFound(_)) => return Ok(Vec::new()),
            files => files?,
        };
        let texts = files.into_iter().map(|file| {
            let bytes = file.content?;
            Ok(String::from_utf8_lossy(&bytes).into_owned())
        });
        texts.collect()
    }
}

gpud_sdk::member!("containerd" => Containerd: Descriptor::new("containerd", "containerd and the pods that it runs")
    .tags(&["container", "containerd"])
    .metric(evaluate::PODS, "Pod sandboxes of containerd, by state (CRI's names)")
    .metric(evaluate::CONTAINERS, "Containers of those pods, by state (CRI's names)")
    .config_schema(SCHEMA));
