//! Problem documents (RFC 9457) of the server, in words.

use holdpoint::client::Problem;

use crate::exit_code::ExitCode;
use crate::failure::Failure;

/// The failure that a refusal of the server means.
pub(crate) fn failure(problem: &Problem) -> Failure {
    let code = problem.code.as_str();
    let exit_code = ExitCode::of_problem(code, problem.status);
    if problem.document.is_null() {
        return Failure::new(exit_code, problem.to_string())
            .help("check that --server names a Holdpoint server, and look at its log");
    }
    let mut failure = Failure::new(exit_code, problem.to_string());
    for error in &problem.errors {
        let place = match error.pointer.as_str() {
            "" => "the body",
            pointer => pointer,
        };
        failure = failure.detail(format!("{place}: {}", error.detail));
    }
    let status = problem.status;
    failure = failure.detail(match &problem.request_id {
        None => format!("code {code}, HTTP status {status}"),
        Some(id) => format!("code {code}, HTTP status {status}, request {id}"),
    });
    if let Some(help) = help(code, problem.with_token) {
        failure = failure.help(help);
    }
    failure.problem(problem.document.clone())
}

/// The same, from an answer with an error status. `with_token` says whether a credential was sent.
pub(crate) fn of_answer(status: u16, body: &[u8], with_token: bool) -> Failure {
    failure(&Problem::read(status, body, None, with_token))
}

/// What to do about a stable code.
fn help(code: &str, with_token: bool) -> Option<&'static str> {
    Some(match code {
        "unauthenticated" if with_token => {
            "the token is wrong or has ended; sign in again with `holdpoint login EMAIL`, or name another --token-file"
        }
        "unauthenticated" => {
            "sign in with `holdpoint login EMAIL`, or name an API key with --token-file FILE"
        }
        "unknown_tool" => "tools are defined in holdpoint.json; `holdpoint check` lists them",
        "stale_digest" | "stale_snapshot" => {
            "it is no longer what you saw; look at it again with `holdpoint actions show ID`, then decide anew"
        }
        "already_decided" => "see how it ended with `holdpoint actions show ID`",
        "self_approval" => {
            "somebody else has to decide: not the requester, nor the owner of its key"
        }
        "key_reused" => "use another --idempotency-key for another request",
        "asked_by_another" => {
            "it is made once, and not by you: somebody who sees all actions can say what became of it"
        }
        "in_progress" => "the same request is being worked on; send it again in a moment",
        "rate_limited" => "wait a moment, then send it again",
        "storage_unavailable" => "nothing was accepted; look at the server's log and its disk",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::of_answer as failure;
    use crate::exit_code::ExitCode;

    #[test]
    fn a_problem_is_told_with_code_errors_and_request() {
        let body = br#"{ "title": "Invalid", "detail": "the arguments do not fit the tool.", "code": "invalid_args",
            "request_id": "req_1", "errors": [ { "pointer": "/amount", "detail": "is missing" } ] }"#;
        let failure = failure(422, body, true);
        let text = failure.to_text();
        assert!(
            text.starts_with("error: the arguments do not fit the tool\n"),
            "{text}"
        );
        assert!(text.contains("/amount: is missing"), "{text}");
        assert!(
            text.contains("code invalid_args, HTTP status 422, request req_1"),
            "{text}"
        );
        assert_eq!(failure.code, ExitCode::Failure);
    }

    #[test]
    fn an_answer_of_some_other_server_is_told_as_such() {
        let failure = failure(502, b"<html>bad gateway</html>", false);
        assert!(failure.to_text().contains("502"), "{}", failure.to_text());
    }

    #[test]
    fn a_hostile_problem_cannot_write_to_the_terminal() {
        let body = "{ \"detail\": \"\u{1b}[2Jok\u{202e}\", \"code\": \"forbidden\" }";
        let failure = failure(403, body.replace('\u{1b}', "\\u001b").as_bytes(), true);
        assert!(!failure.to_text().contains('\u{1b}') && !failure.to_text().contains('\u{202e}'));
        assert_eq!(failure.code, ExitCode::NotAllowed);
    }
}
