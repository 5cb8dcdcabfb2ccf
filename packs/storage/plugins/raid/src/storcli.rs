//! What `storcli` and `perccli` say to `/call show all J nolog` (Broadcom's StorCLI reference manual; Dell's PERC CLI
//! is the same program under another name). Keys and abbreviations are those of its tables:
//!
//! | of | states |
//! |---|---|
//! | virtual drive | Optl optimal, Pdgd partially degraded, Dgrd degraded, OfLn offline, Rec recovery, Cac, HD, TRANS |
//! | physical drive | Onln online, Offln offline, UGood, UBad unconfigured good and bad, Rbld rebuilding, Cpybck copying back, GHS, DHS hot spares, JBOD, Failed, Msng missing |

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

/// Reads the document. No controller at all is an empty list.
///
/// # Errors
/// Why the controllers could not be asked.
pub fn parse(text: &str) -> Result<Vec<Controller>, String> {
    // Some versions print a line before the document.
    let start = text.find('{').unwrap_or_default();
    let document: Value = text
        .get(start..)
        .and_then(|text| serde_json::from_str(text).ok())
        .ok_or("it gave no JSON")?;
    let all = document
        .get("Controllers")
        .and_then(Value::as_array)
        .ok_or("it lists no controllers")?;
    let mut controllers = Vec::new();
    for one in all.iter().take(MAX_CONTROLLERS) {
        let status = |key: &str| text_at(one, &format!("/Command Status/{key}"));
        let Some(data) = one.get("Response Data") else {
            let why = status("Description");
            if why.to_lowercase().contains("no controller") {
                continue;
            }
            return Err(match why.is_empty() {
                true => "a controller gave no data".to_owned(),
                false => why,
            });
        };
        controllers.push(controller(one, data));
    }
    Ok(controllers)
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
        model: first(&["/Basics/Model", "/Product Name"]),
        serial: first(&["/Basics/Serial Number", "/Serial Number"]),
        status: text_at(data, "/Status/Controller Status"),
        // The spelling differs between versions.
        celsius: number("/HwCfg/ROC temperature(Degree Celsius)")
            .or_else(|| number("/HwCfg/ROC temperature(Degree Celcius)"))
            .filter(|celsius| (1..=200).contains(celsius)),
        memory_errors: number("/Status/Memory Uncorrectable Errors").unwrap_or_default(),
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
                group: text_at(row, "/DG"),
                model: text_at(row, "/Model"),
            })
            .collect(),
        backups: rows(&["BBU_Info", "Cachevault_Info"])
            .into_iter()
            .map(|row| Backup {
                model: text_at(row, "/Model"),
                state: text_at(row, "/State"),
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
pub(crate) mod tests {
    use super::*;
    use proptest::prelude::*;

    pub(crate) const TEXT: &str = include_str!("../fixtures/perc-h755-degraded.json");

    #[test]
    fn a_controller() {
        let found = parse(TEXT).unwrap();
        assert_eq!(found.len(), 1);
        let one = &found[0];
        assert_eq!(
            (
                one.number,
                one.model.as_str(),
                one.status.as_str(),
                one.celsius,
                one.memory_errors
            ),
            (0, "PERC H755 Front", "Needs Attention", Some(58), 0)
        );
        let volumes: Vec<_> = one
            .volumes
            .iter()
            .map(|one| format!("{} {} {} {}", one.id, one.level, one.state, one.name))
            .collect();
        assert_eq!(volumes, ["0/239 RAID1 Optl os", "1/238 RAID6 Pdgd data"]);
        let disks: Vec<_> = one
            .disks
            .iter()
            .map(|one| format!("{} {} {}", one.slot, one.state, one.group))
            .collect();
        assert_eq!(
            disks,
            [
                "64:0 Onln 0",
                "64:1 Onln 0",
                "64:2 Failed 1",
                "64:3 Onln 1",
                "64:4 Rbld 1",
                "64:5 Onln 1",
                "64:6 UGood F",
                "64:7 GHS -"
            ]
        );
        assert_eq!(one.backups.len(), 1);
        assert_eq!(one.backups[0].state, "Optimal");
    }

    #[test]
    fn none_and_trouble() {
        let none = r#"{"Controllers":[{"Command Status":{"CLI Version":"007.2707","Operating system":"Linux 6.1","Status":"Failure","Description":"No Controller found"}}]}"#;
        assert_eq!(parse(none), Ok(Vec::new()));
        let denied = r#"{"Controllers":[{"Command Status":{"Status":"Failure","Description":"Controller is in use"}}]}"#;
        assert_eq!(parse(denied), Err("Controller is in use".to_owned()));
        assert_eq!(parse(&format!("CLI\n{none}")), Ok(Vec::new()));
        assert!(parse("").is_err() && parse("{}").is_err() && parse("{").is_err());
    }

    proptest! {
        #[test]
        fn any_text_is_survived(text in any::<String>()) {
            let _ = parse(&text);
        }

        #[test]
        fn any_damage_is_survived(at in 0usize..4_000, byte in 32u8..127) {
            let mut bytes = TEXT.as_bytes().to_vec();
            let at = at % bytes.len();
            bytes[at] = byte;
            if let Ok(controllers) = parse(&String::from_utf8_lossy(&bytes)) {
                prop_assert!(controllers.len() <= 1);
            }
        }
    }
}
