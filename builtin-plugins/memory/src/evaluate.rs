//! The verdict: plain inputs in, report out.

use gpud_sdk::{AccessError, CheckContext, HealthState, Report};

use crate::bpf;
use crate::procfs::HostMemory;

/// Below this much available memory (100 MiB, where kubelet begins to evict by default) the daemon's log says so.
const LOW_AVAILABLE_BYTES: u64 = 100 << 20;

/// The result of one check.
#[derive(Debug, PartialEq)]
pub struct Verdict {
    /// For the host.
    pub report: Report,
    /// For the log.
    pub warning: Option<String>,
}

/// Judges one reading of `/proc/meminfo` and, when that could be read, the size of BPF programs. That is shown and not judged:
/// where it cannot be read, `error` says why.
///
/// # Errors
/// `/proc/meminfo` cannot be read or understood: then nothing is known. That of `bpf`, when it cannot tell whether it has an
/// answer.
pub fn judge(
    context: &CheckContext,
    meminfo: Result<String, AccessError>,
    bpf: impl FnOnce() -> Result<bpf::Answer, AccessError>,
) -> Result<Verdict, AccessError> {
    let memory = HostMemory::parse(&meminfo?).map_err(AccessError::Other)?;
    let percent = memory.used_percent();
    let used_percent = format!("{percent:.2}");
    let data = |bpf| data(&memory, &used_percent, bpf);
    let (bytes, note) = match bpf()? {
        Ok(bpf) => (bpf.bytes, bpf.note),
        Err(error) => (0, Some(error)),
    };
    let state = HealthState {
        error: note,
        ..HealthState::healthy(context, "ok").info("data", data(bytes))
    };
    let report = Report::of(state)
        .gauge("memory_total_bytes", memory.total as f64)
        .gauge("memory_available_bytes", memory.available as f64)
        .gauge("memory_used_bytes", memory.used() as f64)
        .gauge("memory_free_bytes", memory.free as f64)
        .gauge("memory_used_percent", percent);
    let warning = (memory.available < LOW_AVAILABLE_BYTES)
        .then(|| format!("only {} bytes of memory are available", memory.available));
    Ok(Verdict { report, warning })
}

/// The `data` document.
fn data(memory: &HostMemory, used_percent: &str, bpf_jit_buffer_bytes: u64) -> String {
    let HostMemory {
        total,
        free,
        available,
        vmalloc_total,
        vmalloc_used,
    } = memory;
    format!(
        r#"{{"total_bytes":{total},"available_bytes":{available},"used_bytes":{},"used_percent":"{used_percent}","free_bytes":{free},"vm_alloc_total_bytes":{vmalloc_total},"vm_alloc_used_bytes":{vmalloc_used},"bpf_jit_buffer_bytes":{bpf_jit_buffer_bytes}}}"#,
        memory.used(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bpf::Bpf;
    use gpud_sdk::{Health, Trigger};

    fn context() -> CheckContext {
        CheckContext {
            component: "memory".into(),
            now: 1_800_000_000_000,
            trigger: Trigger::Scheduled,
            boot_id: "b-1".into(),
            boot_time: 1_799_000_000_000,
            previous_check: None,
            extra: Vec::new(),
        }
    }

    const MEMINFO: &str = "MemTotal: 3000000 kB\nMemFree: 500000 kB\nMemAvailable: 2000000 kB\n\
                           VmallocTotal: 64 kB\nVmallocUsed: 2 kB\n";
    fn bpf(bytes: u64, note: Option<&str>) -> Bpf {
        let note = note.map(str::to_owned);
        Bpf { bytes, note }
    }

    fn data_with(bpf: u64) -> String {
        format!(
            r#"{{"total_bytes":3072000000,"available_bytes":2048000000,"used_bytes":1024000000,"used_percent":"33.33","free_bytes":512000000,"vm_alloc_total_bytes":65536,"vm_alloc_used_bytes":2048,"bpf_jit_buffer_bytes":{bpf}}}"#
        )
    }

    #[test]
    fn readings_become_data_and_metrics() {
        let verdict = judge(&context(), Ok(MEMINFO.into()), || Ok(Ok(bpf(8192, None)))).unwrap();
        let state = HealthState::healthy(&context(), "ok").info("data", data_with(8192));
        assert_eq!(verdict.report.states, [state]);
        let metrics: Vec<_> = verdict
            .report
            .metrics
            .iter()
            .map(|metric| (metric.name.as_str(), metric.value))
            .collect();
        assert_eq!(
            metrics,
            [
                ("memory_total_bytes", 3_072_000_000.0),
                ("memory_available_bytes", 2_048_000_000.0),
                ("memory_used_bytes", 1_024_000_000.0),
                ("memory_free_bytes", 512_000_000.0),
                ("memory_used_percent", 1.0 / 3.0 * 100.0),
            ]
        );
        assert_eq!(verdict.warning, None);
    }

    #[test]
    fn little_memory_is_logged_and_healthy() {
        let text = "MemTotal: 3000000 kB\nMemAvailable: 102399 kB\n";
        let verdict = judge(&context(), Ok(text.into()), || Ok(Ok(bpf(0, None)))).unwrap();
        assert_eq!(verdict.report.states[0].health, Health::Healthy);
        assert_eq!(
            verdict.warning.as_deref(),
            Some("only 104856576 bytes of memory are available")
        );
    }

    #[test]
    fn the_size_of_bpf_programs_is_no_verdict() {
        let cases = [
            (Ok(bpf(0, None)), None),
            (Ok(bpf(0, Some("large"))), Some("large")),
            (Err("gone".to_owned()), Some("gone")),
        ];
        for (answer, error) in cases {
            let verdict = judge(&context(), Ok(MEMINFO.into()), || Ok(answer)).unwrap();
            let mut state = HealthState::healthy(&context(), "ok").info("data", data_with(0));
            state.error = error.map(str::to_owned);
            assert_eq!(verdict.report.states, [state]);
            assert_eq!(verdict.report.metrics.len(), 5);
        }
    }

    #[test]
    fn a_database_that_fails_is_no_verdict() {
        let error = AccessError::Other("the daemon's database".into());
        assert!(judge(&context(), Ok(MEMINFO.into()), || Err(error)).is_err());
    }

    #[test]
    fn no_meminfo_no_more_questions() {
        let denied = AccessError::Denied("/proc/meminfo".into());
        let found = judge(&context(), Err(denied.clone()), || panic!("not asked"));
        assert_eq!(found, Err(denied));
        let found = judge(&context(), Ok(String::new()), || panic!("not asked"));
        assert!(matches!(found, Err(AccessError::Other(_))), "{found:?}");
    }
}
