//! Prints the output of `gpud status`.

use std::fmt::Write as _;

use serde::{Serialize, Serializer};

use super::ask::Component;
use crate::{
    cli::{
        live::{MachineSnapshot, machine::MachineText},
        paragraph::Paragraph,
        terminal::{Terminal, printable},
    },
    model::Health,
    service::presence::DaemonPresence,
};

/// The whole result, for programs.
#[derive(Debug, Clone, Default, Serialize)]
pub struct StatusDocument {
    /// `active`, `inactive`, `failed`; `null` without systemd.
    pub unit: Option<&'static str>,
    /// A daemon runs.
    pub running: bool,
    /// Its process, where it is that of the data folder.
    pub pid: Option<u32>,
    /// Its version, likewise.
    pub version: Option<String>,
    /// Where it was asked.
    pub url: String,
    /// It answers.
    pub healthy_api: bool,
    /// Why it does not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// The id that a hosted platform gave to GPUd.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub machine_id: Option<String>,
    /// By name.
    pub components: Vec<Component>,
    /// The state of the machine; `None` for an older daemon, and with `--classic`.
    #[serde(
        rename = "summary",
        skip_serializing_if = "Option::is_none",
        serialize_with = "summary"
    )]
    pub look: Option<MachineSnapshot>,
}

/// For programs, what is wrong is enough: readings and events have routes of their own.
fn summary<S: Serializer>(
    look: &Option<MachineSnapshot>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    look.as_ref()
        .map(|look| &look.summary)
        .serialize(serializer)
}

impl StatusDocument {
    /// Takes over what is known of the process.
    pub fn set_process(&mut self, running: Option<DaemonPresence>) {
        let (pid, version) = running.map(|r| (r.pid, r.version)).unzip();
        self.pid = pid;
        self.version = version;
    }

    /// 0 if the daemon answers.
    pub fn code(&self) -> u8 {
        u8::from(!self.healthy_api)
    }

    /// One line.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default() + "\n"
    }
}

/// The machine as the daemon sees it: verdict, troubles, GPUs, last events, and where the page is.
pub fn machine(document: &StatusDocument, now: u64, terminal: Terminal) -> String {
    let Some(look) = &document.look else {
        return components(document, terminal);
    };
    let view = MachineText {
        look,
        now,
        terminal,
    };
    let gpud = &look.summary.machine.gpud_version;
    let process = match document.pid {
        Some(pid) => format!(", PID {pid}"),
        None => String::new(),
    };
    let mut text = view.head();
    let paragraph = Paragraph {
        terminal,
        indent: terminal.mark_width(),
    };
    let page = format!("gpud {gpud}{process}, page at {}/", document.url);
    paragraph.write(&mut text, &page);
    let unit = match document.unit {
        Some("active") | None => String::new(),
        Some(_) => unit(document, terminal),
    };
    format!("{text}{unit}{}{}", view.text(), view.end())
}

/// The first line; scripts written for GPUd may look for it.
pub fn login(document: &StatusDocument) -> String {
    let id = match &document.machine_id {
        Some(id) => format!(" (machine id of a former login: {})", printable(id)),
        None => String::new(),
    };
    format!("No login activity recorded{id}\n")
}

/// The unit, where systemd knows.
pub fn unit(document: &StatusDocument, terminal: Terminal) -> String {
    match document.unit {
        Some("active") => format!("{} gpud.service is active\n", terminal.good()),
        Some("failed") => format!(
            "{} gpud.service is not active (it failed: `journalctl -u gpud` says why)\n",
            terminal.bad()
        ),
        Some(_) => format!("{} gpud.service is not active\n", terminal.bad()),
        None => String::new(),
    }
}

/// The process and its address.
pub fn process(document: &StatusDocument, terminal: Terminal) -> String {
    let good = terminal.good();
    let mut text = String::new();
    if let (Some(pid), Some(version)) = (document.pid, &document.version) {
        let _ = writeln!(text, "{good} gpud process is running (PID {pid})");
        let _ = writeln!(text, "  version {} at {}", printable(version), document.url);
    } else {
        let _ = writeln!(text, "  asking {}", printable(&document.url));
    }
    let _ = writeln!(text, "{good} successfully checked gpud status");
    text
}

