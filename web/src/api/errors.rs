//! From the engine's refusals to problems.

use std::time::Duration;

use holdpoint_engine::action::{Action, ActionId, Phase, Refusal};
use holdpoint_engine::approval::Ineligible;
use holdpoint_engine::engine::{ActError, ListError, SubmitError, Versioned};
use holdpoint_engine::full;
use holdpoint_engine::identity::{AuthError, ChangeError, SignInError, StoreError};

use crate::problem::{Code, Current, FieldError, Problem};

/// When to come back to something that is expected to pass soon.
const SOON: Duration = Duration::from_secs(1);
/// When to come back to something that takes a while.
pub(super) const LATER: Duration = Duration::from_secs(5);
/// When to come back to something that waits for a person.
const PAUSED: Duration = Duration::from_secs(30);

pub(super) fn unavailable(error: &(dyn std::error::Error + 'static)) -> Problem {
    // The chain is for the log, once; the client learns only that it may try again.
    let mut chain = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        chain = format!("{chain}: {cause}");
        source = cause.source();
    }
    tracing::error!(error = %chain, "the store cannot be used");
    let detail = if full::is_full(error) {
        full::WORDS
    } else {
        "the store cannot take it now; nothing was acknowledged"
    };
    Problem::new(Code::StorageUnavailable, detail).after(LATER)
}

impl From<ActError> for Problem {
    fn from(error: ActError) -> Self {
        match error {
            ActError::NotFound => Self::new(
                Code::NotFound,
                "there is no such action, or this credential may not see it",
            ),
            ActError::Forbidden(detail) => Self::new(Code::Forbidden, detail),
            ActError::Refused(refusal) => refused(&refusal),
            ActError::Unavailable(source) => unavailable(source.as_ref()),
        }
    }
}

fn refused(refusal: &Refusal) -> Problem {
    let code = match refusal {
        Refusal::StaleDigest { .. } => Code::StaleDigest,
        Refusal::StaleSnapshot => Code::StaleSnapshot,
        Refusal::AlreadyDecided { .. } => Code::AlreadyDecided,
        Refusal::Ineligible(Ineligible::SelfApproval | Ineligible::Instigated) => {
            Code::SelfApproval
        }
        Refusal::Ineligible(Ineligible::NotAPerson | Ineligible::NotAnApprover) => {
            Code::NotAnApprover
        }
        Refusal::Ineligible(Ineligible::ChangedAccess) => Code::ChangedAccess,
        Refusal::Ineligible(Ineligible::AlreadyVoted) => Code::AlreadyVoted,
        Refusal::Ineligible(Ineligible::Expired) | Refusal::NoTimeLeft { .. } => Code::Expired,
        Refusal::ReasonRequired => Code::ReasonRequired,
        Refusal::NotWithdrawable => Code::NotWithdrawable,
        Refusal::TooLate { .. } => Code::TooLate,
        Refusal::NotUnknown { .. } => Code::NotUnknown,
        Refusal::OwnOutcome => Code::OwnOutcome,
        Refusal::NotHolder => Code::NotTheHolder,
        Refusal::LeaseLost { .. } | Refusal::WrongEpoch => Code::LeaseLost,
        Refusal::AlreadyReported => Code::AlreadyReported,
        Refusal::Exists
        | Refusal::Missing
        | Refusal::OwnApproval
        | Refusal::NotDue { .. }
        | Refusal::OutOfPlace { .. } => {
            // Only the engine itself can send what these refuse.
            tracing::error!(%refusal, "a request led to a refusal that requests cannot cause");
            return Problem::new(
                Code::Internal,
                "the server made a mistake; the log has more",
            );
        }
    };
    Problem::new(code, refusal.to_string())
}

/// A refused vote, withdrawal, cancellation or settlement, with what the action is now.
pub(crate) fn act_problem(error: ActError, now: Option<&Versioned>) -> Problem {
    let problem = Problem::from(error);
    let (Some(now), false) = (now, problem.code == Code::NotFound) else {
        return problem;
    };
    let action = &now.action;
    let is_expired = matches!(action.phase, Phase::Expired);
    let mut problem = if problem.code == Code::AlreadyDecided && is_expired {
        Problem::new(Code::Expired, "the deadline passed before anybody decided")
    } else {
        problem
    };
    problem = problem.about(&action.id, Some(action.status().name()));
    if matches!(problem.code, Code::StaleDigest | Code::StaleSnapshot)
        && let Some(about) = &mut problem.about
    {
        about.current = Some(current(action));
    }
    problem
}

fn current(action: &Action) -> Current {
    let snapshot = action.snapshot.as_ref();
    Current {
        revision: action.revision,
        digest: action.proposal.digest.to_string(),
        snapshot_digest: snapshot.map(|snapshot| snapshot.digest.to_string()),
        changed: action
            .diff
            .iter()
            .map(|difference| difference.path.clone())
            .collect(),
    }
}

