//! Webhook endpoints over the API: the secret is shown once, mistakes are named.

use serde_json::json;

use crate::world::World;

#[tokio::test]
async fn i16_the_secret_is_in_the_answer_that_made_it_and_in_no_other() {
    let world = World::new().await;
    let body =
        json!({ "name": "orders", "url": "https://127.0.0.1:9/hook", "tools": ["issue_refund"] });
    let made = world.post("service", "/v1/webhook-endpoints", &body).await;
    assert_eq!(made.status, 201, "{}", made.text);
    let path = made.header("location").to_owned();
    let secret = made.json()["secret"].as_str().expect("a secret").to_owned();
    assert!(secret.starts_with("whsec_"));
    let rotated = world
        .post(
            "service",
            &format!("{path}/rotate"),
            &json!({ "overlap": "1h" }),
        )
        .await;
    let second = rotated.json()["secret"]
        .as_str()
        .expect("a secret")
        .to_owned();
    assert_ne!(secret, second);
    assert!(rotated.json()["endpoint"]["old_secret_until"].is_string());
    let tested = world
        .post("service", &format!("{path}/test"), &json!({}))
        .await
        .json();
    assert_eq!(tested["status"], "failed", "{tested}");
    assert_eq!(tested["type"], "webhook.test");
    let why = tested["attempts"][0]["error"].as_str().expect("words");
    assert!(why.contains("allowRanges"), "{why}");
    let id = path.rsplit('/').next().expect("an id");
    for path in [
        path.clone(),
        "/v1/webhook-endpoints".to_owned(),
        format!("/v1/webhook-deliveries?endpoint={id}"),
        "/v1/events?limit=1000".to_owned(),
    ] {
        let seen = world.get("auditor", &path).await;
        assert_eq!(seen.status, 200, "{}", seen.text);
        for secret in [&secret, &second] {
            assert!(!seen.text.contains(&secret["whsec_".len()..]), "{path}");
        }
    }
}

#[tokio::test]
async fn mistakes_in_an_endpoint_are_named_with_their_place() {
    let world = World::new().await;
    for (body, pointer) in [
        (json!({ "name": "x", "url": "ftp://example.com/" }), "/url"),
        (
            json!({ "name": "", "url": "https://example.com/" }),
            "/name",
        ),
        (
            json!({ "name": "x", "url": "https://example.com/", "types": ["action.aproved"] }),
            "/types",
        ),
        (
            json!({ "name": "x", "url": "https://example.com/", "owner": "per_nobody" }),
            "/owner",
        ),
        (
            json!({ "name": "x", "url": "https://example.com/", "secret": "mine" }),
            "/secret",
        ),
    ] {
        let answer = world.post("admin", "/v1/webhook-endpoints", &body).await;
        assert_eq!(answer.status, 422, "{}", answer.text);
        assert_eq!(answer.json()["errors"][0]["pointer"], pointer);
    }
    let answer = world.get("admin", "/v1/webhook-deliveries").await;
    assert_eq!(answer.problem(), (400, "bad_request".to_owned()));
    let answer = world.get("admin", "/v1/webhook-endpoints/whk_x").await;
    assert_eq!(answer.problem(), (404, "not_found".to_owned()));
    let (id, _) = {
        world.staged().await;
        world.endpoint().await
    };
    for act in ["enable", "disable"] {
        let path = format!("/v1/webhook-endpoints/{id}/{act}");
        let answer = world.post("admin", &path, &json!({})).await;
        assert_eq!(answer.problem(), (422, "reason_required".to_owned()));
    }
}
