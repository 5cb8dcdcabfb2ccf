//! A GPU's place in its NVLink fabric (`nvmlGpuFabricInfoV_t`, `nvml.h`).

use std::borrow::Cow;

use serde::Serialize;

/// The readings of one GPU.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Fabric {
    /// The cluster's UUID; empty if it is in none.
    pub cluster_uuid: String,
    /// Its clique there.
    pub clique_id: u32,
    /// `nvmlGpuFabricState_t`.
    pub state: u8,
    /// NVML's return code of the registration.
    pub status: u32,
    /// Two bits for each question, and four for the configuration; absent with drivers that do not know it.
    pub health_mask: Option<u32>,
    /// `NVML_GPU_FABRIC_HEALTH_SUMMARY_…`; absent with drivers that do not know it.
    pub summary: Option<u8>,
}

/// As it is shown under `data`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Row<'a> {
    gpu_uuid: &'a str,
    clique_id: u32,
    cluster_uuid: &'a str,
    state: Cow<'static, str>,
    status: Cow<'static, str>,
    summary: Cow<'static, str>,
    health: Health,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct Health {
    bandwidth: Cow<'static, str>,
    route_recovery_in_progress: Cow<'static, str>,
    route_unhealthy: Cow<'static, str>,
    access_timeout_recovery: Cow<'static, str>,
}

const NOT_SUPPORTED: &str = "Not Supported";
const COMPLETED: u8 = 3;
/// The problem with the configuration, from 2 on.
const MISCONFIGURED: [&str; 4] = [
    "incorrect system GUID",
    "incorrect chassis serial number",
    "no partition",
    "insufficient NVLinks",
];

impl Fabric {
    /// Does the GPU take part in a fabric, or try to?
    pub fn is_member(&self) -> bool {
        self.state != 0
    }

    /// Returns the faults, sorted.
    pub fn issues(&self) -> Vec<String> {
        let mut issues = Vec::new();
        if self.state != COMPLETED {
            issues.push(format!("state={}", state(self.state)));
        }
        if self.status != 0 {
            issues.push(format!("status={}", status(self.status)));
        }
        let summary = self.summary.unwrap_or(0);
        if summary > 1 {
            issues.push(format!("summary={}", summary_text(summary)));
        }
        for (shift, issue) in [
            (0, "bandwidth degraded"),
            (2, "route recovery in progress"),
            (4, "route unhealthy"),
            (6, "access timeout recovery in progress"),
        ] {
            if self.bits(shift) == 1 {
                issues.push(issue.to_owned());
            }
        }
        let configuration = self.health_mask.unwrap_or(0) >> 8 & 0xf;
        if let Some(wrong) = configuration.checked_sub(2) {
            let what = MISCONFIGURED.get(wrong as usize).copied();
            issues.push(format!("configuration: {}", what.unwrap_or("incorrect")));
        }
        issues.sort_unstable();
        issues
    }

    fn bits(&self, shift: u32) -> u32 {
        self.health_mask.unwrap_or(0) >> shift & 3
    }

    /// As it is shown.
    pub fn row<'a>(&'a self, gpu_uuid: &'a str) -> Row<'a> {
        let truth = |shift| words(self.bits(shift), ["True", "False"]);
        Row {
            gpu_uuid,
            clique_id: self.clique_id,
            cluster_uuid: &self.cluster_uuid,
            state: state(self.state),
            status: status(self.status),
            summary: summary_text(self.summary.unwrap_or(0)),
            health: Health {
                bandwidth: words(self.bits(0), ["Degraded", "Full"]),
                route_recovery_in_progress: truth(2),
                route_unhealthy: truth(4),
                access_timeout_recovery: truth(6),
            },
        }
    }
}

fn words(bits: u32, of: [&'static str; 2]) -> Cow<'static, str> {
    let [one, two] = of;
    match bits {
        0 => NOT_SUPPORTED.into(),
        1 => one.into(),
        2 => two.into(),
        other => unknown(other),
    }
}

fn unknown(number: u32) -> Cow<'static, str> {
    format!("Unknown({number})").into()
}

fn state(number: u8) -> Cow<'static, str> {
    match number {
        0 => NOT_SUPPORTED.into(),
        1 => "Not Started".into(),
        2 => "In Progress".into(),
        COMPLETED => "Completed".into(),
        other => unknown(other.into()),
    }
}

