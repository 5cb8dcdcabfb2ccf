//! `accelerator-nvidia-fabric-manager`: each GPU's place in its NVLink fabric, and the manager that runs the switches.

pub mod bus;
pub mod config;
pub mod evaluate;
pub mod fabric;
pub mod log;
pub mod reader;

use gpud_builtin_nvidia_common::bus::devices;
use gpud_builtin_nvidia_common::{
    Failure, IfSupported, Questions, asking, product, saved_state, tags,
};
use gpud_sdk::nvml::{Answers, Question};
use gpud_sdk::{
    AccessError, CheckContext, Checker, Descriptor, Error, Event, Report, history, net, sysfs,
};

use crate::bus::Bus;
use crate::config::Config;
use crate::evaluate::Node;
use crate::fabric::Fabric;

/// Name of the component.
pub const COMPONENT: &str = "accelerator-nvidia-fabric-manager";
/// The paths at which packages install the manager.
const PROGRAMS: [&str; 6] = [
    "/usr/bin/nv-fabricmanager",
    "/usr/sbin/nv-fabricmanager",
    "/usr/local/bin/nv-fabricmanager",
    "/usr/local/sbin/nv-fabricmanager",
    "/bin/nv-fabricmanager",
    "/sbin/nv-fabricmanager",
];
/// Where it listens (`FM_CMD_PORT_NUMBER`).
const PORT: u16 = 6666;
const CONNECT_MS: u32 = 3_000;
/// The newest one is asked for.
const MAX_EVENTS: u32 = 1;

/// The checker.
pub struct FabricManager;

impl Checker for FabricManager {
    fn check(context: &CheckContext) -> Result<Report, Error> {
        let config = Config::parse(&gpud_sdk::config::document()).map_err(Error::failed)?;
        let questions = Questions::of(&[]).then(&|gpu| match has_fabric(gpu) {
            true => vec![Question::FabricInfo],
            false => Vec::new(),
        });
        asking::check(context, &questions, ask, |seen| {
            let mut node = Node {
                bus: devices(&bus::CLASSES)
                    .ok()
                    .map(|devices| Bus::count(&devices)),
                ..Node::default()
            };
            let mut events = Vec::new();
            if product::has_fabric_manager(&seen.product) {
                let programs = sysfs::statvfs_all(&PROGRAMS.map(str::to_owned));
                node.installed = programs.is_ok_and(|found| found.iter().any(Result::is_ok));
                node.active = net::tcp_connect("localhost", PORT, CONNECT_MS).is_ok();
                // A scan has no place to go on from.
                if node.installed && history::available() {
                    events = news(context)?;
                    node.nothing_to_do = is_idle(context, &events)?;
                }
            }
            let mut report = evaluate::evaluate(context, config, seen, &node);
            report.events = events;
            Ok(report)
        })
    }
}

/// By its product. One that could not be opened has no name; why, it says when it is asked.
fn has_fabric(gpu: &Answers) -> bool {
    gpu.name.is_empty() || product::has_fabric_state(&gpu.name)
}

fn ask(gpu: &Answers) -> Result<Option<Fabric>, Failure> {
    if !has_fabric(gpu) {
        return Ok(None);
    }
    let info = gpu.fabric_info().if_supported()?;
    Ok(info.map(|info| Fabric {
        cluster_uuid: info.cluster_uuid,
        clique_id: info.clique_id,
        state: info.state,
        status: info.status,
        health_mask: info.health_mask,
        summary: info.health_summary,
    }))
}

/// Reads the manager's log lines since the last check.
fn news(context: &CheckContext) -> Result<Vec<Event>, AccessError> {
    let before = saved_state::read()?;
    let (events, now) = reader::read(context, &before);
    saved_state::write(&before, &now);
    Ok(events)
}

/// Was the manager's last word in this boot that there is nothing to do?
fn is_idle(context: &CheckContext, news: &[Event]) -> Result<bool, AccessError> {
    let last = match news.last() {
        Some(event) => event.name.clone(),
        None => {
            let stored = history::own_events(context.boot_time, MAX_EVENTS)?;
            stored
                .into_iter()
                .next()
                .map_or(String::new(), |stored| stored.event.name)
        }
    };
    Ok(last == log::NOTHING_TO_DO)
}

gpud_sdk::member!(COMPONENT => FabricManager: Descriptor::new(COMPONENT, "NVLink fabric of NVIDIA GPUs, and its manager")
    .tags(&tags(COMPONENT))
    .config_schema(config::SCHEMA));
