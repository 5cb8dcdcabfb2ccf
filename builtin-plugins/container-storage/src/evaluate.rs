//! The verdict.

use gpud_sdk::files::{gauge, percent};
use gpud_sdk::findings::{self, Finding, Memory};
use gpud_sdk::settings::Settings;
use gpud_sdk::sysfs::FsUsage;
use gpud_sdk::{CheckContext, Report};
use serde_json::json;

/// Gauge: size.
pub const SIZE: &str = "container_storage_bytes";
/// Gauge: room.
pub const AVAILABLE: &str = "container_storage_available_bytes";

/// JSON Schema of the configuration.
pub const SCHEMA: &str = r#"{
  "type": "object",
  "additionalProperties": false,
  "properties": {
    "docker_root": { "description": "Where Docker keeps its data (data-root).", "type": "string", "pattern": "^/", "default": "/var/lib/docker" },
    "containerd_root": { "description": "Where containerd keeps its data (root).", "type": "string", "pattern": "^/", "default": "/var/lib/containerd" },
    "containers_root": { "description": "Where Podman and CRI-O keep their data (graphroot).", "type": "string", "pattern": "^/", "default": "/var/lib/containers/storage" },
    "kubelet_root": { "description": "Where the kubelet keeps its data (--root-dir).", "type": "string", "pattern": "^/", "default": "/var/lib/kubelet" },
    "min_free_percent": {
      "description": "Room that must be left for images and layers; default 5, with a kubelet 15, at which it begins to evict pods.",
      "type": "integer", "minimum": 1, "maximum": 99
    },
    "min_kubelet_free_percent": {
      "description": "Room that must be left for the kubelet.",
      "type": "integer", "minimum": 1, "maximum": 99, "default": 10
    },
    "min_free_inodes_percent": {
      "description": "Inodes that must be left where there is a kubelet.",
      "type": "integer", "minimum": 1, "maximum": 99, "default": 5
    }
  }
}"#;

/// The owners of the examined folders, in the order of [`Config::paths`]. The kubelet is the last.
pub const FOLDERS: [&str; 4] = ["docker", "containerd", "containers-storage", "kubelet"];
const KUBELET: &str = "kubelet";
const ROOTS: [(&str, &str); 4] = [
    ("docker_root", "/var/lib/docker"),
    ("containerd_root", "/var/lib/containerd"),
    ("containers_root", "/var/lib/containers/storage"),
    ("kubelet_root", "/var/lib/kubelet"),
];
const LOW: &str = "container_storage_low";
const INODES: &str = "container_inodes_low";
/// gpud follows no link out of what it was granted.
const UNREAD: &str = "If it is a symbolic link, configure the place where it leads (docker_root, containerd_root, containers_root, kubelet_root).";
const ADVICE: &str =
    "Remove images and containers that are not used (crictl rmi --prune, docker system prune).";

/// The configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    paths: [String; 4],
    /// 0: by default.
    images: u64,
    kubelet: u64,
    inodes: u64,
}

impl Config {
    /// Reads the document.
    ///
    /// # Errors
    /// In words, when it is not JSON.
    pub fn parse(document: &str) -> Result<Self, String> {
        let settings = Settings::parse(document)?;
        let path = |(key, default): (&str, &str)| {
            let given = settings.word(key).map(|path| path.trim_end_matches('/'));
            given
                .filter(|path| path.starts_with('/'))
                .unwrap_or(default)
                .to_owned()
        };
        Ok(Self {
            paths: ROOTS.map(path),
            images: settings.number("min_free_percent", 0, 1..=99),
            // Hard eviction thresholds of the kubelet (Kubernetes, "Node-pressure Eviction": nodefs.available<10%,
            // imagefs.available<15%, nodefs.inodesFree<5%, imagefs.inodesFree<5%).
            kubelet: settings.number("min_kubelet_free_percent", 10, 1..=99),
            inodes: settings.number("min_free_inodes_percent", 5, 1..=99),
        })
    }

    /// The folders, in the order of [`FOLDERS`].
    pub fn paths(&self) -> [String; 4] {
        self.paths.clone()
    }

    fn least(&self, who: &str, has_kubelet: bool) -> u64 {
        match (who, self.images) {
            (KUBELET, _) => self.kubelet,
            (_, 0) if has_kubelet => 15,
            (_, 0) => 5,
            (_, given) => given,
        }
    }
}

