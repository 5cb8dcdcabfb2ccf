//! Walking the tree of resources (DMTF DSP0266): from the service root along the links that lead to parts and logs.
//!
//! Resources are read level by level, a group of them in one call: `redfish-get` gives the documents one after another,
//! each followed by a line `#‹HTTP status› ‹URL›`.

use std::collections::BTreeSet;

use serde_json::Value;

/// Where every service begins.
const ROOT: &str = "/redfish/v1";
/// Resources that are read.
const MAX_PAGES: usize = 400;
/// Levels below the root.
const MAX_LEVELS: usize = 8;
/// Resources of one call.
const GROUP: usize = 16;
/// Longest path, bytes.
const MAX_PATH: usize = 200;
/// Entries of one log whose documents are read one by one; the last.
const MAX_ENTRIES: usize = 32;
/// Links that are followed, by name.
const FOLLOWED: [&str; 16] = [
    "Chassis",
    "Systems",
    "Managers",
    "Thermal",
    "ThermalSubsystem",
    "Fans",
    "LeakDetection",
    "LeakDetectors",
    "Power",
    "PowerSubsystem",
    "PowerSupplies",
    "Processors",
    "Memory",
    "Storage",
    "Drives",
    "LogServices",
];
/// Logs of other things than the hardware's health, by parts of their names.
const OTHER_LOGS: [&str; 9] = [
    "lclog",
    "dump",
    "journal",
    "hostlogger",
    "postcode",
    "crash",
    "fdr",
    "audit",
    "security",
];

/// A resource.
#[derive(Debug, Clone, PartialEq)]
pub struct Page {
    /// Where it is.
    pub path: String,
    /// What it is.
    pub document: Value,
}

/// The values that were read.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Tree {
    /// The resources.
    pub pages: Vec<Page>,
    /// How many gave no document.
    pub unread: usize,
    /// The first of them, and why.
    pub first_unread: Option<String>,
    /// Links to resources that the service does not have (HTTP 404), as some firmware keeps.
    pub absent: Vec<String>,
}

/// Walks the tree. `fetch` reads the resources that a text names, as `redfish-get` takes it.
///
/// # Errors
/// Why the service could not be read: the root gave nothing, or everything below it is refused.
pub fn crawl(mut fetch: impl FnMut(&str) -> Result<String, String>) -> Result<Tree, String> {
    let mut tree = Tree::default();
    let mut known = BTreeSet::from([ROOT.to_owned()]);
    let mut level = vec![format!("{ROOT}/")];
    for depth in 0..=MAX_LEVELS {
        let mut next = Vec::new();
        for group in level.chunks(GROUP) {
            let text = match fetch(&grouped(group)) {
                Ok(text) => text,
                Err(why) if depth == 0 => return Err(why),
                Err(why) => {
                    tree.miss(group.len(), &why);
                    continue;
                }
            };
            let mut read = 0;
            for answer in answers(&text) {
                read += 1;
                match answer {
                    Ok(page) => {
                        next.extend(links(&page));
                        tree.pages.push(page);
                    }
                    Err(Missing::Absent(path)) => tree.absent.push(path),
                    Err(Missing::Unread(why)) => tree.miss(1, &why),
                }
            }
            if read < group.len() {
                tree.miss(group.len() - read, "no answer");
            }
        }
        // One resource has two names: with a slash at its end, and without.
        next.retain(|path| known.insert(path.trim_end_matches('/').to_owned()));
        next.truncate(MAX_PAGES.saturating_sub(tree.pages.len()));
        if next.is_empty() {
            break;
        }
        level = next;
    }
    match (tree.pages.len(), &tree.first_unread, tree.absent.first()) {
        (0 | 1, Some(why), _) => Err(why.clone()),
        (0 | 1, None, Some(path)) => Err(absent(path)),
        (0, None, None) => Err("the service root gave no document".to_owned()),
        _ => Ok(tree),
    }
}

/// That the service does not have a resource.
pub fn absent(path: &str) -> String {
    format!("{path} gave HTTP 404")
}

/// Why a resource gave no document.
enum Missing {
    /// The service does not have it: its path.
    Absent(String),
    /// It could not be read.
    Unread(String),
}

impl Tree {
    fn miss(&mut self, count: usize, why: &str) {
        self.unread += count;
        self.first_unread.get_or_insert_with(|| why.to_owned());
    }
}

