//! Every error has the one shape.

use axum::body::Body;
use holdpoint_web::problem::Code;
use http::{HeaderName, HeaderValue, Request};
use serde_json::json;

use crate::world::{Answer, World, path};

fn check(name: &str, answer: &Answer, status: u16, code: &str) {
    assert_eq!(
        answer.header("content-type"),
        "application/problem+json",
        "{name}: {answer:?}"
    );
    let body = answer.json();
    assert_eq!(
        answer.problem(),
        (status, code.to_owned()),
        "{name}: {body}"
    );
    assert_eq!(body["status"], status, "{name}");
    assert_eq!(body["type"], format!("/docs/problems#{code}"), "{name}");
    assert_eq!(body["request_id"], answer.header("x-request-id"), "{name}");
    assert!(
        body["request_id"]
            .as_str()
            .is_some_and(|id| id.starts_with("req_")),
        "{name}"
    );
    assert!(
        body["instance"]
            .as_str()
            .is_some_and(|path| path.starts_with('/')),
        "{name}: {body}"
    );
    assert!(body["retryable"].is_boolean(), "{name}");
    for member in ["title", "detail"] {
        assert!(
            body[member].as_str().is_some_and(|text| !text.is_empty()),
            "{name}: {member}"
        );
    }
    assert_eq!(answer.header("cache-control"), "no-store", "{name}");
}

/// A name, who asks, method, path, body; status and code of the answer.
type Case<'a> = (
    &'a str,
    &'a str,
    &'a str,
    &'a str,
    Option<&'a str>,
    u16,
    &'a str,
);

