//! What of the large answers is kept between requests, and for how long.

use std::time::{Duration, Instant};

use tokio::time::sleep;

use super::{event_lists::EventLists, sample_lists::SampleLists};

/// What nobody asked for is dropped after this.
const UNUSED: Duration = Duration::from_secs(120);
/// Between two looks at it.
const LOOK: Duration = Duration::from_secs(30);

/// Encoded events and samples.
#[derive(Debug, Default)]
pub(super) struct Kept {
    pub(super) events: EventLists,
    pub(super) samples: SampleLists,
}

impl Kept {
    /// Drops for ever what is no longer used.
    pub(super) async fn tidy(&self) {
        loop {
            sleep(LOOK).await;
            let Some(since) = Instant::now().checked_sub(UNUSED) else {
                continue;
            };
            self.events.forget(since).await;
            self.samples.forget(since).await;
        }
    }
}
