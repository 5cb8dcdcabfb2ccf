//! A backend with fixed answers, for the server's tests.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};

use bytes::Bytes;
use futures_util::FutureExt as _;
use jiff::{Timestamp, tz::TimeZone};
use serde_json::json;
use tokio::sync::broadcast;

use gpud_summary::{Since, StateKey};

use super::{
    Access, App, Backend, ComponentStates, DeregisterError, RegisterError, Reply, Sample,
    SetHealthyError,
};
use crate::{
    component::feed::{Change, ChangeId, Subscription},
    model::{Event, EventType, Health, HealthState, Subject},
    node::error::SourceError,
    store::{Cursor, Entry, EntryContent, EntryId, Page, StoreError, StoredEvent, TimelineRead},
    wire::{
        Comparison, Difference, Differing, GoDuration, GpuInfo, HealthStatePlugin, MachineInfo,
        MemoryInfo, MetaTime, Origin, PluginSpec, Render, RunBashScript, ShadowView, Step,
    },
};

/// 2025-03-04T05:06:07Z.
pub(super) const NOW: i64 = 1_741_064_767;

/// `cpu`, `disk`, the Xid check, a GPU check without GPUs, a script plugin, and one whose check panics.
#[derive(Default)]
pub(super) struct Fake {
    /// True: no component at all.
    pub(super) empty: bool,
    /// True: whatever can fail does.
    pub(super) broken: bool,
    /// True: an event has 200 KiB of text.
    pub(super) large: bool,
    pub(super) injected: Mutex<Vec<(String, String)>>,
    pub(super) inventories: AtomicUsize,
    pub(super) asked_samples: Mutex<Vec<(Option<Vec<String>>, i64)>>,
    pub(super) asked_events: Mutex<Vec<i64>>,
    pub(super) asked_timeline: Mutex<Vec<TimelineRead>>,
    /// The feed that readers of the stream follow; without it their stream ends at once.
    pub(super) feed: Mutex<Option<broadcast::Sender<Arc<Change>>>>,
    /// Changes that a reader that has seen something has missed; `None` if they are not known.
    pub(super) missed: Mutex<Option<Vec<Arc<Change>>>>,
}

pub(super) const XID: &str = "accelerator-nvidia-error-xid";
pub(super) const GPU: &str = "accelerator-nvidia-memory";

/// An app over it whose clock stands still.
pub(super) fn app(backend: Arc<Fake>) -> App {
    let mut app = App::new(backend, Access::default(), false);
    app.now = || Timestamp::from_second(NOW).unwrap();
    app.zone = TimeZone::UTC;
    app
}

fn state(component: &str) -> ComponentStates {
    let time = Some(NOW as u64 * 1000);
    let healthy = HealthState {
        name: Some(component.into()),
        time,
        reason: "ok".into(),
        ..Default::default()
    };
    let (origin, state) = match component {
        XID => (
            Origin::default(),
            HealthState {
                name: Some("error_xid".into()),
                time: None,
                reason: "XIDComponent is healthy".into(),
                ..healthy
            },
        ),
        "fan-tray" => (
            Origin {
                component_type: "custom-plugin".into(),
                run_mode: "manual".into(),
                raw_output: "fan tray probe\n{\"rpm\": 0}\n".into(),
            },
            HealthState {
                name: Some("check".into()),
                health: Health::Unhealthy,
                reason: "unexpected plugin output".into(),
                extra_info: vec![("rpm".into(), "0".into())],
                ..healthy
            },
        ),
        "cpu" => (
            Origin::default(),
            HealthState {
                extra_info: vec![(
                    "data".into(),
                    r#"{"cores":{"logical":8},"note":"<&>"}"#.into(),
                )],
                ..healthy
            },
        ),
        _ => (Origin::default(), healthy),
    };
    ComponentStates {
        component: component.into(),
        origin,
        states: vec![state],
    }
}

fn event(seconds: u64, message: &str) -> Event {
    Event {
        time: seconds * 1000 + 999,
        name: "OOM".into(),
        event_type: EventType::Warning,
        message: message.into(),
        ..Default::default()
    }
}

impl Backend for Fake {
    fn component_names(&self) -> Vec<String> {
        if self.empty {
            return Vec::new();
        }
        [XID, GPU, "cpu", "disk", "fan-tray"]
            .map(String::from)
            .into()
    }

    fn not_applicable(&self, name: &str) -> Option<String> {
        (name == GPU).then(|| "not applicable here: no GPU".to_owned())
    }

    fn is_known(&self, name: &str) -> bool {
        self.component_names().iter().any(|known| known == name)
    }

    fn is_supported(&self, name: &str) -> bool {
        name != GPU
    }

    fn states(&self, name: &str) -> Option<ComponentStates> {
        Some(state(name))
    }

