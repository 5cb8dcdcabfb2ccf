//! The report of `gpud up` about the GPUd that it replaces. No I/O.

use std::{fmt, path::PathBuf};

use crate::{cli::terminal::printable, store::Imported};

/// Settings of a control plane that are secrets.
const SECRETS: [&str; 2] = ["machine_proof", "token"];

/// The outcome for GPUd's events.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Data {
    /// There were none.
    Nothing,
    /// They were imported.
    Imported(Imported),
    /// They were not, for this reason.
    Failed(String),
}

/// GPUd as it was found, and what was done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// It ran.
    pub was_active: bool,
    /// Its unit, which is replaced.
    pub unit: Option<PathBuf>,
    /// Its flags: those that stay, and the names of those of a control plane.
    pub flags: (Vec<String>, Vec<String>),
    /// Its file of plugins.
    pub specs: Option<PathBuf>,
    /// Names of what a control plane gave it.
    pub settings: Vec<String>,
    /// Its database.
    pub state_file: PathBuf,
    /// Its events.
    pub data: Data,
    /// The folder for a way back.
    pub folder: PathBuf,
    /// Its content.
    pub files: Vec<String>,
}

impl fmt::Display for Report {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let runs = match self.was_active {
            true => "runs here and was stopped",
            false => "was here",
        };
        writeln!(to, "GPUd {runs}; gpud takes its place:")?;
        if let Some(unit) = &self.unit {
            writeln!(to, "  unit      {} is replaced", unit.display())?;
        }
        let (stay, go) = &self.flags;
        if !stay.is_empty() {
            writeln!(to, "  flags     {}", printable(&stay.join(" ")))?;
        }
        if !go.is_empty() {
            writeln!(
                to,
                "  left out  {}: there is no control plane",
                go.join(", ")
            )?;
        }
        if let Some(specs) = &self.specs {
            let specs = specs.display();
            writeln!(
                to,
                "  plugins   {specs} is read as it is; `gpud custom-plugins {specs}` checks it"
            )?;
        }
        let state_file = self.state_file.display();
        match &self.data {
            Data::Nothing => {}
            Data::Imported(imported) => {
                writeln!(to, "  data      {state_file}: {}", sentence(*imported))?;
            }
            Data::Failed(why) => {
                writeln!(
                    to,
                    "  data      ! {state_file}: nothing was imported: {}",
                    printable(why)
                )?;
            }
        }
        let is_secret = |name: &&String| SECRETS.contains(&name.as_str());
        let (secrets, plain): (Vec<_>, Vec<_>) = self.settings.iter().partition(is_secret);
        if !plain.is_empty() || !secrets.is_empty() {
            let names: Vec<_> = plain
                .iter()
                .chain(&secrets)
                .map(|name| printable(name))
                .collect();
            writeln!(
                to,
                "  settings  {} stay in the file and are not used; `gpud down --reset-state` deletes them",
                names.join(", ")
            )?;
        }
        let folder = self.folder.display();
        match self.files.is_empty() {
            true => writeln!(to, "  way back  GPUd's tables stay in {state_file}"),
            false => writeln!(
                to,
                "  way back  {folder} has {}; GPUd's tables stay in {state_file}",
                self.files.join(", ")
            ),
        }
    }
}

fn sentence(imported: Imported) -> String {
    let number = |count: u64, one: &str| match count {
        1 => format!("1 {one}"),
        _ => format!("{count} {one}s"),
    };
    let mut text = format!(
        "{} and {} imported",
        number(imported.events, "event"),
        number(imported.reboots, "reboot")
    );
    if imported.in_kernel_log > 0 {
        let events = number(imported.in_kernel_log, "event");
        text.push_str(&format!(
            ", {events} left to the kernel log, which still has them"
        ));
    }
    if imported.unusable > 0 {
        let rows = number(imported.unusable, "row");
        text.push_str(&format!(", {rows} without sense left out"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_whole_report() {
        let report = Report {
            was_active: true,
            unit: Some("/etc/systemd/system/gpud.service".into()),
            flags: (
                vec!["--log-level=info".into(), "--data-dir=/var/lib/gpud".into()],
                vec!["--endpoint".into(), "--session-protocol".into()],
            ),
            specs: Some("/etc/default/gpud.plugins.yaml".into()),
            settings: vec!["endpoint".into(), "machine_id".into(), "token".into()],
            state_file: "/var/lib/gpud/gpud.state".into(),
            data: Data::Imported(Imported {
                events: 1,
                reboots: 2,
                in_kernel_log: 3,
                unusable: 0,
            }),
            folder: "/var/lib/gpud/from-GPUd".into(),
            files: vec!["gpud.service".into(), "gpud.default".into()],
        };
        assert_eq!(
            report.to_string(),
            "GPUd runs here and was stopped; gpud takes its place:
  unit      /etc/systemd/system/gpud.service is replaced
  flags     --log-level=info --data-dir=/var/lib/gpud
  left out  --endpoint, --session-protocol: there is no control plane
  plugins   /etc/default/gpud.plugins.yaml is read as it is; `gpud custom-plugins /etc/default/gpud.plugins.yaml` checks it
  data      /var/lib/gpud/gpud.state: 1 event and 2 reboots imported, 3 events left to the kernel log, which still has them
  settings  endpoint, machine_id, token stay in the file and are not used; `gpud down --reset-state` deletes them
  way back  /var/lib/gpud/from-GPUd has gpud.service, gpud.default; GPUd's tables stay in /var/lib/gpud/gpud.state
"
        );
    }

    #[test]
    fn what_could_not_be_imported_is_said() {
        let report = Report {
            was_active: false,
            unit: None,
            flags: (Vec::new(), Vec::new()),
            specs: None,
            settings: Vec::new(),
            state_file: "/d/gpud.state".into(),
            data: Data::Failed("database is corrupt: x".into()),
            folder: "/d/from-GPUd".into(),
            files: Vec::new(),
        };
        assert_eq!(
            report.to_string(),
            "GPUd was here; gpud takes its place:
  data      ! /d/gpud.state: nothing was imported: database is corrupt: x
  way back  GPUd's tables stay in /d/gpud.state
"
        );
    }
}
