//! `gpud healthcheck --slurm`: drains this node when it is unfit for jobs, and ends the drains that it began.

mod decision;
mod node;
mod scontrol;

use std::path::PathBuf;

use self::{
    decision::{Judgement, LeaveReason, Step, decide, needs_node, weigh},
    node::{SlurmNode, check_name},
    scontrol::Scontrol,
};
use super::{
    error::HealthcheckError,
    output,
    verdict::{Finding, Verdict},
};
use crate::{
    cli::{exit::Exit, options::FailOn, terminal::printable},
    node::files::Files,
};

/// Longest reason of a drain, bytes. Slurm takes more, but tools cut it.
const REASON: usize = 200;
/// Where the kernel keeps the host name, and more than its length.
const HOSTNAME: (&str, u64) = ("/proc/sys/kernel/hostname", 1024);

/// How to act in Slurm.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SlurmOptions {
    /// The health from which on the node is unfit for jobs.
    pub drain_on: FailOn,
    /// Whether to print the step without taking it.
    pub dry_run: bool,
    /// A daemon that does not answer makes the node unfit.
    pub drain_if_unreachable: bool,
    /// Slurm's name of the node; `None` is the host name.
    pub node: Option<String>,
    /// Slurm's program; `None` is the one in the usual folders.
    pub scontrol: Option<PathBuf>,
}

/// Does what the verdict asks for. The status is 1 for a node that is unfit for jobs, so that a Prolog refuses the job; else,
/// and in a dry run, it is 0: any other status of a Prolog or an Epilog makes Slurm drain the node itself.
pub async fn answer(options: &SlurmOptions, judged: &Result<Verdict, HealthcheckError>) -> Exit {
    let judgement = weigh(judgement(options, judged), options.drain_if_unreachable);
    let said = match act(options, &judgement).await {
        Ok((name, change)) => line(&name, &judgement, &change, options.dry_run),
        Err(why) => failed(&judgement, &why),
    };
    let is_unfit = matches!(judgement, Judgement::Unfit(_));
    Exit {
        code: u8::from(is_unfit && !options.dry_run),
        ..Exit::success(printable(&said) + "\n")
    }
}

fn judgement(options: &SlurmOptions, judged: &Result<Verdict, HealthcheckError>) -> Judgement {
    let verdict = match judged {
        Ok(verdict) => verdict,
        Err(why) if why.is_unreachable() => return Judgement::Unknown(why.to_string()),
        Err(why) => return Judgement::Unanswerable(why.to_string()),
    };
    let findings: Vec<Finding> = verdict.at_least(options.drain_on).cloned().collect();
    match (findings.is_empty(), verdict.starting) {
        (false, _) => Judgement::Unfit(output::list(&findings)),
        (true, 0) => Judgement::Fit,
        (true, _) => Judgement::Undecided,
    }
}

/// The step that was taken, and the node's reason before.
struct SlurmChange {
    step: Step,
    former: String,
}

/// Decides and acts. Returns the node's name, too.
async fn act(
    options: &SlurmOptions,
    judgement: &Judgement,
) -> Result<(String, SlurmChange), String> {
    let name = match &options.node {
        Some(name) => name.clone(),
        None => host_name().await?,
    };
    check_name(&name)?;
    if !needs_node(judgement) {
        let step = decide(judgement, &SlurmNode::default());
        let former = String::new();
        return Ok((name, SlurmChange { step, former }));
    }
    let scontrol = Scontrol::find(options.scontrol.as_deref()).await?;
    let node = scontrol.show(&name).await?;
    let step = match decide(judgement, &node) {
        Step::Drain(reason) => Step::Drain(output::cut(&printable(&reason), REASON)),
        other => other,
    };
    if !options.dry_run {
        match &step {
            Step::Drain(reason) => scontrol.drain(&name, reason).await?,
            Step::Resume => scontrol.resume(&name).await?,
            Step::Leave(_) => {}
        }
    }
    let former = match node.reason.is_empty() {
        true => "no reason given".to_owned(),
        false => node.reason,
    };
    Ok((name, SlurmChange { step, former }))
}

/// Returns the host name up to the first dot, which slurmd takes for the node's name, too.
async fn host_name() -> Result<String, String> {
    let (path, max) = HOSTNAME;
    let files = Files::live().map_err(|error| error.to_string())?;
    let name = files.read(path, max).await;
    let name = name.map_err(|error| error.to_string())?;
    let name = String::from_utf8_lossy(&name);
    Ok(name.trim().split('.').next().unwrap_or_default().to_owned())
}

/// The line for a node about which a decision was made.
fn line(name: &str, judgement: &Judgement, change: &SlurmChange, dry_run: bool) -> String {
    let SlurmChange { step, former } = change;
    let did = |past: &str, would: &str| match dry_run {
        true => format!("would {would}"),
        false => past.to_owned(),
    };
    match (step, judgement) {
        (Step::Drain(reason), _) => format!("{} {name}: {reason}", did("drained", "drain")),
        (Step::Resume, _) => format!(
            "{} {name}: it is fit again, was: {former}",
            did("resumed", "resume")
        ),
        (Step::Leave(LeaveReason::AsItIs), _) => format!("{name} is fit for jobs"),
        (Step::Leave(LeaveReason::Drained), _) => format!("{name} stays drained: {former}"),
        (Step::Leave(LeaveReason::NotOurs), Judgement::Unfit(why)) => {
            format!("{name} is withheld by others ({former}) and left alone; it is unfit: {why}")
        }
        (Step::Leave(LeaveReason::NotOurs), _) => {
            format!("{name} is withheld by others ({former}) and left alone; it is fit for jobs")
        }
        (Step::Leave(LeaveReason::NoVerdict), Judgement::Unknown(why)) => {
            format!("{name} is left alone, gpud does not answer: {why}")
        }
        (Step::Leave(LeaveReason::NoVerdict), Judgement::Unanswerable(why)) => {
            format!("{name} is left alone: {why}")
        }
        (Step::Leave(LeaveReason::NoVerdict), _) => {
            format!("{name} is left alone, gpud has not checked all components yet")
        }
    }
}

/// The line when nothing could be done.
fn failed(judgement: &Judgement, why: &str) -> String {
    match judgement {
        Judgement::Unfit(unfit) => {
            format!("cannot drain this node in Slurm: {why}; it is unfit: {unfit}")
        }
        _ => format!("cannot look at this node in Slurm: {why}"),
    }
}

#[cfg(test)]
mod tests;
