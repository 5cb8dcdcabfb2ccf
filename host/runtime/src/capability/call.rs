//! One call of a guest, from the host's side: who calls, what it may reach, what it has used so far.

use std::{
    collections::BTreeMap,
    sync::Arc,
    time::{Duration, Instant},
};

use wasmtime::component::ResourceTable;
use wasmtime_wasi::{WasiCtx, WasiCtxView, WasiView};

use super::wire::types::AccessError;
use super::{Grants, Interface};
use crate::{
    limits::MemoryLimiter,
    node::Node,
    store::{Store, StoreError},
    wasi,
};

/// The caller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// The plugin, as the operator named it.
    pub plugin: String,
    /// The component; empty while the plugin describes itself.
    pub component: String,
}

/// Key-values of a component.
pub type Values = Arc<BTreeMap<String, Vec<u8>>>;

/// The resources that a call has used. `/metrics` shows them per checker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Bill {
    /// Wall-clock time from taking an instance to having the answer.
    pub time: Duration,
    /// Part of it that the machine or the database took to answer.
    pub waiting: Duration,
    /// Largest sum of the instance's linear memories, bytes.
    pub memory_high_water: u64,
    /// Calls into the host.
    pub host_calls: u64,
    /// Files and folders that these opened or looked at.
    pub files: u64,
    /// Bytes that the host handed to the guest and took from it.
    pub bytes: u64,
}

/// The resources that a call may still use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budget {
    /// Calls into the host.
    pub host_calls: u64,
    /// Bytes handed over by the host.
    pub bytes: u64,
    /// Whether an answer was larger than what was left of the bytes.
    pub is_overdrawn: bool,
    /// Lines written to the log.
    pub log_lines: u32,
}

/// The state of one call. The capability files implement the contract's interfaces on it.
pub struct Call {
    /// The caller.
    pub identity: Arc<Identity>,
    /// The granted capabilities; `None` while the plugin describes itself, when it has none.
    pub grants: Option<Arc<Grants>>,
    /// The machine.
    pub node: Arc<Node>,
    /// The daemon's store; `None` in a scan.
    pub store: Option<Store>,
    /// Configuration, one JSON object.
    pub config: Arc<str>,
    /// The content of its key-value store, if the call should not see the stored one.
    pub values: Option<Values>,
    /// When the call ends at the latest.
    pub deadline: Instant,
    /// The remaining resources.
    pub budget: Budget,
    /// The used resources.
    pub bill: Bill,
    /// Log lines beyond the budget.
    pub dropped_log_lines: u64,
    /// Values to be written to the key-value store if the call ends well; `None` deletes.
    pub state_writes: BTreeMap<String, Option<Vec<u8>>>,
    /// Why the last read of the store failed, or is under way.
    pub store_failure: Option<StoreError>,
    /// Handles.
    pub table: ResourceTable,
}

impl Call {
    /// Counts a call into the host and checks that its interface was granted; every capability begins with it. `what`
    /// begins with the interface's word. After an answer that was too large for what was left of the bytes nothing more is
    /// fetched: it would be thrown away as well.
    pub(super) fn enter(&mut self, what: &str) -> Result<Arc<Grants>, AccessError> {
        self.bill.host_calls = self.bill.host_calls.saturating_add(1);
        self.budget.host_calls = self.budget.host_calls.checked_sub(1).ok_or_else(|| {
            AccessError::OverBudget(format!("{what}: this call has used up its host calls"))
        })?;
        if self.budget.is_overdrawn {
            return Err(no_bytes_left(what));
        }
        let grants = self.grants.clone().ok_or_else(|| {
            AccessError::Denied(format!(
                "{what}: a plugin that describes itself cannot reach anything"
            ))
        })?;
        let interface = Interface::from_word(what.split('.').next().unwrap_or(what));
        if interface.is_some_and(|interface| grants.allow(interface)) {
            Ok(grants)
        } else {
            Err(AccessError::Denied(format!("{what}: not granted")))
        }
    }

    /// Counts bytes that go to the guest.
    pub(super) fn charge(&mut self, what: &str, bytes: usize) -> Result<(), AccessError> {
        let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
        self.bill.bytes = self.bill.bytes.saturating_add(bytes);
        let Some(left) = self.budget.bytes.checked_sub(bytes) else {
            self.budget.is_overdrawn = true;
            return Err(no_bytes_left(what));
        };
        self.budget.bytes = left;
        Ok(())
    }

    /// Counts files and folders that were opened or looked at.
    pub(super) fn touch(&mut self, files: usize) {
        let files = u64::try_from(files).unwrap_or(u64::MAX);
        self.bill.files = self.bill.files.saturating_add(files);
    }

    /// Waits for the machine or the database, and counts how long.
    pub(super) async fn wait<T>(&mut self, answer: impl Future<Output = T>) -> T {
        let asked = Instant::now();
        let answer = answer.await;
        self.bill.waiting += asked.elapsed();
        answer
    }

    /// Waits for an answer of the store. If the call ends without an answer after a failed one, the store is to blame.
    pub(super) async fn read<T>(
        &mut self,
        answer: impl Future<Output = Result<T, StoreError>>,
    ) -> Result<T, AccessError> {
        // Until the answer is there: the call may end before.
        let before = self.store_failure.replace(StoreError::Slow);
        let answer = self.wait(answer).await;
        self.store_failure = answer.as_ref().err().cloned().or(before);
        Ok(answer?)
    }

    /// Time left until the deadline.
    pub(super) fn remaining(&self) -> Duration {
        self.deadline.saturating_duration_since(Instant::now())
    }
}

fn no_bytes_left(what: &str) -> AccessError {
    AccessError::OverBudget(format!("{what}: this call has used up its bytes"))
}

/// The data of a Wasmtime store: a [`Call`], its memory limiter and an empty WASI world.
pub struct Host {
    /// The call.
    pub call: Call,
    /// Counts and bounds memory and tables.
    pub limiter: MemoryLimiter,
    /// No files, no environment, no network; output goes to the log. Made when a guest first asks for it.
    pub wasi: Option<WasiCtx>,
}

impl WasiView for Host {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        let ctx = self
            .wasi
            .get_or_insert_with(|| wasi::context(&self.call.identity));
        WasiCtxView {
            ctx,
            table: &mut self.call.table,
        }
    }
}
