//! The readings of GPUs under the names of dcgm-exporter, made when they are asked for.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::{Registry, Services};
use crate::{
    metrics::dcgm::{self, Gpu, Machine},
    model::{Event, Subject},
};

/// The component whose events are Xids.
const XIDS: &str = "accelerator-nvidia-error-xid";
/// The key of an Xid's facts, a JSON document, in the extra info of its event.
const FACTS: &str = "data";
/// Events that are looked through for the last Xid of each GPU.
const EVENTS: u32 = 500;

/// Returns the readings as Prometheus' text. What is not known is left out.
pub async fn text(components: &Registry, services: &Services) -> String {
    let node = &services.node;
    let inventory = node.nvml.inventory().unwrap_or_default();
    let gpus: Vec<Gpu> = inventory
        .gpus
        .iter()
        .map(|gpu| Gpu {
            index: gpu.index,
            uuid: gpu.uuid.clone(),
            bus_id: gpu.bus_id.clone(),
            model: gpu.name.clone(),
        })
        .collect();
    if gpus.is_empty() {
        return String::new();
    }
    let is_watched = components.get(XIDS).is_some();
    let xids = match is_watched {
        true => xids(services, &gpus).await,
        false => None,
    };
    let machine = Machine {
        hostname: node.hostname().await,
        gpus,
        xids,
    };
    dcgm::text(&services.metrics, &machine).unwrap_or_else(|error| {
        tracing::warn!("no metrics under the names of dcgm-exporter: {error}");
        String::new()
    })
}

/// The last Xid of each GPU since the boot; set-healthy forgets them.
async fn xids(services: &Services, gpus: &[Gpu]) -> Option<BTreeMap<String, u32>> {
    let store = services.store.as_ref()?;
    let since = services.node.boot_time();
    match store.events(XIDS, since, Some(EVENTS)).await {
        Ok(events) => Some(last_xids(events.iter().map(|stored| &stored.event), gpus)),
        Err(error) => {
            tracing::debug!("the last Xids are not known: {error}");
            None
        }
    }
}

/// The first Xid of each GPU among events that begin with the newest.
fn last_xids<'a>(events: impl Iterator<Item = &'a Event>, gpus: &[Gpu]) -> BTreeMap<String, u32> {
    let mut last = BTreeMap::new();
    for event in events {
        if let (Some(gpu), Some(code)) = (gpu_of(event, gpus), code_of(event)) {
            last.entry(gpu.uuid.clone()).or_insert(code);
        }
    }
    last
}

/// The GPU that an event is about, by its UUID, else by its PCI id: a GPU that fell off the bus may have no UUID any more.
fn gpu_of<'a>(event: &Event, gpus: &'a [Gpu]) -> Option<&'a Gpu> {
    let Some(Subject::Gpu { uuid, pci_id, .. }) = &event.subject else {
        return None;
    };
    let mut known = gpus.iter();
    match (uuid, pci_id) {
        (Some(uuid), _) => known.find(|gpu| gpu.uuid == *uuid),
        (None, Some(id)) => known.find(|gpu| gpu.bus_id.eq_ignore_ascii_case(id)),
        (None, None) => None,
    }
}

fn code_of(event: &Event) -> Option<u32> {
    #[derive(Deserialize)]
    struct Facts {
        xid: u32,
    }
    let mut extra = event.extra_info.iter();
    let (_, facts) = extra.find(|(key, _)| key == FACTS)?;
    let facts: Facts = serde_json::from_str(facts).ok()?;
    Some(facts.xid)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::EventType;

    fn event(uuid: Option<&str>, pci_id: Option<&str>, facts: &str) -> Event {
        Event {
            time: 1,
            name: "error_xid".into(),
            event_type: EventType::Fatal,
            message: String::new(),
            subject: Some(Subject::Gpu {
                uuid: uuid.map(str::to_owned),
                serial: None,
                pci_id: pci_id.map(str::to_owned),
            }),
            evidence: Vec::new(),
            extra_info: vec![(FACTS.into(), facts.into())],
            kernel_line: None,
            merge: None,
        }
    }

    #[test]
    fn the_newest_of_each_gpu_counts() {
        let gpu = |index: u32| Gpu {
            index,
            uuid: format!("GPU-{index}"),
            bus_id: format!("0000:{index}f:00.0"),
            model: String::new(),
        };
        let gpus = [gpu(0), gpu(1), gpu(2)];
        let mut whole_node = event(None, None, r#"{"xid":1}"#);
        whole_node.subject = Some(Subject::Node);
        let events = [
            event(Some("GPU-0"), None, "no document"),
            event(Some("GPU-0"), None, r#"{"xid":79,"data_source":"kmsg"}"#),
            event(Some("GPU-0"), None, r#"{"xid":31}"#),
            event(None, Some("0000:1F:00.0"), r#"{"xid":48}"#),
            event(Some("GPU-9"), None, r#"{"xid":13}"#),
            event(None, None, r#"{"xid":13}"#),
            whole_node,
        ];
        let expected = [("GPU-0".to_owned(), 79), ("GPU-1".to_owned(), 48)];
        assert_eq!(last_xids(events.iter(), &gpus), BTreeMap::from(expected));
    }
}
