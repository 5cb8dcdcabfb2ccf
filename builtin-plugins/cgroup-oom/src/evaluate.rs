//! The verdict.

use gpud_sdk::files::gauge;
use gpud_sdk::findings::{self, Finding, Memory};
use gpud_sdk::settings::Settings;
use gpud_sdk::{CheckContext, Event, EventType, Report};

use crate::tree::{Reading, SavedKills};

/// Gauge: kills.
pub const KILLS: &str = "cgroup_oom_kills";

/// JSON Schema of the configuration.
pub const SCHEMA: &str = r#"{
  "type": "object",
  "additionalProperties": false,
  "properties": {
    "system_cgroups": {
      "description": "Beginnings of the paths of groups, below /sys/fs/cgroup (of version 1: below /sys/fs/cgroup/memory), in which a kill makes the state Degraded.",
      "type": "array", "maxItems": 64, "items": { "type": "string", "pattern": "^/" }, "default": ["/system.slice/"]
    },
    "window_seconds": {
      "description": "How long such a kill counts.",
      "type": "integer", "minimum": 60, "maximum": 86400, "default": 3600
    }
  }
}"#;

const ADVICE: &str = "Raise the limit of the service (MemoryMax=), or look for what made it grow.";
/// Most groups that one check reports.
const MAX_NAMED: usize = 64;
/// Repeats in one group within this time are counted.
const MERGE_SECONDS: u32 = 300;

/// The configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    system: Vec<String>,
    window: u64,
}

impl Config {
    /// Reads the document.
    ///
    /// # Errors
    /// In words, when it is not JSON.
    pub fn parse(document: &str) -> Result<Self, String> {
        let settings = Settings::parse(document)?;
        let system = settings.words("system_cgroups");
        Ok(Self {
            system: system.unwrap_or_else(|| vec!["/system.slice/".to_owned()]),
            window: settings.number("window_seconds", 3_600, 60..=86_400),
        })
    }

    fn is_system(&self, path: &str) -> bool {
        let under = |start: &String| path.starts_with(start) && !is_a_container(path);
        self.system.iter().any(under)
    }
}

/// What is below `/system.slice` and no service of the machine. Docker, with systemd as its cgroup driver, puts containers
/// there; a path that is written for systemd and made without it is one name with colons; Slurm has its jobs in
/// `slurmstepd.scope` (Slurm, "Control Group v2 plugin"), with the node's name before where there are several.
fn is_a_container(path: &str) -> bool {
    [
        "/docker-",
        "/crio-",
        "/cri-containerd-",
        "/libpod-",
        "/nerdctl-",
        ":docker:",
        ":crio:",
        ":cri-containerd:",
        ":libpod:",
        "slurmstepd.scope/",
    ]
    .iter()
    .any(|part| path.contains(part))
}

/// Judges one reading.
pub fn judge(
    context: &CheckContext,
    config: &Config,
    reading: &Reading,
    kept: &mut SavedKills,
    before: &Memory,
) -> (Report, Memory) {
    let now = context.now / 1000;
    let grown = kept.take(reading);
    let mut events = Vec::new();
    for (path, &count) in grown.iter().take(MAX_NAMED) {
        if config.is_system(path) {
            let (last, sum) = kept.recent.entry(path.clone()).or_default();
            (*last, *sum) = (now, sum.saturating_add(count));
        } else {
            events.push(event(context, path, count));
        }
    }
    kept.recent.retain(|_, (last, _)| {
        // A clock that was set back must not make the trouble last until it gets there again.
        *last = (*last).min(now);
        last.saturating_add(config.window) > now
    });
    let found: Vec<Finding> = kept
        .recent
        .iter()
        .take(MAX_NAMED)
        .map(|(path, (_, count))| {
            let text = format!("{} in {path}", killed(*count));
            Finding::degraded(path.clone(), "cgroup_oom_kill", text)
                .advice(ADVICE)
                .about("cgroup", path)
        })
        .collect();
    let sum = grown
        .values()
        .fold(0, |sum: u64, count| sum.saturating_add(*count));
    let healthy = match sum {
        0 => "no process was killed at a memory limit since the last check".to_owned(),
        count => format!(
            "{} since the last check, none of them of the system",
            killed(count)
        ),
    };
    let (mut report, after) = findings::judge(context, &healthy, &found, before);
    report.events.extend(events);
    for (path, count) in reading.by_top() {
        report.add_gauge(KILLS, &[("cgroup", path)], gauge(count));
    }
    (report, after)
}

fn killed(count: u64) -> String {
    match count {
        1 => "1 process was killed at a memory limit".to_owned(),
        count => format!("{count} processes were killed at a memory limit"),
    }
}

