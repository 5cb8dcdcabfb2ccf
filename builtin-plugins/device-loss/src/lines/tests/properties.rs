//! Whatever is written, nothing panics, and the patterns are no narrower than the parser.

use proptest::prelude::*;
use regex::Regex;

use super::*;

/// Lines put together from the pieces that the rules look at, so that near misses are common.
fn line() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "nvidia",
        "amdgpu",
        "mlx5_core",
        " ",
        ": ",
        "0000:3b:00.0",
        "0000:3b:00.0: ",
        "probe of ",
        "probe with driver ",
        " failed with error ",
        "-1",
        "poll_health:819:(pid 0): ",
        "device's health compromised",
        "Fatal error ",
        "3",
        " detected",
        "mlx5_error_sw_reset:9:(pid 1): ",
        "start",
        "Health issue observed, ",
        ", severity(",
        "synd 0x",
        "PCI slot is unavailable",
        "health recovery failed",
        "health recovery succeeded",
        "Driver is in error state",
        "timeout. Will cause a leak of a command resource",
        "NVRM: ",
        "GPU ",
        "GPU0 ",
        "RmInitAdapter failed!",
        "rm_init_adapter failed",
        "GPU at ",
        "has fallen off the bus",
        "GPU has fallen off the bus",
        "f_1: ",
        "rpcRecvPoll ",
        "timedout",
        "RC watchdog: GPU is probably locked!",
        "API mismatch: ",
        "has the version ",
        "kernel module ",
        "The NVIDIA probe routine ",
        "was not called for ",
        "failed for ",
        "Rate limiting GSP RPC error prints for GPU at ",
        "NETDEV WATCHDOG: ",
        "eth0",
        " (",
        "): ",
        "CPU: 3: ",
        "transmit queue ",
        " timed out",
        "TX timeout detected",
        "pcieport ",
        "pciehp: Slot(",
        "Link Down",
        "Card not present",
        "DMAR: [",
        "DMA Read",
        "] Request device [",
        "] fault addr ",
        "[fault reason ",
        "AMD-Vi: Event logged [IO_PAGE_FAULT ",
        "device=3b:00.0 ",
        "arm-smmu-v3 ",
        ": event",
        " 0x10 received:",
        " client: ",
        "é",
    ]);
    prop::collection::vec(piece, 0..8).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 8_000, failure_persistence: None, ..Default::default() })]

    /// What is understood is delivered.
    #[test]
    fn the_prefilter_is_no_narrower(line in line()) {
        if find(&line).is_some() {
            prop_assert!(DELIVERED.is_match(&line), "{}", line);
        }
    }

    #[test]
    fn probes_as_by_regular_expression(driver in "nvidia|amdgpu|mlx5_core|nouveau", line in line(), old in any::<bool>(), id in "[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}.[0-7]|x|") {
        static FORM: LazyLock<Regex> = LazyLock::new(|| {
            Regex::new("^(nvidia|amdgpu|mlx5_core)(?:: probe of ([0-9a-f:]+[.][0-7])| ([0-9a-f:]+[.][0-7]): probe with driver .*?) failed with error (-?[0-9]+)$").unwrap()
        });
        let form = if old { format!("{driver}: probe of {id}") } else { format!("{driver} {id}: probe with driver {driver}") };
        let text = format!("{form} failed with error -{}", line.len());
        let expected = FORM.captures(&text).map(|c| c.get(2).or(c.get(3)).unwrap().as_str().to_owned());
        prop_assert_eq!(find(&text).map(|found| found.device), expected);
    }

    #[test]
    fn anything_goes(line in any::<String>(), start in "NVRM: |mlx5_core 0000:17:00.0: |amdgpu 0000:17:00.0: |") {
        let _ = (find(&line), find(&format!("{start}{line}")), pci_id(&line));
    }
}
