//! A node as Slurm sees it: what `scontrol show node` prints.

use std::collections::BTreeSet;

/// Marks behind a state, such as the `*` of a node that does not respond.
const MARKS: &str = "*~#!%$@^-";
/// States and flags with which an operator keeps new jobs from a node.
const WITHHELD: [&str; 5] = ["DRAIN", "DRAINED", "DRAINING", "FAIL", "FAILING"];

/// The facts of a node that decide.
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

    /// Whether an operator keeps new jobs from it.
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
mod tests;
