//! A component that a WebAssembly plugin judges.

use std::{sync::Arc, time::Duration};

use super::Services;
use crate::{
    model::{CheckContext, ComponentDescriptor, Event, Report},
    node::kmsg::KernelMessage,
    runtime::{CallContext, Finished, Plugin, Values},
};

/// The interval of checks if neither the descriptor nor the operator sets one.
const DEFAULT_INTERVAL: Duration = Duration::from_secs(60);

/// One component of a loaded plugin.
pub struct WasmChecker {
    plugin: Arc<Plugin>,
    descriptor: ComponentDescriptor,
    config: Arc<str>,
}

impl WasmChecker {
    /// A component of a plugin with its configuration, a JSON object.
    pub fn new(plugin: Arc<Plugin>, descriptor: ComponentDescriptor, config: Arc<str>) -> Self {
        Self {
            plugin,
            descriptor,
            config,
        }
    }

    /// Returns the plugin's description of it.
    pub fn descriptor(&self) -> &ComponentDescriptor {
        &self.descriptor
    }

    /// Between two scheduled checks.
    pub fn interval(&self) -> Duration {
        self.descriptor.interval.unwrap_or(DEFAULT_INTERVAL)
    }

    /// Whether it has a scan of its own.
    pub fn scans(&self) -> bool {
        self.plugin.scans() && !self.descriptor.without_scan
    }

    /// Whether it watches the kernel log.
    pub fn watches_kmsg(&self) -> bool {
        self.plugin.watches_kmsg() && !self.descriptor.without_kmsg_watcher
    }

    /// Whether it judges by the kernel log and the stored events alone. It reads other sources only for names.
    pub(super) fn judges_by_log_alone(&self) -> bool {
        let of_this_machine = ["sysfs", "exec", "net"];
        self.descriptor.judged_by_kernel_log
            || !of_this_machine.iter().any(|word| self.asks_for(word))
    }

    /// Whether it imports the interface of this grant.
    pub(super) fn asks_for(&self, grant: &str) -> bool {
        self.plugin.asks_for().iter().any(|word| word == grant)
    }

    pub(super) async fn check(
        &self,
        services: &Services,
        context: &CheckContext,
    ) -> Finished<Report> {
        self.plugin
            .check(&self.call_context(services), context)
            .await
    }

    pub(super) async fn scan(
        &self,
        services: &Services,
        context: &CheckContext,
    ) -> Finished<Report> {
        self.plugin
            .scan(&self.call_context(services), context)
            .await
    }

    pub(super) async fn patterns(&self, services: &Services) -> Finished<Vec<String>> {
        self.plugin.patterns(&self.call_context(services)).await
    }

    pub(super) async fn on_messages(
        &self,
        services: &Services,
        context: &CheckContext,
        messages: &[Arc<KernelMessage>],
    ) -> Finished<Vec<Event>> {
        let messages = messages.iter().map(Arc::as_ref);
        self.plugin
            .on_messages(&self.call_context(services), context, messages)
            .await
    }

    /// As [`Self::check`], with key-values of its own.
    pub(super) async fn check_with(
        &self,
        services: &Services,
        context: &CheckContext,
        values: Values,
    ) -> Finished<Report> {
        let call_context = CallContext {
            values: Some(values),
            ..self.call_context(services)
        };
        self.plugin.check(&call_context, context).await
    }

    /// As [`Self::on_messages`], with key-values of its own.
    pub(super) async fn on_messages_with(
        &self,
        services: &Services,
        context: &CheckContext,
        messages: &[Arc<KernelMessage>],
        values: Values,
    ) -> Finished<Vec<Event>> {
        let call_context = CallContext {
            values: Some(values),
            ..self.call_context(services)
        };
        let messages = messages.iter().map(Arc::as_ref);
        self.plugin
            .on_messages(&call_context, context, messages)
            .await
    }

    fn call_context(&self, services: &Services) -> CallContext<'_> {
        CallContext {
            component: &self.descriptor.name,
            store: services.store.clone(),
            config: Arc::clone(&self.config),
            values: None,
        }
    }
}
