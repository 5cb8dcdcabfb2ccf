//! Converts between the contract's generated types and the plain ones of `model/`.

use crate::{
    capability::{
        printable,
        wire::{checker, types as wit},
    },
    model,
    node::error::SourceError,
};
use std::time::Duration;

impl From<wit::Health> for model::Health {
    fn from(health: wit::Health) -> Self {
        match health {
            wit::Health::Healthy => Self::Healthy,
            wit::Health::Degraded => Self::Degraded,
            wit::Health::Unhealthy => Self::Unhealthy,
            wit::Health::Initializing => Self::Initializing,
            wit::Health::Other(word) => Self::Other(word),
        }
    }
}

impl From<wit::RepairAction> for model::RepairAction {
    fn from(action: wit::RepairAction) -> Self {
        match action {
            wit::RepairAction::IgnoreNoActionRequired => Self::IgnoreNoActionRequired,
            wit::RepairAction::RebootSystem => Self::RebootSystem,
            wit::RepairAction::HardwareInspection => Self::HardwareInspection,
            wit::RepairAction::CheckUserAppAndGpu => Self::CheckUserAppAndGpu,
            wit::RepairAction::Other(word) => Self::Other(word),
        }
    }
}

impl From<wit::SuggestedActions> for model::SuggestedActions {
    fn from(actions: wit::SuggestedActions) -> Self {
        Self {
            description: actions.description,
            repair_actions: actions.repair_actions.into_iter().map(Into::into).collect(),
        }
    }
}

impl From<wit::Subject> for model::Subject {
    fn from(subject: wit::Subject) -> Self {
        match subject {
            wit::Subject::Node => Self::Node,
            wit::Subject::Gpu(gpu) => Self::Gpu {
                uuid: gpu.uuid,
                serial: gpu.serial,
                pci_id: gpu.pci_id,
            },
            wit::Subject::Port(port) => Self::Port {
                device: port.device,
                port: port.port,
            },
            wit::Subject::Mount(path) => Self::Mount(path),
            wit::Subject::Unit(name) => Self::Unit(name),
            wit::Subject::Other((kind, id)) => Self::Other { kind, id },
        }
    }
}

impl From<model::Subject> for wit::Subject {
    fn from(subject: model::Subject) -> Self {
        match subject {
            model::Subject::Node => Self::Node,
            model::Subject::Gpu {
                uuid,
                serial,
                pci_id,
            } => Self::Gpu(wit::GpuId {
                uuid,
                serial,
                pci_id,
            }),
            model::Subject::Port { device, port } => Self::Port(wit::PortId { device, port }),
            model::Subject::Mount(path) => Self::Mount(path),
            model::Subject::Unit(name) => Self::Unit(name),
            model::Subject::Other { kind, id } => Self::Other((kind, id)),
        }
    }
}

impl From<wit::Evidence> for model::Evidence {
    fn from(evidence: wit::Evidence) -> Self {
        match evidence {
            wit::Evidence::Kmsg(sequence) => Self::Kmsg(sequence),
            wit::Evidence::File(path) => Self::File(path),
            wit::Evidence::Nvml(reading) => Self::Nvml(reading),
            wit::Evidence::Other(text) => Self::Other(text),
        }
    }
}

impl From<model::Evidence> for wit::Evidence {
    fn from(evidence: model::Evidence) -> Self {
        match evidence {
            model::Evidence::Kmsg(sequence) => Self::Kmsg(sequence),
            model::Evidence::File(path) => Self::File(path),
            model::Evidence::Nvml(reading) => Self::Nvml(reading),
            model::Evidence::Other(text) => Self::Other(text),
        }
    }
}

impl From<wit::Recovery> for model::Recovery {
    fn from(recovery: wit::Recovery) -> Self {
        match recovery {
            wit::Recovery::NextGoodReading => Self::NextGoodReading,
            wit::Recovery::Reboot => Self::Reboot,
            wit::Recovery::At(time) => Self::At(time),
            wit::Recovery::SetHealthy => Self::SetHealthy,
            wit::Recovery::Other(word) => Self::Other(word),
        }
    }
}

impl From<wit::HealthState> for model::HealthState {
    fn from(state: wit::HealthState) -> Self {
        Self {
            name: state.name,
            time: state.time,
            health: state.health.into(),
            reason: state.reason,
            error: state.error,
            suggested_actions: state.suggested_actions.map(Into::into),
            subject: state.subject.map(Into::into),
            recovery: state.recovery.into_iter().map(Into::into).collect(),
            latch: state.latch,
            evidence: state.evidence.into_iter().map(Into::into).collect(),
            extra_info: state.extra_info,
        }
    }
}

