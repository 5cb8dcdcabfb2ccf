//! `tailscale`: does tailscaled run, and is it connected?

pub mod evaluate;

use gpud_builtin_shared::service::{self, Service};
use gpud_sdk::findings;
use gpud_sdk::net::{self, Endpoint, Request, Response};
use gpud_sdk::{AccessError, CheckContext, Checker, Descriptor, Error, Report};

use evaluate::Machine;

/// Where tailscaled listens for its own command; it answers everybody who only asks.
const SOCKET: &str = "/var/run/tailscale/tailscaled.sock";
/// What `tailscale status --json --peers=false` asks for. Names of other machines are none of our business.
const STATUS: &str = "/localapi/v0/status?peers=false";
/// Any other is refused, against web pages that talk to local services.
const HOST: &str = "local-tailscaled.sock";
const PROGRAMS: [&str; 4] = [
    "/usr/sbin/tailscaled",
    "/usr/bin/tailscaled",
    "/usr/local/bin/tailscaled",
    "/usr/local/sbin/tailscaled",
];
const MAX_BODY: u32 = 1 << 20;
const TIMEOUT_MS: u32 = 15_000;

/// The checker.
pub struct Tailscale;

impl Checker for Tailscale {
    fn check(context: &CheckContext) -> Result<Report, Error> {
        findings::check(|before| evaluate::evaluate(context, &Node, before))
    }
}

/// The machine.
struct Node;

impl Machine for Node {
    fn is_installed(&self) -> Result<bool, AccessError> {
        service::is_any_there(&PROGRAMS)
    }

    fn service(&self) -> Result<Option<Service>, AccessError> {
        Service::ask("tailscaled.service")
    }

    fn status(&self) -> Result<Response, AccessError> {
        net::http_get(&Request {
            endpoint: Endpoint::UnixSocket(SOCKET.to_owned()),
            path: STATUS.to_owned(),
            headers: vec![("host".to_owned(), HOST.to_owned())],
            max_body_bytes: MAX_BODY,
            timeout_ms: TIMEOUT_MS,
        })
    }
}

gpud_sdk::member!("tailscale" => Tailscale: Descriptor::new("tailscale", "The tailscaled service and its connection"));
