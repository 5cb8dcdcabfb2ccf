//! The rest of a request's body that no handler read.

use std::{
    pin::Pin,
    sync::{Arc, Mutex, PoisonError},
    task::{Context, Poll},
    time::Duration,
};

use http_body_util::BodyExt as _;
use hyper::body::{Body, Frame, SizeHint};
use tokio::time::timeout;

/// Most bytes that are read only to be thrown away.
const MAX_BYTES: usize = 64 << 10;
/// Longest that is waited for them.
const MAX_TIME: Duration = Duration::from_millis(500);

/// Shares a body between the handler of its request and [`UnreadBody`].
pub(super) fn share<B>(body: B) -> (SharedBody<B>, UnreadBody<B>) {
    let body = Arc::new(Mutex::new(body));
    (SharedBody(Arc::clone(&body)), UnreadBody(body))
}

/// The body as the handler sees it.
pub(super) struct SharedBody<B>(Arc<Mutex<B>>);

/// The unread part of a body, once the request was answered.
pub(super) struct UnreadBody<B>(Arc<Mutex<B>>);

impl<B: Body + Unpin> Body for SharedBody<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        let mut body = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Pin::new(&mut *body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        let body = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let body = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        body.size_hint()
    }
}

impl<B: Body + Unpin> UnreadBody<B>
where
    B::Data: bytes::Buf,
{
    /// Reads what is left of the body, within bounds, and throws it away.
    pub async fn drain(self) {
        let mut body = SharedBody(self.0);
        if body.is_end_stream() {
            return;
        }
        let reading = async {
            let mut bytes = 0;
            while let Some(Ok(frame)) = body.frame().await {
                bytes += frame.data_ref().map_or(0, bytes::Buf::remaining);
                if bytes > MAX_BYTES {
                    return;
                }
            }
        };
        let _ = timeout(MAX_TIME, reading).await;
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use http_body_util::Full;

    use super::*;

    #[tokio::test]
    async fn what_nobody_read_is_read_away_and_the_rest_is_the_handlers() {
        let (handler, rest) = share(Full::new(Bytes::from_static(b"body")));
        assert_eq!(handler.collect().await.unwrap().to_bytes(), "body");
        rest.drain().await;
        let (handler, rest) = share(Full::new(Bytes::from_static(b"body")));
        rest.drain().await;
        assert!(handler.is_end_stream());
    }
}
