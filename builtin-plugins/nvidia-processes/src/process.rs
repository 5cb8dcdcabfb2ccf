//! Facts of a process that the kernel reports (proc(5)).

use std::collections::BTreeMap;

use crate::container::ContainerIds;

/// Variables that slow CUDA programs down or stop them (NVIDIA's documents of the profiler, the debugger and core dumps).
pub const BAD_VARIABLES: [&str; 10] = [
    "NSIGHT_CUDA_DEBUGGER",
    "CUDA_INJECTION32_PATH",
    "CUDA_INJECTION64_PATH",
    "CUDA_AUTO_BOOST",
    "CUDA_ENABLE_COREDUMP_ON_EXCEPTION",
    "CUDA_COREDUMP_FILE",
    "CUDA_DEVICE_WAITS_ON_EXCEPTION",
    "CUDA_PROFILE",
    "COMPUTE_PROFILE",
    "OPENCL_PROFILE",
];
/// Ticks of `/proc/‹pid›/stat` (`USER_HZ`), the same on all machines that Linux runs on today.
const TICKS_PER_SECOND: u64 = 100;
/// Field 22 of `stat`, counted from the state, which is field 3.
const START_TIME: usize = 19;

/// When the machine booted, unix seconds; 0 if unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Boot(pub u64);

impl Boot {
    /// From `/proc/stat`.
    pub fn parse(stat: &str) -> Self {
        let mut lines = stat.lines();
        let time = lines.find_map(|line| line.strip_prefix("btime ")?.trim().parse().ok());
        Self(time.unwrap_or(0))
    }
}

/// Files of a process.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Files {
    /// `stat`.
    pub stat: Vec<u8>,
    /// `cmdline`.
    pub command_line: Vec<u8>,
    /// `environ`.
    pub environment: Vec<u8>,
    /// `cgroup`.
    pub cgroups: Vec<u8>,
}

/// The known facts about a process.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Facts {
    /// In gopsutil's words; empty if unknown.
    pub status: &'static str,
    /// Ended, but nobody asked how.
    pub zombie: bool,
    /// Its program and arguments.
    pub arguments: Vec<String>,
    /// Those of [`BAD_VARIABLES`] that it has, with their values.
    pub bad_variables: BTreeMap<&'static str, String>,
    /// When it started, unix seconds; 0 if unknown.
    pub created: u64,
    /// Its container and pod.
    pub home: ContainerIds,
}

impl Files {
    /// Understands them.
    pub fn facts(&self, boot: Boot) -> Facts {
        let stat = String::from_utf8_lossy(&self.stat);
        // The program's name may hold anything, parentheses included.
        let mut fields = stat
            .rsplit_once(')')
            .map_or("", |(_, rest)| rest)
            .split_ascii_whitespace();
        let letter = fields.clone().next().unwrap_or("");
        let started: Option<u64> = fields.nth(START_TIME).and_then(|ticks| ticks.parse().ok());
        let created = started
            .filter(|_| boot.0 > 0)
            .map_or(0, |ticks| boot.0.saturating_add(ticks / TICKS_PER_SECOND));
        Facts {
            status: status(letter),
            zombie: letter == "Z",
            arguments: texts(&self.command_line).collect(),
            bad_variables: texts(&self.environment).filter_map(bad_variable).collect(),
            created,
            home: ContainerIds::parse(&self.cgroups),
        }
    }
}

fn bad_variable(text: String) -> Option<(&'static str, String)> {
    let (name, value) = text.split_once('=')?;
    let name = BAD_VARIABLES.iter().find(|bad| **bad == name)?;
    Some((*name, value.to_owned()))
}

/// Texts that end in a zero byte.
fn texts(bytes: &[u8]) -> impl Iterator<Item = String> {
    let bytes = bytes.strip_suffix(&[0]).unwrap_or(bytes);
    let parts = bytes.split(|byte| *byte == 0);
    parts
        .filter(move |_| !bytes.is_empty())
        .map(|part| String::from_utf8_lossy(part).into_owned())
}

fn status(letter: &str) -> &'static str {
    match letter {
        "R" => "running",
        "S" => "sleep",
        "D" => "blocked",
        "I" => "idle",
        "Z" => "zombie",
        "T" | "t" => "stop",
        "W" => "wait",
        "L" => "lock",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn files(stat: &str) -> Files {
        Files {
            stat: stat.into(),
            ..Files::default()
        }
    }

    #[test]
    fn boots() {
        let stat = "cpu  1 2 3\nintr 5\nctxt 6\nbtime 1740800000\nprocesses 7\n";
        assert_eq!(Boot::parse(stat), Boot(1_740_800_000));
        assert_eq!(Boot::parse("cpu 1\n"), Boot(0));
        assert_eq!(Boot::parse("btime x\n"), Boot(0));
    }

    #[test]
    fn a_process() {
        let files = Files {
            stat: "4242 (a) b (c) S 1 4242 4242 0 -1 4194304 100 0 0 0 5 6 0 0 20 0 9 0 123450 1 2 3\n".into(),
            command_line: b"python3\0train.py\0--name\0\0".to_vec(),
            environment: b"PATH=/bin\0CUDA_PROFILE=1\0COMPUTE_PROFILE=a=b\0XCUDA_PROFILE=2\0OPENCL_PROFILE\0".to_vec(),
            cgroups: format!("0::/docker/{}\n", "a".repeat(64)).into(),
        };
        assert_eq!(
            files.facts(Boot(1_740_800_000)),
            Facts {
                status: "sleep",
                zombie: false,
                arguments: ["python3", "train.py", "--name", ""]
                    .map(str::to_owned)
                    .into(),
                bad_variables: [
                    ("CUDA_PROFILE", "1".to_owned()),
                    ("COMPUTE_PROFILE", "a=b".to_owned())
                ]
                .into(),
                created: 1_740_801_234,
                home: ContainerIds {
                    container: Some("a".repeat(64)),
                    pod: None,
                },
            }
        );
        assert_eq!(files.facts(Boot(0)).created, 0);
    }

    #[test]
    fn states() {
        for (letter, status, zombie) in [
            ("R", "running", false),
            ("S", "sleep", false),
            ("D", "blocked", false),
            ("I", "idle", false),
            ("Z", "zombie", true),
            ("T", "stop", false),
            ("t", "stop", false),
            ("X", "", false),
        ] {
            let facts = files(&format!("1 (x) {letter} 1")).facts(Boot(1));
            assert_eq!((facts.status, facts.zombie), (status, zombie));
            assert_eq!((facts.created, facts.arguments.len()), (0, 0));
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]

        #[test]
        fn anything_is_survived(stat in any::<Vec<u8>>(), rest in any::<Vec<u8>>(), boot in any::<u64>()) {
            let files = Files { stat, command_line: rest.clone(), environment: rest.clone(), cgroups: rest };
            let facts = files.facts(Boot(boot));
            prop_assert!(facts.bad_variables.len() <= BAD_VARIABLES.len());
            Boot::parse(&String::from_utf8_lossy(&files.stat));
        }
    }
}
