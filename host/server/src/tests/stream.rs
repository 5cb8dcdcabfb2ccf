//! `/v1/stream`: what readers get, in which order, and when they are let go.

use std::{sync::Arc, time::Instant};

use axum::body::Body;
use futures_util::{FutureExt as _, StreamExt as _};
use http::{Request, StatusCode, header};
use tokio::sync::broadcast;
use tokio_util::sync::CancellationToken;
use tower::ServiceExt as _;

use super::peer;
use crate::{
    cancellation::Cancellation,
    component::feed::{Change, ChangeId, ChangeKind},
    limits::{PORT, STALL_TIME},
    model::{Event, Health, HealthState},
    node::socket_owner::own_uid,
    peer::{Identity, Peer},
    reservations::Reservation,
    router::{App, router},
    shares::{Bounds, Quota, Shares},
    test_backend::{Fake, NOW, app},
};

type Feed = broadcast::Sender<Arc<Change>>;

fn change(number: u64, kind: ChangeKind) -> Arc<Change> {
    Arc::new(Change {
        id: ChangeId {
            started: NOW.unsigned_abs(),
            number,
        },
        time: NOW.unsigned_abs() * 1000,
        component: "disk".to_owned(),
        kind,
    })
}

fn event(number: u64) -> Arc<Change> {
    let event = Event {
        name: format!("event-{number}"),
        ..Event::default()
    };
    change(number, ChangeKind::Event(event))
}

fn verdict(number: u64) -> Arc<Change> {
    let was = Health::Healthy;
    let state = HealthState {
        health: Health::Unhealthy,
        ..HealthState::default()
    };
    change(number, ChangeKind::Health { was, state })
}

/// An app with a feed that has room for so many changes.
fn live(backlog: usize) -> (App, Feed, Arc<Fake>) {
    let backend = Arc::<Fake>::default();
    let feed = Feed::new(backlog);
    *backend.feed.lock().unwrap() = Some(feed.clone());
    (app(Arc::clone(&backend)), feed, backend)
}

struct Follower(axum::body::BodyDataStream);

impl Follower {
    async fn of(app: &App, last_event_id: Option<&str>) -> Self {
        let response = ask(app, last_event_id).await;
        assert_eq!(response.status(), StatusCode::OK);
        let headers = response.headers();
        assert_eq!(headers[header::CONTENT_TYPE], "text/event-stream");
        assert_eq!(headers.get(header::CONTENT_ENCODING), None);
        Self(response.into_body().into_data_stream())
    }

    /// The next piece; `None` at the end.
    async fn next(&mut self) -> Option<String> {
        let piece = self.0.next().await?;
        Some(String::from_utf8(piece.unwrap().to_vec()).unwrap())
    }

    fn is_quiet(&mut self) -> bool {
        self.0.next().now_or_never().is_none()
    }
}

async fn ask(app: &App, last_event_id: Option<&str>) -> axum::response::Response {
    ask_over(app, last_event_id, &CancellationToken::new()).await
}

/// Asks over a connection of its own.
async fn ask_over(
    app: &App,
    last_event_id: Option<&str>,
    connection: &CancellationToken,
) -> axum::response::Response {
    let mut request = Request::get("/v1/stream").header(header::ACCEPT_ENCODING, "gzip");
    if let Some(id) = last_event_id {
        request = request.header("last-event-id", id);
    }
    let mut request = request.body(Body::empty()).unwrap();
    request.extensions_mut().insert(peer(own_uid()));
    let cancellation = Cancellation::of_this_task(connection);
    request.extensions_mut().insert(cancellation);
    router(app.clone()).oneshot(request).await.unwrap()
}

#[tokio::test]
async fn a_reader_sees_changes_as_they_happen_and_the_summary_once() {
    let (app, feed, _) = live(16);
    let mut reader = Follower::of(&app, None).await;
    let first = reader.next().await.unwrap();
    assert_eq!(first, format!("retry: 2000\nid: {NOW}-5\n\n"));
    for change in [event(6), verdict(7), verdict(8)] {
        feed.send(change).unwrap();
    }
    for (number, kind) in [(6, "event"), (7, "health"), (8, "health")] {
        let piece = reader.next().await.unwrap();
        let begin = format!("id: {NOW}-{number}\nevent: {kind}\ndata: {{");
        assert!(piece.starts_with(&begin), "{piece}");
    }
    let summary = reader.next().await.unwrap();
    assert_eq!(summary, "event: summary-changed\ndata: {}\n\n");
    assert!(reader.is_quiet());
}

#[tokio::test]
async fn a_reader_goes_on_where_it_was_or_is_reset() {
    let (app, feed, backend) = live(16);
    *backend.missed.lock().unwrap() = Some(vec![event(4), event(5)]);
    let mut reader = Follower::of(&app, Some("7-3")).await;
    assert_eq!(
        reader.next().await.unwrap(),
        "retry: 2000\nid: 7-3\n\n",
        "its place stays until the first change"
    );
    feed.send(event(6)).unwrap();
    for number in [4, 5, 6] {
        let piece = reader.next().await.unwrap();
        assert!(piece.contains(&format!("event-{number}\"")), "{piece}");
    }
    *backend.missed.lock().unwrap() = None;
    for id in ["7-3", "nonsense", ""] {
        let mut reader = Follower::of(&app, Some(id)).await;
        let first = reader.next().await.unwrap();
        let expected = format!("retry: 2000\nid: {NOW}-5\nevent: reset\ndata: {{}}\n\n");
        assert_eq!(first, expected, "{id:?}");
    }
}

