//! The traits that an engine implements.

use std::time::Duration;

use crate::{
    Context, Record, Snapshot,
    metrics::{MetricPicture, Pushed},
    status::shortened,
};

/// Why something was not delivered.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DeliveryError {
    /// It may work later: the same batch is tried again.
    #[error("{message}")]
    Transient {
        /// The failed action, its target, the reason.
        message: String,
        /// How long the engine asks us to wait.
        retry_after: Option<Duration>,
    },
    /// The engine will never take these records. They are dropped, counted and logged; the others of the batch are tried
    /// again.
    #[error("{message}")]
    Refused {
        /// The engine's answer.
        message: String,
        /// Which of the batch, ascending; empty if the engine does not say which. Then each is tried by itself.
        records: Vec<usize>,
    },
    /// The engine took the records but for some, and does not say which. None of them is sent again; those are counted
    /// and logged.
    #[error("{message}")]
    PartlyTaken {
        /// The engine's answer.
        message: String,
        /// How many it left out.
        left_out: usize,
    },
}

impl DeliveryError {
    /// Makes an error that may pass.
    pub fn transient(message: impl Into<String>) -> Self {
        Self::Transient {
            message: message.into(),
            retry_after: None,
        }
    }

    /// Cuts the message to a length that a line of the log may have. A server may say as much as it likes.
    pub(crate) fn shortened(mut self) -> Self {
        let (Self::Transient { message, .. }
        | Self::Refused { message, .. }
        | Self::PartlyTaken { message, .. }) = &mut self;
        *message = shortened(message);
        self
    }

    /// Makes a refusal that does not say which record is at fault.
    pub fn refused(message: impl Into<String>) -> Self {
        Self::Refused {
            message: message.into(),
            records: Vec::new(),
        }
    }
}

/// An engine that takes records.
pub trait Export: Send {
    /// Delivers a batch, which is never empty. It is delivered when this returns `Ok`; until then the same records come
    /// again, so an engine must be able to tell a repeat by the records' ids.
    ///
    /// The call is dropped when it takes longer than the export's time limit.
    ///
    /// # Errors
    /// [`DeliveryError`].
    fn deliver(
        &mut self,
        batch: &[Record],
        context: &Context,
    ) -> impl Future<Output = Result<(), DeliveryError>> + Send;

    /// Returns how long records are gathered before a batch that is not full is delivered.
    fn gather(&self) -> Duration {
        Duration::ZERO
    }
}

/// An engine that takes the present state of the node.
pub trait StateExport: Send {
    /// Makes the engine show this state. It is called when the state changes, and at least every [`Self::resync`].
    ///
    /// # Errors
    /// [`DeliveryError`]; it is called again later, with the state of then.
    fn apply(
        &mut self,
        snapshot: &Snapshot,
        context: &Context,
    ) -> impl Future<Output = Result<(), DeliveryError>> + Send;

    /// Returns how long the engine's picture may go without being renewed.
    fn resync(&self) -> Duration;
}

/// An engine that takes the present value of all metrics.
pub trait MetricExport: Send {
    /// Sends a picture. It is called every [`Self::interval`]; after an error it is called earlier, with the values of then.
    ///
    /// # Errors
    /// [`DeliveryError`].
    fn push(
        &mut self,
        picture: &MetricPicture,
        context: &Context,
    ) -> impl Future<Output = Result<Pushed, DeliveryError>> + Send;

    /// Returns the time between two pushes.
    fn interval(&self) -> Duration;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_of_servers_are_cut() {
        let message = "x".repeat(2_000_000) + "\n";
        for error in [
            DeliveryError::transient(message.clone()),
            DeliveryError::refused(message.clone()),
            DeliveryError::PartlyTaken {
                message,
                left_out: 1,
            },
        ] {
            let said = error.shortened().to_string();
            assert!(said.len() < 1000 && !said.contains('\n'), "{}", said.len());
        }
        let short = DeliveryError::refused("no");
        assert_eq!(short.clone().shortened(), short);
    }
}
