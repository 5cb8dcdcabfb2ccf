//! `gpud metadata`: what the state file notes under names, and the machine's reboots.
//!
//! Names are GPUd's, given by a hosted platform (`machine_id`, `token`, …), where a GPUd used the file before; and gpud's
//! own. Secrets are masked.

mod args;

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    path::{Path, PathBuf},
};

use serde::Serialize;

use self::args::MetadataArgs;
use super::{
    ages::ago,
    command::{Action, Command, CommandContext},
    data_dir,
    exit::Exit,
    terminal::{Terminal, printable},
};
use crate::{
    model::UnixMillis,
    node::{clock::Clock, system::euid},
    store::{self, STATE_FILE, StateFile, StoredEvent},
};

/// The entry of the table of commands.
pub(super) const COMMAND: Command = Command::new::<MetadataArgs>(
    "metadata",
    "Show what the state file notes about this installation, and the machine's reboots",
);

/// The values to show and to set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MetadataOptions {
    /// Folder of the state file.
    pub data_dir: PathBuf,
    /// Print JSON.
    pub json: bool,
    /// List reboots.
    pub reboot_history: bool,
    /// Name and value, set after what was there before has been read.
    pub set: Option<(String, String)>,
}

#[derive(Debug, PartialEq, Serialize)]
struct MetadataDocument {
    metadata: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reboot_history: Option<Vec<Reboot>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    updated: Option<Updated>,
}

#[derive(Debug, PartialEq, Serialize)]
struct Reboot {
    time_utc: String,
    age: String,
    message: String,
}

#[derive(Debug, PartialEq, Serialize)]
struct Updated {
    key: String,
    value: String,
}

impl Action for MetadataOptions {
    async fn run(self, context: CommandContext) -> Result<Exit, Exit> {
        metadata(self, Clock::Live.now_ms(), context.stdout).await
    }
}

/// Reads, and then sets. Gives what to print.
///
/// # Errors
/// Not root, or the state file cannot be read or written.
pub async fn metadata(
    options: MetadataOptions,
    now: UnixMillis,
    terminal: Terminal,
) -> Result<Exit, Exit> {
    let json = options.json;
    if euid() != 0 {
        let exit = Exit::failure("this command needs to be run as root");
        return Err(exit.in_json(json, "require_root"));
    }
    let work = tokio::task::spawn_blocking(move || document(&options, now));
    let document = work.await.map_err(Exit::failure)?;
    let document = document.map_err(|(code, exit)| exit.in_json(json, code))?;
    Ok(Exit::success(match json {
        true => {
            serde_json::to_string(&document)
                .map_err(|error| Exit::json_failure("failed_to_write_json_output", error))?
                + "\n"
        }
        false => text(&document, terminal),
    }))
}

/// The machine id that a hosted platform gave to a GPUd with this folder; `None` also where it cannot be read, or where
/// root would read it in a folder of another user.
pub async fn machine_id(folder: &Path) -> Option<String> {
    let folder = folder.to_owned();
    let read = move || -> Option<BTreeMap<String, String>> {
        data_dir::check(&folder).ok()?;
        StateFile::open(&folder.join(STATE_FILE))
            .ok()?
            .hosted()
            .ok()
    };
    let mut hosted = tokio::task::spawn_blocking(read).await.ok()??;
    hosted.remove("machine_id").filter(|id| !id.is_empty())
}

/// A failure is a word for programs and the exit.
fn document(
    options: &MetadataOptions,
    now: UnixMillis,
) -> Result<MetadataDocument, (&'static str, Exit)> {
    let path = options.data_dir.join(STATE_FILE);
    let failed = |code: &'static str, error: &dyn std::fmt::Display| {
        let what = code.replace('_', " ");
        (
            code,
            Exit::failure(format!("{what} {}: {error}", path.display())),
        )
    };
    data_dir::check(&options.data_dir).map_err(|e| failed("failed_to_open_state_file", &e))?;
    let file = StateFile::open(&path).map_err(|e| failed("failed_to_open_state_file", &e))?;
    let read = |e| failed("failed_to_read_metadata", &e);
    let own = file.own().map_err(read)?;
    let mut metadata = own.clone();
    metadata.extend(file.hosted().map_err(read)?);
    for (key, value) in &mut metadata {
        *value = masked(key, value);
    }
    let reboot_history = match options.reboot_history {
        true => {
            let reboots = file.reboots();
            let reboots = reboots.map_err(|e| failed("failed_to_load_reboot_history", &e))?;
            Some(reboots.iter().map(|stored| reboot(stored, now)).collect())
        }
        false => None,
    };
    let updated = match &options.set {
        Some((key, _)) if own.contains_key(key) => {
            return Err(failed(
                "failed_to_update_metadata",
                &format!("{key} is gpud's own"),
            ));
        }
        Some((key, value)) => {
            store::set_hosted(&path, key, value)
                .map_err(|e| failed("failed_to_update_metadata", &e))?;
            Some(Updated {
                key: key.clone(),
                value: masked(key, value),
            })
        }
        None => None,
    };
    Ok(MetadataDocument {
        metadata,
        reboot_history,
        updated,
    })
}

