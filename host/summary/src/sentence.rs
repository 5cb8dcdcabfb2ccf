//! The verdict, and the sentence that says it.

use super::{Since, Summary};
use crate::{model::Health, wire::MetaTime};

/// The worst that is wrong; without trouble, whether everything was checked.
pub(super) fn verdict(summary: &Summary) -> Health {
    let worst = summary.troubles.iter().map(|trouble| &trouble.health);
    match worst.max_by_key(|health| health.rank()) {
        Some(Health::Degraded) => Health::Degraded,
        Some(_) => Health::Unhealthy,
        None if summary.counts.initializing > 0 => Health::Initializing,
        None => Health::Healthy,
    }
}

/// Since when the verdict is this one: the first trouble that is as bad began then, or the last trouble ended.
pub(super) fn verdict_since(summary: &Summary, since: &Since) -> MetaTime {
    let rank = summary.verdict.rank();
    let worst = summary.troubles.iter();
    let worst = worst.filter(|trouble| trouble.health.rank() >= rank);
    MetaTime(match summary.verdict {
        Health::Healthy => since.healthy,
        Health::Initializing => None,
        _ => worst.filter_map(|trouble| trouble.since.0).min(),
    })
}

/// The verdict for everybody.
pub(super) fn of(summary: &Summary) -> String {
    let counts = &summary.counts;
    let Some(first) = summary.troubles.first() else {
        return match (summary.verdict == Health::Initializing, counts.present()) {
            (true, present) => format!(
                "{} of {} have not ended yet.",
                counts.initializing,
                counted(present, "check")
            ),
            (false, 0) => "There is nothing to check on this machine.".to_owned(),
            (false, present) => {
                let gpus = match summary.machine.gpu_count {
                    0 => String::new(),
                    count => format!(", {}", counted(count, "GPU")),
                };
                format!("{}{gpus}. Nothing to do.", counted(present, "check"))
            }
        };
    };
    let mut sentence = capitalized(&first.headline);
    match summary.troubles.len() - 1 {
        0 => {}
        1 => sentence.push_str(", and 1 more trouble"),
        more => sentence.push_str(&format!(", and {more} more troubles")),
    }
    sentence.push('.');
    if !first.action.is_empty() {
        sentence.push_str(&format!(" {}.", first.action));
    }
    sentence
}

/// `1 check`, `2 checks`.
fn counted(count: usize, what: &str) -> String {
    match count {
        1 => format!("1 {what}"),
        _ => format!("{count} {what}s"),
    }
}

/// With a capital where it begins with an ordinary word; names stay as they are.
fn capitalized(text: &str) -> String {
    match text
        .strip_prefix("the ")
        .or_else(|| text.strip_prefix("all "))
    {
        Some(_) => {
            let mut letters = text.chars();
            let first = letters.next().map(|first| first.to_ascii_uppercase());
            first.into_iter().chain(letters).collect()
        }
        None => text.to_owned(),
    }
}
