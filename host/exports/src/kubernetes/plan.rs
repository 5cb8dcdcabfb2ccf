//! From the server's node and the wanted verdicts to the requests that are missing.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::{
    rules::{Rule, SUMMARY},
    settings::Settings,
    verdicts::{self, Cause, ConditionStatus, Verdict},
    view::NodeView,
};
use crate::{Snapshot, UnixMillis};

/// How far a heartbeat may be in the future before the clocks are taken for different.
const CLOCK_SLACK_MS: u64 = 60_000;

/// The circumstances of a decision.
#[derive(Debug, Clone, Copy)]
pub struct PlanContext {
    pub now: UnixMillis,
    /// The first minutes, in which components may be missing or not checked yet.
    pub is_settling: bool,
    /// The first seconds, in which no fault of an earlier process recovers: the component that knew of it may be missing
    /// still.
    pub is_starting: bool,
    /// How old a heartbeat may become.
    pub heartbeat_ms: u64,
}

/// The causes of each condition that was judged, rather than left as it is on the server.
pub type Causes = BTreeMap<String, BTreeSet<Cause>>;

/// The judgements of this process, which begins with none.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Judgements {
    /// The causes of the last judgement.
    pub causes: Causes,
    /// Conditions that were without a fault once. All causes of their later faults are known to this process.
    pub without_fault: BTreeSet<String>,
}

/// The request that is missing, and the changes to report.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Plan {
    /// Conditions to apply.
    pub status: Option<Value>,
    /// Changes of conditions.
    pub changes: Vec<Change>,
    /// The judgements of this process, with those of this plan.
    pub judgements: Judgements,
    /// Whether the whole node is healthy.
    pub summary: Option<ConditionStatus>,
}

/// A condition that changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    pub condition: String,
    pub reason: String,
    pub message: String,
    pub is_fault: bool,
}

/// Compares the node with what is wanted. `before` are the judgements up to the last request.
pub fn plan(
    view: &NodeView,
    snapshot: &Snapshot,
    settings: &Settings,
    rules: &[Rule],
    before: &Judgements,
    moment: PlanContext,
) -> Plan {
    let judged = verdicts::judge(snapshot, rules, settings.unhealthy_from);
    let (carried, judged): (Vec<_>, Vec<_>) = judged
        .into_iter()
        .partition(|verdict| is_carried_over(view, verdict, before, moment));
    let causes: Causes = judged
        .iter()
        .map(|verdict| (verdict.condition.clone(), verdict.causes.clone()))
        .collect();
    let mut without_fault = before.without_fault.clone();
    let in_order = judged.iter().filter(|verdict| verdict.is_in_order());
    without_fault.extend(in_order.map(|verdict| verdict.condition.clone()));
    let changes = changes(view, &judged, &before.causes);
    let mut verdicts = judged;
    let carried = carried.into_iter().map(|verdict| verdict.condition);
    verdicts.extend(carried.filter_map(|condition| as_it_is(view, &condition)));
    if moment.is_settling {
        // Conditions without any component so far. One that the settings no longer have is not among them.
        for rule in rules {
            if !verdicts.iter().any(|one| one.condition == rule.condition) {
                verdicts.extend(as_it_is(view, &rule.condition));
            }
        }
    }
    let summary = verdicts
        .iter()
        .find(|verdict| verdict.condition == SUMMARY)
        .map(|verdict| verdict.status);
    Plan {
        status: status(view, &verdicts, &before.causes, &causes, moment),
        changes,
        judgements: Judgements {
            causes,
            without_fault,
        },
        summary,
    }
}

/// Returns true for a verdict that is too early to replace the one that is there, so that a restart does not flap it.
fn is_carried_over(
    view: &NodeView,
    verdict: &Verdict,
    before: &Judgements,
    moment: PlanContext,
) -> bool {
    let Some(known) = as_it_is(view, &verdict.condition) else {
        return false;
    };
    let is_unknown = verdict.status == ConditionStatus::Unknown;
    let recovers = known.is_fault() && !verdict.is_fault();
    let is_of_earlier_process = !before.without_fault.contains(&verdict.condition);
    (moment.is_settling && is_unknown) || (moment.is_starting && recovers && is_of_earlier_process)
}

