//! Why an endpoint was not created or changed, or a message not sent by hand.

use holdpoint_storage::{AppendError, ReadError};

use crate::identity::{ChangeError, StoreError};
use crate::time::EntropyError;

/// Nothing was stored.
#[derive(Debug, thiserror::Error)]
pub enum WebhookError {
    /// A value breaks a rule; correct it and try again.
    #[error("the {field} {reason}")]
    Invalid {
        /// Which value: `url`, `name`, `types`, …
        field: &'static str,
        /// What is wrong with it and what is allowed.
        reason: String,
    },
    /// There is none, or the principal may not see it.
    #[error("there is no such webhook endpoint or delivery, or this credential may not see it")]
    NotFound,
    /// The principal may see it, but not do this.
    #[error("{0}")]
    Forbidden(String),
    /// It cannot be done now; what stands in the way.
    #[error("{0}")]
    NotPossible(String),
    /// The program failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl WebhookError {
    pub(super) fn invalid(field: &'static str, reason: impl Into<String>) -> Self {
        Self::Invalid {
            field,
            reason: reason.into(),
        }
    }
}

impl From<ChangeError> for WebhookError {
    fn from(error: ChangeError) -> Self {
        match error {
            ChangeError::Invalid { field, reason } => Self::Invalid { field, reason },
            ChangeError::Store(error) => Self::Store(error),
            ChangeError::EmailTaken { .. }
            | ChangeError::NotFound { .. }
            | ChangeError::Disabled { .. }
            | ChangeError::LastAdministrator { .. }
            | ChangeError::TooMany { .. } => Self::NotPossible(error.to_string()),
        }
    }
}

impl From<ReadError> for WebhookError {
    fn from(error: ReadError) -> Self {
        Self::Store(error.into())
    }
}

impl From<AppendError> for WebhookError {
    fn from(error: AppendError) -> Self {
        Self::Store(error.into())
    }
}

impl From<EntropyError> for WebhookError {
    fn from(error: EntropyError) -> Self {
        Self::Store(error.into())
    }
}