    fn events(&self, _names: Vec<String>, after: i64) -> Reply<'_, BTreeMap<String, Vec<Event>>> {
        self.asked_events.lock().unwrap().push(after);
        let text = match self.large {
            true => "x".repeat(200 * 1024),
            false => "second\nline".to_owned(),
        };
        let mut events = vec![event(1_741_060_001, &text), event(1_741_060_000, "")];
        events.retain(|event| {
            let second = i64::try_from(event.time / 1000).unwrap();
            !self.broken && second > after
        });
        async move { BTreeMap::from([("cpu".to_owned(), events), ("disk".to_owned(), Vec::new())]) }
            .boxed()
    }

    fn changes(&self, seen: Option<ChangeId>) -> Subscription {
        let feed = self.feed.lock().unwrap();
        let changes = match feed.as_ref() {
            Some(feed) => feed.subscribe(),
            None => broadcast::Sender::new(1).subscribe(),
        };
        Subscription {
            missed: match seen {
                Some(_) => self.missed.lock().unwrap().clone(),
                None => Some(Vec::new()),
            },
            last: ChangeId {
                started: NOW.unsigned_abs(),
                number: 5,
            },
            changes,
        }
    }

    fn timeline(&self, read: TimelineRead) -> Reply<'_, Result<Page, StoreError>> {
        self.asked_timeline.lock().unwrap().push(read);
        let stored = StoredEvent {
            event: event(1_741_060_000, "a\u{1b}[2J<b>"),
            count: 3,
            last_time: 1_741_060_900_000,
        };
        let entry = |id, component: &str, content| Entry {
            id,
            component: component.into(),
            content,
        };
        let change = EntryContent::Change {
            time: 1_741_060_001_000,
            name: "check".into(),
            from: None,
            to: Health::Unhealthy,
            reason: "unexpected plugin output".into(),
            subject: Some(Subject::Unit("fan-tray.service".into())),
        };
        let page = Page {
            entries: vec![
                entry(EntryId::Event(2), "cpu", EntryContent::Event(stored)),
                entry(EntryId::Change(5), "fan-tray", change),
            ],
            next: Some(Cursor {
                time: 1_741_060_001_000,
                id: EntryId::Change(5),
            }),
        };
        let answer = match (self.broken, self.empty) {
            (true, _) => Err(StoreError::Io("disk I/O error".to_owned())),
            (_, true) => Ok(Page::default()),
            _ => Ok(page),
        };
        async move { answer }.boxed()
    }

    fn timeline_event(&self, row: i64) -> Reply<'_, Result<Option<Entry>, StoreError>> {
        let pair = |key: &str, value: &str| (key.to_owned(), value.to_owned());
        let event = Event {
            name: "error_xid".into(),
            event_type: EventType::Fatal,
            kernel_line: Some("NVRM: Xid (PCI:0000:99:00): 79, GPU has fallen off the bus.".into()),
            extra_info: vec![
                pair("xid_catalog", "gpud"),
                pair("gpud_verdict", "Fatal, REBOOT_SYSTEM"),
                pair("nvidia_verdict", "Fatal, REBOOT_SYSTEM"),
            ],
            ..event(
                1_741_060_000,
                "XID 79 OFF_BUS GPU has fallen off the bus detected on GPU PCI:0000:99:00",
            )
        };
        let entry = Entry {
            id: EntryId::Event(row),
            component: XID.into(),
            content: EntryContent::Event(StoredEvent {
                event,
                count: 1,
                last_time: 1_741_060_000_999,
            }),
        };
        let answer = match self.broken {
            true => Err(StoreError::Io("disk I/O error".to_owned())),
            false => Ok((row == 3).then_some(entry)),
        };
        async move { answer }.boxed()
    }

    fn beginnings(&self, states: Vec<(StateKey, Health)>) -> Reply<'_, Result<Since, StoreError>> {
        let known = states.into_iter().map(|(key, _)| (key, 1_741_000_000_000));
        let answer = match self.broken {
            true => Err(StoreError::Io("disk I/O error".to_owned())),
            false => Ok(Since {
                states: known.collect(),
                healthy: Some(1_740_000_000_000),
            }),
        };
        async move { answer }.boxed()
    }

    fn samples(
        &self,
        names: Option<Vec<String>>,
        since: i64,
    ) -> Reply<'_, Result<Vec<Sample>, StoreError>> {
        self.asked_samples.lock().unwrap().push((names, since));
        let sample = |component: &str, name: &str, unix_millis, value| Sample {
            component: component.into(),
            name: name.into(),
            labels: Arc::default(),
            unix_millis,
            value,
        };
        let mut samples = vec![
            sample(
                "disk",
                "disk_used_bytes",
                1_741_064_000_500,
                85_899_345_920.0,
            ),
            sample("cpu", "cpu_used_percent", 1_741_064_060_500, 3.5),
            sample("cpu", "cpu_used_percent", 1_741_064_000_500, 1e-7),
        ];
        samples[0].labels = Arc::new(BTreeMap::from([("mount_point".into(), "/".into())]));
        let answer = match (self.broken, self.empty) {
            (true, _) => Err(StoreError::Io("disk I/O error".to_owned())),
            (_, true) => Ok(Vec::new()),
            _ => Ok(samples),
        };
        async move { answer }.boxed()
    }

    fn trigger(&self, name: String) -> Reply<'_, Option<ComponentStates>> {
        async move {
            assert_ne!(name, "disk", "the check of this one panics");
            self.is_known(&name).then(|| state(&name))
        }
        .boxed()
    }

    fn trigger_tag(&self, tag: String) -> Reply<'_, Vec<ComponentStates>> {
        async move {
            match tag.as_str() {
                "mixed" => vec![state("cpu"), state("fan-tray")],
                "good" => vec![state("cpu")],
                _ => Vec::new(),
            }
        }
        .boxed()
    }

    fn set_healthy(&self, name: String) -> Reply<'_, Result<(), SetHealthyError>> {
        async move {
            match name.as_str() {
                "disk" if self.broken => Err(SetHealthyError::Failed("database is locked".into())),
                "disk" | XID => Ok(()),
                _ => Err(SetHealthyError::Unsupported),
            }
        }
        .boxed()
    }

    fn deregister(&self, name: String) -> Reply<'_, Result<(), DeregisterError>> {
        async move {
            match name.as_str() {
                "fan-tray" if self.broken => Err(DeregisterError::Failed("still running".into())),
                "fan-tray" => Ok(()),
                _ if self.is_known(&name) => Err(DeregisterError::BuiltIn),
                _ => Err(DeregisterError::Unknown),
            }
        }
        .boxed()
    }

    fn register(
        &self,
        specs: Bytes,
        replace: bool,
    ) -> Reply<'_, Result<Vec<String>, RegisterError>> {
        async move {
            match (specs.as_ref(), replace) {
                (b"bad", _) => Err(RegisterError::Invalid(vec!["a".into(), "b".into()])),
                (b"taken", false) => Err(RegisterError::Taken("taken".into())),
                _ => Ok(vec!["fan-tray".into()]),
            }
        }
        .boxed()
    }

    fn plugin_specs(&self) -> Vec<PluginSpec> {
        if self.empty {
            return Vec::new();
        }
        let script = RunBashScript {
            content_type: "plaintext".into(),
            script: "echo a\necho b > /dev/null\n".into(),
        };
        vec![PluginSpec {
            plugin_name: "Fan Tray".into(),
            plugin_type: "component".into(),
            run_mode: "manual".into(),
            tags: vec!["cooling".into()],
            health_state_plugin: Some(HealthStatePlugin {
                steps: vec![Step {
                    name: "read sensors".into(),
                    run_bash_script: Some(script),
                }],
                parser: None,
            }),
            timeout: GoDuration(20_000_000_000),
            interval: GoDuration(300_000_000_000),
            ..Default::default()
        }]
    }

    fn shadow(&self, component: &str) -> Option<ShadowView> {
        let difference = Difference {
            what: "health",
            of: "fan-tray".into(),
            running: "Healthy".into(),
            shadow: "Degraded".into(),
        };
        let comparison = Comparison {
            time: MetaTime(Some(1_741_064_767_000)),
            call: "check",
            differences: vec![difference],
            ..Comparison::default()
        };
        (component == "fan-tray").then(|| ShadowView {
            component: "fan-tray".into(),
            digest: "sha256:00".into(),
            compared: 2,
            same: 1,
            differing: Differing {
                health: 1,
                ..Differing::default()
            },
            comparisons: vec![comparison],
            ..ShadowView::default()
        })
    }

    fn machine_info(&self) -> Reply<'_, Result<MachineInfo, SourceError>> {
        self.inventories.fetch_add(1, Ordering::Relaxed);
        let info = MachineInfo {
            gpud_version: "0.1.0".into(),
            uptime: MetaTime(Some(0)),
            memory_info: Some(MemoryInfo::default()),
            gpu_info: Some(GpuInfo::default()),
            ..Default::default()
        };
        let answer = if self.broken {
            Err(SourceError::NotFound("lsblk".to_owned()))
        } else {
            Ok(info)
        };
        async move { answer }.boxed()
    }

    fn inject(&self, priority: String, message: String) -> Reply<'_, Result<(), SourceError>> {
        self.injected.lock().unwrap().push((priority, message));
        let answer = if self.broken {
            Err(SourceError::Denied("/dev/kmsg".to_owned()))
        } else {
            Ok(())
        };
        async move { answer }.boxed()
    }

    fn prometheus(&self) -> Reply<'_, String> {
        async { "cpu_used_percent{gpud_component=\"cpu\"} 3.5\n".to_owned() }.boxed()
    }

    fn config(&self) -> Box<dyn Render> {
        Box::new(
            json!({"api_version": "v1", "components": null, "events_retention_period": "336h0m0s"}),
        )
    }
}
