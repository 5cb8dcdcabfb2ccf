//! Reasons of checks that found something wrong, or that have something special to say, and what they mean. They are tried
//! before those of [`super::table`], some of which fit more.

/// Patterns of whole reasons, or of a part of one between semicolons.
pub(super) const FAILURES: &[(&str, &str)] = &[
    (
        "{} GPU(s) were checked, none is too hot",
        "no GPU is too hot ({0} GPU(s))",
    ),
    (
        "{} GPU(s) were checked, none is too hot, {} asleep",
        "no GPU is too hot ({0} GPU(s), {1} asleep)",
    ),
    (
        "{} GPU(s) were checked, no more errors than allowed",
        "no more memory errors than allowed on {0} GPU(s)",
    ),
    (
        "{} stat timed out (possible connection issue) has failed continuously for {} checks",
        "{0} has not answered for {1} checks: look at its connection and server",
    ),
    (
        "{}: congested percent {} exceeds threshold {}, max background percent {} exceeds threshold {}",
        "{0} is slow: waiting requests are at {1} of the congestion limit and at {3} of the background limit",
    ),
    (
        "{}: congested percent {} exceeds threshold {}",
        "{0} is slow: waiting requests are at {1} of the congestion limit",
    ),
    (
        "{}: max background percent {} exceeds threshold {}",
        "{0} is slow: waiting requests are at {1} of the background limit",
    ),
    (
        "error loading infiniband class devices",
        "cannot read the InfiniBand ports",
    ),
    (
        "error scanning ib ports from store",
        "cannot read what is remembered of the InfiniBand ports",
    ),
    (
        "error getting ib flap/drop events",
        "cannot read what is remembered of the InfiniBand ports",
    ),
    (
        "error inserting ib ports into store",
        "cannot remember the InfiniBand ports",
    ),
    ("device(s) down too long: {}", "down for too long: {0}"),
    (
        "device(s) flapping between ACTIVE<>DOWN: {}",
        "going up and down: {0}",
    ),
    (
        "correctly read/wrote on {}",
        "files can be written and read on {0}",
    ),
    (
        "invalid nfs group configs",
        "the configured NFS volumes cannot be checked",
    ),
    (
        "{} volume path does not exist",
        "the folder {0} does not exist",
    ),
    (
        "The user applied path {} as NFS volume, but in fact the file system type {} is not NFS.",
        "{0} has the filesystem {1}, which is not NFS",
    ),
    (
        "NFS validation timed out - server may be unresponsive",
        "an NFS volume does not answer: its server may be down",
    ),
    (
        "NFS {} timed out for {} - server may be unresponsive",
        "the NFS volume {1} does not answer ({0}): its server may be down",
    ),
    (
        "failed to create nfs checker for {}",
        "cannot look at the NFS volume {0}",
    ),
    (
        "failed to write to nfs checker for {}",
        "cannot write a file on the NFS volume {0}",
    ),
    (
        "failed to check nfs checker for {}",
        "cannot read a file back from the NFS volume {0}",
    ),
    (
        "failed to clean nfs checker for {}",
        "cannot remove a file from the NFS volume {0}",
    ),
    (
        "failed to find mount target device for {}",
        "nothing is mounted at {0}",
    ),
    ("fabric manager found and active", "the fabric manager runs"),
    (
        "fabric manager found but not active",
        "the fabric manager is installed, but does not run",
    ),
    (
        "fabric manager supported but nv-fabricmanager executable not found",
        "the fabric manager is needed, but is not installed",
    ),
    (
        "fabric manager has nothing to do (no NVSwitch devices)",
        "no NVSwitch, so the fabric manager has nothing to do",
    ),
    (
        "hw slowdown events frequency per minute {} (total events per minute count {}) is less than threshold {} for the last 10m0s",
        "hardware slowed GPUs down {1} times in 10 min, which is below the limit",
    ),
    (
        "hw slowdown events frequency per minute {} (total events per minute count {}) exceeded threshold {} for the last 10m0s",
        "hardware slowed GPUs down {1} times in 10 min, which is too often",
    ),
    (
        "no GPU pairs report NVLink P2P connectivity on {}-GPU NVLink-capable system",
        "no two of the {0} GPUs reach each other over NVLink",
    ),
    (
        "no GPUs report active nvlink links on {}-GPU NVLink-capable system",
        "none of the {0} GPUs has an NVLink that is up",
    ),
    (
        "nvlink threshold satisfied: require >={} GPUs with all links active",
        "at least {0} GPUs have all their NVLinks up, as expected",
    ),
    (
        "nvlink threshold violated: require >={} GPUs with all links active",
        "fewer than {0} GPUs have all their NVLinks up",
    ),
    ("no nvlink data (skipped evaluation)", "no NVLink was found"),
    (
        "NVIDIA NVLink health check has not completed for {}",
        "the check of NVLink has not ended for {0}",
    ),
    ("NVIDIA driver may be unresponsive", "the driver may hang"),
    (
        "{} devices support remapped rows and found no issue, {}",
        "no trouble with remapped memory rows on {0} GPU(s), {1}",
    ),
    (
        "{} qualifies for RMA (row remapping failed, remapped due to {} uncorrectable error(s))",
        "{0} has to be exchanged: a row of its memory could not be remapped ({1} uncorrectable errors)",
    ),
    (
        "{} needs reset (detected pending row remapping)",
        "{0} needs a reset: a row of its memory waits to be remapped",
    ),
    (
        "{} does not support row remapping",
        "{0} does not remap rows of its memory",
    ),
    (
        "margin threshold exceeded: {} has only {} °C margin left to slowdown (threshold {} °C)",
        "{0} is {1} °C below its slowdown, at least {2} °C are expected",
    ),
    (
        "{} has only {} °C margin left to slowdown (threshold {} °C)",
        "{0} is {1} °C below its slowdown, at least {2} °C are expected",
    ),
    (
        "HBM temperature anomalies detected: {} HBM temperature is {} °C exceeding the threshold {} °C",
        "the memory of {0} has {1} °C, its threshold is {2} °C",
    ),
    (
        "{} HBM temperature is {} °C exceeding the threshold {} °C",
        "the memory of {0} has {1} °C, its threshold is {2} °C",
    ),
    (
        "error getting processes (detected {}/{} consecutive checks)",
        "cannot read processes (check {0} of {1} before that counts)",
    ),
    (
        "error getting processes (failed continuously for {} checks)",
        "cannot read processes for {0} checks",
    ),
    (
        "latency to {} edge server is {} (exceeded threshold {}ms)",
        "{0} answers after {1}, more than {2} ms",
    ),
    (
        "too many zombie processes ({} state threshold: {})",
        "more than {1} ended processes are not collected (zombies)",
    ),
    (
        "too many running pids ({} state percent threshold: {} %)",
        "more than {1} % of the process numbers are in use",
    ),
    (
        "too many allocated file handles ({} state percent threshold: {} %)",
        "more than {1} % of the file handles are in use",
    ),
    (
        "D-state process checking disabled (empty name regexes)",
        "processes that hang in the kernel are not watched",
    ),
    (
        "persistent D-state (uninterruptible sleep) processes detected (persistent: {}): {}",
        "processes hang in the kernel ({0}): {1}",
    ),
    (
        "persistent D-state processes matching escalation rules {}: {}",
        "processes that must not hang do so in the kernel: {1}",
    ),
    (
        "host virt env is \"{}\", ACS is enabled on the following PCI devices: {} (needs to be disabled)",
        "PCIe access control (ACS) is on and slows traffic between GPUs, at {1}",
    ),
    (
        "found some acs enabled devices (needs to be disabled)",
        "PCIe access control (ACS) is on and slows traffic between GPUs",
    ),
    (
        "non-KVM host env, acs enabled devices found but no GPU with a peer (no need to disable)",
        "PCIe access control (ACS) is on, which matters only between GPUs",
    ),
    (
        "non-KVM host env, ACS of {} of {} devices cannot be read without root",
        "PCIe access control (ACS) of {0} of {1} devices cannot be read without root",
    ),
    (
        "ibcore successfully loaded peermem module",
        "the module nvidia_peermem is loaded",
    ),
    (
        "ibcore is not using peermem module",
        "the module nvidia_peermem is not in use",
    ),
];