/// Returns gpud's condition as it is on the server, if it says something.
fn as_it_is(view: &NodeView, condition: &str) -> Option<Verdict> {
    let own = view.own.conditions.get(condition)?;
    let known = view.conditions.get(own)?;
    let status = match known.status.as_str() {
        "True" => ConditionStatus::True,
        "False" => ConditionStatus::False,
        _ => return None,
    };
    Some(Verdict {
        condition: condition.to_owned(),
        status,
        reason: known.reason.clone(),
        message: known.message.clone(),
        causes: BTreeSet::new(),
    })
}

/// Returns true if the server's condition says the same.
fn is_same_condition(view: &NodeView, verdict: &Verdict) -> bool {
    view.conditions
        .get(&verdict.condition)
        .is_some_and(|known| {
            known.status == verdict.status.as_str() && known.reason == verdict.reason
        })
}

/// Returns the conditions to apply, if one changed or the heartbeat is due. A text that changed can wait for that.
fn status(
    view: &NodeView,
    verdicts: &[Verdict],
    before: &Causes,
    causes: &Causes,
    moment: PlanContext,
) -> Option<Value> {
    let types: BTreeSet<&String> = verdicts.iter().map(|v| &v.condition).collect();
    let mut both = causes
        .iter()
        .filter_map(|(kind, now)| Some((before.get(kind)?, now)));
    let has_others = both.any(|(before, now)| before != now);
    let changed = !types.into_iter().eq(view.own.conditions.iter())
        || has_others
        || verdicts
            .iter()
            .any(|verdict| !is_same_condition(view, verdict));
    if !changed && due_in(view, moment) > 0 {
        return None;
    }
    let now = timestamp(moment.now);
    let conditions = verdicts.iter().map(|verdict| {
        let known = view.conditions.get(&verdict.condition);
        let since = known
            .filter(|known| known.status == verdict.status.as_str())
            .and_then(|known| known.last_transition_time.clone());
        json!({
            "type": verdict.condition,
            "status": verdict.status.as_str(),
            "reason": verdict.reason,
            "message": verdict.message,
            "lastHeartbeatTime": now,
            "lastTransitionTime": since.unwrap_or_else(|| now.clone()),
        })
    });
    let conditions: Vec<Value> = conditions.collect();
    Some(json!({
        "apiVersion": "v1",
        "kind": "Node",
        // The uid keeps a node that was deleted from being made again.
        "metadata": {"name": view.name, "uid": view.uid},
        "status": {"conditions": conditions},
    }))
}

/// Returns in how many milliseconds the heartbeat is due; 0 if it is.
pub fn due_in(view: &NodeView, moment: PlanContext) -> u64 {
    let written = view
        .conditions
        .get(SUMMARY)
        .and_then(|condition| condition.heartbeat());
    match written {
        Some(written) if written <= moment.now.saturating_add(CLOCK_SLACK_MS) => written
            .saturating_add(moment.heartbeat_ms)
            .saturating_sub(moment.now)
            .min(moment.heartbeat_ms),
        _ => 0,
    }
}

/// Returns the conditions that are others than before. A new one is a change only if something is wrong.
fn changes(view: &NodeView, verdicts: &[Verdict], before: &Causes) -> Vec<Change> {
    let changed = verdicts.iter().filter(|verdict| {
        let known = view
            .conditions
            .get(&verdict.condition)
            .filter(|_| view.own.conditions.contains(&verdict.condition));
        let is_other = match known {
            Some(known) if known.status == "Unknown" => verdict.is_fault(),
            Some(_) => !is_same_condition(view, verdict),
            None => verdict.is_fault(),
        };
        let causes = before.get(&verdict.condition);
        let has_others = causes.is_some_and(|causes| *causes != verdict.causes);
        verdict.status != ConditionStatus::Unknown
            && (is_other || (verdict.is_fault() && has_others))
    });
    changed
        .map(|verdict| Change {
            condition: verdict.condition.clone(),
            reason: verdict.reason.clone(),
            message: verdict.message.clone(),
            is_fault: verdict.is_fault(),
        })
        .collect()
}

/// Returns a time as the API has it, without fractions.
pub fn timestamp(time: UnixMillis) -> String {
    let seconds = i64::try_from(time / 1000).unwrap_or(i64::MAX);
    let time = jiff::Timestamp::from_second(seconds).unwrap_or(jiff::Timestamp::MAX);
    format!("{time:.0}")
}
