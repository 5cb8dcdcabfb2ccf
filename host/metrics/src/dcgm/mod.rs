//! GPU readings under the names and labels of NVIDIA's dcgm-exporter, so that its dashboards and alerts work.
//!
//! Nothing is read for this: each value is one that a component measured, in dcgm-exporter's unit. `docs/dcgm-metrics.md`
//! lists the names and where they differ.

mod fields;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use self::fields::{FIELDS, FieldKind};
use super::{MetricError, Registry};

/// The last Xid of a GPU, which is an event and no metric of gpud.
const XID: &str = "DCGM_FI_DEV_XID_ERRORS";
/// The label of gpud's own metrics that names the GPU.
const UUID: &str = "uuid";

/// The identity of a GPU, for labels.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gpu {
    /// Position in NVML's order.
    pub index: u32,
    /// `GPU-…`.
    pub uuid: String,
    /// PCI id as gpud writes it, `0000:0f:00.0`.
    pub bus_id: String,
    /// Product name as NVML gives it.
    pub model: String,
}

/// The labels that a machine adds to the readings.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Machine {
    /// Host name.
    pub hostname: String,
    /// GPUs. Readings of others are left out.
    pub gpus: Vec<Gpu>,
    /// Last Xid since the boot, by UUID; `None` where Xids are not watched.
    pub xids: Option<BTreeMap<String, u32>>,
}

/// Returns whether readings are served under this name.
pub(super) fn has_name(name: &str) -> bool {
    name == XID || FIELDS.iter().any(|field| field.name == name)
}

/// Returns the readings as Prometheus' text.
///
/// # Errors
/// A value that its type cannot have.
pub fn text(registry: &Registry, machine: &Machine) -> Result<String, MetricError> {
    let labels: BTreeMap<&str, Vec<(String, String)>> = machine
        .gpus
        .iter()
        .map(|gpu| (gpu.uuid.as_str(), labels(gpu, &machine.hostname)))
        .collect();
    let shown = Registry::new();
    for field in &FIELDS {
        for (series, value) in registry.values_of(field.source) {
            let uuid = series.iter().find(|(label, _)| label == UUID);
            let of_gpu = uuid.and_then(|(_, uuid)| labels.get(uuid.as_str()));
            let (Some(of_gpu), Some(value)) = (of_gpu, field.unit.convert(value)) else {
                continue;
            };
            match field.kind {
                FieldKind::Gauge => shown.set_gauge(field.name, field.help, of_gpu, value)?,
                FieldKind::Counter => shown.set_counter(field.name, field.help, of_gpu, value)?,
            }
        }
    }
    if let Some(xids) = &machine.xids {
        let help = "Code of the last Xid since the boot, 0 without any";
        for (uuid, of_gpu) in &labels {
            let code = xids.get(*uuid).copied().unwrap_or(0);
            shown.set_gauge(XID, help, of_gpu, code.into())?;
        }
    }
    Ok(shown.exposition())
}

fn labels(gpu: &Gpu, hostname: &str) -> Vec<(String, String)> {
    [
        ("gpu", gpu.index.to_string()),
        ("UUID", gpu.uuid.clone()),
        ("pci_bus_id", bus_id(&gpu.bus_id)),
        ("device", format!("nvidia{}", gpu.index)),
        ("modelName", gpu.model.clone()),
        ("Hostname", hostname.to_owned()),
    ]
    .map(|(label, value)| (label.to_owned(), value))
    .into()
}

/// Writes a PCI id as NVML does: a domain of eight digits, upper case.
fn bus_id(id: &str) -> String {
    match id.split_once(':') {
        Some((domain, rest)) => format!("{domain:0>8}:{rest}").to_ascii_uppercase(),
        None => id.to_ascii_uppercase(),
    }
}