#[tokio::test]
async fn a_slow_reader_is_disconnected_and_delays_no_other() {
    let (app, feed, _) = live(4);
    let mut slow = Follower::of(&app, None).await;
    let mut quick = Follower::of(&app, None).await;
    slow.next().await.unwrap();
    quick.next().await.unwrap();
    for number in 6..30 {
        feed.send(event(number)).unwrap();
        let piece = quick.next().await.unwrap();
        assert!(piece.contains(&format!("event-{number}\"")), "{piece}");
    }
    assert_eq!(slow.next().await, None);
    assert!(quick.is_quiet());
}

#[tokio::test]
async fn readers_share_the_bytes() {
    let (app, feed, _) = live(16);
    let mut pieces = Vec::new();
    let mut readers = Vec::new();
    for _ in 0..20 {
        let mut reader = Follower::of(&app, None).await;
        reader.next().await.unwrap();
        readers.push(reader);
    }
    feed.send(event(6)).unwrap();
    for reader in &mut readers {
        pieces.push(reader.0.next().await.unwrap().unwrap());
    }
    let first = pieces[0].as_ptr();
    assert!(pieces.iter().all(|piece| piece.as_ptr() == first));
}

#[tokio::test]
async fn all_readers_are_let_go_when_the_daemon_stops() {
    let (app, _feed, _) = live(16);
    let mut reader = Follower::of(&app, None).await;
    reader.next().await.unwrap();
    assert!(reader.is_quiet());
    app.shutdown.cancel();
    assert_eq!(reader.next().await, None);
}

#[tokio::test]
async fn places_are_bounded_and_come_back() {
    let (app, _feed, _) = live(16);
    let mut readers = Vec::new();
    let refused = loop {
        let response = ask(&app, None).await;
        if response.status() != StatusCode::OK {
            break response;
        }
        readers.push(response);
        assert!(readers.len() < 10_000);
    };
    assert_eq!(refused.status(), StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(readers.len(), 2048);
    readers.pop();
    assert_eq!(ask(&app, None).await.status(), StatusCode::OK);
}

/// Returns an app whose streams have one place, for anybody.
fn with_one_place() -> App {
    let (mut app, _, _) = live(16);
    let one = Quota {
        all: 1,
        others: 1,
        each: 1,
    };
    app.shares = Arc::new(Shares::new(Bounds {
        streams: one,
        ..PORT
    }));
    app
}

/// A newcomer on a connection of its own.
fn newcomer(app: &App) -> Option<Reservation> {
    let peer = Peer::disconnected(Identity::User(12345), false);
    let admitted = app.shares.admit(&peer).unwrap();
    admitted.stream(&Cancellation::default())
}

#[tokio::test]
async fn a_reader_that_makes_room_is_asked_to_come_back_later() {
    let app = with_one_place();
    let connection = CancellationToken::new();
    let response = ask_over(&app, None, &connection).await;
    let mut reader = Follower(response.into_body().into_data_stream());
    reader.next().await.unwrap();
    assert!(reader.is_quiet());
    let _newcomer = newcomer(&app).unwrap();
    let farewell = reader.next().await.unwrap();
    assert_eq!(
        farewell,
        "retry: 10000\n: too many readers follow this gpud\n\n"
    );
    assert_eq!(reader.next().await, None);
    assert!(!connection.is_cancelled(), "it ended by itself");
}

#[tokio::test]
async fn a_reader_that_makes_room_and_does_not_read_is_cut_off() {
    let app = with_one_place();
    let connection = CancellationToken::new();
    let _response = ask_over(&app, None, &connection).await;
    let _newcomer = newcomer(&app).unwrap();
    app.shares.end_stalled(Instant::now());
    assert!(!connection.is_cancelled());
    app.shares.end_stalled(Instant::now() + STALL_TIME);
    assert!(connection.is_cancelled());
}

#[tokio::test]
async fn a_reader_that_takes_nothing_is_cut_off_and_one_that_has_taken_all_is_not() {
    let (app, feed, _) = live(16);
    let connections = [CancellationToken::new(), CancellationToken::new()];
    let [mut slow, mut quick] = [
        ask_over(&app, None, &connections[0]).await,
        ask_over(&app, None, &connections[1]).await,
    ]
    .map(|response| response.into_body().into_data_stream());
    slow.next().await.unwrap().unwrap();
    quick.next().await.unwrap().unwrap();
    feed.send(event(6)).unwrap();
    let _untaken = slow.next().await.unwrap().unwrap();
    quick.next().await.unwrap().unwrap();
    app.shares.end_stalled(Instant::now() + STALL_TIME);
    let cut = connections.map(|connection| connection.is_cancelled());
    assert_eq!(cut, [true, false]);
}
