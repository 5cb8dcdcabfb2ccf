//! The traits that an author implements, and how a plugin describes itself.

use crate::bindings::checker::exports::gpud::plugin::checker as wit;
use crate::{CheckContext, Error, Event, Message, Report};

/// Judges a component. Implemented on an empty struct: an instance lives for one call.
pub trait Checker {
    /// One check. `?` on a capability error gives a state that says which source did not answer.
    ///
    /// # Errors
    /// [`Error`], which the host shows as this component's state.
    fn check(context: &CheckContext) -> Result<Report, Error>;
}

/// Watches the kernel log.
pub trait KmsgWatcher {
    /// Regular expressions (RE2 syntax) that pick the messages to deliver.
    fn patterns(component: &str) -> Vec<String>;

    /// Turns messages, oldest first, into events.
    ///
    /// # Errors
    /// [`Error`]; the messages are then delivered again a few times before they are given up with a log line.
    fn on_messages(context: &CheckContext, messages: Vec<Message>) -> Result<Vec<Event>, Error>;
}

/// Judges the moment, without history, for `gpud scan` and manual triggers.
pub trait Scanner {
    /// One look.
    ///
    /// # Errors
    /// As [`Checker::check`].
    fn scan(context: &CheckContext) -> Result<Report, Error>;
}

/// A checker that shares a plugin with others. [`crate::member!`] implements it.
pub trait Member: Checker {
    /// The component's name, by which calls find the checker.
    const NAME: &'static str;
    /// Whether it watches the kernel log.
    const WATCHES_KMSG: bool = false;
    /// Whether it has a scan of its own.
    const SCANS: bool = false;

    /// Describes the component.
    fn descriptor() -> Descriptor;

    /// As [`KmsgWatcher::patterns`]; none for a checker that does not watch the kernel log.
    fn patterns(_component: &str) -> Vec<String> {
        Vec::new()
    }

    /// As [`KmsgWatcher::on_messages`].
    ///
    /// # Errors
    /// As [`KmsgWatcher::on_messages`].
    fn on_messages(_context: &CheckContext, _messages: Vec<Message>) -> Result<Vec<Event>, Error> {
        Ok(Vec::new())
    }

    /// As [`Scanner::scan`]; a check for a checker that has no scan of its own.
    ///
    /// # Errors
    /// As [`Checker::check`].
    fn scan(context: &CheckContext) -> Result<Report, Error> {
        Self::check(context)
    }
}

/// The description of a plugin: one component, or several.
#[derive(Debug, Clone)]
pub struct Descriptor {
    components: Vec<wit::ComponentDescriptor>,
}

impl Descriptor {
    /// A plugin of one component with this unique name and a line about it; every minute, no set-healthy. The name
    /// is its first tag.
    pub fn new(name: &str, description: &str) -> Self {
        Self {
            components: vec![wit::ComponentDescriptor {
                name: name.to_owned(),
                description: description.to_owned(),
                tags: vec![name.to_owned()],
                interval_ms: None,
                run_mode: wit::RunMode::Auto,
                set_healthy: wit::SetHealthyMode::Unsupported,
                metrics: Vec::new(),
                config_schema: None,
                extra: Vec::new(),
            }],
        }
    }

    /// A plugin of all these.
    #[doc(hidden)]
    pub fn of<const N: usize>(descriptors: [Descriptor; N]) -> Self {
        Self {
            components: descriptors
                .into_iter()
                .flat_map(|descriptor| descriptor.components)
                .collect(),
        }
    }

    /// Adds the components of another descriptor: a plugin of several components.
    pub fn and(mut self, other: Descriptor) -> Self {
        self.components.extend(other.components);
        self
    }

    fn last(mut self, change: impl FnOnce(&mut wit::ComponentDescriptor)) -> Self {
        if let Some(component) = self.components.last_mut() {
            change(component);
        }
        self
    }

    /// Replaces the tags.
    pub fn tags(self, tags: &[&str]) -> Self {
        self.last(|c| c.tags = tags.iter().map(|&tag| tag.to_owned()).collect())
    }

    /// Seconds between two scheduled checks.
    pub fn interval_seconds(self, seconds: u64) -> Self {
        self.last(|c| c.interval_ms = Some(seconds.saturating_mul(1000)))
    }

    /// Runs only when triggered.
    pub fn manual(self) -> Self {
        self.last(|c| c.run_mode = wit::RunMode::Manual)
    }

    /// An operator's set-healthy deletes the component's events and checks again.
    pub fn set_healthy_clears_events(self) -> Self {
        self.last(|c| c.set_healthy = wit::SetHealthyMode::ClearsEvents)
    }

    /// An operator's set-healthy is recorded as a mark (see [`crate::history`]), and the component checked again.
    pub fn set_healthy_marks(self) -> Self {
        self.last(|c| c.set_healthy = wit::SetHealthyMode::Marks)
    }

    /// The kernel log is all that this component judges by: while it cannot be read, the host shows "unknown" (Degraded)
    /// where the component says healthy.
    pub fn judged_by_kernel_log(self) -> Self {
        self.last(|c| {
            c.extra
                .push(("judged_by".to_owned(), "kernel-log".to_owned()))
        })
    }

    /// Says that the component has no use for this export, which its plugin has for others.
    #[doc(hidden)]
    pub fn without_export(self, export: &str) -> Self {
        self.last(|c| c.extra.push(("without".to_owned(), export.to_owned())))
    }

    /// Describes a metric: full name, help with unit.
    pub fn metric(self, name: &str, help: &str) -> Self {
        self.histogram(name, help, &[])
    }

    /// Describes a histogram by its buckets' upper bounds.
    pub fn histogram(self, name: &str, help: &str, buckets: &[f64]) -> Self {
        self.last(|c| {
            c.metrics.push(wit::MetricDescription {
                name: name.to_owned(),
                help: help.to_owned(),
                buckets: buckets.to_vec(),
            });
        })
    }

    /// JSON Schema of the configuration.
    pub fn config_schema(self, schema: &str) -> Self {
        self.last(|c| c.config_schema = Some(schema.to_owned()))
    }

    #[doc(hidden)]
    pub fn into_wit(self, version: &str) -> wit::Descriptor {
        wit::Descriptor {
            version: version.to_owned(),
            components: self.components,
            extra: Vec::new(),
        }
    }
}
