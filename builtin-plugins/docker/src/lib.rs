//! `docker`: whether the Docker daemon answers, and its containers.

pub mod containers;
pub mod evaluate;

use gpud_builtin_shared::service::{self, Service};
use gpud_sdk::findings;
use gpud_sdk::net::{self, Endpoint, Response};
use gpud_sdk::{AccessError, CheckContext, Checker, Descriptor, Error, Report};

use evaluate::Machine;

/// Where the daemon listens. A link to the same in `/run` on most machines.
const SOCKET: &str = "/var/run/docker.sock";
/// The daemon's places in Debian's, Docker's and static packages. The client alone is no Docker: it may talk to another
/// machine, or to Podman.
const SIGNS: [&str; 5] = [
    "/run/docker.sock",
    "/var/run/docker.sock",
    "/usr/bin/dockerd",
    "/usr/sbin/dockerd",
    "/usr/local/bin/dockerd",
];
/// Some 2 KiB a container.
const MAX_BODY: u32 = 4 << 20;

/// The checker.
pub struct Docker;

impl Checker for Docker {
    fn check(context: &CheckContext) -> Result<Report, Error> {
        findings::check(|before| evaluate::evaluate(context, &Node, before))
    }
}

/// The machine.
struct Node;

impl Machine for Node {
    fn is_installed(&self) -> Result<bool, AccessError> {
        service::is_any_there(&SIGNS)
    }

    fn service(&self) -> Result<Option<Service>, AccessError> {
        Service::ask("docker.service")
    }

    fn get(&self, path: &str, timeout_ms: u32) -> Result<Response, AccessError> {
        let endpoint = Endpoint::UnixSocket(SOCKET.to_owned());
        net::get(endpoint, path, MAX_BODY, timeout_ms)
    }
}

gpud_sdk::member!("docker" => Docker: Descriptor::new("docker", "The Docker daemon and its containers")
    .tags(&["container", "docker", "docker"])
    .metric(evaluate::CONTAINERS, "Containers of the Docker daemon, by state"));
