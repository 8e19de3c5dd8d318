//! What the exit codes of the program mean. They are a contract with scripts.

use std::process::ExitCode as ProcessCode;

/// The table printed below the help text; `docs/CLI.md` has the same.
pub(crate) const HELP: &str = "\
Exit codes:
  0  done; approved or succeeded
  1  failed
  2  wrong usage or configuration
  3  rejected
  4  expired
  5  still pending: the time to wait is over
  6  conflict: something moved in between, or replan_required
  7  not allowed
  130  interrupted (holdpoint run)

Data goes to stdout, messages to stderr. --json works with every command.
The reference is docs/CLI.md.";

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ExitCode {
    /// Done; approved or succeeded.
    Ok,
    /// It failed.
    Failure,
    /// The command line or the configuration is wrong.
    Usage,
    /// Somebody said no.
    Rejected,
    /// Nobody decided in time.
    Expired,
    /// The time to wait is over and nothing is final.
    Pending,
    /// Something moved in between: a stale digest, a decided action, `replan_required`.
    Conflict,
    /// The credential may not do this.
    NotAllowed,
    /// Somebody stopped it with a signal.
    Interrupted,
}

impl ExitCode {
    /// The number that the process ends with.
    pub(crate) fn number(self) -> u8 {
        match self {
            Self::Ok => 0,
            Self::Failure => 1,
            Self::Usage => 2,
            Self::Rejected => 3,
            Self::Expired => 4,
            Self::Pending => 5,
            Self::Conflict => 6,
            Self::NotAllowed => 7,
            Self::Interrupted => 130,
        }
    }

    /// What a caller that waited for an action learns from its status. A status that this version
    /// does not know is not final to it, so that a script looks again instead of going on.
    pub(crate) fn of_status(status: &str) -> Self {
        match status {
            "succeeded" | "approved" => Self::Ok,
            "failed" | "cancelled" => Self::Failure,
            "rejected" => Self::Rejected,
            "expired" => Self::Expired,
            "replan_required" => Self::Conflict,
            "refused" => Self::NotAllowed,
            _ => Self::Pending,
        }
    }

    /// What the stable code of a problem document, or else its HTTP status, means for a script.
    pub(crate) fn of_problem(code: &str, http_status: u16) -> Self {
        match code {
            "expired" => Self::Expired,
            "key_reused" | "asked_by_another" | "in_progress" | "stale_digest"
            | "stale_snapshot" | "already_decided" | "already_voted" | "not_final" => {
                Self::Conflict
            }
            "missing_scope"
            | "identity_check_failed"
            | "precondition_failed"
            | "self_approval"
            | "not_an_approver"
            | "unauthenticated"
            | "forbidden" => Self::NotAllowed,
            _ => match http_status {
                401 | 403 => Self::NotAllowed,
                409 | 412 => Self::Conflict,
                410 => Self::Expired,
                _ => Self::Failure,
            },
        }
    }
}

impl From<ExitCode> for ProcessCode {
    fn from(code: ExitCode) -> Self {
        Self::from(code.number())
    }
}

#[cfg(test)]
mod tests {
    use super::ExitCode;

    #[test]
    fn an_unknown_status_is_never_taken_for_success() {
        assert_eq!(ExitCode::of_status("teleported"), ExitCode::Pending);
        assert_eq!(ExitCode::of_problem("teleported", 500), ExitCode::Failure);
    }

    #[test]
    fn the_help_text_names_every_code() {
        for code in [
            ExitCode::Ok,
            ExitCode::Failure,
            ExitCode::Usage,
            ExitCode::Rejected,
            ExitCode::Expired,
            ExitCode::Pending,
            ExitCode::Conflict,
            ExitCode::NotAllowed,
        ] {
            assert!(super::HELP.contains(&format!("\n  {}  ", code.number())));
        }
    }
}
