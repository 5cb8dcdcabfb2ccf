//! `GET /v1/stream`: changes as server-sent events, until the reader disconnects or the daemon stops.
//!
//! Nothing is stored for a reader but its place in the feed: one that is too slow loses its place, is cut off, and goes on
//! after the last id that it saw. A reader is woken only by a change, and now and then for a comment.

use std::{convert::Infallible, sync::Arc, time::Duration, vec};

use axum::{
    body::Body,
    extract::{Request, State},
    response::Response,
};
use bytes::Bytes;
use futures_util::stream;
use http::{
    HeaderMap, HeaderName, HeaderValue, StatusCode,
    header::{CACHE_CONTROL, CONTENT_TYPE},
};
use tokio::{
    sync::broadcast::{Receiver, error::RecvError},
    time::{Instant, Interval, MissedTickBehavior, interval_at, sleep_until},
};
use tokio_util::sync::CancellationToken;

use super::{
    activity::InFlightRequest, cancellation::Cancellation, encoded::Encoder, errors::ApiError,
    reservations::Reservation, router::App, shares::AdmittedConnection, summary::machine_and_gpus,
};
use crate::component::feed::{Change, ChangeId, ChangeKind, Subscription};

pub(super) const EVENTS: &str = "text/event-stream";
/// Shortest time between two comments that show that the connection is there. Proxies often wait for 60 s.
const LEAST_ALIVE: Duration = Duration::from_secs(40);
/// Most time that is added to it. It differs from reader to reader, so that those that came together are not woken together.
const ALIVE_SPREAD: Duration = Duration::from_secs(15);
/// Milliseconds by which the time of one reader differs from that of the next: the golden section of the spread.
const ALIVE_STEP: u64 = 9271;
/// Changes of health within this time change the summary once.
const SUMMARY_PAUSE: Duration = Duration::from_millis(300);
const COMMENT: &[u8] = b": alive\n\n";
/// The last message to a reader that makes room; it reconnects later than others.
const FAREWELL: &[u8] = b"retry: 10000\n: too many readers follow this gpud\n\n";
/// Without an id, so that the reader's place stays that of the change.
const SUMMARY_CHANGED: &[u8] = b"event: summary-changed\ndata: {}\n\n";
const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

/// Marks an answer that does not end, so that no layer waits for its end.
#[derive(Clone, Copy)]
pub(super) struct EndlessAnswer;

pub(super) async fn follow(
    State(app): State<App>,
    headers: HeaderMap,
    request: Request,
) -> Result<Response, ApiError> {
    let admitted = request.extensions().get::<Arc<AdmittedConnection>>();
    let cancellation = request.extensions().get::<Cancellation>().cloned();
    let cancellation = cancellation.unwrap_or_default().asking_first();
    let reservation = match admitted {
        Some(admitted) => admitted.stream(&cancellation),
        None => app.shares.stream(&cancellation),
    };
    let reservation = reservation.ok_or_else(|| {
        ApiError::Typed(
            StatusCode::SERVICE_UNAVAILABLE,
            "too many readers follow this gpud".to_owned(),
        )
    })?;
    // A text that is no id names no change of this daemon, so that the reader is reset.
    let seen = headers.get(LAST_EVENT_ID).map(|id| {
        let id = id.to_str().unwrap_or_default();
        id.parse().unwrap_or(ChangeId {
            started: 0,
            number: 0,
        })
    });
    learn_gpus(&app);
    let Subscription {
        missed,
        last,
        changes,
    } = app.backend.changes(seen);
    let first = match missed {
        Some(_) => format!("retry: 2000\nid: {}\n\n", seen.unwrap_or(last)),
        None => format!("retry: 2000\nid: {last}\nevent: reset\ndata: {{}}\n\n"),
    };
    let between = between_comments(reservation.number());
    let mut alive = interval_at(Instant::now() + between, between);
    alive.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let reader = Reader {
        first: Some(first.into()),
        missed: missed.unwrap_or_default().into_iter(),
        changes,
        encoder: Arc::clone(&app.encoder),
        alive,
        summary_due: None,
        shutdown: app.shutdown.clone(),
        reservation: Arc::new(reservation),
        is_over: false,
        _in_flight: request.extensions().get::<InFlightRequest>().cloned(),
    };
    let events = stream::unfold(reader, |mut reader| async move {
        let bytes = reader.next().await?;
        let piece = reader.reservation.piece(bytes);
        Some((Ok::<_, Infallible>(piece), reader))
    });
    let mut response = Response::new(Body::from_stream(events));
    response.extensions_mut().insert(EndlessAnswer);
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(EVENTS));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(
        HeaderName::from_static("x-accel-buffering"),
        HeaderValue::from_static("no"),
    );
    Ok(response)
}

