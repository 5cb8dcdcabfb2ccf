//! The parts of the report beside the verdict: metrics, and the ports as a table.

use gpud_sdk::Report;
use serde::Serialize;

use crate::class::{COUNTERS, Class, Port};
use crate::wording::CheckView;

/// Ports with metrics: seven series each, and the host keeps 2,000.
const MAX_METRICS: usize = 256;
/// Ports in the document under `data`, which may have 64 KiB.
const MAX_SHOWN: usize = 96;

/// A metric.
pub struct Metric {
    /// Prometheus name.
    pub name: &'static str,
    /// What it is, with its unit.
    pub help: &'static str,
}

/// One for each of [`COUNTERS`], in their order; the first is GPUd's. Meanings: InfiniBand's `PortCounters`, as the
/// kernel's `Documentation/ABI/stable/sysfs-class-infiniband` tells them.
pub const METRICS: [Metric; COUNTERS.len()] = [
    Metric {
        name: "accelerator_nvidia_infiniband_link_downed",
        help: "Times that the port could not recover its link and it went down, since the counter was reset (number)",
    },
    Metric {
        name: "accelerator_nvidia_infiniband_link_error_recovery",
        help: "Times that the port recovered its link (number)",
    },
    Metric {
        name: "accelerator_nvidia_infiniband_symbol_error",
        help: "Minor link errors on the lanes (number)",
    },
    Metric {
        name: "accelerator_nvidia_infiniband_local_link_integrity_errors",
        help: "Times that local physical errors reached the port's threshold (number)",
    },
    Metric {
        name: "accelerator_nvidia_infiniband_excessive_buffer_overrun_errors",
        help: "Times that the receive buffer overran for too long (number)",
    },
    Metric {
        name: "accelerator_nvidia_infiniband_port_rcv_errors",
        help: "Received packets with an error (number)",
    },
    Metric {
        name: "accelerator_nvidia_infiniband_port_xmit_discards",
        help: "Packets that were dropped instead of sent, the port down or congested (number)",
    },
];

/// Adds the counters of all InfiniBand ports.
pub fn metrics(mut report: Report, class: &Class) -> Report {
    let ports = class.ports.iter().filter(|port| port.is_infiniband());
    for port in ports.take(MAX_METRICS) {
        let label = format!("{}_{}", port.device, port.number);
        for (metric, value) in METRICS.iter().zip(port.counters) {
            if let Some(value) = value {
                let labels = [("device_port", label.as_str())];
                report.add_gauge(metric.name, &labels, value as f64);
            }
        }
    }
    report
}

#[derive(Serialize)]
struct Data<'a> {
    at_least_ports: u64,
    at_least_rate: u64,
    threshold_from: &'static str,
    ports_ok: u64,
    ports: Vec<Row<'a>>,
    #[serde(skip_serializing_if = "is_zero")]
    ports_not_shown: usize,
}

// serde's skip_serializing_if hands over a reference.
#[allow(
    clippy::trivially_copy_pass_by_ref,
    reason = "the signature is serde's"
)]
fn is_zero(value: &usize) -> bool {
    *value == 0
}

#[derive(Serialize)]
struct Row<'a> {
    device: &'a str,
    port: u32,
    link_layer: &'a str,
    state: &'a str,
    phys_state: &'a str,
    rate_gb_sec: Option<u64>,
    link_downed: Option<u64>,
    link_error_recovery: Option<u64>,
    excessive_buffer_overrun_errors: Option<u64>,
    note: &'static str,
    down_since: Option<u64>,
    board_id: &'a str,
    firmware: &'a str,
    hca_type: &'a str,
}

/// The document under `data`: what is wanted and all ports, RoCE ports included. `down_since` is in unix seconds.
///
/// # Errors
/// When it cannot be written, which its types rule out.
pub fn data(look: &CheckView<'_>, by_flag: bool) -> Result<String, serde_json::Error> {
    let ports = &look.class.ports;
    serde_json::to_string(&Data {
        at_least_ports: look.expected.ports,
        at_least_rate: look.expected.rate,
        threshold_from: if by_flag { "configuration" } else { "product" },
        ports_ok: look.good(),
        ports: ports
            .iter()
            .take(MAX_SHOWN)
            .map(|port| row(look, port))
            .collect(),
        ports_not_shown: ports.len().saturating_sub(MAX_SHOWN),
    })
}

fn row<'a>(look: &CheckView<'a>, port: &'a Port) -> Row<'a> {
    let link = port.link.as_ref().ok();
    let past = look.memory.of(&port.device, port.number);
    let [
        link_downed,
        link_error_recovery,
        _,
        _,
        excessive_buffer_overrun_errors,
        ..,
    ] = port.counters;
    let past = past.filter(|_| port.is_infiniband());
    Row {
        device: &port.device,
        port: port.number,
        link_layer: &port.link_layer,
        state: link.map_or("", |link| &link.state),
        phys_state: link.map_or("", |link| &link.phys_state),
        rate_gb_sec: link.map(|link| link.rate),
        link_downed,
        link_error_recovery,
        excessive_buffer_overrun_errors,
        note: note(look, port),
        down_since: past.and_then(|past| Some(past.outage?.since)),
        board_id: &port.about.board_id,
        firmware: &port.about.firmware,
        hca_type: &port.about.hca_type,
    }
}

fn note(look: &CheckView<'_>, port: &Port) -> &'static str {
    if port.link.is_err() {
        return "cannot be read";
    }
    if !port.is_infiniband() {
        return "not InfiniBand, not judged";
    }
    let past = look.memory.of(&port.device, port.number);
    match past {
        Some(past) if past.flap.is_some() => "flaps",
        Some(past) if past.drop.is_some_and(|drop| drop.until.is_some()) => "was down too long",
        _ if port.is_good(look.expected.rate) => "ok",
        _ if look.is_spare(&port.device, port.number) => "spare, never connected",
        Some(past) if past.drop.is_some() => "down too long",
        Some(past) if past.acknowledged => "down, known to the operator",
        _ => match port.link_rate() {
            Some(_) => "below the rate",
            None => "down",
        },
    }
}
