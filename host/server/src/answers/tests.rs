use futures_util::FutureExt as _;
use http_body_util::BodyExt as _;
use hyper::rt::Executor as _;
use tokio_util::sync::CancellationToken;

use super::*;
use crate::{
    cancellation::{Cancellation, StreamExecutor},
    limits::PORT,
    shares::Shares,
};

const TEXT: usize = PIECE * 2 + 1;

async fn held(shares: &Shares, cancellation: &Cancellation) -> Body {
    let response = Response::new(Body::from("x".repeat(TEXT)));
    let size = place_size(&response).unwrap();
    let reservation = shares.answer(size, cancellation).await.unwrap();
    hold(response, reservation).await.unwrap().into_body()
}

#[test]
fn small_answers_and_those_that_do_not_end_take_no_place() {
    let of = |bytes: usize| Response::new(Body::from("x".repeat(bytes)));
    assert_eq!(place_size(&of(SMALL)), None);
    assert_eq!(place_size(&of(SMALL + 1)), Some(PIECE));
    assert_eq!(place_size(&of(TEXT)), Some(TEXT));
    let mut endless = of(TEXT);
    endless.extensions_mut().insert(EndlessAnswer);
    assert_eq!(place_size(&endless), None);
}

#[tokio::test]
async fn an_answer_keeps_its_place_until_its_last_piece_is_written() {
    let shares = Shares::new(PORT);
    let mut body = held(&shares, &Cancellation::default()).await;
    assert_eq!(body.size_hint().exact(), Some(TEXT as u64));
    let mut pieces = Vec::new();
    while let Some(frame) = body.frame().await {
        pieces.push(frame.unwrap().into_data().unwrap());
    }
    let lengths: Vec<_> = pieces.iter().map(Bytes::len).collect();
    assert_eq!(lengths, [PIECE, PIECE, 1]);
    drop(body);
    while pieces.pop().is_some() {
        let expected = if pieces.is_empty() { 0 } else { TEXT };
        assert_eq!(shares.bytes_of_answers(), expected);
    }
}

#[tokio::test]
async fn a_client_that_is_gone_gives_the_place_back() {
    let shares = Shares::new(PORT);
    drop(held(&shares, &Cancellation::default()).await);
    assert_eq!(shares.bytes_of_answers(), 0);
}

/// Or the stream would end with pieces that nobody can throw away.
#[tokio::test]
async fn an_http2_stream_ends_after_its_last_piece_was_written() {
    let shares = Shares::new(PORT);
    let (sender, cancellation) = tokio::sync::oneshot::channel();
    StreamExecutor.execute(async move {
        let _ = sender.send(Cancellation::of_this_task(&CancellationToken::new()));
    });
    let cancellation: Cancellation = cancellation.await.unwrap();
    let mut body = held(&shares, &cancellation).await;
    let mut pieces = Vec::new();
    while let Some(Some(frame)) = body.frame().now_or_never() {
        pieces.push(frame.unwrap());
    }
    assert_eq!(pieces.len(), 3);
    assert!(!body.is_end_stream());
    pieces.pop();
    assert!(body.frame().now_or_never().is_none());
    pieces.clear();
    assert!(body.frame().await.is_none());
}
