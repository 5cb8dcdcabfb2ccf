//! Decides what to do with a node, from the states of gpud and Slurm.

use super::node::SlurmNode;

/// How the reason of a drain begins that gpud set, and may take back.
pub const OWN: &str = "gpud: ";

/// The judgement about the node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Judgement {
    /// Jobs may run.
    Fit,
    /// Jobs should not run, and why.
    Unfit(String),
    /// Some components have not been checked since gpud started, and the others are fit.
    Undecided,
    /// gpud does not answer, and why.
    Unknown(String),
    /// The command line asks for no verdict that gpud can give, and why.
    Unanswerable(String),
}

/// The step to take in Slurm.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// Drain it for this reason.
    Drain(String),
    /// End the drain.
    Resume,
    /// Nothing.
    Leave(LeaveReason),
}

/// Why a node is left as it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LeaveReason {
    /// It is as it should be.
    AsItIs,
    /// gpud drained it before.
    Drained,
    /// Somebody else drained it, or took it down.
    NotOurs,
    /// There is nothing to go by.
    NoVerdict,
}

/// Returns the judgement that decides: no answer becomes a reason to drain where that was asked for.
pub fn weigh(judgement: Judgement, drain_if_unreachable: bool) -> Judgement {
    match judgement {
        Judgement::Unknown(why) if drain_if_unreachable => {
            Judgement::Unfit(format!("does not answer: {why}"))
        }
        other => other,
    }
}

/// Whether Slurm has to be asked about the node.
pub fn needs_node(judgement: &Judgement) -> bool {
    matches!(judgement, Judgement::Fit | Judgement::Unfit(_))
}

/// Decides. A drain of gpud keeps its first reason, so that a reason with a counter in it does not make Slurm write at
/// every check.
pub fn decide(judgement: &Judgement, node: &SlurmNode) -> Step {
    let is_own = node.reason.starts_with(OWN);
    match judgement {
        Judgement::Undecided | Judgement::Unknown(_) | Judgement::Unanswerable(_) => {
            Step::Leave(LeaveReason::NoVerdict)
        }
        Judgement::Fit if !node.is_withheld() => Step::Leave(LeaveReason::AsItIs),
        Judgement::Fit if is_own => Step::Resume,
        Judgement::Fit => Step::Leave(LeaveReason::NotOurs),
        Judgement::Unfit(_) if node.is_withheld() && is_own => Step::Leave(LeaveReason::Drained),
        Judgement::Unfit(_) if node.is_withheld() => Step::Leave(LeaveReason::NotOurs),
        // Its reason would be overwritten.
        Judgement::Unfit(_) if node.is_down() && !node.reason.is_empty() => {
            Step::Leave(LeaveReason::NotOurs)
        }
        Judgement::Unfit(why) => Step::Drain(format!("{OWN}{why}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each judgement against each kind of node.
    #[test]
    fn every_case() {
        use LeaveReason::{AsItIs, Drained, NoVerdict, NotOurs};

        let fit = Judgement::Fit;
        let unfit = Judgement::Unfit("disk: full".to_owned());
        let undecided = Judgement::Undecided;
        let unknown = Judgement::Unknown("no answer".to_owned());
        let unanswerable = Judgement::Unanswerable("no component counts".to_owned());
        let drain = || Step::Drain("gpud: disk: full".to_owned());
        let leave = Step::Leave;
        for (state, reason, on_fit, on_unfit) in [
            ("IDLE", "", leave(AsItIs), drain()),
            ("ALLOCATED", "", leave(AsItIs), drain()),
            // A note, or what a former drain left behind.
            ("IDLE", "fan replaced", leave(AsItIs), drain()),
            ("IDLE", "gpud: disk: full", leave(AsItIs), drain()),
            ("IDLE+DRAIN", "gpud: xid: 79", Step::Resume, leave(Drained)),
            ("MIXED+DRAIN", "gpud: xid: 79", Step::Resume, leave(Drained)),
            ("DOWN+DRAIN", "gpud: xid: 79", Step::Resume, leave(Drained)),
            ("IDLE+DRAIN", "bad dimm", leave(NotOurs), leave(NotOurs)),
            ("IDLE+DRAIN", "", leave(NotOurs), leave(NotOurs)),
            // Not our prefix.
            ("IDLE+DRAIN", "gpud says so", leave(NotOurs), leave(NotOurs)),
            ("IDLE+DRAIN", "see gpud: x", leave(NotOurs), leave(NotOurs)),
            ("FAIL", "vendor", leave(NotOurs), leave(NotOurs)),
            ("DOWN", "Not responding", leave(AsItIs), leave(NotOurs)),
            ("DOWN", "", leave(AsItIs), drain()),
            ("IDLE+MAINTENANCE+RESERVED", "", leave(AsItIs), drain()),
        ] {
            let node = SlurmNode::parse(&format!("State={state}\nReason={reason}")).unwrap();
            assert_eq!(decide(&fit, &node), on_fit, "fit, {state} {reason:?}");
            assert_eq!(decide(&unfit, &node), on_unfit, "unfit, {state} {reason:?}");
            for judgement in [&undecided, &unknown, &unanswerable] {
                assert_eq!(decide(judgement, &node), leave(NoVerdict), "{state}");
                assert!(!needs_node(judgement));
            }
        }
    }

    #[test]
    fn no_answer_drains_only_where_that_was_asked_for() {
        let unknown = || Judgement::Unknown("no answer".to_owned());
        assert_eq!(weigh(unknown(), false), unknown());
        assert_eq!(
            weigh(unknown(), true),
            Judgement::Unfit("does not answer: no answer".to_owned())
        );
        let unanswerable = Judgement::Unanswerable("no component counts".to_owned());
        for other in [Judgement::Fit, Judgement::Undecided, unanswerable] {
            assert_eq!(weigh(other.clone(), true), other);
        }
    }
}