impl From<SubmitError> for Problem {
    fn from(error: SubmitError) -> Self {
        match error {
            SubmitError::UnknownTool {
                ref tool,
                ref suggestion,
            } => unknown_tool("/tool", tool, suggestion.as_deref()),
            SubmitError::InvalidArgs(ref mistakes) => {
                let errors = mistakes
                    .iter()
                    .map(|(pointer, detail)| {
                        FieldError::new(format!("/args{pointer}"), "invalid", detail.as_str())
                    })
                    .collect();
                Self::new(Code::InvalidArgs, error.to_string()).at(errors)
            }
            SubmitError::Refused { action } => refused_action(&action.action),
            SubmitError::KeyReused {
                first,
                request_key,
                differs,
            } => key_reused(first, request_key, &differs),
            SubmitError::AskedByAnother => Self::new(Code::AskedByAnother, error.to_string()),
            SubmitError::InProgress => Self::new(
                Code::InProgress,
                "a request with this Idempotency-Key is still being worked on",
            )
            .after(SOON),
            SubmitError::StateUnavailable(_) => {
                Self::new(Code::StateUnavailable, error.to_string()).after(LATER)
            }
            SubmitError::Paused => Self::new(
                Code::Paused,
                "paused by an operator: nothing is called; GET /v1/pause says why",
            )
            .after(PAUSED),
            SubmitError::Invalid(detail) => Self::new(Code::InvalidRequest, detail),
            SubmitError::Overloaded => Self::new(Code::Overloaded, error.to_string()).after(LATER),
            SubmitError::Unavailable(source) => unavailable(source.as_ref()),
        }
    }
}

pub(super) fn unknown_tool(pointer: &str, tool: &str, suggestion: Option<&str>) -> Problem {
    let hint = suggestion.map_or_else(
        || "GET /v1/tools lists the tools".to_owned(),
        |near| format!("did you mean {near}?"),
    );
    let detail = format!("there is no tool named {tool}; {hint}");
    Problem::new(Code::UnknownTool, detail.clone()).at(vec![FieldError::new(
        pointer,
        "unknown_tool",
        detail,
    )])
}

fn key_reused(first: Option<ActionId>, request_key: bool, differs: &[&str]) -> Problem {
    let problem = if request_key {
        Problem::new(
            Code::KeyReused,
            "this Idempotency-Key was used before with another body; use a new key",
        )
    } else {
        Problem::new(
            Code::KeyConflict,
            "the tool's key was used before with other arguments; it names another call",
        )
    };
    // Where they differ, never what they say: the key may have been guessed.
    let places = differs.iter().map(|member| {
        let detail = "it is not what the first request with this key said";
        FieldError::new(*member, "differs", detail)
    });
    let problem = problem.at(places.collect());
    match first {
        Some(id) => problem.about(&id, None),
        None => problem,
    }
}

fn refused_action(action: &Action) -> Problem {
    let (code, detail) = match &action.phase {
        Phase::Refused(refused) => {
            let code = match refused.code.as_str() {
                "missing_scope" => Code::MissingScope,
                "identity_check_failed" => Code::IdentityCheckFailed,
                "precondition_failed" => Code::PreconditionFailed,
                _ => Code::Forbidden,
            };
            (code, refused.message.clone())
        }
        _ => (Code::Forbidden, "the action was refused".to_owned()),
    };
    Problem::new(code, detail).about(&action.id, Some(action.status().name()))
}

impl From<ListError> for Problem {
    fn from(error: ListError) -> Self {
        match error {
            ListError::BadCursor => Self::new(Code::BadCursor, error.to_string()),
            ListError::Unavailable(source) => unavailable(source.as_ref()),
        }
    }
}

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Self {
        unavailable(&error)
    }
}

impl From<AuthError> for Problem {
    fn from(error: AuthError) -> Self {
        match error {
            AuthError::Malformed
            | AuthError::Unknown
            | AuthError::Expired
            | AuthError::Revoked
            | AuthError::Disabled => Self::new(Code::Unauthenticated, error.to_string()),
            AuthError::Store(source) => source.into(),
        }
    }
}

impl From<SignInError> for Problem {
    fn from(error: SignInError) -> Self {
        match error {
            SignInError::Refused => Self::new(Code::WrongCredentials, error.to_string()),
            SignInError::Throttled { retry_after } => {
                Self::new(Code::RateLimited, error.to_string()).after(retry_after)
            }
            SignInError::Store(source) => source.into(),
        }
    }
}

impl From<ChangeError> for Problem {
    fn from(error: ChangeError) -> Self {
        let detail = error.to_string();
        match error {
            ChangeError::Invalid { field, .. } => {
                let member = if field == "expiry" {
                    "expires_at"
                } else {
                    field
                };
                let place = FieldError::new(format!("/{member}"), "invalid", detail.as_str());
                Self::new(Code::InvalidRequest, detail).at(vec![place])
            }
            ChangeError::EmailTaken { .. } => Self::new(Code::EmailTaken, detail.clone())
                .at(vec![FieldError::new("/email", "taken", detail)]),
            ChangeError::NotFound { .. } => Self::new(Code::NotFound, detail),
            ChangeError::Disabled { .. }
            | ChangeError::LastAdministrator { .. }
            | ChangeError::TooMany { .. } => Self::new(Code::NotPossible, detail),
            ChangeError::Store(source) => source.into(),
        }
    }
}
