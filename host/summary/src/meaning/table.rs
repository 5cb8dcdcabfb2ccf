//! Reasons as they are on the wire, and what they mean.

/// Patterns of whole reasons, or of a part of one between semicolons.
pub(super) const MEANINGS: &[(&str, &str)] = &[
    ("no data yet", "not checked yet"),
    ("XIDComponent is healthy", "no Xid is on record"),
    ("SXIDComponent is healthy", "no SXid is on record"),
    (
        "matched 0 xid errors from {} kmsg(s)",
        "no Xid in the kernel log ({0} lines)",
    ),
    (
        "matched {} xid errors from {} kmsg(s)",
        "{0} Xids in the kernel log",
    ),
    (
        "matched 0 sxid errors from {} kmsg(s)",
        "no SXid in the kernel log ({0} lines)",
    ),
    (
        "matched {} sxid errors from {} kmsg(s)",
        "{0} SXids in the kernel log",
    ),
    ("kmsg reader is not set", "the kernel log is not read here"),
    ("failed to read kmsg", "cannot read the kernel log"),
    ("scanned kmsg(s)", "nothing in the kernel log"),
    ("no issue", "nothing in the kernel log"),
    (
        "all 0 GPU(s) were checked, no {} issue found",
        "there is no GPU to check",
    ),
    (
        "all {} GPU(s) were checked, no recovery action needed",
        "no recovery action is needed on {0} GPU(s)",
    ),
    (
        "all {} GPU(s) were checked, no nvlink issue found",
        "no NVLink trouble on {0} GPU(s)",
    ),
    (
        "all {} GPU(s) were checked, no {} issue found",
        "no {1} trouble on {0} GPU(s)",
    ),
    (
        "all {} GPU(s) disabled persistence mode",
        "persistence mode is off on {0} GPU(s)",
    ),
    (
        "{} GPU(s) were checked, no {} issue found",
        "no {1} trouble on {0} GPU(s)",
    ),
    (
        "{} GPU(s) were checked, no {} issue found ({})",
        "no {1} trouble on {0} GPU(s) ({2})",
    ),
    (
        "{} devices support remapped rows and found no issue",
        "no trouble with remapped memory rows on {0} GPU(s)",
    ),
    ("no clock events found", "no GPU slows its clocks down"),
    (
        "clock events not supported",
        "the driver does not say whether clocks are slowed down",
    ),
    (
        "clock events not supported for driver version {}",
        "driver {0} does not say whether clocks are slowed down",
    ),
    (
        "GPM not supported",
        "the GPUs have no performance counters (GPM)",
    ),
    ("no memory data found", "the GPUs report no memory figures"),
    (
        "recovery action not supported",
        "the driver does not report recovery actions",
    ),
    (
        "GPU count thresholds not set, skipping",
        "not judged: the expected number of GPUs is not set (--gpu-count)",
    ),
    (
        "{} GPU(s) were checked: GSP firmware enabled on {}, disabled on 0, unknown on 0",
        "GSP firmware is on for {1} GPU(s)",
    ),
    (
        "{} GPU(s) were checked: GSP firmware enabled on {}, disabled on {}, unknown on {}",
        "GSP firmware is on for {1} of {0} GPU(s), off for {2}, unknown for {3}",
    ),
    (
        "nvidia gpu count matching thresholds ({})",
        "{0} GPU(s) found, as expected",
    ),
    (
        "nvidia gpu count mismatch (found {}, expected {})",
        "{0} GPU(s) found, {1} expected",
    ),
    (
        "ports or rate threshold not set (skipped evaluation)",
        "not judged: the expected ports are not set (--infiniband-expected-port-states)",
    ),
    (
        "only {} port(s) are active and >={} Gb/s, expect >={} port(s)",
        "{0} of {2} expected ports are up with at least {1} Gb/s",
    ),
    (
        "{} device(s) physical state Disabled ({})",
        "switched off: {1}",
    ),
    (
        "{} device(s) physical state Polling ({}) -- connecton lost from this card to other cards/switches",
        "without a partner on the cable: {1}",
    ),
    (
        "{} device(s) physical state {} ({})",
        "without a link ({1}): {2}",
    ),
    ("{} device(s) below {} Gb/s ({})", "below {1} Gb/s: {2}"),
    (
        "ok; no infiniband port issue",
        "all expected InfiniBand ports are up",
    ),
    (
        "ok; no infiniband port issue; {}",
        "all expected InfiniBand ports are up; {0}",
    ),
    (
        "no infiniband port issue",
        "all expected InfiniBand ports are up",
    ),
    (
        "NVSwitch not detected, skipping fabric manager check",
        "no NVSwitch, so no fabric manager is needed",
    ),
    (
        "{}: NVSwitch not detected, skipping fabric state check",
        "no NVSwitch, so there is no fabric to check",
    ),
    (
        "detected {} NVIDIA GPU device(s); skipping fabric state check",
        "{0} GPU(s), so there is no fabric to check",
    ),
    (
        "{} does not support fabric manager",
        "{0} needs no fabric manager",
    ),
    (
        "{} does not support fabric state telemetry",
        "{0} does not report the state of a fabric",
    ),
    (
        "{} fabric state telemetry not supported",
        "{0} does not report the state of a fabric",
    ),
    ("{} checked fabric state", "the NVLink fabric is up"),
    (
        "{} with unhealthy fabric state: {}",
        "the NVLink fabric is not up: {1}",
    ),
    ("NVIDIA NVML library is not loaded", "no NVIDIA driver"),
    (
        "NVIDIA NVML is loaded but GPU is not detected (missing product name)",
        "NVIDIA's driver is there, but no GPU",
    ),
    (
        "NVML initialization error: {}",
        "NVIDIA's driver does not work: {0}",
    ),
    (
        "no nfs group configs found",
        "no NFS volume is set to be checked (--nfs-checker-configs)",
    ),
    (
        "successfully fuse connection(s)",
        "no FUSE connection is congested",
    ),
    (
        "error listing fuse connections",
        "cannot list the FUSE connections",
    ),
    (
        "host virt env is KVM (no need to check ACS)",
        "a virtual machine: PCIe access control (ACS) is not judged",
    ),
    (
        "unknown virtualization environment (no need to check ACS)",
        "it is not known whether this is a virtual machine: PCIe access control (ACS) is not judged",
    ),
    (
        "non-KVM host env, no acs enabled device found (no need to disable)",
        "PCIe access control (ACS) is off",
    ),
    ("no block device found", "there is no disk"),
    (
        "all modules are loaded",
        "all kernel modules that are asked for are loaded",
    ),
    (
        "all libraries exist",
        "all libraries that are asked for are there",
    ),
    ("missing modules: {}", "kernel modules are not loaded: {0}"),
    (
        "library \"{}\" does not exist",
        "the library {0} is not there",
    ),
    (
        "checked egress latencies and no issue found",
        "the network answers in time",
    ),
    (
        "checked egress latencies and no issue found ({})",
        "the network answers in time ({0})",
    ),
    (
        "error measuring egress latencies",
        "cannot measure the network's latency",
    ),
    (
        "error getting bpf jit buffer bytes",
        "cannot read the memory of BPF programs",
    ),
    ("error getting {}", "cannot read {0}"),
    ("error listing {}", "cannot list {0}"),
    ("containerd not installed", "containerd is not installed"),
    ("docker not installed", "Docker is not installed"),
    (
        "error checking peermem",
        "cannot tell whether the module nvidia_peermem is loaded",
    ),
    ("error checking {}", "cannot check {0}"),
    ("error calculating {}", "cannot calculate {0}"),
    (
        "no infiniband port data (skipped evaluation)",
        "no InfiniBand port was found",
    ),
    (
        "GPU temperature anomalies detected: {} current temperature is {} °C exceeding the threshold {} °C",
        "{0} has {1} °C, its threshold is {2} °C",
    ),
    (
        "{} current temperature is {} °C exceeding the threshold {} °C",
        "{0} has {1} °C, its threshold is {2} °C",
    ),
    (
        "{} persistence mode supported but not enabled",
        "{0} has persistence mode off",
    ),
    (
        "unexpected plugin output",
        "its script did not print what its spec expects",
    ),
    ("GPU lost", "the driver has lost the GPU"),
    ("GPU requires reset", "the GPU needs a reset"),
];

/// What a component without anything to watch here means that says only that nothing is wrong.
pub(super) const ABSENCES: &[(&str, &str, &str)] = &[
    (
        "ethernet",
        "no network card failed",
        "the kernel log names no failure of a network card",
    ),
    (
        "machine-check",
        "ok",
        "the processors report no machine checks here",
    ),
    (
        "memory-edac",
        "ok",
        "no memory module is known to the kernel (EDAC)",
    ),
    (
        "pcie-aer",
        "ok",
        "no device counts errors of PCI Express here (AER)",
    ),
    (
        "storage-clients",
        "no storage server is lost",
        "the kernel log names no lost storage server",
    ),
];