/// Takes an inventory beside the stream where none was taken yet, so that its changes name GPUs by their numbers.
fn learn_gpus(app: &App) {
    if app.encoder.knows_gpus() || app.machine_info.is_being_taken() {
        return;
    }
    let app = app.clone();
    tokio::spawn(async move {
        machine_and_gpus(&app).await;
    });
}

/// Returns the time between two comments to the reader with this number.
fn between_comments(number: u64) -> Duration {
    let spread = u64::try_from(ALIVE_SPREAD.as_millis()).unwrap_or(u64::MAX);
    LEAST_ALIVE + Duration::from_millis(number.wrapping_mul(ALIVE_STEP) % spread)
}

/// One reader of the stream.
struct Reader {
    first: Option<Bytes>,
    missed: vec::IntoIter<Arc<Change>>,
    changes: Receiver<Arc<Change>>,
    encoder: Arc<Encoder>,
    alive: Interval,
    /// When the reader gets the event that the summary has changed.
    summary_due: Option<Instant>,
    shutdown: CancellationToken,
    reservation: Arc<Reservation>,
    /// It has made room for another reader.
    is_over: bool,
    /// The connection is not idle while it is read.
    _in_flight: Option<InFlightRequest>,
}

impl Reader {
    /// Returns what the reader gets next; `None` ends the stream.
    async fn next(&mut self) -> Option<Bytes> {
        if self.is_over {
            return None;
        }
        if self.reservation.cancellation().is_asked() {
            return Some(self.leave());
        }
        if let Some(first) = self.first.take() {
            return Some(first);
        }
        if let Some(change) = self.missed.next() {
            return Some(self.show(&change));
        }
        let due = self.summary_due;
        let summary = async move {
            match due {
                Some(due) => sleep_until(due).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            () = self.shutdown.cancelled() => None,
            () = self.reservation.cancellation().asked() => Some(self.leave()),
            change = self.changes.recv() => match change {
                Ok(change) => Some(self.show(&change)),
                // It comes back with the last id that it saw.
                Err(RecvError::Lagged(missed)) => {
                    tracing::debug!(missed, "a reader of the stream is too slow, and is cut off");
                    None
                }
                Err(RecvError::Closed) => None,
            },
            () = summary => {
                self.summary_due = None;
                Some(Bytes::from_static(SUMMARY_CHANGED))
            }
            _ = self.alive.tick() => Some(Bytes::from_static(COMMENT)),
        }
    }

    /// Returns the last words to the reader.
    fn leave(&mut self) -> Bytes {
        self.is_over = true;
        Bytes::from_static(FAREWELL)
    }

    fn show(&mut self, change: &Change) -> Bytes {
        if !matches!(change.kind, ChangeKind::Event(_)) && self.summary_due.is_none() {
            self.summary_due = Some(Instant::now() + SUMMARY_PAUSE);
        }
        self.encoder.encode(change)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn comments_of_a_thousand_readers_are_spread_and_come_within_a_minute() {
        let times: Vec<_> = (0..1000).map(between_comments).collect();
        let in_bounds = |time: &Duration| (LEAST_ALIVE..Duration::from_secs(60)).contains(time);
        assert!(times.iter().all(in_bounds));
        let seconds: HashSet<_> = times.iter().map(Duration::as_secs).collect();
        assert_eq!(seconds.len(), 15);
        assert_eq!(times.iter().collect::<HashSet<_>>().len(), 1000);
        assert!(between_comments(u64::MAX) >= LEAST_ALIVE);
    }
}
