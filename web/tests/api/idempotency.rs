//! The same request again.

use std::num::NonZeroU32;
use std::time::Duration;

use holdpoint_web::WebConfig;
use http::HeaderValue;
use serde_json::{Value, json};

use crate::world::{Answer, World};

async fn submit(world: &World, keys: &[&'static str], body: &Value) -> Answer {
    let mut request = world.request("service", "POST", "/v1/actions", Some(&body.to_string()));
    for key in keys {
        request
            .headers_mut()
            .append("idempotency-key", HeaderValue::from_static(key));
    }
    world.send(request).await
}

#[tokio::test]
async fn the_same_request_again_is_answered_with_the_first_action() {
    let world = World::new().await;
    let body = world.refund();
    let first = submit(&world, &["\"k1\""], &body).await;
    assert_eq!(first.status, 201, "{}", first.text);
    let id = first.json()["id"].as_str().expect("an id").to_owned();
    assert_eq!(first.header("location"), format!("/v1/actions/{id}"));
    assert_eq!(first.header("idempotency-replayed"), "");
    // Bare or quoted, and in another order of members, it is the same request.
    for again in [
        submit(&world, &["k1"], &body).await,
        submit(&world, &["\"k1\""], &body).await,
    ] {
        assert_eq!(again.status, 200, "{}", again.text);
        assert_eq!(again.header("idempotency-replayed"), "true");
        assert_eq!(
            (
                again.json()["id"].as_str(),
                again.json()["replayed"].as_bool()
            ),
            (Some(id.as_str()), Some(true))
        );
    }
}

#[tokio::test]
async fn i15_a_key_with_another_request_is_a_conflict_never_a_replay() {
    let world = World::new().await;
    let body = world.refund();
    let first = submit(&world, &["k1"], &body).await.json();
    let mut other = body.clone();
    other["reason"] = json!("zebra");
    let answer = submit(&world, &["k1"], &other).await;
    assert_eq!(answer.problem(), (422, "key_reused".into()));
    // Where it differs, never what either of them says.
    assert_eq!(answer.json()["errors"][0]["pointer"], "/reason");
    assert_eq!(answer.json()["errors"][1], Value::Null);
    assert!(!answer.text.contains("zebra"), "{}", answer.text);
    let mut later = body.clone();
    later["expires_in"] = json!("1h");
    let answer = submit(&world, &["k1"], &later).await;
    assert_eq!(answer.json()["errors"][0]["pointer"], "/expires_in");
    // The key of the tool itself names the first action.
    let mut args = body.clone();
    args["args"]["amount"] = json!(7);
    let answer = submit(&world, &["k2"], &args).await;
    assert_eq!(answer.problem(), (409, "key_reused".into()));
    assert_eq!(answer.json()["action_id"], first["id"]);
    // Another principal's key of the same text is another key.
    let mut request = world.request(
        "agent",
        "POST",
        "/v1/actions",
        Some(&world.refund().to_string()),
    );
    request
        .headers_mut()
        .append("idempotency-key", HeaderValue::from_static("k1"));
    assert_eq!(world.send(request).await.status, 201);
}

#[tokio::test]
async fn malformed_and_repeated_keys_are_refused() {
    let world = World::new().await;
    for keys in [
        &["a", "b"][..],
        &["a", "a"],
        &[""],
        &["\"open"],
        &["\"\""],
        &["a\tb"],
    ] {
        let answer = submit(&world, keys, &world.refund()).await;
        assert_eq!(answer.problem(), (400, "bad_request".into()), "{keys:?}");
        assert!(answer.text.contains("Idempotency-Key"), "{}", answer.text);
    }
    let listed = world.get("service", "/v1/actions").await;
    assert_eq!(listed.json()["data"], json!([]), "nothing was taken on");
}

#[tokio::test]
async fn a_key_has_1_to_255_printable_ascii_characters() {
    let world = World::new().await;
    let with_bytes = async |key: &[u8]| {
        let body = world.refund().to_string();
        let mut request = world.request("service", "POST", "/v1/actions", Some(&body));
        let value = HeaderValue::from_bytes(key).expect("a header");
        request.headers_mut().insert("idempotency-key", value);
        world.send(request).await
    };
    let longest = "k".repeat(255);
    assert_eq!(with_bytes(longest.as_bytes()).await.status, 201);
    // The quotes are no part of it.
    let quoted = format!("\"{}\"", "q".repeat(255));
    assert_eq!(with_bytes(quoted.as_bytes()).await.status, 201);
    for key in [
        "k".repeat(256),
        format!("\"{}\"", "q".repeat(256)),
        "kéy".into(),
    ] {
        let answer = with_bytes(key.as_bytes()).await;
        assert_eq!(answer.problem(), (400, "bad_request".into()), "{key}");
    }
    assert_eq!(with_bytes(b"latin-\xe9").await.problem().0, 400);
}

/// A request with this key as somebody.
async fn keyed(world: &World, who: &str, key: &'static str, body: &str) -> Answer {
    let mut request = world.request(who, "POST", "/v1/actions", Some(body));
    let key = HeaderValue::from_static(key);
    request.headers_mut().insert("idempotency-key", key);
    world.send(request).await
}

#[tokio::test]
async fn what_was_not_taken_on_leaves_the_key_free() {
    let world = World::new().await;
    let good = world.refund().to_string();
    let unfit = json!({"tool": "issue_refund", "args": {"amount": "much"}}).to_string();
    for (who, body, status) in [
        ("", good.as_str(), 401),
        ("service", "{\"tool\":", 400),
        (
            "service",
            "{\"tool\":\"issue_refund\",\"tool\":\"ship\"}",
            400,
        ),
        ("service", "{\"tool\":\"none\"}", 422),
        ("service", &unfit, 422),
    ] {
        let answer = keyed(&world, who, "k1", body).await;
        assert_eq!(answer.status.as_u16(), status, "{}", answer.text);
    }
    let taken = keyed(&world, "service", "k1", &good).await;
    assert_eq!(taken.status, 201, "{}", taken.text);
    assert_eq!(taken.header("idempotency-replayed"), "");
}

#[tokio::test]
async fn a_request_beyond_the_rate_leaves_the_key_free() {
    let world = World::with(WebConfig {
        requests_per_second: NonZeroU32::MIN,
        ..WebConfig::default()
    })
    .await;
    let body = world.refund().to_string();
    while world.get("service", "/v1/pause").await.status != 429 {}
    let late = keyed(&world, "service", "k1", &body).await;
    assert_eq!(late.problem(), (429, "rate_limited".into()));
    let taken = loop {
        let answer = keyed(&world, "service", "k1", &body).await;
        if answer.status != 429 {
            break answer;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    };
    assert_eq!(taken.status, 201, "{}", taken.text);
    assert_eq!(taken.header("idempotency-replayed"), "");
}

#[tokio::test]
async fn how_long_to_wait_is_no_part_of_what_a_key_stands_for() {
    let world = World::new().await;
    let body = world.refund().to_string();
    let first = keyed(&world, "service", "k1", &body).await;
    assert_eq!(first.status, 201, "{}", first.text);
    let mut request = world.request("service", "POST", "/v1/actions?wait=0s", Some(&body));
    let key = HeaderValue::from_static("k1");
    request.headers_mut().insert("idempotency-key", key);
    let again = world.send(request).await;
    assert_eq!(
        again.header("idempotency-replayed"),
        "true",
        "{}",
        again.text
    );
    assert_eq!(again.json()["id"], first.json()["id"]);
}

#[tokio::test]
async fn a_refusal_that_was_recorded_is_answered_again() {
    let world = World::new().await;
    let body = json!({"tool": "issue_grant", "args": {}});
    let text = body.to_string();
    let refused = async || keyed(&world, "stranger", "k1", &text).await;
    let (first, again) = (refused().await, refused().await);
    assert_eq!(first.problem(), (403, "missing_scope".into()));
    assert_eq!(again.problem(), (403, "missing_scope".into()));
    assert_eq!(first.json()["action_id"], again.json()["action_id"]);
}

#[tokio::test]
async fn a_key_whose_request_is_still_worked_on_is_a_conflict_to_be_tried_again() {
    let world = World::new().await;
    let body = json!({"tool": "hang", "args": {}});
    let text = body.to_string();
    // Whichever of the two has the key never ends; the other one is answered.
    let answer = tokio::select! {
        answer = keyed(&world, "service", "k1", &text) => answer,
        answer = keyed(&world, "service", "k1", &text) => answer,
    };
    assert_eq!(answer.problem(), (409, "in_progress".into()));
    assert_eq!(answer.header("retry-after"), "1");
}

#[tokio::test]
async fn an_idempotent_tool_is_answered_at_once_and_not_recorded() {
    let world = World::new().await;
    let body = json!({"tool": "lookup", "args": {}});
    let answer = world.post("service", "/v1/actions", &body).await;
    assert_eq!(
        (answer.status.as_u16(), answer.json()["result"].clone()),
        (200, json!({"balance": 5, "said": null}))
    );
    assert_eq!(
        world.get("service", "/v1/actions").await.json()["data"],
        json!([])
    );
}

#[tokio::test]
async fn i13_arguments_come_back_as_their_canonical_bytes() {
    let world = World::new().await;
    let body = r#"{"tool":"issue_refund","args":{"order_id":"a","amount":1.50e1}}"#;
    let request = world.request("service", "POST", "/v1/actions", Some(body));
    let answer = world.send(request).await;
    assert!(
        answer
            .text
            .contains(r#""args":{"amount":15,"order_id":"a"}"#),
        "{}",
        answer.text
    );
}

#[tokio::test]
async fn when_it_may_run_is_part_of_the_request_and_of_the_answer() {
    let world = World::new().await;
    let mut body = world.refund();
    body["not_before"] = json!("soon");
    let answer = submit(&world, &["k1"], &body).await;
    assert_eq!(answer.problem(), (422, "invalid_request".into()));
    assert_eq!(answer.json()["errors"][0]["pointer"], "/not_before");
    body["not_before"] = json!("1999-12-31T23:00:00+01:00");
    let answer = submit(&world, &["k2"], &body).await;
    assert_eq!(answer.status, 201, "{}", answer.text);
    assert_eq!(answer.json()["not_before"], "1999-12-31T22:00:00.000Z");
}

#[tokio::test]
async fn an_idempotent_tool_says_so_while_paused() {
    let world = World::new().await;
    let reason = json!({ "reason": "an incident" });
    let paused = world.post("operator", "/v1/pause", &reason).await;
    assert_eq!(paused.json()["paused"], true, "{}", paused.text);
    let body = json!({"tool": "lookup", "args": {}});
    let answer = world.post("service", "/v1/actions", &body).await;
    assert_eq!(answer.problem(), (503, "paused".into()));
    assert_eq!(answer.header("retry-after"), "30");
    assert_eq!(world.get("operator", "/readyz").await.status, 200);
    let resumed = world.post("admin", "/v1/resume", &json!({})).await;
    assert_eq!(resumed.json()["paused"], false, "{}", resumed.text);
    assert_eq!(
        world.post("service", "/v1/actions", &body).await.status,
        200
    );
}

#[tokio::test]
async fn incident_31_a_client_may_present_an_id_and_never_a_state() {
    let world = World::new().await;
    for (member, value) in [
        ("status", json!("approved")),
        ("approval", json!({ "votes": [] })),
        ("votes", json!([{ "person": "per_1", "vote": "approve" }])),
    ] {
        let mut body = world.refund();
        body[member] = value;
        let answer = submit(&world, &[], &body).await;
        assert_eq!(
            answer.problem(),
            (422, "invalid_request".into()),
            "{member}"
        );
    }
}
