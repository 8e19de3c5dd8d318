//! A try of a step to which people said no, before it was asked for again.

use serde::Serialize;

use crate::run::state::Rejection;

/// An earlier try that was rejected.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RejectionReceipt {
    /// Which try.
    #[serde(rename = "try")]
    pub tried: u32,
    /// When, RFC 3339.
    pub at: String,
    /// By whom and why.
    pub why: String,
    /// The action that was rejected.
    pub action: Option<String>,
}

impl From<&Rejection> for RejectionReceipt {
    fn from(rejection: &Rejection) -> Self {
        Self {
            tried: rejection.number,
            at: rejection.at.rfc3339(),
            why: rejection.why.clone(),
            action: rejection.action.map(|action| action.to_string()),
        }
    }
}
