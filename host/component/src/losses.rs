//! Lost kernel messages as events of the component that shows the daemon's own trouble.

use std::{future::Future, sync::Arc};

use tokio_util::sync::CancellationToken;

use super::{Services, outage, services::OWN_TROUBLE};
use crate::{
    model::{Event, EventType},
    node::kmsg::{Gap, GapLog},
    store::Commit,
};

/// Kernel messages that were lost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Loss {
    /// The sequence numbers of the lost records.
    pub gap: Gap,
    /// The component that did not get them; `None` if none did.
    pub component: Option<String>,
    /// The problem, where the gap's cause does not explain it.
    pub problem: Option<String>,
}

impl Loss {
    fn event(&self) -> Event {
        let Gap {
            cause,
            first_lost,
            last_lost,
            count,
            time,
        } = &self.gap;
        let whose = match &self.component {
            Some(component) => format!(" for {component}"),
            None => String::new(),
        };
        let problem = match &self.problem {
            Some(problem) => format!(": {problem}"),
            None => String::new(),
        };
        Event {
            time: *time,
            name: "kernel_log_gap".to_owned(),
            event_type: EventType::Warning,
            message: format!(
                "{count} kernel messages were lost{whose} (sequence {first_lost} to {last_lost}): {}{problem}",
                cause.as_str()
            ),
            ..Event::default()
        }
    }
}

/// Makes an event of every run of lost records. While the database cannot be written they wait in the log of gaps, which
/// merges them when they become many.
pub(super) async fn report(
    services: Arc<Services>,
    gaps: Arc<GapLog>,
    shutdown: CancellationToken,
) {
    loop {
        tokio::select! {
            () = shutdown.cancelled() => return,
            () = gaps.changed() => {}
        }
        let losses = gaps.take().into_iter().map(|gap| Loss {
            gap,
            component: None,
            problem: None,
        });
        let losses: Vec<Loss> = losses.collect();
        if !store(&services, &losses, shutdown.cancelled()).await {
            return;
        }
    }
}

/// Stores an event of each, waiting for the database. False if `ended` came first.
pub(super) async fn store(
    services: &Services,
    losses: &[Loss],
    ended: impl Future<Output = ()>,
) -> bool {
    for loss in losses {
        tracing::warn!("{}", loss.event().message);
    }
    let found = Commit {
        events: losses.iter().map(Loss::event).collect(),
        ..Commit::default()
    };
    match outage::commit_when_possible(services, OWN_TROUBLE, found, || {}, ended).await {
        Ok(stored) => stored.is_some(),
        Err(error) => {
            tracing::error!("a loss of kernel messages could not be stored: {error}");
            true
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::node::kmsg::GapCause;

    #[test]
    fn an_event_says_how_many_and_which_and_why() {
        let gap = Gap {
            cause: GapCause::InboxFull,
            first_lost: 7,
            last_lost: 19,
            count: 4,
            time: 5,
        };
        let loss = Loss {
            gap,
            component: Some("disk".to_owned()),
            problem: None,
        };
        let event = loss.event();
        assert_eq!((event.time, event.name.as_str()), (5, "kernel_log_gap"));
        assert_eq!(
            event.message,
            "4 kernel messages were lost for disk (sequence 7 to 19): they could not be handled and stored before the \
             kernel overwrote them"
        );
    }
}
