//! Problem documents (RFC 9457) of the server, in words.

use serde_json::Value;

use crate::exit_code::ExitCode;
use crate::failure::Failure;

/// The failure that an answer with an error status means. `with_token` says whether a credential
/// was sent.
pub(crate) fn failure(status: u16, body: &[u8], with_token: bool) -> Failure {
    let Ok(problem) = serde_json::from_slice::<Value>(body) else {
        return Failure::new(
            ExitCode::of_problem("", status),
            format!("the server answered {status} without saying why"),
        )
        .help("check that --server names a Holdpoint server, and look at its log");
    };
    let text = |name: &str| {
        problem
            .get(name)
            .and_then(Value::as_str)
            .unwrap_or_default()
    };
    let code = text("code");
    let said = [text("detail"), text("title"), "the server refused"]
        .into_iter()
        .find(|text| !text.is_empty())
        .unwrap_or_default();
    let mut failure = Failure::new(
        ExitCode::of_problem(code, status),
        said.trim_end_matches('.'),
    );
    for error in problem
        .get("errors")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
    {
        let part = |name: &str| error.get(name).and_then(Value::as_str).unwrap_or_default();
        let place = match part("pointer") {
            "" => "the body",
            pointer => pointer,
        };
        failure = failure.detail(format!("{place}: {}", part("detail")));
    }
    let request_id = text("request_id");
    failure = failure.detail(match request_id {
        "" => format!("code {code}, HTTP status {status}"),
        id => format!("code {code}, HTTP status {status}, request {id}"),
    });
    if let Some(help) = help(code, with_token) {
        failure = failure.help(help);
    }
    failure.problem(problem)
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
        "in_progress" => "the same request is being worked on; send it again in a moment",
        "rate_limited" => "wait a moment, then send it again",
        "storage_unavailable" => "nothing was accepted; look at the server's log and its disk",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::failure;
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
