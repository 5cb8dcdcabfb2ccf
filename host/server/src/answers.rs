//! Answers that are made off the async threads, and bounded in bytes while clients read them.
//!
//! A request's turn ends when its answer is made. A slow client then still holds the text, so that an answer also takes a
//! reservation of its size until its last piece was written. One of which the client takes nothing is ended.

use std::{
    collections::HashSet,
    convert::Infallible,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use axum::{
    body::{Body, HttpBody},
    response::Response,
};
use bytes::Bytes;
use hyper::body::{Frame, SizeHint};

use super::{
    errors::ApiError,
    negotiation::{self, document},
    reservations::Reservation,
    stream::EndlessAnswer,
};
use crate::wire::{Form, Render};

/// Answers of more bytes need a reservation.
const SMALL: usize = 4 * 1024;
/// Bytes of which a client has to take all within the time for clients that do not read.
const PIECE: usize = 16 * 1024;

/// 200 with a document that may be large. It is built and encoded on a thread for blocking work.
pub(super) async fn large_document<D: Render>(
    form: Form,
    build: impl FnOnce() -> D + Send + 'static,
) -> Response {
    let made = tokio::task::spawn_blocking(move || document(form, &build())).await;
    made.unwrap_or_else(|error| negotiation::failed(&error))
}

/// Leaves out names that came before, so that no answer is larger than what is stored.
pub(super) fn each_once(mut names: Vec<String>) -> Vec<String> {
    let mut seen = HashSet::new();
    names.retain(|name| seen.insert(name.clone()));
    names
}

/// Returns the size that the answer reserves, if any. Answers that do not end have reservations of their own.
pub(super) fn place_size(response: &Response) -> Option<usize> {
    if response.extensions().get::<EndlessAnswer>().is_some() {
        return None;
    }
    let bytes = usize::try_from(response.body().size_hint().lower()).ok()?;
    // What an answer takes besides its bytes is less than a piece.
    (bytes > SMALL).then_some(bytes.max(PIECE))
}

/// Returns the same answer with its reservation, which ends once the client has read the answer or is disconnected.
pub(super) async fn hold(
    response: Response,
    reservation: Reservation,
) -> Result<Response, ApiError> {
    let (parts, body) = response.into_parts();
    // Every body of this server is whole and in memory, so reading it neither waits nor fails.
    let rest = axum::body::to_bytes(body, usize::MAX)
        .await
        .map_err(|error| ApiError::Numeric(format!("cannot send the answer: {error}")))?;
    let held = ReservedBody {
        rest,
        reservation: Arc::new(reservation),
    };
    Ok(Response::from_parts(parts, Body::new(held)))
}

/// A body that is sent in pieces, with its reservation.
struct ReservedBody {
    rest: Bytes,
    reservation: Arc<Reservation>,
}

impl HttpBody for ReservedBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if self.rest.is_empty() {
            // A stream that ended would hold what waits for its window, and could not be ended any more.
            if self.reservation.cancellation().is_http2() {
                ready!(self.reservation.progress().poll_released(cx));
            }
            return Poll::Ready(None);
        }
        let length = self.rest.len().min(PIECE);
        let piece = self.rest.split_to(length);
        Poll::Ready(Some(Ok(Frame::data(self.reservation.piece(piece)))))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty() && !self.reservation.cancellation().is_http2()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.rest.len() as u64)
    }
}

#[cfg(test)]
mod tests;
