//! The limits of one call of a guest, and the accounting that enforces those of memory and tables.

use std::time::Duration;

use wasmtime::ResourceLimiter;

/// The numbers. Each can be set per plugin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Sum of all linear memories of an instance, bytes.
    pub memory_bytes: u64,
    /// Sum of all table elements of an instance.
    pub table_elements: u64,
    /// Wall-clock time of a call, host calls included.
    pub deadline: Duration,
    /// Calls into the host.
    pub host_calls: u64,
    /// Bytes that the host hands to the guest in one call.
    pub host_bytes: u64,
    /// Bytes that the guest may hand to the host in one crossing; bounds a report.
    pub transfer_bytes: usize,
    /// Log lines of one call.
    pub log_lines: u32,
    /// States, events and metrics of one report.
    pub states: usize,
    /// Events of one report or one batch of kernel messages.
    pub events: usize,
    /// Metrics of one report.
    pub metrics: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            memory_bytes: 64 << 20,
            table_elements: 100_000,
            deadline: Duration::from_secs(30),
            host_calls: 10_000,
            host_bytes: 32 << 20,
            transfer_bytes: 1 << 20,
            log_lines: 64,
            states: 256,
            events: 1024,
            metrics: 4096,
        }
    }
}

/// Counts bytes and elements over all memories and tables of one store, and refuses growth beyond the limit.
///
/// Wasmtime's own `StoreLimits` bounds each memory by itself, and one guest may have several.
#[derive(Debug)]
pub struct MemoryLimiter {
    limits: Limits,
    memory: u64,
    tables: u64,
    high_water: u64,
    refused: Option<RefusedGrowth>,
}

/// The size that a guest asked for and did not get.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RefusedGrowth {
    /// This many bytes of linear memory in all.
    Memory(u64),
    /// This many table elements in all.
    Table(u64),
}

impl MemoryLimiter {
    /// Nothing used yet.
    pub fn new(limits: Limits) -> Self {
        Self {
            limits,
            memory: 0,
            tables: 0,
            high_water: 0,
            refused: None,
        }
    }

    /// The largest sum of memories so far, bytes.
    pub fn high_water(&self) -> u64 {
        self.high_water
    }

    /// The last growth that was refused, which explains the trap that usually follows.
    pub fn refused(&self) -> Option<RefusedGrowth> {
        self.refused
    }
}

impl ResourceLimiter for MemoryLimiter {
    fn memory_growing(
        &mut self,
        current: usize,
        desired: usize,
        _maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        let total = self
            .memory
            .saturating_add(desired.saturating_sub(current) as u64);
        if total > self.limits.memory_bytes {
            self.refused = Some(RefusedGrowth::Memory(total));
            return Ok(false);
        }
        self.memory = total;
        self.high_water = self.high_water.max(total);
        Ok(true)
    }

    fn table_growing(
        &mut self,
        current: usize,
        desired: usize,
        _maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        let total = self
            .tables
            .saturating_add(desired.saturating_sub(current) as u64);
        if total > self.limits.table_elements {
            self.refused = Some(RefusedGrowth::Table(total));
            return Ok(false);
        }
        self.tables = total;
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_memories_share_one_bound() {
        let limits = Limits {
            memory_bytes: 100,
            table_elements: 10,
            ..Limits::default()
        };
        let mut limiter = MemoryLimiter::new(limits);
        assert!(limiter.memory_growing(0, 60, None).unwrap());
        assert!(limiter.memory_growing(0, 40, None).unwrap());
        assert!(!limiter.memory_growing(40, 41, None).unwrap());
        assert_eq!(limiter.refused(), Some(RefusedGrowth::Memory(101)));
        assert_eq!(limiter.high_water(), 100);
        assert!(limiter.table_growing(0, 10, None).unwrap());
        assert!(!limiter.table_growing(0, 1, None).unwrap());
    }
}
