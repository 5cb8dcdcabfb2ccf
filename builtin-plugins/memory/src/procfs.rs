//! A reader for `/proc/meminfo` (kernel: `Documentation/filesystems/proc.rst`).

/// Host memory, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct HostMemory {
    /// All that the kernel manages.
    pub total: u64,
    /// Used by nothing.
    pub free: u64,
    /// What programs can still get without swapping.
    pub available: u64,
    /// Address space for `vmalloc`.
    pub vmalloc_total: u64,
    /// Used part of it.
    pub vmalloc_used: u64,
}

impl HostMemory {
    /// Reads `Name: ‹n› kB` lines; names that are not there count as 0, except `MemTotal`. Kernels before 3.14 do
    /// not estimate what is available: page cache, reclaimable slabs and free memory are taken then.
    ///
    /// # Errors
    /// In words: a number that cannot be read, or no total.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut memory = Self::default();
        let mut available = None;
        let mut reclaimable = 0u64;
        for line in text.lines() {
            let Some((name, value)) = line.split_once(':') else {
                continue;
            };
            if !matches!(
                name,
                "MemTotal"
                    | "MemFree"
                    | "MemAvailable"
                    | "Cached"
                    | "SReclaimable"
                    | "VmallocTotal"
                    | "VmallocUsed"
            ) {
                continue;
            }
            let bytes = kilobytes(value).ok_or_else(|| format!("/proc/meminfo: {line:?}"))?;
            match name {
                "MemTotal" => memory.total = bytes,
                "MemFree" => memory.free = bytes,
                "MemAvailable" => available = Some(bytes),
                "VmallocTotal" => memory.vmalloc_total = bytes,
                "VmallocUsed" => memory.vmalloc_used = bytes,
                _ => reclaimable = reclaimable.saturating_add(bytes),
            }
        }
        if memory.total == 0 {
            return Err("/proc/meminfo has no MemTotal".to_owned());
        }
        memory.available = available.unwrap_or(reclaimable.saturating_add(memory.free));
        Ok(memory)
    }

    /// Total less available.
    pub fn used(&self) -> u64 {
        self.total.saturating_sub(self.available)
    }

    /// Used in percent of the total.
    pub fn used_percent(&self) -> f64 {
        self.used() as f64 / self.total as f64 * 100.0
    }
}

fn kilobytes(value: &str) -> Option<u64> {
    value
        .split_ascii_whitespace()
        .next()?
        .parse::<u64>()
        .ok()?
        .checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn meminfo_is_read() {
        let text = "MemTotal:     2000 kB\nMemFree:  500 kB\nMemAvailable: 1500 kB\nBuffers: x\nCached: 300 kB\n\
                    SwapCached: 7 kB\nSReclaimable: 100 kB\nVmallocTotal:   34359738367 kB\nVmallocUsed: 9 kB\n";
        let memory = HostMemory::parse(text).unwrap();
        let expected = HostMemory {
            total: 2000 << 10,
            free: 500 << 10,
            available: 1500 << 10,
            vmalloc_total: 34_359_738_367 << 10,
            vmalloc_used: 9 << 10,
        };
        assert_eq!(memory, expected);
        assert_eq!((memory.used(), memory.used_percent()), (500 << 10, 25.0));
        let old = HostMemory::parse(&text.replace("MemAvailable", "Other")).unwrap();
        assert_eq!(old.available, 900 << 10);
    }

    #[test]
    fn broken_meminfo_is_named() {
        let cases = [
            ("", "/proc/meminfo has no MemTotal"),
            ("MemFree: 1 kB\n", "/proc/meminfo has no MemTotal"),
            ("MemTotal: ? kB\n", "/proc/meminfo: \"MemTotal: ? kB\""),
            ("MemTotal:", "/proc/meminfo: \"MemTotal:\""),
        ];
        for (text, expected) in cases {
            assert_eq!(HostMemory::parse(text), Err(expected.to_owned()));
        }
    }

    proptest! {
        #[test]
        fn any_text_is_survived(text in "(MemTotal: *[0-9]{0,20} kB\n)?.*") {
            let _ = HostMemory::parse(&text).map(|memory| memory.used_percent());
        }
    }
}
