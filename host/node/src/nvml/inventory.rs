//! The GPUs of the machine's inventory, cached in memory for requests.

use std::{sync::Arc, time::Duration};

use super::{
    Device, Nvml,
    gpu::lock,
    values::{Fabric, Identity},
};

/// The GPUs and their driver. Does not change while the GPUs are the same.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Inventory {
    /// For example `570.133.20`; empty if unknown.
    pub driver_version: String,
    /// Major × 1000 + minor × 10; 0 if unknown.
    pub cuda_version: u32,
    /// In NVML's order.
    pub gpus: Vec<Arc<Identity>>,
    /// Frame buffer of the first GPU that reports it, bytes.
    pub memory_total: Option<u64>,
    /// Fabric of the first GPU that reports it.
    pub fabric: Option<Fabric>,
}

impl Nvml {
    /// The last inventory, without a question to the driver.
    pub fn inventory(&self) -> Option<Arc<Inventory>> {
        lock(&self.shared.inventory).clone()
    }

    /// Takes the inventory again if the GPUs have changed, and returns it. Without a driver there is none.
    pub async fn take_inventory(&self) -> Option<Arc<Inventory>> {
        let view = self.view().await;
        let Ok(devices) = self.devices().await else {
            lock(&self.shared.inventory).take();
            return None;
        };
        let gpus: Vec<Arc<Identity>> = devices.iter().map(Device::identity).collect();
        let before = self.inventory();
        let driver_version = view.driver_version.clone().unwrap_or_default();
        let is_same = |before: &Arc<Inventory>| {
            before.gpus == gpus
                && before.driver_version == driver_version
                && (before.memory_total.is_some() || gpus.is_empty())
        };
        if let Some(before) = before.filter(is_same) {
            return Some(before);
        }
        let mut inventory = Inventory {
            driver_version,
            cuda_version: view.cuda_version.clone().unwrap_or_default(),
            gpus,
            ..Inventory::default()
        };
        for device in &devices {
            if inventory.memory_total.is_none() {
                inventory.memory_total = device.memory().await.ok().map(|memory| memory.total);
            }
            if inventory.fabric.is_none() {
                inventory.fabric = device.fabric().await.ok();
            }
            if inventory.memory_total.is_some() && inventory.fabric.is_some() {
                break;
            }
        }
        let inventory = Arc::new(inventory);
        *lock(&self.shared.inventory) = Some(Arc::clone(&inventory));
        Some(inventory)
    }

    /// Keeps the inventory up to date, for ever.
    pub async fn keep_inventory(&self, every: Duration) {
        loop {
            self.take_inventory().await;
            tokio::time::sleep(every).await;
        }
    }
}
