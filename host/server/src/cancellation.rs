//! Ends an answer from outside: because its client does not read it, or because it makes room for another client's.

use tokio_util::sync::CancellationToken;

tokio::task_local! {
    /// Ends the HTTP/2 stream that the task serves.
    static STREAM: CancellationToken;
}

/// Ends one answer early, in steps from the gentlest to the last.
#[derive(Debug, Clone, Default)]
pub(super) struct Cancellation {
    asked: CancellationToken,
    stream: CancellationToken,
    connection: CancellationToken,
    is_http2: bool,
}

impl Cancellation {
    /// Returns how the answer to the request that this task serves is ended. Over HTTP/1.1 its end is that of the connection.
    pub(super) fn of_this_task(connection: &CancellationToken) -> Self {
        let stream = STREAM.try_with(CancellationToken::clone).ok();
        let is_http2 = stream.is_some();
        let stream = stream.unwrap_or_else(|| connection.clone());
        Self {
            asked: stream.clone(),
            stream,
            connection: connection.clone(),
            is_http2,
        }
    }

    /// Returns the same for an answer that ends by itself when it is asked to.
    pub(super) fn asking_first(self) -> Self {
        Self {
            asked: CancellationToken::new(),
            ..self
        }
    }

    /// Returns whether the answer has an HTTP/2 stream of its own.
    pub(super) fn is_http2(&self) -> bool {
        self.is_http2
    }

    /// Returns once the answer is asked to end by itself.
    pub(super) async fn asked(&self) {
        self.asked.cancelled().await;
    }

    /// Returns whether the answer is asked to end by itself.
    pub(super) fn is_asked(&self) -> bool {
        self.asked.is_cancelled()
    }

    /// Takes a step to end the answer.
    pub(super) fn take(&self, step: CancelStep) {
        match step {
            CancelStep::Ask => self.asked.cancel(),
            CancelStep::EndStream => self.stream.cancel(),
            CancelStep::CutConnection => self.connection.cancel(),
        }
    }
}

/// A step to end an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CancelStep {
    /// It may finish what it is writing. An answer that cannot be asked is ended.
    Ask,
    /// Its HTTP/2 stream is reset; an HTTP/1.1 connection is closed.
    EndStream,
    /// The connection is closed, with all that the client has not taken.
    CutConnection,
}

impl CancelStep {
    /// Returns the step that follows where this one did not help.
    pub(super) fn next(self) -> Option<Self> {
        match self {
            Self::Ask => Some(Self::EndStream),
            Self::EndStream => Some(Self::CutConnection),
            Self::CutConnection => None,
        }
    }
}

/// Runs each HTTP/2 stream as a task that [`Cancellation`] can end. A stream whose task is dropped is reset, and what
/// waits in it is thrown away.
#[derive(Debug, Clone, Copy)]
pub(super) struct StreamExecutor;

impl<F> hyper::rt::Executor<F> for StreamExecutor
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    fn execute(&self, stream: F) {
        let end = CancellationToken::new();
        let stream = STREAM.scope(end.clone(), stream);
        tokio::spawn(async move {
            tokio::select! {
                _ = stream => {}
                () = end.cancelled() => {}
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use hyper::rt::Executor as _;
    use tokio::sync::oneshot;

    use super::*;

    #[tokio::test]
    async fn a_stream_is_ended_alone_and_a_connection_without_streams_as_a_whole() {
        let connection = CancellationToken::new();
        let plain = Cancellation::of_this_task(&connection);
        assert!(!plain.is_http2());
        let (sender, cancellation) = oneshot::channel();
        let (held, dropped) = oneshot::channel::<()>();
        StreamExecutor.execute({
            let connection = connection.clone();
            async move {
                let _held = held;
                let _ = sender.send(Cancellation::of_this_task(&connection));
                std::future::pending::<()>().await;
            }
        });
        let stream: Cancellation = cancellation.await.unwrap();
        assert!(stream.is_http2());
        stream.take(CancelStep::EndStream);
        assert!(dropped.await.is_err(), "what it held is dropped");
        assert!(!connection.is_cancelled() && !plain.is_asked());
        plain.take(CancelStep::EndStream);
        assert!(connection.is_cancelled());
    }

    #[test]
    fn an_answer_that_can_be_asked_is_not_ended_at_once() {
        let connection = CancellationToken::new();
        let cancellation = Cancellation::of_this_task(&connection).asking_first();
        cancellation.take(CancelStep::Ask);
        assert!(cancellation.is_asked() && !connection.is_cancelled());
        let steps = [
            CancelStep::Ask,
            CancelStep::EndStream,
            CancelStep::CutConnection,
        ];
        assert_eq!(
            steps.map(CancelStep::next),
            [Some(steps[1]), Some(steps[2]), None]
        );
        // One that cannot be asked.
        let cancellation = Cancellation::of_this_task(&connection);
        cancellation.take(CancelStep::Ask);
        assert!(connection.is_cancelled());
    }
}