/// A count, and a line for each component that is not healthy.
pub fn components(document: &StatusDocument, terminal: Terminal) -> String {
    if let Some(problem) = &document.problem {
        return format!("{} {}\n", terminal.bad(), printable(problem));
    }
    let (well, others): (Vec<_>, Vec<_>) = document
        .components
        .iter()
        .partition(|component| component.health == Health::Healthy.as_str());
    let mut text = match others.is_empty() {
        true => format!(
            "{} all {} components are healthy\n",
            terminal.good(),
            well.len()
        ),
        false => format!(
            "{} of {} components are healthy\n",
            well.len(),
            document.components.len()
        ),
    };
    for component in others {
        let sign = match Health::from(component.health.as_str()) {
            Health::Initializing => terminal.waiting(),
            _ => terminal.bad(),
        };
        let mut line = format!("{}: {}", component.component, component.health);
        if !component.reason.is_empty() {
            let _ = write!(line, ", {}", component.reason);
        }
        if !component.repair_actions.is_empty() {
            let _ = write!(
                line,
                " (suggested: {})",
                component.repair_actions.join(", ")
            );
        }
        let _ = writeln!(text, "{sign} {}", printable(&line));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn component(name: &str, health: &str, reason: &str) -> Component {
        Component {
            component: name.to_owned(),
            health: health.to_owned(),
            reason: reason.to_owned(),
            repair_actions: Vec::new(),
        }
    }

    #[test]
    fn as_text() {
        let mut document = StatusDocument {
            unit: Some("failed"),
            running: true,
            url: "https://127.0.0.1:7".into(),
            healthy_api: true,
            machine_id: Some("m\u{1b}".into()),
            components: vec![component("cpu", "Healthy", "ok")],
            ..StatusDocument::default()
        };
        document.set_process(Some(DaemonPresence {
            pid: 7,
            address: "127.0.0.1:7".parse().unwrap(),
            version: "0.1.0".into(),
            socket: None,
        }));
        let terminal = Terminal::PLAIN;
        let all = |document: &StatusDocument| {
            login(document)
                + &unit(document, terminal)
                + &process(document, terminal)
                + &components(document, terminal)
        };
        insta::assert_snapshot!(all(&document), @r"
        No login activity recorded (machine id of a former login: m\u{1b})
        ✘ gpud.service is not active (it failed: `journalctl -u gpud` says why)
        ✔ gpud process is running (PID 7)
          version 0.1.0 at https://127.0.0.1:7
        ✔ successfully checked gpud status
        ✔ all 1 components are healthy
        ");
        document.set_process(None);
        document.unit = None;
        document.machine_id = None;
        document.components.extend([
            Component {
                repair_actions: vec!["REBOOT_SYSTEM".into()],
                ..component("disk", "Unhealthy", "a\nb")
            },
            component("os", "Initializing", ""),
        ]);
        insta::assert_snapshot!(all(&document), @r"
        No login activity recorded
          asking https://127.0.0.1:7
        ✔ successfully checked gpud status
        1 of 3 components are healthy
        ✘ disk: Unhealthy, a b (suggested: REBOOT_SYSTEM)
        ⌛ os: Initializing
        ");
    }

    #[test]
    fn as_json() {
        let document = StatusDocument {
            unit: Some("active"),
            url: "u".into(),
            components: vec![component("cpu", "Healthy", "ok")],
            ..StatusDocument::default()
        };
        assert_eq!(
            document.to_json(),
            "{\"unit\":\"active\",\"running\":false,\"pid\":null,\"version\":null,\"url\":\"u\",\"healthy_api\":false,\
             \"components\":[{\"component\":\"cpu\",\"health\":\"Healthy\",\"reason\":\"ok\"}]}\n"
        );
        assert_eq!(document.code(), 1);
    }
}
