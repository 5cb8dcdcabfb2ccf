//! Turns the latest states of all components into a summary: one verdict, one sentence that everybody understands, and
//! troubles grouped by what they concern.
//!
//! Pure: the server, `gpud scan` and `gpud watch` collect the [`Input`], and show the [`Summary`]. The grouping is by
//! subject: 13 components that complain about one GPU are one [`Trouble`]. A state that names no subject is joined to a GPU
//! if its reason names one that is known. Which trouble caused which is not judged here: an incident that knows its causes
//! can later take the place of a subject in [`group`].

#![cfg_attr(
    test,
    allow(clippy::disallowed_methods, reason = "tests make their own machines")
)]

use gpud_model as model;
use gpud_store as store;
use gpud_wire as wire;

mod actions;
pub mod causes;
mod components;
mod explanation;
mod facts;
mod gpus;
mod group;
mod history;
mod input;
mod machine;
mod meaning;
mod mention;
mod predicate;
mod sentence;
mod subject;
mod view;
mod xids;

#[cfg(any(test, feature = "made-up"))]
pub mod test_machines;
#[cfg(test)]
mod tests;

pub use explanation::{CatalogEntry, Explanation};
pub use facts::{Fact, differing_catalog, error_facts};
pub use gpus::{Gpus, KnownGpu};
pub use history::{History, HistoryEntry};
pub use input::{ComponentInput, Input, Since, StateKey};
pub use machine::machine;
pub use meaning::meaning;
pub use subject::SubjectView;
pub use view::{Counts, Line, MachineView, Summary, Trouble, TroubleState};

use crate::model::Health;

/// Summarises what all components say now.
pub fn summarize(input: Input) -> Summary {
    let Input {
        components,
        machine,
        gpus,
        since,
    } = input;
    let mut summary = Summary {
        machine,
        ..Summary::default()
    };
    let mut items = Vec::new();
    for found in components {
        let line = |reason: &str| Line {
            component: found.component.clone(),
            reason: meaning(&found.component, reason),
        };
        let worst = found.states.iter().max_by_key(|state| state.health.rank());
        let reason = worst.map_or("", |state| state.reason.as_str());
        if !found.supported {
            summary.counts.absent += 1;
            summary.absent.push(Line {
                component: found.component.clone(),
                reason: meaning::absence(&found.component, reason),
            });
            continue;
        }
        match worst.map_or(Health::Healthy, |state| state.health.clone()) {
            Health::Healthy => {
                summary.counts.healthy += 1;
                summary.healthy.push(line(reason));
            }
            Health::Initializing => {
                summary.counts.initializing += 1;
                summary.initializing.push(line(reason));
            }
            Health::Degraded => summary.counts.degraded += 1,
            Health::Unhealthy | Health::Other(_) => summary.counts.unhealthy += 1,
        }
        items.extend(group::items(found));
    }
    summary.troubles = group::troubles(items, gpus, &since);
    summary.verdict = sentence::verdict(&summary);
    summary.since = sentence::verdict_since(&summary, &since);
    summary.sentence = sentence::of(&summary);
    summary
}
