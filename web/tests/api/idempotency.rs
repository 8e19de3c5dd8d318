//! The same request again.

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
    other["reason"] = json!("another");
    let answer = submit(&world, &["k1"], &other).await;
    assert_eq!(answer.problem(), (422, "key_reused".into()));
    // Where it differs, never what either of them says.
    assert_eq!(answer.json()["errors"][0]["pointer"], "/reason");
    assert_eq!(answer.json()["errors"][1], Value::Null);
    assert!(!answer.text.contains("another"), "{}", answer.text);
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
    for keys in [&["a", "b"][..], &[""], &["\"open"], &["\"\""]] {
        let answer = submit(&world, keys, &world.refund()).await;
        assert_eq!(answer.problem(), (400, "bad_request".into()), "{keys:?}");
    }
}

#[tokio::test]
async fn an_idempotent_tool_is_answered_at_once_and_not_recorded() {
    let world = World::new().await;
    let body = json!({"tool": "lookup", "args": {}});
    let answer = world.post("service", "/v1/actions", &body).await;
    assert_eq!(
        (answer.status.as_u16(), answer.json()["result"].clone()),
        (200, json!({"balance": 5}))
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
