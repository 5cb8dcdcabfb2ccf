//! A node as Slurm sees it: what `scontrol show node` prints.

use std::collections::BTreeSet;

/// Marks behind a state, such as the `*` of a node that does not respond.
const MARKS: &str = "*~#!%$@^-";
/// States and flags that keep new jobs from a node because somebody said so.
const WITHHELD: [&str; 5] = ["DRAIN", "DRAINED", "DRAINING", "FAIL", "FAILING"];

/// What decides about a node.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SlurmNode {
    /// The base state and its flags, such as `IDLE` and `DRAIN`.
    pub flags: BTreeSet<String>,
    /// Why it is drained or down, without who said so and when.
    pub reason: String,
}

impl SlurmNode {
    /// Reads the classic output, one node on several lines.
    ///
    /// # Errors
    /// It names no state.
    pub fn parse(output: &str) -> Result<Self, String> {
        let lines = || output.lines().map(str::trim);
        let state = lines().find_map(|line| line.strip_prefix("State="));
        let state = state.and_then(|rest| rest.split_whitespace().next());
        let Some(state) = state else {
            return Err("the output of `scontrol show node` names no state".to_owned());
        };
        let flags = state
            .split('+')
            .map(|flag| flag.trim_end_matches(|mark: char| MARKS.contains(mark)));
        let reason = lines().find_map(|line| line.strip_prefix("Reason="));
        Ok(Self {
            flags: flags
                .filter(|flag| !flag.is_empty())
                .map(str::to_ascii_uppercase)
                .collect(),
            reason: without_author(reason.unwrap_or_default()).to_owned(),
        })
    }

    /// Whether somebody keeps new jobs from it.
    pub fn is_withheld(&self) -> bool {
        WITHHELD.iter().any(|flag| self.flags.contains(*flag))
    }

    /// Whether it is down.
    pub fn is_down(&self) -> bool {
        self.flags.contains("DOWN")
    }
}

/// Takes ` [user@time]` away, which Slurm puts behind a reason.
fn without_author(reason: &str) -> &str {
    let author = reason.rsplit_once(" [");
    match author {
        Some((reason, author)) if author.ends_with(']') && author.contains('@') => reason,
        _ => reason,
    }
}

/// Checks a node's name: Slurm takes lists (`n[1-9]`, `a,b`) and `ALL` where a name is asked for, and each of them would
/// change other nodes.
///
/// # Errors
/// It is not the name of one node.
pub fn check_name(name: &str) -> Result<(), String> {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_.".contains(letter);
    let is_name = name.starts_with(|first: char| first.is_ascii_alphanumeric());
    match is_name && name.chars().all(is_plain) && !name.eq_ignore_ascii_case("all") {
        true => Ok(()),
        false => Err(format!("{name:?} is not the name of one node of Slurm")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As slurm-wlm 22.05 prints it.
    const DRAINED: &str = r#"NodeName=n1 Arch=x86_64 CoresPerSocket=1 
   CPUAlloc=0 CPUEfctv=2 CPUTot=2 CPULoad=0.50
   AvailableFeatures=(null)
   Gres=(null)
   NodeAddr=127.0.0.1 NodeHostName=vm Version=22.05.8
   OS=Linux 6.1.0 #1 SMP 
   RealMemory=1 AllocMem=0 FreeMem=20000 Sockets=2 Boards=1
   State=IDLE+DRAIN ThreadsPerCore=1 TmpDisk=0 Weight=1 Owner=N/A MCS_label=N/A
   Partitions=all 
   ExtSensorsJoules=n/s ExtSensorsWatts=0 ExtSensorsTemp=n/s
   Reason=gpud: a: b "x" State=DOWN [y] (z) [root@2026-11-26T02:58:56]

"#;

    #[test]
    fn the_classic_output_is_read() {
        let node = SlurmNode::parse(DRAINED).unwrap();
        assert!(node.is_withheld() && !node.is_down());
        assert_eq!(node.reason, "gpud: a: b \"x\" State=DOWN [y] (z)");
        for (output, flags, reason) in [
            ("   State=IDLE ThreadsPerCore=1", "IDLE", ""),
            ("State=IDLE*+DRAIN", "DRAIN IDLE", ""),
            ("State=DOWN*", "DOWN", ""),
            (
                "State=MIXED+DRAIN+NOT_RESPONDING\nReason=x [root@2026-11-26T02:58:57]",
                "DRAIN MIXED NOT_RESPONDING",
                "x",
            ),
            // A reason of several lines.
            (
                "State=IDLE+DRAIN\n   Reason=gpud: a [root@2026]\n          State=IDLE\n",
                "DRAIN IDLE",
                "gpud: a",
            ),
            ("State=IDLE\nReason=see [1]", "IDLE", "see [1]"),
        ] {
            let node = SlurmNode::parse(output).unwrap();
            let found: Vec<&str> = node.flags.iter().map(String::as_str).collect();
            assert_eq!(
                (found.join(" ").as_str(), node.reason.as_str()),
                (flags, reason)
            );
        }
        for output in ["", "Node n1 not found", "State=", "NodeName=a State=IDLE"] {
            assert!(SlurmNode::parse(output).is_err(), "{output:?}");
        }
    }

    #[test]
    fn a_name_is_the_name_of_one_node() {
        for name in ["n1", "gpu-node_7.cluster", "7"] {
            assert_eq!(check_name(name), Ok(()));
        }
        for name in [
            "",
            "ALL",
            "all",
            "n[1-9]",
            "a,b",
            "a b",
            "-n",
            ".",
            "n1\nState=IDLE",
            "n=1",
            "ä",
        ] {
            assert!(check_name(name).is_err(), "{name:?}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_output_is_read_or_refused(output in "(?s).{0,300}") {
            let _ = SlurmNode::parse(&output);
        }
    }
}
