//! The stable codes of problems.

use http::StatusCode;

macro_rules! codes {
    ($($name:ident, $code:literal, $status:ident, $title:literal, $help:literal;)+) => {
        /// What went wrong, as programs see it. A code never changes its meaning once released.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Code {
            $(#[doc = $title] $name,)+
        }

        impl Code {
            /// Every code.
            pub const ALL: &[Self] = &[$(Self::$name,)+];

            /// Its name on the wire.
            pub fn name(self) -> &'static str {
                match self { $(Self::$name => $code,)+ }
            }

            /// The status that it travels with.
            pub fn status(self) -> StatusCode {
                match self { $(Self::$name => StatusCode::$status,)+ }
            }

            /// A short heading, the same for every occurrence.
            pub fn title(self) -> &'static str {
                match self { $(Self::$name => $title,)+ }
            }

            /// What it means and what to do, for the page `/docs/problems`.
            pub fn help(self) -> &'static str {
                match self { $(Self::$name => $help,)+ }
            }
        }
    };
}

codes! {
    BadRequest, "bad_request", BAD_REQUEST, "The request is malformed",
        "A header, a parameter or the address is not written as it should be. The detail names it. Correct it and send again.";
    MalformedJson, "malformed_json", BAD_REQUEST, "The body is not strict JSON",
        "The body is not JSON, or has a key twice, a number that would lose its value, a lone surrogate, or is nested too deeply. The error names the place. Send numbers beyond 2^53 as strings.";
    BadCursor, "bad_cursor", BAD_REQUEST, "The cursor does not belong to this list",
        "Cursors are valid only with the filters of the page that gave them. Start again without a cursor.";
    Unauthenticated, "unauthenticated", UNAUTHORIZED, "A valid credential is required",
        "Send Authorization: Bearer with an API key (hp_…) or a session token (hps_…) that is neither expired nor revoked.";
    WrongCredentials, "wrong_credentials", UNAUTHORIZED, "The email or the password is wrong",
        "Check both. The answer does not say which of them is wrong.";
    Forbidden, "forbidden", FORBIDDEN, "This principal may not do that",
        "The credential is valid, but its roles or scopes do not cover the request. The detail says what is missing.";
    MissingScope, "missing_scope", FORBIDDEN, "The credential lacks a scope",
        "The tool asks for a scope that the key does not have. An administrator can create a key with it. The refusal is on record under action_id.";
    IdentityCheckFailed, "identity_check_failed", FORBIDDEN, "The identity rule of the tool says no",
        "The tool's identity rule compares the caller with the arguments, and they do not match. The refusal is on record under action_id.";
    SelfApproval, "self_approval", FORBIDDEN, "Nobody approves their own action",
        "Whoever asked for the action, or owns the credential that asked, may not vote on it. Somebody else must.";
    NotAnApprover, "not_an_approver", FORBIDDEN, "This principal may not vote on this action",
        "Only people with the role of approver, in one of the groups that the action asks for, may vote. API keys never vote.";
    ChangedAccess, "changed_access", FORBIDDEN, "Who changed access since then does not vote",
        "Whoever has changed accounts, roles or groups while the action was waiting may not vote on it. Somebody else must.";
    OwnOutcome, "own_outcome", FORBIDDEN, "Nobody settles their own action",
        "Whoever asked for the action or approved it may not say what became of it. Somebody else must.";
    CrossOrigin, "cross_origin", FORBIDDEN, "The request came from another site",
        "A request with a session cookie may change something only if it comes from this server's own pages. If you run a proxy, set the public URL and forward Host and Origin unchanged.";
    NotFound, "not_found", NOT_FOUND, "There is nothing at this address",
        "The address is wrong, or names something that this credential may not see. The two are not told apart on purpose.";
    MethodNotAllowed, "method_not_allowed", METHOD_NOT_ALLOWED, "The method is not allowed here",
        "The Allow header lists the methods that are.";
    Timeout, "timeout", REQUEST_TIMEOUT, "The request took too long to arrive",
        "The body did not arrive in time. Send it again, faster.";
    InProgress, "in_progress", CONFLICT, "The same request is still being worked on",
        "A request with this Idempotency-Key has not been answered yet. Wait for Retry-After and send the same request again.";
    KeyConflict, "key_reused", CONFLICT, "The tool's key was used for another call",
        "The tool's own idempotency key was used before with other arguments. The member action_id names the first action. With the header Idempotency-Key, the status is 422 instead. Either is never a replay.";
    KeyReused, "key_reused", UNPROCESSABLE_ENTITY, "The Idempotency-Key was used for another request",
        "Use a new key for a new request, and the same key only for the very same request.";
    AskedByAnother, "asked_by_another", CONFLICT, "Somebody else asked for the same call already",
        "The tool's own idempotency key stands for a call with the same arguments that another caller asked for. It is made once. Its action may not be seen with this credential: ask whoever sees all actions what became of it. Sending it again changes nothing.";
    StaleDigest, "stale_digest", CONFLICT, "The action has changed since it was shown",
        "The vote names another revision or digest than the current one. Read the action again, look at what changed, and vote on that.";
    StaleSnapshot, "stale_snapshot", CONFLICT, "The state has changed since it was shown",
        "The vote names another snapshot than the current one. Read the action again, look at what changed, and vote on that.";
    AlreadyDecided, "already_decided", CONFLICT, "Somebody or something was first",
        "The action is no longer waiting. The member action_status says what became of it.";
    AlreadyVoted, "already_voted", CONFLICT, "This person has voted already",
        "One person has one vote on each revision.";
    Expired, "expired", CONFLICT, "The deadline has passed",
        "The action was not called. If it is still wanted, submit it again.";
    TooLate, "too_late", CONFLICT, "The call may already be on its way",
        "A committed call cannot be stopped. Wait for its outcome.";
    NotWithdrawable, "not_withdrawable", CONFLICT, "There is nothing to take back",
        "Only somebody who approved can take it back, and only until the hold window ends.";
    NotUnknown, "not_unknown", CONFLICT, "The outcome is not in doubt",
        "Only an action whose outcome is unknown can be settled.";
    NotTheHolder, "not_the_holder", FORBIDDEN, "Another worker has this attempt",
        "Only the key that claimed an attempt may say anything about it. Claim other work.";
    LeaseLost, "lease_lost", CONFLICT, "The lease has ended, or is not this one",
        "The worker was silent for longer than its lease: the outcome is unknown until the source of truth or a person says what happened. Do nothing more about this attempt; a report is kept as evidence. Or the epoch is not that of the lease, and the detail says so: a lease that runs goes on, and counts with the epoch that came with the claim.";
    AlreadyReported, "already_reported", CONFLICT, "The attempt was reported before, differently",
        "One attempt has one report. The same report again is answered as the first one was; another one is refused.";
    NotFinal, "not_final", CONFLICT, "The action has no receipt yet",
        "A receipt exists once the action is final. Wait with GET /v1/actions/{id}?wait=30s.";
    EmailTaken, "email_taken", CONFLICT, "Another person has this address",
        "No two people have the same email address, however it is written.";
    NotPossible, "not_possible", CONFLICT, "That cannot be done now",
        "The detail says what stands in the way: a disabled account, the last administrator, or a bound.";
    PayloadTooLarge, "payload_too_large", PAYLOAD_TOO_LARGE, "The body is too large",
        "A body may have at most 1 MiB. Put large data elsewhere and send a reference.";
    UnsupportedMediaType, "unsupported_media_type", UNSUPPORTED_MEDIA_TYPE, "The body must be JSON",
        "Send Content-Type: application/json.";
    UnknownTool, "unknown_tool", UNPROCESSABLE_ENTITY, "There is no such tool",
        "GET /v1/tools lists the tools. What is not in the tools file is refused.";
    InvalidArgs, "invalid_args", UNPROCESSABLE_ENTITY, "The arguments do not fit the tool",
        "The member errors names each place. The tool's schema is in GET /v1/tools.";
    InvalidRequest, "invalid_request", UNPROCESSABLE_ENTITY, "The request does not fit",
        "The body is JSON, but a member is missing, unknown, of the wrong type or out of bounds. The member errors names each place.";
    BadSkill, "bad_skill", UNPROCESSABLE_ENTITY, "The skill file cannot be read",
        "The member errors lists every mistake of the file with its line and column, and what is valid there. holdpoint skill check FILE says the same.";
    BadInputs, "bad_inputs", UNPROCESSABLE_ENTITY, "The inputs are not those of the skill file",
        "The member errors names each input that is unknown, missing or of another type than the file declares.";
    BadTools, "bad_tools", UNPROCESSABLE_ENTITY, "The tools are not those of the skill file",
        "A step calls a tool that this server does not have, or a tool differs from the one that the file was made with. With ignore_manifest, differences from the manifest are let pass; a missing tool never is.";
    RunOver, "run_over", CONFLICT, "The run is over",
        "Nothing can happen to it any more, unless it is resumed. Read it to see how it ended.";
    NotResumable, "not_resumable", CONFLICT, "The run does not go on",
        "It has passed, goes on as another run, or is code that has ended. The detail says which. Start a new run.";
    ReasonRequired, "reason_required", UNPROCESSABLE_ENTITY, "A reason is required",
        "A rejection and a settlement need a reason, in words.";
    PreconditionFailed, "precondition_failed", UNPROCESSABLE_ENTITY, "A precondition of the tool does not hold",
        "The state of the world does not allow the call now. The refusal is on record under action_id.";
    RateLimited, "rate_limited", TOO_MANY_REQUESTS, "Too many requests",
        "Wait for the seconds in Retry-After.";
    Internal, "internal", INTERNAL_SERVER_ERROR, "The server made a mistake",
        "The fault is ours. The log has the details under the request_id. If the request changed something, read before you send it again, or send it with the same Idempotency-Key.";
    StateUnavailable, "state_unavailable", SERVICE_UNAVAILABLE, "The state of the world could not be read",
        "The tool's state query failed, so that nobody could decide on the action. Nothing was stored. Send it again later.";
    Overloaded, "overloaded", SERVICE_UNAVAILABLE, "Too much waits already",
        "Nothing was stored. Send it again later.";
    Paused, "paused", SERVICE_UNAVAILABLE, "Nothing is called now",
        "An operator has paused the engine. The tool would have to be called at once, so nothing was done and nothing was stored. Send it again later. Actions that are recorded are taken on as always, and run when somebody resumes.";
    StorageUnavailable, "storage_unavailable", SERVICE_UNAVAILABLE, "The store cannot take it now",
        "Nothing was acknowledged. Send it again later, with the same Idempotency-Key.";
    HandlerTimeout, "timeout", SERVICE_UNAVAILABLE, "The server took too long",
        "Whether it was done is not known to this answer. Read the action, or send the same request with the same Idempotency-Key.";
}

impl Code {
    /// Whether the same request may succeed later.
    pub fn is_retryable(self) -> bool {
        matches!(
            self,
            Self::Timeout
                | Self::InProgress
                | Self::NotFinal
                | Self::RateLimited
                | Self::StateUnavailable
                | Self::Overloaded
                | Self::Paused
                | Self::StorageUnavailable
                | Self::HandlerTimeout
        )
    }
}
