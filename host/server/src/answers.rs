//! Large answers: made off the async threads, and bounded in number while clients read them.
//!
//! A request's turn ends when its answer is made. A slow client then still holds the text, so that a large answer also
//! takes a place until its last piece is handed to the connection.

use std::{
    collections::HashSet,
    convert::Infallible,
    pin::Pin,
    task::{Context, Poll},
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
    shares::Permit,
};
use crate::wire::{Form, Render};

/// An answer of this many bytes takes a place.
const LARGE: u64 = 128 * 1024;
/// Bytes that a connection takes at a time.
const PIECE: usize = 64 * 1024;

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

/// Returns whether the answer must take a place.
pub(super) fn is_large(response: &Response) -> bool {
    response.body().size_hint().lower() >= LARGE
}

/// The same answer, which gives its place back once the client has read it or is gone.
pub(super) async fn hold(response: Response, place: Permit) -> Result<Response, ApiError> {
    let (parts, body) = response.into_parts();
    // Every body of this server is whole and in memory, so reading it neither waits nor fails.
    let rest = axum::body::to_bytes(body, usize::MAX)
        .await
        .map_err(|error| ApiError::Numeric(format!("cannot send the answer: {error}")))?;
    let held = Held {
        rest,
        _place: place,
    };
    Ok(Response::from_parts(parts, Body::new(held)))
}

/// A body in pieces, and its place.
struct Held {
    rest: Bytes,
    _place: Permit,
}

impl HttpBody for Held {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let length = self.rest.len().min(PIECE);
        let piece = self.rest.split_to(length);
        Poll::Ready((length > 0).then(|| Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.rest.len() as u64)
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;
    use http_body_util::BodyExt as _;

    use super::*;
    use crate::{limits::PORT, shares::Shares};

    fn free(shares: &Shares) -> usize {
        let take = || shares.answer().now_or_never().flatten();
        std::iter::from_fn(take).collect::<Vec<_>>().len()
    }

    #[tokio::test]
    async fn an_answer_keeps_its_place_until_its_last_piece_is_taken() {
        let shares = Shares::new(PORT);
        let text = "x".repeat(PIECE * 2 + 1);
        let place = shares.answer().await.unwrap();
        let response = Response::new(Body::from(text.clone()));
        let mut body = hold(response, place).await.unwrap().into_body();
        assert_eq!(body.size_hint().exact(), Some(text.len() as u64));
        let mut lengths = Vec::new();
        while let Some(frame) = body.frame().await {
            lengths.push(frame.unwrap().into_data().unwrap().len());
            assert_eq!(free(&shares), PORT.answers.all - 1);
        }
        assert_eq!(lengths, [PIECE, PIECE, 1]);
        drop(body);
        assert_eq!(free(&shares), PORT.answers.all);
    }

    #[tokio::test]
    async fn a_client_that_is_gone_gives_the_place_back() {
        let shares = Shares::new(PORT);
        let place = shares.answer().await.unwrap();
        let response = Response::new(Body::from("x".repeat(PIECE * 2)));
        drop(hold(response, place).await.unwrap());
        assert_eq!(free(&shares), PORT.answers.all);
    }
}
