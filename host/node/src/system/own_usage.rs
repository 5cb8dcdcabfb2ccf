//! The resource usage of the daemon's own process, from `/proc/self`.

use crate::error::SourceError;

/// The field of `/proc/PID/stat` after the process's name is the third, counted from 1 (proc_pid_stat(5)).
const FIRST_FIELD: usize = 3;

/// The resource usage of the process.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct OwnUsage {
    /// Processor time of all threads, user and system, seconds.
    pub cpu_seconds: f64,
    /// When it was started, seconds after the machine's boot.
    pub started_after_boot_seconds: f64,
    /// Size of the address space, bytes.
    pub virtual_bytes: u64,
    /// Resident set, bytes.
    pub resident_bytes: u64,
    /// Threads.
    pub threads: u64,
}

/// Reads what this process uses.
///
/// # Errors
/// When `/proc/self/stat` cannot be read or is not as documented.
pub fn own_usage() -> Result<OwnUsage, SourceError> {
    let path = "/proc/self/stat";
    let text = std::fs::read_to_string(path).map_err(|e| SourceError::from_io(path, &e))?;
    let ticks = rustix::param::clock_ticks_per_second();
    let page = rustix::param::page_size() as u64;
    parse(&text, ticks, page)
        .ok_or_else(|| SourceError::Other(format!("{path}: unexpected content")))
}

/// Parses the line. A process's name is in parentheses and can hold any character, `)` included.
fn parse(stat: &str, ticks_per_second: u64, page_bytes: u64) -> Option<OwnUsage> {
    let (_, rest) = stat.rsplit_once(") ")?;
    let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
    let number = |field: usize| fields.get(field - FIRST_FIELD)?.parse::<u64>().ok();
    let seconds = |ticks: u64| ticks as f64 / ticks_per_second.max(1) as f64;
    Some(OwnUsage {
        cpu_seconds: seconds(number(14)?.saturating_add(number(15)?)),
        threads: number(20)?,
        started_after_boot_seconds: seconds(number(22)?),
        virtual_bytes: number(23)?,
        resident_bytes: number(24)?.saturating_mul(page_bytes),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_parentheses_does_not_shift_the_fields() {
        let line = "7 (a) b (c) S 1 7 7 0 -1 4194304 500 0 3 0 250 50 0 0 20 0 9 0 12345 1000000 300 \
                    18446744073709551615 1 1 0 0 0 0";
        assert_eq!(
            parse(line, 100, 4096),
            Some(OwnUsage {
                cpu_seconds: 3.0,
                started_after_boot_seconds: 123.45,
                virtual_bytes: 1_000_000,
                resident_bytes: 300 * 4096,
                threads: 9,
            })
        );
        assert_eq!(parse("7 (a) S 1", 100, 4096), None);
        assert_eq!(parse("", 100, 4096), None);
    }

    #[test]
    fn this_process_is_read() {
        let usage = own_usage().unwrap();
        assert!(usage.threads > 0 && usage.resident_bytes > 0);
        assert!(usage.virtual_bytes > usage.resident_bytes);
    }
}