/// A folder that is there.
#[derive(Debug, Clone, PartialEq)]
pub struct FolderSpace {
    /// Whose.
    pub who: &'static str,
    /// Where.
    pub path: String,
    /// Room on its filesystem, or why it is not known.
    pub room: Result<FsUsage, String>,
}

/// Judges one reading.
pub fn judge(
    context: &CheckContext,
    config: &Config,
    rooms: &[FolderSpace],
    before: &Memory,
) -> (Report, Memory) {
    if rooms.is_empty() {
        let reason = "no folder of a container runtime or kubelet";
        return (findings::unsupported(context, reason), Memory::default());
    }
    let has_kubelet = rooms.iter().any(|room| room.who == KUBELET);
    let (mut found, mut words, mut shown) = (Vec::new(), Vec::new(), Vec::new());
    for FolderSpace { who, path, room } in rooms {
        let usage = match room {
            Ok(usage) if usage.total_bytes > 0 => usage,
            Ok(_) => {
                words.push(format!(
                    "{who}: the filesystem of {path} does not report its size"
                ));
                continue;
            }
            Err(why) => {
                let text = format!("{who}: {path} cannot be looked at ({why})");
                found.push(
                    Finding::degraded(
                        format!("{who} unread"),
                        "container_storage_unreadable",
                        text,
                    )
                    .advice(UNREAD)
                    .about("folder", path),
                );
                // An unknown shortage is not over.
                let events = [(*who).to_owned(), format!("{who} inodes")]
                    .into_iter()
                    .filter_map(|key| Some((before.0.get(&key)?.as_str(), key)));
                found.extend(events.filter_map(|(event, key)| held(event, key, who)));
                continue;
            }
        };
        let free = percent(usage.available_bytes, usage.total_bytes);
        let least = config.least(who, has_kubelet);
        words.push(format!("{who}: {free:.0} % free"));
        shown.push(json!({"owner": who, "path": path, "bytes": usage.total_bytes, "available_bytes": usage.available_bytes}));
        let consequence = if has_kubelet {
            ", at which a kubelet evicts pods"
        } else {
            ""
        };
        if free < gauge(least) {
            let text =
                format!("{who}: {free:.0} % of {path} is free, less than {least} %{consequence}");
            found.push(
                Finding::degraded(*who, LOW, text)
                    .advice(ADVICE)
                    .about("folder", path),
            );
        }
        let inodes = percent(usage.free_inodes, usage.total_inodes);
        if has_kubelet && usage.total_inodes > 0 && inodes < gauge(config.inodes) {
            let text = format!(
                "{who}: {inodes:.0} % of inodes of {path} are free, less than {} %{consequence}",
                config.inodes
            );
            let key = format!("{who} inodes");
            found.push(
                Finding::degraded(key, INODES, text)
                    .advice(ADVICE)
                    .about("folder", path),
            );
        }
    }
    let (report, after) = findings::judge(context, &words.join("; "), &found, before);
    let report = with_sizes(report, rooms);
    (
        findings::with_data(report, &json!({ "folders": shown })),
        after,
    )
}

/// Adds the sizes of the filesystems.
fn with_sizes(mut report: Report, rooms: &[FolderSpace]) -> Report {
    for FolderSpace { who, path, room } in rooms {
        let Ok(usage) = room else { continue };
        let labels = [("owner", *who), ("path", path.as_str())];
        report.add_gauge(SIZE, &labels, gauge(usage.total_bytes));
        report.add_gauge(AVAILABLE, &labels, gauge(usage.available_bytes));
    }
    report
}

/// The finding of an earlier check, for a folder that cannot be read now.
fn held(event: &str, key: String, who: &str) -> Option<Finding> {
    let (event, what) = match event {
        LOW => (LOW, "room"),
        INODES => (INODES, "inodes"),
        _ => return None,
    };
    let text = format!("{who}: {what} ran short when it could last be looked at");
    Some(Finding::degraded(key, event, text).advice(ADVICE))
}

#[cfg(test)]
mod tests {
    use super::*;
    use gpud_sdk::Health;
    use gpud_sdk::testing::test_context;

