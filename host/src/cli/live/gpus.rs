//! GPUs and their readings, each beside its limit, from the documents of the components that read them.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use crate::{
    cli::{client::Client, columns::Columns},
    summary::{Summary, Trouble},
};

/// Components whose documents have readings, and the list in each.
const SOURCES: [(&str, &str); 4] = [
    ("accelerator-nvidia-utilization", "utilizations"),
    ("accelerator-nvidia-memory", "memories"),
    ("accelerator-nvidia-temperature", "temperatures"),
    ("accelerator-nvidia-power", "powers"),
];

/// One GPU.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct GpuRow {
    /// Its number.
    pub index: usize,
    /// PCI id.
    pub bus_id: String,
    /// Percent of the time in which it worked.
    pub utilization: String,
    /// In use of all, GiB.
    pub memory: String,
    /// Degrees Celsius, and the temperature from which it slows down.
    pub temperature: String,
    /// Watts, and the limit.
    pub power: String,
    /// Its trouble; empty if there is none.
    pub trouble: String,
    /// How bad that is; empty if nothing is wrong.
    pub health: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct GpuMachine {
    #[serde(rename = "gpuInfo")]
    gpu_info: Gpus,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Gpus {
    gpus: Vec<Gpu>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Gpu {
    uuid: String,
    #[serde(rename = "busID")]
    bus_id: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ListedGpuStates {
    states: Option<Vec<GpuState>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct GpuState {
    extra_info: BTreeMap<String, String>,
}

/// Asks the daemon for the GPUs and their readings; what does not come is left out.
pub(super) async fn ask(client: &Client, summary: &Summary) -> Vec<GpuRow> {
    let machine: GpuMachine = super::ask(client, "/machine-info")
        .await
        .unwrap_or_default();
    let mut readings = Readings::default();
    for (component, list) in SOURCES {
        // One by one: the daemon may run some of them only.
        let target = format!("/v1/states?components={component}");
        let listed: Option<Vec<ListedGpuStates>> =
            super::ask(client, &target).await.unwrap_or_default();
        let states = listed
            .into_iter()
            .flatten()
            .flat_map(|listed| listed.states);
        for state in states.flatten() {
            readings.take(
                list,
                state.extra_info.get("data").map_or("", String::as_str),
            );
        }
    }
    let gpus = machine.gpu_info.gpus.into_iter();
    let gpus = gpus.map(|gpu| (gpu.uuid, gpu.bus_id));
    rows(gpus, &readings, &summary.troubles)
}

/// Readings by UUID.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Readings(BTreeMap<String, BTreeMap<String, Value>>);

impl Readings {
    /// Takes the rows of a document.
    pub fn take(&mut self, list: &str, document: &str) {
        let document: Value = serde_json::from_str(document).unwrap_or_default();
        let rows = document.get(list).and_then(Value::as_array);
        for row in rows.into_iter().flatten() {
            let Some(uuid) = row.get("uuid").and_then(Value::as_str) else {
                continue;
            };
            let known = self.0.entry(uuid.to_owned()).or_default();
            let supported = row.get("supported") != Some(&Value::Bool(false));
            let fields = row.as_object().into_iter().flatten();
            known.extend(
                fields
                    .filter(|_| supported)
                    .map(|(key, value)| (key.clone(), value.clone())),
            );
        }
    }

    /// A number that was read; 0 of a limit means that there is none.
    fn number(&self, uuid: &str, key: &str) -> Option<u64> {
        self.0.get(uuid)?.get(key)?.as_u64()
    }
}

/// Returns whether a trouble is about this GPU. One that was lost before its driver was asked is known to the driver by its
/// number only, while the trouble may know more.
fn is_about(trouble: &Trouble, index: usize, uuid: &str, bus_id: &str) -> bool {
    let subject = &trouble.subject;
    match (&subject.uuid, &subject.pci) {
        (Some(own), _) if own == uuid => true,
        (_, Some(own)) if !bus_id.is_empty() => own == bus_id,
        (None, None) => subject.index == Some(index),
        _ => bus_id.is_empty() && subject.index == Some(index),
    }
}

/// The rows of these GPUs (UUID and PCI id), in their order.
pub fn rows(
    gpus: impl Iterator<Item = (String, String)>,
    readings: &Readings,
    troubles: &[Trouble],
) -> Vec<GpuRow> {
    let row = |(index, (uuid, bus_id)): (usize, (String, String))| {
        let number = |key: &str| readings.number(&uuid, key);
        let of_limit = |value: Option<u64>, limit: Option<u64>, unit: &str| match (value, limit) {
            (Some(value), Some(limit)) if limit > 0 => format!("{value} / {limit} {unit}"),
            (Some(value), _) => format!("{value} {unit}"),
            (None, _) => "-".to_owned(),
        };
        let watts = |key: &str| number(key).map(|milliwatts| milliwatts / 1000);
        let gib = |key: &str| number(key).map(|bytes| bytes.saturating_add(1 << 29) >> 30);
        // Software slows it down from the first on, the hardware itself from the second.
        let hottest = number("threshold_celsius_gpu_max").filter(|limit| *limit > 0);
        let trouble = troubles
            .iter()
            .find(|trouble| is_about(trouble, index, &uuid, &bus_id));
        let (health, words) = match trouble {
            Some(trouble) => (trouble.health.as_str().to_owned(), trouble.sentence.clone()),
            // Not to be called well.
            None if !readings.0.contains_key(&uuid) => {
                ("Unknown".to_owned(), "no reading".to_owned())
            }
            None => Default::default(),
        };
        let utilization = number("gpu_used_percent");
        GpuRow {
            index,
            bus_id,
            utilization: utilization.map_or_else(|| "-".to_owned(), |used| format!("{used} %")),
            memory: of_limit(gib("used_bytes"), gib("total_bytes"), "GiB"),
            temperature: of_limit(
                number("current_celsius_gpu_core"),
                hottest.or_else(|| number("threshold_celsius_slowdown")),
                "°C",
            ),
            power: of_limit(
                watts("usage_milli_watts"),
                watts("enforced_limit_milli_watts"),
                "W",
            ),
            health,
            trouble: words,
        }
    };
    gpus.enumerate().map(row).collect()
}

/// The GPUs as a table.
pub fn table(rows: &[GpuRow]) -> Columns {
    let titles = ["GPU", "BUS ID", "UTIL", "MEMORY", "TEMP", "POWER", "STATE"];
    let mut table = Columns::new(&titles);
    for row in rows {
        let state = match row.trouble.as_str() {
            "" => "ok".to_owned(),
            trouble => format!("{}: {trouble}", row.health),
        };
        table.row([
            row.index.to_string().as_str(),
            &row.bus_id,
            &row.utilization,
            &row.memory,
            &row.temperature,
            &row.power,
            &state,
        ]);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::summary::SubjectView;

    #[test]
    fn a_gpu_that_does_not_answer_is_never_ok() {
        let of = |uuid: Option<&str>, pci: Option<&str>, index: Option<usize>| Trouble {
            subject: SubjectView {
                uuid: uuid.map(str::to_owned),
                pci: pci.map(str::to_owned),
                index,
                ..SubjectView::default()
            },
            sentence: "is lost".to_owned(),
            ..Trouble::default()
        };
        let gpu = |uuid: &str, bus_id: &str| (uuid.to_owned(), bus_id.to_owned());
        let gpus = [
            gpu("GPU-0", "0000:18:00.0"),
            gpu("GPU-1", "0000:2a:00.0"),
            gpu("unknown-gpu-2", ""),
            gpu("GPU-3", "0000:5d:00.0"),
            gpu("GPU-4", "0000:9a:00.0"),
            gpu("unknown-gpu-5", ""),
        ];
        let mut readings = Readings::default();
        for uuid in ["GPU-0", "GPU-1", "GPU-3"] {
            let document = format!(r#"{{"powers": [{{"uuid": "{uuid}"}}]}}"#);
            readings.take("powers", &document);
        }
        let troubles = [
            of(Some("GPU-1"), None, None),
            of(None, None, Some(2)),
            of(None, Some("0000:5d:00.0"), None),
            of(Some("GPU-5"), Some("0000:ab:00.0"), Some(5)),
        ];
        let rows = rows(gpus.into_iter(), &readings, &troubles);
        let words: Vec<&str> = rows.iter().map(|row| row.trouble.as_str()).collect();
        let lost = "is lost";
        assert_eq!(words, ["", lost, lost, lost, "no reading", lost]);
        assert_eq!(rows[4].health, "Unknown");
    }

    #[test]
    fn limits_are_those_that_the_page_shows() {
        let mut readings = Readings::default();
        readings.take("memories", r#"{"memories": [{"uuid": "GPU-0", "used_bytes": 71940702208, "total_bytes": 85520809984}]}"#);
        readings.take("temperatures", r#"{"temperatures": [{"uuid": "GPU-0", "current_celsius_gpu_core": 62, "threshold_celsius_gpu_max": 87, "threshold_celsius_slowdown": 89}]}"#);
        let gpus = [("GPU-0".to_owned(), String::new())];
        let rows = rows(gpus.into_iter(), &readings, &[]);
        assert_eq!(rows[0].memory, "67 / 80 GiB");
        assert_eq!(rows[0].temperature, "62 / 87 °C");
    }
}
