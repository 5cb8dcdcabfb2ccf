//! Attributes that name a part of the machine.

use opentelemetry_proto::tonic::common::v1::KeyValue;

use super::{attributes::text, hardware::HardwarePart};
use crate::{GpuIdentity, Inventory};

/// Labels of a series.
type SeriesLabels = [(String, String)];

/// Returns the attributes of the part that labels name, and the other labels as they are. `None` if a label is missing.
pub fn attributes(
    part: HardwarePart,
    labels: &SeriesLabels,
    inventory: &Inventory,
) -> Option<Vec<KeyValue>> {
    let label = |name: &str| {
        let mut named = labels.iter().filter(|(label, _)| label == name);
        named.next().map(|(_, value)| value.as_str())
    };
    let (mut attributes, known): (Vec<KeyValue>, &[&str]) = match part {
        HardwarePart::NvidiaGpu => {
            let uuid = label("uuid")?;
            let gpu = inventory.gpus.iter().find(|gpu| gpu.uuid == uuid);
            (nvidia(uuid, gpu, inventory), &["uuid"])
        }
        HardwarePart::AmdGpu => {
            let id = label("bus_id")?;
            let mut attributes = named("gpu", id, &format!("GPU {id}"));
            attributes.push(text("hw.vendor", "AMD"));
            attributes.extend(label("sensor").map(|sensor| text("hw.sensor_location", sensor)));
            (attributes, &["bus_id", "sensor"])
        }
        HardwarePart::Disk => {
            let device = label("device")?;
            (named("physical_disk", device, device), &["device"])
        }
        HardwarePart::Port => {
            let port = label("device_port")?;
            let name = match port.rsplit_once('_') {
                Some((device, number)) => format!("{device} port {number}"),
                None => port.to_owned(),
            };
            (named("network", port, &name), &["device_port"])
        }
        HardwarePart::Dimm => {
            let (controller, slot, dimm) = (label("controller")?, label("slot")?, label("dimm")?);
            let attributes = named("memory", &format!("{controller}/{slot}"), dimm);
            (attributes, &["controller", "slot", "dimm"])
        }
        HardwarePart::Sensor(kind) => {
            let (chip, sensor) = (label("chip")?, label("sensor")?);
            let mut attributes = named(
                kind,
                &format!("{chip}/{sensor}"),
                &format!("{chip} {sensor}"),
            );
            attributes.push(text("hw.sensor_location", sensor));
            (attributes, &["chip", "sensor"])
        }
    };
    let others = labels
        .iter()
        .filter(|(label, _)| !known.contains(&label.as_str()));
    attributes.extend(others.map(|(label, value)| text(label, value.as_str())));
    Some(attributes)
}

/// Returns the attributes of a GPU of NVIDIA; `gpu` is what the inventory says of it.
pub fn nvidia(uuid: &str, gpu: Option<&GpuIdentity>, inventory: &Inventory) -> Vec<KeyValue> {
    let name = gpu.map_or_else(|| "GPU".to_owned(), |gpu| format!("GPU {}", gpu.index));
    let mut attributes = named("gpu", uuid, &name);
    let serial = gpu.map_or("", |gpu| gpu.serial.as_str());
    let known = [
        ("hw.vendor", "NVIDIA"),
        ("hw.model", inventory.product.as_str()),
        ("hw.serial_number", serial),
        ("hw.driver_version", inventory.driver_version.as_str()),
    ];
    let known = known.into_iter().filter(|(_, value)| !value.is_empty());
    attributes.extend(known.map(|(key, value)| text(key, value)));
    attributes
}

fn named(kind: &str, id: &str, name: &str) -> Vec<KeyValue> {
    vec![
        text("hw.id", id),
        text("hw.type", kind),
        text("hw.name", name),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::otlp::attributes::tests::shown;

    fn made(part: HardwarePart, labels: &[(&str, &str)]) -> Option<Vec<String>> {
        let inventory = Inventory {
            driver_version: "570.86".into(),
            product: "NVIDIA H100 80GB HBM3".into(),
            gpus: vec![GpuIdentity {
                index: 3,
                uuid: "GPU-3".into(),
                serial: "1650".into(),
                ..GpuIdentity::default()
            }],
            ..Inventory::default()
        };
        let pair = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        let labels: Vec<(String, String)> = labels.iter().map(pair).collect();
        attributes(part, &labels, &inventory).map(|attributes| shown(&attributes))
    }

    #[test]
    fn labels_become_the_attributes_of_a_part() {
        for (part, labels, expected) in [
            (
                HardwarePart::NvidiaGpu,
                vec![("uuid", "GPU-3")],
                vec![
                    "hw.id=GPU-3",
                    "hw.type=gpu",
                    "hw.name=GPU 3",
                    "hw.vendor=NVIDIA",
                    "hw.model=NVIDIA H100 80GB HBM3",
                    "hw.serial_number=1650",
                    "hw.driver_version=570.86",
                ],
            ),
            (
                HardwarePart::AmdGpu,
                vec![("bus_id", "0000:03:00.0"), ("sensor", "junction")],
                vec![
                    "hw.id=0000:03:00.0",
                    "hw.type=gpu",
                    "hw.name=GPU 0000:03:00.0",
                    "hw.vendor=AMD",
                    "hw.sensor_location=junction",
                ],
            ),
            (
                HardwarePart::AmdGpu,
                vec![("block", "umc"), ("bus_id", "0000:03:00.0")],
                vec![
                    "hw.id=0000:03:00.0",
                    "hw.type=gpu",
                    "hw.name=GPU 0000:03:00.0",
                    "hw.vendor=AMD",
                    "block=umc",
                ],
            ),
            (
                HardwarePart::Port,
                vec![("device_port", "mlx5_0_1")],
                vec!["hw.id=mlx5_0_1", "hw.type=network", "hw.name=mlx5_0 port 1"],
            ),
            (
                HardwarePart::Dimm,
                vec![("controller", "mc0"), ("dimm", "A1"), ("slot", "csrow0")],
                vec!["hw.id=mc0/csrow0", "hw.type=memory", "hw.name=A1"],
            ),
            (
                HardwarePart::Sensor("fan"),
                vec![("chip", "nct6775"), ("sensor", "fan1")],
                vec![
                    "hw.id=nct6775/fan1",
                    "hw.type=fan",
                    "hw.name=nct6775 fan1",
                    "hw.sensor_location=fan1",
                ],
            ),
        ] {
            let expected: Vec<String> = expected.into_iter().map(str::to_owned).collect();
            assert_eq!(made(part, &labels), Some(expected), "{part:?}");
            assert_eq!(made(part, &[]), None, "{part:?} without labels");
        }
        let stranger = made(HardwarePart::NvidiaGpu, &[("uuid", "GPU-9")]).unwrap();
        assert_eq!(stranger[2], "hw.name=GPU");
    }
}