fn event(context: &CheckContext, path: &str, count: u64) -> Event {
    let finding = Finding::note(
        path,
        "cgroup_oom_kill",
        format!("{} in {path}", killed(count)),
    );
    let mut event = Event::new(
        context.now,
        finding.event,
        EventType::Warning,
        gpud_sdk::incidents::clip(&finding.text),
    )
    .merged_by(format!("cgroup_oom_kill {path}"), MERGE_SECONDS);
    event.subject = finding.about("cgroup", path).subject;
    event
}

#[cfg(test)]
mod tests {
    use super::*;
    use gpud_sdk::Health;
    use gpud_sdk::testing::test_context;

    /// Checks at minutes, each with the groups' counters; gives the last verdict and all events.
    fn run(config: &str, checks: &[(u64, &[(&str, u64)])]) -> (Health, String, Vec<String>) {
        let config = Config::parse(config).unwrap();
        let (mut kept, mut memory) = (SavedKills::restore(None, "b-1"), Memory::default());
        let mut answer = (Health::Healthy, String::new(), Vec::new());
        for (minute, groups) in checks {
            let context = test_context("cgroup-oom", 1_800_000_000_000 + minute * 60_000);
            let kills = groups
                .iter()
                .map(|&(path, count)| (path.to_owned(), count))
                .collect();
            let reading = Reading {
                kills,
                takes_in: true,
            };
            let (report, after) = judge(&context, &config, &reading, &mut kept, &memory);
            memory = after;
            answer.0 = report.states[0].health.clone();
            answer.1.clone_from(&report.states[0].reason);
            answer.2.extend(
                report
                    .events
                    .iter()
                    .map(|event| format!("{}: {}", event.name, event.message)),
            );
        }
        answer
    }

    #[test]
    fn containers_are_events_and_services_are_trouble() {
        let none: &[(&str, u64)] = &[];
        let pod: &[(&str, u64)] = &[("/kubepods", 2), ("/kubepods/x", 2)];
        let (health, reason, events) = run("{}", &[(0, none), (1, pod)]);
        assert_eq!(health, Health::Healthy);
        assert_eq!(
            reason,
            "2 processes were killed at a memory limit since the last check, none of them of the system"
        );
        assert_eq!(
            events,
            ["cgroup_oom_kill: 2 processes were killed at a memory limit in /kubepods/x"]
        );

        let docker: &[(&str, u64)] = &[("/system.slice", 1), ("/system.slice/docker-1.scope", 1)];
        assert_eq!(run("{}", &[(0, none), (1, docker)]).0, Health::Healthy);

        let service: &[(&str, u64)] = &[("/system.slice", 1), ("/system.slice/kubelet.service", 1)];
        let (health, reason, events) = run("{}", &[(0, none), (1, service), (60, service)]);
        assert_eq!(health, Health::Degraded);
        assert!(reason.starts_with(
            "1 process was killed at a memory limit in /system.slice/kubelet.service"
        ));
        assert_eq!(events.len(), 1);
        let (health, _, events) = run("{}", &[(0, none), (1, service), (61, service)]);
        assert_eq!((health, events.len()), (Health::Healthy, 2));
        let config = r#"{"system_cgroups":["/kubepods"]}"#;
        assert_eq!(run(config, &[(0, none), (1, pod)]).0, Health::Degraded);
    }

    #[test]
    fn jobs_and_containers_of_the_system_slice() {
        for (path, expected) in [
            (
                "/system.slice/slurmstepd.scope/job_7/step_0/user",
                Health::Healthy,
            ),
            (
                "/system.slice/node1_slurmstepd.scope/job_7",
                Health::Healthy,
            ),
            (
                "/system.slice/containerd.service/kubepods-pod1.slice:cri-containerd:abc",
                Health::Healthy,
            ),
            ("/system.slice/slurmd.service", Health::Degraded),
            ("/system.slice/containerd.service", Health::Degraded),
        ] {
            let none: &[(&str, u64)] = &[];
            let one: &[(&str, u64)] = &[(path, 1)];
            assert_eq!(run("{}", &[(0, none), (1, one)]).0, expected, "{path}");
        }
    }

    #[test]
    fn a_clock_that_is_set_back() {
        let none: &[(&str, u64)] = &[];
        let service: &[(&str, u64)] = &[("/system.slice/kubelet.service", 1)];
        let checks = [(100_000, none), (100_001, service), (0, service)];
        assert_eq!(run("{}", &checks).0, Health::Degraded);
        let later = [checks[0], checks[1], checks[2], (60, service)];
        assert_eq!(run("{}", &later).0, Health::Healthy);
    }

    #[test]
    fn what_was_before_is_no_news() {
        let old: &[(&str, u64)] = &[("/system.slice", 9), ("/system.slice/a.service", 9)];
        let (health, _, events) = run("{}", &[(0, old), (1, old)]);
        assert_eq!((health, events), (Health::Healthy, vec![]));
        serde_json::from_str::<serde_json::Value>(SCHEMA).unwrap();
    }
}
