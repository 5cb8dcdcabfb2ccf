//! What a reason means, where its words are the API's and not a person's.
//!
//! Many reasons of built-in components are GPUd's to the letter, because programs look for them, and stay so in
//! `/v1/states`. The table says the same in words for a person. A `{}` of a pattern stands for any text; `{0}` in the
//! meaning is the first of them.

mod failures;
mod services;
mod table;

use std::sync::LazyLock;

use regex::Regex;

use self::{
    failures::FAILURES,
    services::SERVICES,
    table::{ABSENCES, MEANINGS},
};
use super::{components::NVIDIA, xids::Code};

/// `3 GPU(s)`; a constant, which a test compiles.
static PLURAL: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"\b(?P<n>[0-9]+) (?P<word>[A-Za-z]+( [A-Za-z]+){0,3})\(s\)").ok());

/// The reason of a component in words for a person.
pub fn meaning(component: &str, reason: &str) -> String {
    if component.starts_with(NVIDIA)
        && let Some(code) = Code::read(reason)
    {
        return code.phrase();
    }
    let whole = translated(reason);
    let meant = whole.unwrap_or_else(|| {
        let parts = reason.split("; ");
        let parts: Vec<String> = parts
            .map(|part| translated(part).unwrap_or_else(|| part.to_owned()))
            .collect();
        parts.join("; ")
    });
    plurals(&meant)
}

/// Why a component does not apply to this machine, in words for a person.
pub(super) fn absence(component: &str, reason: &str) -> String {
    let mut known = ABSENCES.iter();
    let found = known.find(|(name, says, _)| *name == component && *says == reason);
    found.map_or_else(
        || meaning(component, reason),
        |(_, _, means)| (*means).to_owned(),
    )
}

fn translated(text: &str) -> Option<String> {
    patterns().find_map(|(pattern, means)| Some(fill(means, &captures(pattern, text)?)))
}

/// Returns all patterns with their meanings, in the order in which they are tried.
fn patterns() -> impl Iterator<Item = &'static (&'static str, &'static str)> {
    SERVICES.iter().chain(FAILURES).chain(MEANINGS)
}

/// What stands for each `{}` of a pattern, if the text fits; each is as short as can be, and none goes over a border between
/// parts. What a pattern begins with is one name: of several devices, separated by commas, the text does not fit.
pub(super) fn captures<'t>(pattern: &str, text: &'t str) -> Option<Vec<&'t str>> {
    let mut literals = pattern.split("{}");
    let mut rest = text.strip_prefix(literals.next()?)?;
    let mut found = Vec::new();
    let mut literals = literals.peekable();
    while let Some(literal) = literals.next() {
        let (value, after) = match (literal, literals.peek()) {
            ("", None) => (rest, ""),
            (literal, None) => (rest.strip_suffix(literal)?, ""),
            (literal, Some(_)) => rest.split_once(literal)?,
        };
        let is_list = found.is_empty() && pattern.starts_with("{}") && value.contains(", ");
        if value.is_empty() || value.contains("; ") || is_list {
            return None;
        }
        found.push(value);
        rest = after;
    }
    rest.is_empty().then_some(found)
}

fn fill(means: &str, values: &[&str]) -> String {
    let mut text = means.to_owned();
    for (number, value) in values.iter().enumerate() {
        text = text.replace(&format!("{{{number}}}"), value);
    }
    text
}

