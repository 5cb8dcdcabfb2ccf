//! The checker of a component: a WebAssembly plugin or a script.

use std::{sync::Arc, time::Duration};

use tokio_util::sync::CancellationToken;

use super::{ScriptChecker, Services, WasmChecker};
use crate::{
    model::{CheckContext, ComponentDescriptor, Report, RunMode},
    runtime::Finished,
};

/// The checker of a component.
#[derive(Clone)]
pub enum Checker {
    /// A WebAssembly plugin.
    Wasm(Arc<WasmChecker>),
    /// A script.
    Script(Arc<ScriptChecker>),
}

/// The schedule of a component's checks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Schedule {
    /// Never.
    Manual,
    /// Once, at the start.
    Once,
    /// At the start and then this often.
    Every(Duration),
}

/// A check's report with its cost and output.
pub(super) struct CheckedReport {
    /// The report and its cost.
    pub finished: Finished<Report>,
    /// The output of a script.
    pub output: Vec<u8>,
}

impl Checker {
    /// The known facts about the component.
    pub fn descriptor(&self) -> &ComponentDescriptor {
        match self {
            Self::Wasm(checker) => checker.descriptor(),
            Self::Script(checker) => checker.descriptor(),
        }
    }

    /// Returns the schedule of its checks.
    pub fn schedule(&self) -> Schedule {
        if self.descriptor().run_mode == RunMode::Manual {
            return Schedule::Manual;
        }
        match self {
            Self::Wasm(checker) => Schedule::Every(checker.interval()),
            Self::Script(checker) => checker.interval().map_or(Schedule::Once, Schedule::Every),
        }
    }

    /// Whether it asks GPUs.
    pub(super) fn asks_gpus(&self) -> bool {
        match self {
            Self::Wasm(checker) => checker.asks_for("nvml"),
            Self::Script(_) => false,
        }
    }

    /// Returns the time between two tries of a checker that fails.
    pub(super) fn retry_interval(&self) -> Duration {
        match self {
            Self::Wasm(checker) => checker.interval(),
            Self::Script(checker) => checker.interval().unwrap_or_default(),
        }
    }

    /// Returns the WebAssembly plugin if it has a scan of its own.
    pub(super) fn scanner(&self) -> Option<&Arc<WasmChecker>> {
        match self {
            Self::Wasm(checker) if checker.scans() => Some(checker),
            Self::Wasm(_) | Self::Script(_) => None,
        }
    }

    /// Returns the WebAssembly plugin if it watches the kernel log.
    pub(super) fn kmsg_watcher(&self) -> Option<&Arc<WasmChecker>> {
        match self {
            Self::Wasm(checker) if checker.watches_kmsg() => Some(checker),
            Self::Wasm(_) | Self::Script(_) => None,
        }
    }

    /// Runs one check. `stop` ends a script at once; a plugin's call ends when this future is dropped.
    pub(super) async fn check(
        &self,
        services: &Services,
        context: &CheckContext,
        stop: &CancellationToken,
    ) -> CheckedReport {
        match self {
            Self::Wasm(checker) => CheckedReport {
                finished: checker.check(services, context).await,
                output: Vec::new(),
            },
            Self::Script(checker) => checker.check(context, stop).await,
        }
    }
}