/// One path, or several as `/redfish/v1{/Chassis,/Systems}`.
fn grouped(paths: &[String]) -> String {
    let own = |path: &String| path.strip_prefix(ROOT).unwrap_or(path).to_owned();
    match paths {
        [path] => path.clone(),
        paths => format!(
            "{ROOT}{{{}}}",
            paths.iter().map(own).collect::<Vec<_>>().join(",")
        ),
    }
}

/// The documents of one call, or why there is none.
fn answers(text: &str) -> Vec<Result<Page, Missing>> {
    let mut found = Vec::new();
    let mut body = String::new();
    for line in text.lines() {
        let Some((status, url)) = line.strip_prefix('#').and_then(|line| line.split_once(' '))
        else {
            body.push_str(line);
            continue;
        };
        let path = url.split_once("://").map_or(url, |(_, rest)| rest);
        let path = path.find('/').and_then(|at| path.get(at..)).unwrap_or(path);
        let document = serde_json::from_str(&body);
        body.clear();
        found.push(match (status, document) {
            ("200", Ok(document)) => Ok(Page {
                path: path.to_owned(),
                document,
            }),
            ("404", _) => Err(Missing::Absent(path.to_owned())),
            ("200", Err(_)) => Err(Missing::Unread(format!("{path} is no JSON"))),
            ("401" | "403", _) => Err(Missing::Unread(format!(
                "{path} is refused (HTTP {status}): check the credential"
            ))),
            ("000", _) => Err(Missing::Unread(format!("{path} gave no answer"))),
            _ => Err(Missing::Unread(format!("{path} gave HTTP {status}"))),
        });
    }
    found
}

/// Whether any resource was answered: curl writes the status 000 where there was no connection, and says why elsewhere.
pub fn is_answer(text: &str) -> bool {
    text.lines()
        .any(|line| line.starts_with('#') && !line.starts_with("#000 "))
}

/// Where to go on from a document.
fn links(page: &Page) -> Vec<String> {
    let document = &page.document;
    let kind = kind(document);
    let mut found = Vec::new();
    let mut add = |value: &Value| {
        let path = value.get("@odata.id").and_then(Value::as_str);
        found.extend(path.filter(|path| is_plain(path)).map(str::to_owned));
    };
    for key in FOLLOWED {
        match document.get(key) {
            // Of a thermal or power document they are in it, with a `#` in their path.
            Some(Value::Array(list)) => list.iter().for_each(&mut add),
            Some(value) => add(value),
            None => {}
        }
    }
    if kind == "LogService" && !is_other_log(document) {
        document.get("Entries").into_iter().for_each(&mut add);
    }
    if let Some(members) = document.get("Members").and_then(Value::as_array) {
        // A member that is more than a link is read already.
        let is_link = |member: &&Value| member.as_object().is_some_and(|one| one.len() == 1);
        let mut members: Vec<&Value> = members.iter().filter(is_link).collect();
        if kind == "LogEntryCollection" {
            // Some services list the newest first.
            members.sort_by_key(|member| entry_number(member));
            let excess = members.len().saturating_sub(MAX_ENTRIES);
            members.drain(..excess);
        }
        members.into_iter().for_each(&mut add);
    }
    found
}

/// The number that ends the path of a log entry; nothing where it ends with a name.
fn entry_number(member: &Value) -> Option<u64> {
    let path = member.get("@odata.id")?.as_str()?.trim_end_matches('/');
    path.rsplit('/').next()?.parse().ok()
}

/// Of `#LogService.v1_1_0.LogService` the last word.
pub fn kind(document: &Value) -> &str {
    let text = document.get("@odata.type").and_then(Value::as_str);
    text.and_then(|text| text.rsplit('.').next())
        .unwrap_or_default()
        .trim_start_matches('#')
}

fn is_other_log(service: &Value) -> bool {
    let name = service
        .get("Id")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let name = name.to_lowercase();
    OTHER_LOGS.iter().any(|other| name.contains(other))
}

/// Whether a path can be handed over as one of a group.
fn is_plain(path: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/_.:~%-".contains(&byte);
    path.len() <= MAX_PATH && path.starts_with("/redfish/v1/") && path.bytes().all(plain)
}

#[cfg(test)]
pub(crate) mod tests;
