//! What `storcli`, `storcli2`, `perccli` and `perccli2` say to `/call show all J nolog` (Broadcom's StorCLI reference manual; Dell's PERC CLI
//! is the same program under another name). Keys and abbreviations are those of its tables:
//!
//! | of | states |
//! |---|---|
//! | virtual drive | Optl optimal, Pdgd partially degraded, Dgrd degraded, OfLn offline, Rec recovery, Cac, HD, TRANS |
//! | physical drive of version 2 | in `State`: Conf, UConf configured or not, GHS, DHS, JBOD; its condition is in `Status`: Online, Good, Offline, Failed, Missing, Rebuild … |
//! | physical drive | Onln online, Offln offline, UGood, UBad unconfigured good and bad, Rbld rebuilding, Cpybck copying back, GHS, DHS hot spares, JBOD, Failed, Msng missing |

use gpud_sdk::program;
use serde_json::Value;

/// Controllers that are taken.
const MAX_CONTROLLERS: usize = 16;
/// Rows of one list that are taken.
const MAX_ROWS: usize = 512;
/// Longest text that is taken, bytes.
const MAX_TEXT: usize = 128;

/// A controller.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Controller {
    /// Its number, as in `/c0`.
    pub number: u64,
    /// Name of the product.
    pub model: String,
    /// Serial number.
    pub serial: String,
    /// Its own verdict: `Optimal`, `Needs Attention`, `Failed` …; may be empty.
    pub status: String,
    /// Drives that it counts as about to fail.
    pub predicted: u64,
    /// Degrees Celsius of its processor.
    pub celsius: Option<u64>,
    /// Errors of its memory that were not corrected.
    pub memory_errors: u64,
    /// Virtual drives.
    pub volumes: Vec<Volume>,
    /// Physical drives.
    pub disks: Vec<Disk>,
    /// Batteries and capacitors that keep the cache.
    pub backups: Vec<Backup>,
}

/// A virtual drive.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Volume {
    /// Drive group and number: `0/0`.
    pub id: String,
    /// `RAID1`, `RAID6` …
    pub level: String,
    /// As above.
    pub state: String,
    /// Name that somebody gave it; may be empty.
    pub name: String,
}

/// A physical drive.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Disk {
    /// Enclosure and slot: `252:3`.
    pub slot: String,
    /// As above.
    pub state: String,
    /// Its condition, where that is not in `state` (version 2).
    pub status: String,
    /// Serial number; known only of one that was asked for.
    pub serial: String,
    /// Its drive group; `F` for a foreign one, `-` for none.
    pub group: String,
    /// Maker's name for it.
    pub model: String,
}

/// A battery or capacitor.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Backup {
    /// Maker's name for it.
    pub model: String,
    /// `Optimal`, `Charging`, `Learning`, `Degraded …`, `Failed` …
    pub state: String,
}

impl Disk {
    /// Its condition in one word: the status of version 2, unless the state says more.
    pub fn condition(&self) -> &str {
        let is_role = matches!(self.state.as_str(), "GHS" | "DHS" | "JBOD");
        let is_good = matches!(self.status.as_str(), "" | "Good" | "Online");
        if self.status.is_empty() || is_role && is_good {
            &self.state
        } else {
            &self.status
        }
    }

    /// Whether it has failed, or cannot be used.
    pub fn has_failed(&self) -> bool {
        matches!(
            self.condition().to_lowercase().as_str(),
            "failed" | "f" | "offln" | "offline" | "ubad" | "bad" | "unusable" | "msng" | "missing"
        )
    }
}

/// The answers of the controllers.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Answer {
    /// Those that gave data.
    pub controllers: Vec<Controller>,
    /// The numbers of those that gave none, and why.
    pub unread: Vec<(u64, String)>,
}

/// Reads the document. No controller at all is an empty answer.
///
/// # Errors
/// Why no controller could be asked.
pub fn parse(text: &str) -> Result<Answer, String> {
    let document = program::json_object(text).ok_or("it gave no JSON")?;
    let all = document
        .get("Controllers")
        .and_then(Value::as_array)
        .ok_or("it lists no controllers")?;
    let mut answer = Answer::default();
    for one in all.iter().take(MAX_CONTROLLERS) {
        let status = |key: &str| text_at(one, &format!("/Command Status/{key}"));
        let Some(data) = one.get("Response Data") else {
            let why = status("Description");
            if why.to_lowercase().contains("no controller") {
                continue;
            }
            let why = match why.is_empty() {
                true => "a controller gave no data".to_owned(),
                false => why,
            };
            let number = number_at(one, "/Command Status/Controller").unwrap_or_default();
            answer.unread.push((number, why));
            continue;
        };
        answer.controllers.push(controller(one, data));
    }
    match (answer.controllers.as_slice(), answer.unread.first()) {
        ([], Some((_, why))) => Err(why.clone()),
        _ => Ok(answer),
    }
}

