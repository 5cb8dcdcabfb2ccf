//! Why there is no verdict.

use std::path::PathBuf;

use crate::cli::client::{ClientError, ask::AskError};

/// Why there is no verdict.
#[derive(Debug, thiserror::Error)]
pub enum HealthcheckError {
    /// No daemon uses the folder that was named.
    #[error("no daemon uses {}", .0.display())]
    NoDaemon(PathBuf),
    /// The daemon cannot be asked, or refuses.
    #[error(transparent)]
    Ask(#[from] AskError),
    /// The daemon has none of the components that were selected.
    #[error("gpud has none of the components that count")]
    NoComponents,
}

impl HealthcheckError {
    /// Returns whether the daemon does not answer. False where the command line is wrong: then nothing is known of the node.
    pub fn is_unreachable(&self) -> bool {
        match self {
            Self::NoComponents
            | Self::Ask(AskError::Client(ClientError::Address(_) | ClientError::Token(_))) => false,
            Self::NoDaemon(_) | Self::Ask(_) => true,
        }
    }
}

impl From<ClientError> for HealthcheckError {
    fn from(error: ClientError) -> Self {
        Self::Ask(error.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::healthcheck::testing::no_daemon;

    #[test]
    fn a_mistake_of_the_command_line_is_no_missing_answer() {
        for (error, expected) in [
            (no_daemon(), true),
            (HealthcheckError::NoDaemon("/d".into()), true),
            (AskError::Refused("503: busy".into()).into(), true),
            (ClientError::Address("x".into()).into(), false),
            (HealthcheckError::NoComponents, false),
        ] {
            assert_eq!(error.is_unreachable(), expected, "{error}");
        }
    }
}