#[tokio::test]
async fn every_error_is_a_problem_with_a_code_a_page_and_a_request_id() {
    let world = World::new().await;
    let action = world.staged().await;
    let votes = format!("{}/votes", path(&action));
    let large = format!("{{\"tool\":\"{}\"}}", "x".repeat(1_100_000));
    let deep = format!(
        "{{\"tool\":\"a\",\"args\":{}1{}}}",
        "[".repeat(100),
        "]".repeat(100)
    );
    #[rustfmt::skip]
    let cases: &[Case<'_>] = &[
        ("no route", "admin", "GET", "/v1/nothing", None, 404, "not_found"),
        ("no route at all", "", "GET", "/nothing", None, 404, "not_found"),
        ("method", "admin", "DELETE", "/v1/actions", None, 405, "method_not_allowed"),
        ("method of a probe", "", "POST", "/livez", None, 405, "method_not_allowed"),
        ("no credential", "", "GET", "/v1/actions", None, 401, "unauthenticated"),
        ("no role", "service", "GET", "/v1/people", None, 403, "forbidden"),
        ("not an id", "admin", "GET", "/v1/actions/act_1", None, 404, "not_found"),
        ("not UTF-8", "admin", "GET", "/v1/actions/%FF", None, 400, "bad_request"),
        ("parameter", "admin", "GET", "/v1/actions?x=1", None, 400, "bad_request"),
        ("query", "admin", "GET", "/v1/actions?tool=%FF%", None, 400, "bad_request"),
        ("wait", "admin", "GET", "/v1/actions/act_1?wait=1h", None, 404, "not_found"),
        ("no JSON", "service", "POST", "/v1/actions", Some("{"), 400, "malformed_json"),
        ("empty", "service", "POST", "/v1/actions", Some(""), 400, "malformed_json"),
        ("key twice", "service", "POST", "/v1/actions", Some(r#"{"tool":"a","tool":"b"}"#), 400, "malformed_json"),
        ("big number", "service", "POST", "/v1/actions", Some(r#"{"tool":"a","args":{"n":1e400}}"#), 400, "malformed_json"),
        ("lone surrogate", "service", "POST", "/v1/actions", Some(r#"{"tool":"\ud800"}"#), 400, "malformed_json"),
        ("too deep", "service", "POST", "/v1/actions", Some(&deep), 400, "malformed_json"),
        ("too large", "service", "POST", "/v1/actions", Some(&large), 413, "payload_too_large"),
        ("unknown member", "service", "POST", "/v1/actions", Some(r#"{"tool":"a","args":{},"as":"b"}"#), 422, "invalid_request"),
        ("unknown tool", "service", "POST", "/v1/actions", Some(r#"{"tool":"isue_refund","args":{}}"#), 422, "unknown_tool"),
        ("arguments", "service", "POST", "/v1/actions", Some(r#"{"tool":"issue_refund","args":{}}"#), 422, "invalid_args"),
        ("long reason", "service", "POST", "/v1/actions", Some(&json!({"tool":"issue_refund","args":{"order_id":"z"},"reason":"r".repeat(2001)}) .to_string()), 422, "invalid_request"),
        ("expires_in", "service", "POST", "/v1/actions", Some(r#"{"tool":"issue_refund","args":{"order_id":"z"},"expires_in":"soon"}"#), 422, "invalid_request"),
        ("scope", "stranger", "POST", "/v1/actions", Some(r#"{"tool":"issue_grant","args":{}}"#), 403, "missing_scope"),
        ("digest", "approver", "POST", &votes, Some(r#"{"vote":"approve","digest":"x","revision":1}"#), 422, "invalid_request"),
        ("wrong password", "", "POST", "/v1/sessions", Some(r#"{"email":"a@example.com","password":"b"}"#), 401, "wrong_credentials"),
        ("end of a key", "service", "DELETE", "/v1/sessions", None, 403, "forbidden"),
        ("no such person", "admin", "GET", "/v1/people/per_1", None, 404, "not_found"),
        ("weak password", "admin", "POST", "/v1/people", Some(r#"{"email":"n@example.com","name":"N","password":"short"}"#), 422, "invalid_request"),
        ("same address", "admin", "POST", "/v1/people", Some(r#"{"email":"ADMIN@example.com","name":"N"}"#), 409, "email_taken"),
        ("no such role", "admin", "POST", "/v1/people", Some(r#"{"email":"n@example.com","name":"N","roles":["aprover"]}"#), 422, "invalid_request"),
        ("kind of key", "admin", "POST", "/v1/keys", Some(r#"{"name":"n","kind":"person","owner":"per_1"}"#), 422, "invalid_request"),
        ("no recorder", "admin", "GET", "/metrics", None, 404, "not_found"),
    ];
    for (name, who, method, path, body, status, code) in cases {
        let answer = world.send(world.request(who, method, path, *body)).await;
        check(name, &answer, *status, code);
        if *status == 405 {
            assert!(!answer.header("allow").is_empty(), "{name}");
        }
        if *status == 401 {
            assert!(
                answer.header("www-authenticate").starts_with("Bearer"),
                "{name}"
            );
        }
    }
}

#[tokio::test]
async fn a_body_of_another_type_is_refused() {
    let world = World::new().await;
    for media_type in ["text/plain", "application/x-www-form-urlencoded", ""] {
        let mut request = world.request("service", "POST", "/v1/actions", Some("{}"));
        let value = HeaderValue::from_static(media_type);
        request.headers_mut().insert("content-type", value);
        check(
            media_type,
            &world.send(request).await,
            415,
            "unsupported_media_type",
        );
    }
}

#[tokio::test]
async fn i21_who_asks_too_often_is_told_when_to_come_back() {
    let world = World::new().await;
    let mut refused = None;
    for _ in 0..10_000 {
        let answer = world.get("", "/v1/tools").await;
        if answer.status == 429 {
            refused = Some(answer);
            break;
        }
    }
    let refused = refused.expect("a refusal");
    check("address", &refused, 429, "rate_limited");
    assert!(
        refused
            .header("retry-after")
            .parse::<u64>()
            .is_ok_and(|seconds| 0 < seconds)
    );
    // Probes and people with a credential are not affected.
    assert_eq!(world.get("", "/livez").await.status, 200);
    assert_eq!(world.get("service", "/v1/tools").await.status, 200);
}

#[tokio::test(start_paused = true)]
async fn a_handler_that_takes_too_long_and_a_body_that_does_not_come_are_problems() {
    let world = World::new().await;
    let hang = json!({"tool": "hang", "args": {}}).to_string();
    let slow = world
        .send(world.request("service", "POST", "/v1/actions", Some(&hang)))
        .await;
    // The tool's own time limit comes first, and is an answer.
    assert_eq!(slow.status, 200, "{}", slow.text);
    let mut silent = world.request("service", "POST", "/v1/actions", Some(""));
    *silent.body_mut() = Body::from_stream(futures_util::stream::pending::<
        Result<Vec<u8>, std::io::Error>,
    >());
    check("silent body", &world.send(silent).await, 408, "timeout");
}

#[tokio::test]
async fn ids_of_requests_are_ours() {
    let world = World::new().await;
    let request = Request::builder()
        .uri("/livez")
        .header(
            HeaderName::from_static("x-request-id"),
            "forged\u{7f}".replace('\u{7f}', ""),
        )
        .body(Body::empty())
        .expect("a request");
    let first = world.send(request).await;
    assert!(first.header("x-request-id").starts_with("req_"));
    let second = world.get("", "/livez").await;
    assert_ne!(first.header("x-request-id"), second.header("x-request-id"));
}

#[tokio::test]
async fn every_code_is_explained_at_the_address_that_problems_name() {
    let world = World::new().await;
    let page = world.get("", "/docs/problems").await;
    assert_eq!(page.status, 200);
    for code in Code::ALL {
        assert!(
            page.text.contains(&format!("id=\"{}\"", code.name())),
            "{}",
            code.name()
        );
        assert!(code.status().is_client_error() || code.status().is_server_error());
    }
}
