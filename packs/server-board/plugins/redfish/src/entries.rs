//! Entries of the logs (DMTF `LogEntry`).

use gpud_sdk::EventType;
use serde_json::Value;

use crate::crawl::{Page, kind};

/// Entries that are taken.
const MAX_ENTRIES: usize = 256;
/// Longest message, bytes.
const MAX_TEXT: usize = 256;

/// An entry that tells of a trouble.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// What makes it the same: path and time.
    pub id: String,
    /// When it was, by the controller's clock.
    pub created: String,
    /// What it says.
    pub message: String,
    /// How grave it is.
    pub event_type: EventType,
}

/// The entries of a tree that tell of a trouble, in documents of their own or in the collection's.
pub fn all(pages: &[Page]) -> Vec<Entry> {
    let mut found = Vec::new();
    for page in pages {
        match kind(&page.document) {
            "LogEntry" => found.extend(entry(&page.document, &page.path)),
            "LogEntryCollection" => {
                let members = page.document.get("Members").and_then(Value::as_array);
                for member in members.into_iter().flatten() {
                    let path = text(member, "@odata.id");
                    found.extend(entry(member, &path));
                }
            }
            _ => {}
        }
    }
    // The newest come last, whatever the order of the logs.
    found.sort_by(|one, other| one.created.cmp(&other.created));
    let excess = found.len().saturating_sub(MAX_ENTRIES);
    found.drain(..excess);
    found
}

fn entry(document: &Value, path: &str) -> Option<Entry> {
    let event_type = match text(document, "Severity").as_str() {
        "Critical" => EventType::Critical,
        "Warning" => EventType::Warning,
        _ => return None,
    };
    let created = text(document, "Created");
    Some(Entry {
        id: format!("{path} {created}"),
        message: text(document, "Message"),
        event_type,
        created,
    })
}

fn text(value: &Value, key: &str) -> String {
    let text = value
        .get(key)
        .and_then(Value::as_str)
        .unwrap_or_default()
        .trim();
    text.get(..text.floor_char_boundary(MAX_TEXT))
        .unwrap_or_default()
        .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_in_order_of_time() {
        let page = |document: &str| Page {
            path: "/redfish/v1/E/1".to_owned(),
            document: serde_json::from_str(document).unwrap(),
        };
        let pages = [
            page(
                r##"{"@odata.type":"#LogEntryCollection.LogEntryCollection","Members":[{"@odata.id":"/redfish/v1/E/2","Severity":"Critical","Message":"PSU 2 failed","Created":"2026-01-02T00:00:00Z"},{"@odata.id":"/redfish/v1/E/3","Severity":"OK","Message":"x"},{"@odata.id":"/redfish/v1/E/1"}]}"##,
            ),
            page(
                r##"{"@odata.type":"#LogEntry.v1_9_0.LogEntry","Severity":"Warning","Message":"Fan 1","Created":"2026-01-01T00:00:00Z"}"##,
            ),
        ];
        let found: Vec<String> = all(&pages).into_iter().map(|one| one.message).collect();
        assert_eq!(found, ["Fan 1", "PSU 2 failed"]);
    }
}
