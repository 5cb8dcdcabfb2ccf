//! `kubelet`: the health of Kubernetes' agent on this node, and its pods.

pub mod config;
pub mod evaluate;
pub mod pods;

use gpud_builtin_shared::service::{self, Service};
use gpud_sdk::findings;
use gpud_sdk::net::{self, Endpoint, Response};
use gpud_sdk::{AccessError, CheckContext, Checker, Descriptor, Error, Report};

use config::Config;
use evaluate::Machine;

/// Places of packages, of kubeadm by hand, and of Flatcar and its like.
const PROGRAMS: [&str; 3] = [
    "/usr/bin/kubelet",
    "/usr/local/bin/kubelet",
    "/opt/bin/kubelet",
];
/// One of these is there once the node has joined a cluster, or has been configured to.
const SET_UP: [&str; 5] = [
    "/var/lib/kubelet/config.yaml",
    "/var/lib/kubelet/kubeconfig",
    "/var/lib/kubelet/pki",
    "/etc/kubernetes/kubelet.conf",
    "/etc/kubernetes/bootstrap-kubelet.conf",
];
/// Some KiB to some ten KiB a pod.
const MAX_BODY: u32 = 4 << 20;

/// The checker.
pub struct Kubelet;

impl Checker for Kubelet {
    fn check(context: &CheckContext) -> Result<Report, Error> {
        let config = Config::parse(&gpud_sdk::config::document()).map_err(Error::failed)?;
        findings::check(|before| evaluate::evaluate(context, &config, &Node, before))
    }
}

/// The machine.
struct Node;

impl Machine for Node {
    fn is_installed(&self) -> Result<bool, AccessError> {
        service::is_any_there(&PROGRAMS)
    }

    fn is_set_up(&self) -> Result<bool, AccessError> {
        service::is_any_there(&SET_UP)
    }

    fn service(&self) -> Result<Option<Service>, AccessError> {
        Service::ask("kubelet.service")
    }

    fn get(&self, port: u16, path: &str, timeout_ms: u32) -> Result<Response, AccessError> {
        net::get(Endpoint::Loopback(port), path, MAX_BODY, timeout_ms)
    }
}

gpud_sdk::member!("kubelet" => Kubelet: Descriptor::new("kubelet", "Kubernetes' agent on this node")
    .tags(&["container", "kubelet"])
    .metric(evaluate::PODS, "Pods of the kubelet, by phase")
    .config_schema(config::SCHEMA));