fn reboot(stored: &StoredEvent, now: UnixMillis) -> Reboot {
    let time = i64::try_from(stored.event.time).unwrap_or(i64::MAX);
    let time = jiff::Timestamp::from_millisecond(time).unwrap_or_default();
    Reboot {
        time_utc: time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
        age: ago(now, stored.event.time),
        message: stored.event.message.clone(),
    }
}

fn text(document: &MetadataDocument, terminal: Terminal) -> String {
    let mut text = String::new();
    for (key, value) in &document.metadata {
        let _ = writeln!(text, "{}: {}", printable(key), printable(value));
    }
    if let Some(reboots) = &document.reboot_history {
        text.push_str("\nReboot History:\n");
        if reboots.is_empty() {
            text.push_str("  (no reboot events recorded)\n");
        } else {
            let width = reboots.iter().map(|reboot| reboot.age.len()).max();
            let width = width.unwrap_or_default();
            let _ = writeln!(text, "TIME (UTC)            {:width$}  MESSAGE", "AGE");
            for Reboot {
                time_utc,
                age,
                message,
            } in reboots
            {
                let message = printable(message);
                let _ = writeln!(text, "{time_utc:20}  {age:width$}  {message}");
            }
        }
        text.push('\n');
    }
    if document.updated.is_some() {
        let _ = writeln!(text, "{} successfully updated metadata", terminal.good());
    }
    text
}

/// Secrets are not shown whole: of a token enough is left to tell two apart.
fn masked(key: &str, value: &str) -> String {
    match key {
        "machine_proof" if !value.is_empty() => "<redacted>".to_owned(),
        "token" if !value.is_empty() => {
            let prefix = ["nvapi-stg-", "nvapi-"];
            let prefix = prefix.into_iter().find(|prefix| value.starts_with(prefix));
            let prefix = prefix.unwrap_or_default();
            let rest: Vec<char> = value.chars().skip(prefix.len()).collect();
            if rest.len() < 10 {
                return format!("{prefix}...");
            }
            let first: String = rest.iter().take(4).collect();
            let last: String = rest.iter().skip(rest.len() - 4).collect();
            format!("{prefix}{first}...{last}")
        }
        _ => value.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::{Location, Store, StoreOptions};

    #[test]
    fn secrets_are_masked() {
        for (key, value, shown) in [
            ("token", "nvapi-stg-abcdefghijkl", "nvapi-stg-abcd...ijkl"),
            ("token", "nvapi-abcdefghij", "nvapi-abcd...ghij"),
            ("token", "nvapi-abc", "nvapi-..."),
            ("token", "short", "..."),
            ("token", "", ""),
            ("machine_proof", "x", "<redacted>"),
            ("machine_id", "m", "m"),
        ] {
            assert_eq!(masked(key, value), shown);
        }
    }

    #[tokio::test]
    async fn a_state_file_with_reboots() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(STATE_FILE);
        let store = Store::open(StoreOptions::new(Location::File(path)))
            .unwrap()
            .store;
        let now = 1_700_000_000_000;
        store.record_reboot(now, now - 120_000, "b").await.unwrap();
        store.checkpoint_and_close().await.unwrap();
        let options = |set: Option<(&str, &str)>| MetadataOptions {
            data_dir: folder.path().to_owned(),
            json: false,
            reboot_history: true,
            set: set.map(|(key, value)| (key.to_owned(), value.to_owned())),
        };
        let first = document(&options(Some(("token", "0123456789abcdef"))), now).unwrap();
        assert_eq!(
            text(&first, Terminal::PLAIN),
            "clean_shutdown: 1\nlast_boot_id: b\n\nReboot History:\n\
             TIME (UTC)            AGE            MESSAGE\n\
             2023-11-14T22:11:20Z  2 minutes ago  system reboot detected 2023-11-14 22:11:20 +0000 UTC\n\n\
             ✔ successfully updated metadata\n"
        );
        let second = document(&options(None), now).unwrap();
        assert_eq!(
            serde_json::to_string(&second).unwrap(),
            "{\"metadata\":{\"clean_shutdown\":\"1\",\"last_boot_id\":\"b\",\"token\":\"0123...cdef\"},\
             \"reboot_history\":[{\"time_utc\":\"2023-11-14T22:11:20Z\",\"age\":\"2 minutes ago\",\
             \"message\":\"system reboot detected 2023-11-14 22:11:20 +0000 UTC\"}]}"
        );
        let (code, exit) = document(&options(Some(("last_boot_id", "x"))), now).unwrap_err();
        assert_eq!((code, exit.code), ("failed_to_update_metadata", 1));
    }

    #[test]
    fn no_state_file_is_named() {
        let options = MetadataOptions {
            data_dir: "/nowhere".into(),
            json: false,
            reboot_history: false,
            set: None,
        };
        let (code, exit) = document(&options, 0).unwrap_err();
        assert_eq!(code, "failed_to_open_state_file");
        let said = format!("{:?}", exit.stderr);
        assert!(
            said.contains("failed to open state file /nowhere/gpud.state: "),
            "{said}"
        );
    }
}