fn summary_text(number: u8) -> Cow<'static, str> {
    match number {
        0 => NOT_SUPPORTED.into(),
        1 => "Healthy".into(),
        2 => "Unhealthy".into(),
        3 => "Limited Capacity".into(),
        other => unknown(other.into()),
    }
}

/// NVML's own words for its return codes, as far as they are known.
fn status(code: u32) -> Cow<'static, str> {
    let text = match code {
        0 => "Success",
        1 => "Uninitialized",
        2 => "Invalid Argument",
        3 => NOT_SUPPORTED,
        4 => "Insufficient Permissions",
        6 => "Not Found",
        7 => "Insufficient Size",
        9 => "Driver Not Loaded",
        10 => "Timeout",
        11 => "Interrupt Request Issue",
        13 => "Function Not Found",
        14 => "Corrupted infoROM",
        15 => "GPU is lost",
        16 => "GPU requires reset",
        17 => "GPU access blocked by the operating system",
        18 => "Driver/library version mismatch",
        19 => "In use by another client",
        20 => "Insufficient Memory",
        23 => "Insufficient Resources",
        27 => "System is not in ready state",
        999 => "Unknown Error",
        other => return format!("NVML error {other}").into(),
    };
    text.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    pub fn completed() -> Fabric {
        Fabric {
            state: COMPLETED,
            ..Fabric::default()
        }
    }

    #[test]
    fn issues() {
        let fabric = |state, status, mask, summary| Fabric {
            state,
            status,
            health_mask: mask,
            summary,
            ..Fabric::default()
        };
        for (fabric, expected) in [
            (fabric(3, 0, None, None), vec![]),
            (fabric(3, 0, Some(0), Some(0)), vec![]),
            // All well: bandwidth full, the rest false, configuration right.
            (fabric(3, 0, Some(0b0001_1010_1010), Some(1)), vec![]),
            (fabric(0, 0, None, None), vec!["state=Not Supported"]),
            (fabric(1, 0, None, None), vec!["state=Not Started"]),
            (fabric(2, 0, None, None), vec!["state=In Progress"]),
            (fabric(9, 0, None, None), vec!["state=Unknown(9)"]),
            (
                fabric(3, 27, None, None),
                vec!["status=System is not in ready state"],
            ),
            (
                fabric(3, 12345, None, None),
                vec!["status=NVML error 12345"],
            ),
            (fabric(3, 0, None, Some(2)), vec!["summary=Unhealthy"]),
            (
                fabric(3, 0, None, Some(3)),
                vec!["summary=Limited Capacity"],
            ),
            (
                fabric(2, 999, Some(0b0101_0101), Some(2)),
                vec![
                    "access timeout recovery in progress",
                    "bandwidth degraded",
                    "route recovery in progress",
                    "route unhealthy",
                    "state=In Progress",
                    "status=Unknown Error",
                    "summary=Unhealthy",
                ],
            ),
            (
                fabric(3, 0, Some(0x400), None),
                vec!["configuration: no partition"],
            ),
            (
                fabric(3, 0, Some(0xf00), None),
                vec!["configuration: incorrect"],
            ),
        ] {
            assert_eq!(fabric.issues(), expected, "{fabric:?}");
        }
    }

    #[test]
    fn rows() {
        let fabric = Fabric {
            cluster_uuid: "c".into(),
            clique_id: 7,
            health_mask: Some(0b1110_0110),
            summary: Some(1),
            ..completed()
        };
        assert_eq!(
            serde_json::to_string(&fabric.row("GPU-1")).unwrap(),
            r#"{"gpu_uuid":"GPU-1","clique_id":7,"cluster_uuid":"c","state":"Completed","status":"Success","summary":"Healthy","health":{"bandwidth":"Full","route_recovery_in_progress":"True","route_unhealthy":"False","access_timeout_recovery":"Unknown(3)"}}"#
        );
        let old = serde_json::to_string(&completed().row("GPU-1")).unwrap();
        assert!(old.contains(r#""summary":"Not Supported","health":{"bandwidth":"Not Supported""#));
    }
}
