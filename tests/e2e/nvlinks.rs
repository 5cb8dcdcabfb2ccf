//! Error counters of NVLinks that rise while the daemon runs, on made-up machines.

use gpud_nvml_mock::install::{built, install};

use crate::{
    daemon::Start,
    nvidia::{change, line},
};

/// What a trigger of NVLink answers, and what is stored then, on a machine that goes through these scenarios: each with the
/// beginning of the verdict.
fn follow_nvlinks(steps: &[(&str, &str)]) {
    const COMPONENT: &str = "accelerator-nvidia-nvlink";
    let folder = tempfile::tempdir().unwrap();
    let library = install(&built().unwrap(), steps[0].0, folder.path()).unwrap();
    let daemon = Start::new()
        .arguments(&["--nvml-library", library.to_str().unwrap()])
        .ready();
    for (scenario, verdict) in steps {
        change(folder.path(), scenario);
        let path = format!("/v1/components/trigger-check?componentName={COMPONENT}");
        let answer = line(&daemon.get(&path)[0]["states"][0]);
        assert!(answer.starts_with(verdict), "{scenario}: {answer}");
        let state = line(&daemon.state(COMPONENT));
        assert!(state.starts_with(verdict), "{scenario}: {state}");
    }
}

/// A check remembers counters and compares them. The answer to a trigger shows the same rise as the states, though the
/// component has a scan of its own, which remembers nothing.
#[test]
fn a_trigger_shows_the_rise_of_counters_that_its_check_stores() {
    follow_nvlinks(&[
        ("product: h100-sxm\n", "Healthy: "),
        (
            "product: h100-sxm\ngpu: {2: {nvlink: {link: {6: {crc_flit: 7}}}}}\n# checksums\n",
            "Degraded: NVLink checksum errors rise: ",
        ),
        (
            "product: h100-sxm\ngpu: {2: {nvlink: {link: {5: {replay: 3}, 6: {crc_flit: 7}}}}}\n# replays\n",
            "Unhealthy HARDWARE_INSPECTION: NVLink errors rise: ",
        ),
    ]);
}

/// Blackwell has counters of its own, and its driver may answer the older ones with zeros.
#[test]
fn rising_counters_of_blackwell_are_judged_beside_older_ones_that_stand_still() {
    follow_nvlinks(&[
        ("product: b200-sxm\n", "Healthy: "),
        (
            "product: b200-sxm\ngpu: {1: {nvlink: {link: {7: {effective_errors: 3}}}}}\n# effective\n",
            "Degraded: NVLink checksum errors rise: ",
        ),
        (
            "product: b200-sxm\ngpu: {1: {nvlink: {link: {7: {effective_errors: 3, recoveries_ok: 1}}}}}\n# recovered\n",
            "Unhealthy HARDWARE_INSPECTION: NVLink errors rise: ",
        ),
    ]);
}
