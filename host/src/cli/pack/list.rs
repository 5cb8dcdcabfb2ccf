//! `gpud pack list`: what is installed, and whether all of it is still as its vendor signed it.

use std::{
    fmt::Write as _,
    path::{Path, PathBuf},
};

use serde_json::{Value, json};

use super::described;
use crate::{
    cli::{
        exit::Exit,
        terminal::{Terminal, printable, shown},
    },
    node::trusted::Opener,
    pack::{
        PackRefusal,
        installed::{Packs, Record},
        integrity::InstalledPack,
    },
    plugins::file,
};

/// One spec in the folder of packs.
struct PackRow {
    /// The record of the pack, or why it cannot be read.
    record: Result<Record, PackRefusal>,
    /// Files that are not as the vendor signed them, and what else is wrong.
    damage: Vec<String>,
}

/// Lists what is installed. The exit code is 1 when something is damaged or not understood; the others are listed all the
/// same.
///
/// # Errors
/// The folder of packs cannot be read.
pub fn list(packs: &Packs, json: bool, stdout: Terminal) -> Result<Exit, Exit> {
    let rows =
        rows(packs).map_err(|refused| Exit::failure(refused).in_json(json, "pack_refused"))?;
    let is_whole = rows
        .iter()
        .all(|row| row.record.is_ok() && row.damage.is_empty());
    let text = match json {
        true => {
            let document: Vec<Value> = rows.iter().map(PackRow::to_json).collect();
            format!("{}\n", Value::Array(document))
        }
        false if rows.is_empty() => format!("no packs in {}\n", shown(packs.folder())),
        false => rows.iter().map(|row| row.to_text(stdout)).collect(),
    };
    Ok(Exit {
        code: if is_whole { 0 } else { 1 },
        ..Exit::success(text)
    })
}

fn rows(packs: &Packs) -> Result<Vec<PackRow>, PackRefusal> {
    let specs = packs
        .specs()
        .map_err(|error| PackRefusal(error.to_string()))?;
    let row = |spec: &PathBuf| {
        let record = packs.record(spec);
        let damage = match (&record, InstalledPack::verify(packs, spec)) {
            (Err(_), _) => Vec::new(),
            (Ok(_), Ok(pack)) => damage(&pack, spec),
            (Ok(_), Err(PackRefusal(why))) => vec![why],
        };
        PackRow { record, damage }
    };
    Ok(specs.iter().map(row).collect())
}

/// Why the daemon would not run a pack as it is: files that differ from what was signed, and a spec that was edited.
fn damage(pack: &InstalledPack, spec: &Path) -> Vec<String> {
    let edited = match file::read(spec, Opener::of_command()) {
        Ok(file) => pack.check_entries(&file.plugins).err(),
        Err(why) => Some(PackRefusal(why)),
    };
    let edited = edited.map(|PackRefusal(why)| why);
    pack.damage().into_iter().chain(edited).collect()
}

impl PackRow {
    fn to_json(&self) -> Value {
        match &self.record {
            Err(refused) => json!({"error": refused.to_string()}),
            Ok(record) => {
                let mut document = json!(record);
                if let Value::Object(keys) = &mut document
                    && !self.damage.is_empty()
                {
                    keys.insert("damage".to_owned(), json!(self.damage));
                }
                document
            }
        }
    }

    fn to_text(&self, stdout: Terminal) -> String {
        let record = match &self.record {
            Ok(record) => record,
            Err(refused) => {
                return format!("{} {}\n", stdout.bad(), printable(&refused.to_string()));
            }
        };
        let mark = match self.damage.is_empty() {
            true => stdout.good(),
            false => stdout.bad(),
        };
        let mut text = format!("{mark} {}", described(&record.manifest));
        let names: Vec<_> = record
            .manifest
            .plugins
            .iter()
            .map(|p| p.name.clone())
            .collect();
        let _ = writeln!(text, "  plugins {}", printable(&names.join(", ")));
        let signed = record.signed_by.as_ref().map_or_else(
            || "not signed by anybody who was trusted".to_owned(),
            |key| format!("signed by {key}"),
        );
        let _ = writeln!(text, "  digest {}, {}", record.digest, printable(&signed));
        for why in &self.damage {
            let _ = writeln!(text, "  damaged: {}", printable(why));
        }
        if !self.damage.is_empty() {
            let _ = writeln!(text, "  install the pack again to repair it");
        }
        text
    }
}