impl From<wit::Event> for model::Event {
    fn from(event: wit::Event) -> Self {
        Self {
            time: event.time,
            name: event.name,
            event_type: match event.event_type {
                wit::EventType::Unknown => model::EventType::Unknown,
                wit::EventType::Info => model::EventType::Info,
                wit::EventType::Warning => model::EventType::Warning,
                wit::EventType::Critical => model::EventType::Critical,
                wit::EventType::Fatal => model::EventType::Fatal,
                wit::EventType::Other(word) => model::EventType::Other(word),
            },
            message: event.message,
            subject: event.subject.map(Into::into),
            evidence: event.evidence.into_iter().map(Into::into).collect(),
            extra_info: event.extra_info,
            kernel_line: None,
            merge: event.merge.map(|merge| model::Merge {
                key: merge.key,
                window_seconds: merge.window_seconds,
            }),
        }
    }
}

impl From<wit::Metric> for model::Metric {
    fn from(metric: wit::Metric) -> Self {
        Self {
            name: metric.name,
            labels: metric.labels,
            value: metric.value,
            kind: match metric.kind {
                wit::MetricKind::Gauge => model::MetricKind::Gauge,
                wit::MetricKind::Counter => model::MetricKind::Counter,
                wit::MetricKind::Histogram => model::MetricKind::Histogram,
                wit::MetricKind::Other(word) => model::MetricKind::Other(word),
            },
        }
    }
}

impl From<wit::Report> for model::Report {
    fn from(report: wit::Report) -> Self {
        Self {
            supported: report.supported,
            states: report.states.into_iter().map(Into::into).collect(),
            events: report.events.into_iter().map(Into::into).collect(),
            metrics: report.metrics.into_iter().map(Into::into).collect(),
        }
    }
}

impl From<checker::ComponentDescriptor> for model::ComponentDescriptor {
    fn from(component: checker::ComponentDescriptor) -> Self {
        let says = |key: &str, value: &str| {
            let mut extra = component.extra.iter();
            extra.any(|(k, v)| k == key && v == value)
        };
        Self {
            judged_by_kernel_log: says("judged_by", "kernel-log"),
            without_scan: says("without", "scanner"),
            without_kmsg_watcher: says("without", "kmsg-watcher"),
            name: component.name,
            description: component.description,
            tags: component.tags,
            interval: component.interval_ms.map(Duration::from_millis),
            run_mode: match component.run_mode {
                checker::RunMode::Auto => model::RunMode::Auto,
                checker::RunMode::Manual | checker::RunMode::Other(_) => model::RunMode::Manual,
            },
            set_healthy: match component.set_healthy {
                checker::SetHealthyMode::Unsupported => model::SetHealthy::Unsupported,
                checker::SetHealthyMode::ClearsEvents => model::SetHealthy::ClearsEvents,
                checker::SetHealthyMode::Marks | checker::SetHealthyMode::Other(_) => {
                    model::SetHealthy::Marks
                }
            },
            metrics: component
                .metrics
                .into_iter()
                .map(|metric| model::MetricDescription {
                    name: metric.name,
                    help: metric.help,
                    buckets: metric.buckets,
                })
                .collect(),
            config_schema: component.config_schema,
        }
    }
}

/// A guest may make these errors up, so their texts are bounded and cannot forge log lines.
impl From<wit::AccessError> for SourceError {
    fn from(error: wit::AccessError) -> Self {
        match error {
            wit::AccessError::Denied(what) => Self::Denied(printable(&what)),
            wit::AccessError::NotSupported(what) => Self::NotSupported(printable(&what)),
            wit::AccessError::NotFound(what) => Self::NotFound(printable(&what)),
            wit::AccessError::TooLarge(info) => Self::TooLarge {
                what: printable(&info.what),
                size: info.size,
                limit: info.limit,
            },
            wit::AccessError::TimedOut(info) => Self::TimedOut {
                what: printable(&info.what),
                after: Duration::from_millis(info.after_ms),
                last_good: info.last_good,
            },
            wit::AccessError::SourceLost(what) => Self::SourceLost(printable(&what)),
            wit::AccessError::NeedsReset(what) => Self::NeedsReset(printable(&what)),
            wit::AccessError::InvalidArgument(text) => Self::Invalid(printable(&text)),
            wit::AccessError::OverBudget(text) | wit::AccessError::Other(text) => {
                Self::Other(printable(&text))
            }
        }
    }
}

impl From<&model::CheckContext> for wit::CheckContext {
    fn from(context: &model::CheckContext) -> Self {
        Self {
            component: context.component.clone(),
            now: context.now,
            trigger: match context.trigger {
                model::Trigger::Startup => wit::Trigger::Startup,
                model::Trigger::Scheduled => wit::Trigger::Scheduled,
                model::Trigger::Manual => wit::Trigger::Manual,
                model::Trigger::Event => wit::Trigger::Event,
                model::Trigger::SetHealthy => wit::Trigger::SetHealthy,
            },
            boot_id: context.boot_id.clone(),
            boot_time: context.boot_time,
            previous_check: context.previous_check,
            extra: Vec::new(),
        }
    }
}
