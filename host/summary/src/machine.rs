//! The machine's inventory as a summary shows it.

use super::{Gpus, KnownGpu, MachineView};
use crate::{model::UnixMillis, wire::MachineInfo};

/// The machine in a few words, and its GPUs, as they were inventoried.
pub fn machine(info: &MachineInfo, now: UnixMillis) -> (MachineView, Gpus) {
    let gpus = info.gpu_info.as_ref();
    let instances = gpus.map_or(&[][..], |gpus| &gpus.gpus);
    let given = |text: &String| Some(text.clone()).filter(|text| !text.is_empty());
    let known = instances.iter().enumerate().map(|(index, gpu)| KnownGpu {
        uuid: given(&gpu.uuid),
        serial: given(&gpu.serial),
        pci: given(&gpu.bus_id),
        index: Some(index),
    });
    let known = Gpus::new(known);
    let booted = info
        .uptime
        .0
        .map(|booted| now.saturating_sub(booted) / 1000);
    let view = MachineView {
        hostname: info.hostname.clone(),
        machine_id: info.machine_id.clone(),
        // The inventory has hyphens for blanks.
        gpu_product: gpus.map_or_else(String::new, |gpus| gpus.product.replace('-', " ")),
        gpu_count: known.count(),
        driver_version: info.gpu_driver_version.clone(),
        uptime_seconds: booted,
        gpud_version: info.gpud_version.clone(),
    };
    (view, known)
}