/// The serial number in what the programs say to `/cX/eY/sZ show all J`.
pub fn serial(text: &str) -> Option<String> {
    let document = program::json_object(text)?;
    find_serial(document.get("Controllers")?)
}

fn find_serial(value: &Value) -> Option<String> {
    match value {
        Value::Object(object) => {
            let own = ["/SN", "/Serial Number"].map(|path| text_at(value, path));
            let own = own.into_iter().find(|text| !text.is_empty());
            own.or_else(|| object.values().find_map(find_serial))
        }
        Value::Array(list) => list.iter().find_map(find_serial),
        _ => None,
    }
}

fn controller(one: &Value, data: &Value) -> Controller {
    let number = |path: &str| number_at(data, path);
    let first = |paths: &[&str]| {
        let mut texts = paths.iter().map(|path| text_at(data, path));
        texts.find(|text| !text.is_empty()).unwrap_or_default()
    };
    let rows = |keys: &[&str]| -> Vec<&Value> {
        let lists = keys.iter().filter_map(|key| data.get(*key)?.as_array());
        lists.flatten().take(MAX_ROWS).collect()
    };
    Controller {
        number: number("/Basics/Controller")
            .or_else(|| number_at(one, "/Command Status/Controller"))
            .unwrap_or_default(),
        model: first(&["/Basics/Model", "/Basics/Product Name", "/Product Name"]),
        serial: first(&["/Basics/Serial Number", "/Serial Number"]),
        status: text_at(data, "/Status/Controller Status"),
        // The spelling differs between versions.
        celsius: number("/HwCfg/ROC temperature(Degree Celsius)")
            .or_else(|| number("/HwCfg/ROC temperature(Degree Celcius)"))
            .or_else(|| number("/HwCfg/Chip temperature(C)"))
            .filter(|celsius| (1..=200).contains(celsius)),
        memory_errors: number("/Status/Memory Uncorrectable Errors").unwrap_or_default(),
        predicted: number("/Status/Critical Predictive Failure PD Drive Count").unwrap_or_default(),
        volumes: rows(&["VD LIST"])
            .into_iter()
            .map(|row| Volume {
                id: text_at(row, "/DG~1VD"),
                level: text_at(row, "/TYPE"),
                state: text_at(row, "/State"),
                name: text_at(row, "/Name"),
            })
            .collect(),
        disks: rows(&["PD LIST"])
            .into_iter()
            .map(|row| Disk {
                slot: text_at(row, "/EID:Slt"),
                state: text_at(row, "/State"),
                status: text_at(row, "/Status"),
                serial: String::new(),
                group: text_at(row, "/DG"),
                model: text_at(row, "/Model"),
            })
            .collect(),
        backups: rows(&["BBU_Info", "Cachevault_Info", "Energy Pack Info"])
            .into_iter()
            .map(|row| {
                let first = |paths: [&str; 2]| {
                    let [one, other] = paths.map(|path| text_at(row, path));
                    if one.is_empty() { other } else { one }
                };
                Backup {
                    model: first(["/Model", "/Type"]),
                    state: first(["/State", "/Status"]),
                }
            })
            .collect(),
    }
}

/// A text or a number as text, trimmed; empty where there is nothing.
fn text_at(value: &Value, path: &str) -> String {
    match value.pointer(path) {
        Some(Value::String(text)) => {
            let text = text.trim();
            let end = text.floor_char_boundary(MAX_TEXT);
            text.get(..end).unwrap_or_default().to_owned()
        }
        Some(Value::Number(number)) => number.to_string(),
        _ => String::new(),
    }
}

/// A number, or a text that is one.
fn number_at(value: &Value, path: &str) -> Option<u64> {
    match value.pointer(path)? {
        Value::Number(number) => number.as_u64(),
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    }
}

#[cfg(test)]
pub(crate) mod tests;
