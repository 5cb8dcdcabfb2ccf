//! The table of tracked connections.
//!
//! Sources: `nf_conntrack_count` and `nf_conntrack_max` (`Documentation/networking/nf_conntrack-sysctl.rst`);
//! `/proc/net/stat/nf_conntrack`, a headline and one line of hexadecimal numbers for each processor
//! (`net/netfilter/nf_conntrack_standalone.c`, `ct_cpu_seq_show`). `drop` counts packets that were dropped because
//! the table was full or there was no memory for an entry; and those of two packets that wanted the same entry at once,
//! which also count as `insert_failed` (`net/netfilter/nf_conntrack_core.c`, `nf_ct_resolve_clash`): on a node of
//! Kubernetes name look-ups do that every day. So the growth of `drop` beyond that of `insert_failed` is certain to be for
//! want of an entry.

/// The known facts about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conntrack {
    /// Entries.
    pub count: u64,
    /// Most entries; not 0, which is no limit (`nf_conntrack_core.c`, `__nf_conntrack_alloc`).
    pub max: u64,
    /// Dropped packets since boot, where the kernel tells.
    pub drops: Option<u64>,
    /// Entries that could not be made since boot, where it tells.
    pub failed: Option<u64>,
}

/// Counters at the last check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PreviousCounters {
    /// Dropped packets.
    pub drops: u64,
    /// Entries that could not be made.
    pub failed: u64,
}

impl PreviousCounters {
    /// From what [`PreviousCounters::save`] gave in this boot.
    pub fn restore(saved: &str, boot_id: &str) -> Option<Self> {
        let mut words = saved.split(' ');
        if words.next()? != boot_id {
            return None;
        }
        let (drops, failed) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
        Some(Self { drops, failed })
    }

    /// As text.
    pub fn save(self, boot_id: &str) -> String {
        format!("{boot_id} {} {}", self.drops, self.failed)
    }
}

impl Conntrack {
    /// From the texts of the files; nothing where the table has no limit (0).
    ///
    /// # Errors
    /// In words, where they hold no numbers.
    pub fn new(count: &str, max: &str, stat: &str) -> Result<Option<Self>, String> {
        let number = |name: &str, text: &str| -> Result<u64, String> {
            let number = text.trim().parse();
            number.map_err(|_| format!("{name} holds no number"))
        };
        let (count, max) = (
            number("nf_conntrack_count", count)?,
            number("nf_conntrack_max", max)?,
        );
        Ok((max > 0).then(|| Self {
            count,
            max,
            drops: sum(stat, "drop"),
            failed: sum(stat, "insert_failed"),
        }))
    }

    /// The counters, to be kept.
    pub fn counters(&self) -> Option<PreviousCounters> {
        let drops = self.drops?;
        Some(PreviousCounters {
            drops,
            failed: self.failed.unwrap_or(0),
        })
    }

    /// Packets that were certainly dropped for want of an entry since the last check.
    pub fn new_drops(&self, before: Option<PreviousCounters>) -> u64 {
        let Some((now, before)) = self.counters().zip(before) else {
            return 0;
        };
        let drops = now.drops.saturating_sub(before.drops);
        drops.saturating_sub(now.failed.saturating_sub(before.failed))
    }
}

fn sum(stat: &str, column: &str) -> Option<u64> {
    let mut lines = stat.lines();
    let mut names = lines.next()?.split_ascii_whitespace();
    let column = names.position(|name| name == column)?;
    let numbers = lines.filter_map(|line| {
        let word = line.split_ascii_whitespace().nth(column)?;
        u64::from_str_radix(word, 16).ok()
    });
    Some(numbers.fold(0, u64::saturating_add))
}

#[cfg(test)]
mod tests;