    fn room(who: &'static str, available: u64, inodes: u64) -> FolderSpace {
        let usage = FsUsage {
            total_bytes: 100,
            free_bytes: available,
            available_bytes: available,
            total_inodes: 100,
            free_inodes: inodes,
            read_only: false,
        };
        FolderSpace {
            who,
            path: format!("/var/lib/{who}"),
            room: Ok(usage),
        }
    }

    #[test]
    fn verdicts() {
        let context = test_context("container-storage", 1_000);
        for (config, rooms, health, event) in [
            ("{}", vec![room("docker", 6, 1)], Health::Healthy, None),
            (
                "{}",
                vec![room("docker", 4, 50)],
                Health::Degraded,
                Some("container_storage_low"),
            ),
            (
                "{}",
                vec![room("containerd", 16, 50), room("kubelet", 11, 50)],
                Health::Healthy,
                None,
            ),
            (
                "{}",
                vec![room("containerd", 14, 50), room("kubelet", 11, 50)],
                Health::Degraded,
                Some("container_storage_low"),
            ),
            (
                "{}",
                vec![room("containerd", 16, 50), room("kubelet", 9, 50)],
                Health::Degraded,
                Some("container_storage_low"),
            ),
            (
                "{}",
                vec![room("kubelet", 50, 4)],
                Health::Degraded,
                Some("container_inodes_low"),
            ),
            (
                r#"{"min_free_percent":3}"#,
                vec![room("docker", 4, 50)],
                Health::Healthy,
                None,
            ),
        ] {
            let config = Config::parse(config).unwrap();
            let (report, _) = judge(&context, &config, &rooms, &Memory::default());
            let name = report.events.first().map(|event| event.name.as_str());
            assert_eq!(
                (&report.states[0].health, name),
                (&health, event),
                "{}",
                report.states[0].reason
            );
        }
    }

    #[test]
    fn folders() {
        let context = test_context("container-storage", 1_000);
        let config = Config::parse(r#"{"docker_root":"/data/docker/"}"#).unwrap();
        assert_eq!(config.paths()[0], "/data/docker");
        assert_eq!(config.paths()[3], "/var/lib/kubelet");
        assert!(
            !judge(&context, &config, &[], &Memory::default())
                .0
                .supported
        );
        let unread = [FolderSpace {
            who: "docker",
            path: "/x".to_owned(),
            room: Err("/x: permission denied".to_owned()),
        }];
        let (report, memory) = judge(&context, &config, &unread, &Memory::default());
        let state = &report.states[0];
        assert_eq!(state.health, Health::Degraded);
        assert!(
            state
                .reason
                .starts_with("docker: /x cannot be looked at (/x: permission denied)"),
            "{}",
            state.reason
        );
        assert_eq!(
            memory.0.get("docker unread").map(String::as_str),
            Some("container_storage_unreadable")
        );
    }

    #[test]
    fn what_cannot_be_looked_at_again_is_not_over() {
        let context = test_context("container-storage", 1_000);
        let config = Config::parse("{}").unwrap();
        let (_, memory) = judge(
            &context,
            &config,
            &[room("docker", 4, 50)],
            &Memory::default(),
        );
        let unread = [FolderSpace {
            room: Err("no answer for 5000 ms".to_owned()),
            ..room("docker", 0, 0)
        }];
        let (report, memory) = judge(&context, &config, &unread, &memory);
        let names: Vec<&str> = report.events.iter().map(|one| one.name.as_str()).collect();
        assert_eq!(names, ["container_storage_unreadable"]);
        let (report, _) = judge(&context, &config, &[room("docker", 50, 50)], &memory);
        assert_eq!(report.states[0].health, Health::Healthy);
        assert_eq!(report.events.len(), 2);
    }

    #[test]
    fn a_filesystem_without_a_size() {
        let context = test_context("container-storage", 1_000);
        let config = Config::parse("{}").unwrap();
        let mut none = room("docker", 0, 0);
        if let Ok(usage) = &mut none.room {
            usage.total_bytes = 0;
        }
        let (report, _) = judge(&context, &config, &[none], &Memory::default());
        assert_eq!(
            report.states[0].reason,
            "docker: the filesystem of /var/lib/docker does not report its size"
        );
        serde_json::from_str::<serde_json::Value>(SCHEMA).unwrap();
    }
}