/// `1 GPU(s)` as `1 GPU`, `3 GPU(s)` as `3 GPUs`.
fn plurals(text: &str) -> String {
    let Some(plural) = PLURAL.as_ref().filter(|_| text.contains("(s)")) else {
        return text.to_owned();
    };
    let spelled = plural.replace_all(text, |found: &regex::Captures<'_>| {
        let part = |name| found.name(name).map_or("", |part| part.as_str());
        let (count, word) = (part("n"), part("word"));
        let end = if count == "1" { "" } else { "s" };
        format!("{count} {word}{end}")
    });
    spelled.into_owned()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn reasons_of_the_wire_in_words() {
        for (component, reason, expected) in [
            ("cpu", "ok", "ok"),
            (
                "accelerator-nvidia-error-xid",
                "matched 0 xid errors from 4096 kmsg(s)",
                "no Xid in the kernel log (4096 lines)",
            ),
            (
                "accelerator-nvidia-power",
                "all 8 GPU(s) were checked, no power issue found",
                "no power trouble on 8 GPUs",
            ),
            (
                "accelerator-nvidia-nvlink",
                "scanned kmsg(s); all 1 GPU(s) were checked, no nvlink issue found",
                "nothing in the kernel log; no NVLink trouble on 1 GPU",
            ),
            (
                "fuse",
                "successfully fuse connection(s); 3 connection(s) are waiting",
                "no FUSE connection is congested; 3 connections are waiting",
            ),
            (
                "accelerator-nvidia-fabric-manager",
                "detected 1 NVIDIA GPU device(s); skipping fabric state check",
                "1 GPU, so there is no fabric to check",
            ),
            (
                "accelerator-nvidia-gpu-counts",
                "nvidia gpu count mismatch (found 7, expected 8)",
                "7 GPUs found, 8 expected",
            ),
            (
                "library",
                "library \"libnvidia-ml.so\" does not exist; library \"x\" does not exist",
                "the library libnvidia-ml.so is not there; the library x is not there",
            ),
            (
                "os",
                "error getting uptime; other",
                "cannot read uptime; other",
            ),
            (
                "accelerator-nvidia-infiniband",
                "only 6 port(s) are active and >=400 Gb/s, expect >=8 port(s); 1 device(s) physical state Disabled (mlx5_2); 1 device(s) physical state LinkErrorRecovery (mlx5_3)",
                "6 of 8 expected ports are up with at least 400 Gb/s; switched off: mlx5_2; without a link (LinkErrorRecovery): mlx5_3",
            ),
            (
                "accelerator-nvidia-gsp-firmware-mode",
                "8 GPU(s) were checked: GSP firmware enabled on 8, disabled on 0, unknown on 0",
                "GSP firmware is on for 8 GPUs",
            ),
            (
                "accelerator-nvidia-gsp-firmware-mode",
                "8 GPU(s) were checked: GSP firmware enabled on 6, disabled on 1, unknown on 1",
                "GSP firmware is on for 6 of 8 GPUs, off for 1, unknown for 1",
            ),
            (
                "accelerator-amd-temperature",
                "1 GPU(s) were checked, none is too hot",
                "no GPU is too hot (1 GPU)",
            ),
            (
                "accelerator-nvidia-remapped-rows",
                "7 devices support remapped rows and found no issue, 1 do not report it",
                "no trouble with remapped memory rows on 7 GPUs, 1 do not report it",
            ),
            (
                "accelerator-nvidia-nvlink",
                "nvlink threshold violated: require >=8 GPUs with all links active; got 6 (inactive nvlinks=GPU-1)",
                "fewer than 8 GPUs have all their NVLinks up; got 6 (inactive nvlinks=GPU-1)",
            ),
            (
                "os",
                "persistent D-state (uninterruptible sleep) processes detected (persistent: 2): pid=1 name=a; pid=2 name=b",
                "processes hang in the kernel (2): pid=1 name=a; pid=2 name=b",
            ),
            (
                "pci",
                "host virt env is \"none\", ACS is enabled on the following PCI devices: 0000:00:01.0 (needs to be disabled)",
                "PCIe access control (ACS) is on and slows traffic between GPUs, at 0000:00:01.0",
            ),
            (
                "docker",
                "not supported; needs upgrading docker daemon in the host",
                "this Docker is too old to be asked: upgrade it",
            ),
            (
                "fuse",
                "fuse:41: congested percent 95.00% exceeds threshold 90.00%, max background percent 91.00% exceeds threshold 80.00%",
                "fuse:41 is slow: waiting requests are at 95.00% of the congestion limit and at 91.00% of the background limit",
            ),
            (
                "containerd",
                "containerd installed but socket file does not exist (detected 2/5 consecutive checks)",
                "containerd's socket is not there (check 2 of 5 before that counts)",
            ),
            (
                "accelerator-nvidia-remapped-rows",
                "GPU-1 needs reset (detected pending row remapping)",
                "GPU-1 needs a reset: a row of its memory waits to be remapped",
            ),
            (
                "accelerator-nvidia-remapped-rows",
                "GPU-1 needs reset (detected pending row remapping), GPU-2 needs reset (detected pending row remapping)",
                "GPU-1 needs reset (detected pending row remapping), GPU-2 needs reset (detected pending row remapping)",
            ),
            ("x", "", ""),
            ("x", "GPU(s) {}", "GPU(s) {}"),
            (
                "x",
                "8 GPU(s), 1 network card function(s), 1 NUMA node(s)",
                "8 GPUs, 1 network card function, 1 NUMA node",
            ),
        ] {
            assert_eq!(meaning(component, reason), expected, "{reason}");
        }
    }

    #[test]
    fn an_absence_is_never_that_all_is_well() {
        let means = absence("pcie-aer", "ok");
        assert_eq!(means, "no device counts errors of PCI Express here (AER)");
        assert_eq!(
            absence("docker", "docker not installed"),
            "Docker is not installed"
        );
        for (component, says, means) in ABSENCES {
            assert_eq!(absence(component, says), *means);
            assert_ne!(meaning(component, says), *means);
        }
    }

    #[test]
    fn every_pattern_means_something_and_is_reached() {
        for (place, (pattern, means)) in patterns().enumerate() {
            let text = pattern.replace("{}", "7");
            let first = patterns().position(|(other, _)| captures(other, &text).is_some());
            assert_eq!(first, Some(place), "{pattern}");
            assert!(!meaning("cpu", &text).contains('{'), "{pattern}: {means}");
        }
        assert!(PLURAL.is_some());
    }

    proptest! {
        #[test]
        fn any_reason_is_read(reason in "(\\PC|; |GPU|\\(s\\)|[0-9]| ){0,30}") {
            meaning("cpu", &reason);
        }
    }
}
