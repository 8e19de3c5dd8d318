//! Work that services pull, on the wire.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::world::World;

async fn proposed(world: &World, number: u32) -> Value {
    let body = json!({"tool": "ship", "args": {"n": number}});
    let answer = world.post("service", "/v1/actions", &body).await;
    assert_eq!(answer.status, 201, "{}", answer.text);
    answer.json()
}

async fn claimed(world: &World) -> Value {
    let body = json!({"tools": ["ship"], "lease_seconds": 60});
    let answer = world.post("service", "/v1/work/claim", &body).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    answer.json()
}

fn at(work: &Value, what: &str) -> String {
    format!(
        "/v1/work/{}/{what}",
        work["attempt"].as_str().expect("an id")
    )
}

fn done(work: &Value) -> Value {
    json!({"epoch": work["epoch"], "outcome": "succeeded", "result": {"tracking": "T1"}})
}

#[tokio::test]
async fn a_worker_claims_keeps_and_completes_what_was_proposed() {
    let world = World::new().await;
    let action = proposed(&world, 1).await;
    let work = claimed(&world).await;
    assert_eq!(work["action"], action["id"]);
    for member in ["args", "idempotency_key", "digest", "tool", "summary"] {
        assert_eq!(work[member], action[member], "{member}");
    }
    assert_eq!(work["request_digest"], action["request"]["digest"]);
    let beat = json!({"epoch": work["epoch"], "lease_seconds": 600});
    let kept = world.post("service", &at(&work, "heartbeat"), &beat).await;
    assert_eq!(kept.status, 200, "{}", kept.text);
    assert!(work["lease_until"].as_str() <= kept.json()["lease_until"].as_str());
    let path = format!("/v1/actions/{}", action["id"].as_str().expect("an id"));
    let shown = world.get("service", &path).await.json();
    let lease = &shown["attempts"][0]["lease"];
    assert_eq!(
        (&lease["name"], &lease["worker"]),
        (&json!("service"), &json!(world.ids["service"]))
    );
    let complete = at(&work, "complete");
    let answer = world.post("service", &complete, &done(&work)).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    assert_eq!(answer.json()["status"], "succeeded");
    let again = world.post("service", &complete, &done(&work)).await;
    assert_eq!(
        (again.status, again.text.as_str()),
        (answer.status, answer.text.as_str())
    );
    let other = json!({"epoch": work["epoch"], "outcome": "failed", "reason": "no"});
    let other = world.post("service", &complete, &other).await;
    assert_eq!(other.problem(), (409, "already_reported".into()));
    let ended = world.get("service", &path).await.json();
    assert_eq!(ended["result"], json!({"tracking": "T1"}));
    let empty = world
        .post("service", "/v1/work/claim", &json!({"tools": ["ship"]}))
        .await;
    assert_eq!((empty.status.as_u16(), empty.text.as_str()), (204, ""));
}

#[tokio::test]
async fn i12_an_old_epoch_and_another_key_are_told_apart() {
    let world = World::new().await;
    proposed(&world, 1).await;
    let work = claimed(&world).await;
    let mut old = done(&work);
    old["epoch"] = json!(work["epoch"].as_u64().expect("a number") - 1);
    let complete = at(&work, "complete");
    let refused = world.post("service", &complete, &old).await;
    assert_eq!(refused.problem(), (409, "lease_lost".into()));
    let beat = world
        .post("service", &at(&work, "heartbeat"), &json!({"epoch": 1}))
        .await;
    assert_eq!(beat.problem(), (409, "lease_lost".into()));
    let stranger = world.post("stranger", &complete, &done(&work)).await;
    assert_eq!(stranger.problem(), (404, "not_found".into()));
    let other = world.post("worker2", &complete, &done(&work)).await;
    assert_eq!(other.problem(), (403, "not_the_holder".into()));
    for id in [
        "act_1.1",
        "act_00000000000000000000000000000000.01",
        "x",
        "act_x",
    ] {
        let path = format!("/v1/work/{id}/complete");
        let missing = world.post("service", &path, &done(&work)).await;
        assert_eq!(missing.problem(), (404, "not_found".into()), "{id}");
    }
}

#[tokio::test]
async fn what_is_said_badly_is_refused_with_its_place() {
    let world = World::new().await;
    proposed(&world, 1).await;
    for (body, pointer) in [
        (json!({"tools": ["ship"], "wait": "soon"}), "/wait"),
        (json!({"tools": ["ship"], "lease": 5}), "/lease"),
        (json!({"wait": "1s"}), "/tools"),
        (json!({"tools": ["shop"]}), "/tools"),
    ] {
        let refused = world.post("service", "/v1/work/claim", &body).await;
        assert_eq!(refused.status, 422, "{}", refused.text);
        assert_eq!(refused.json()["errors"][0]["pointer"], pointer);
    }
    let work = claimed(&world).await;
    let epoch = &work["epoch"];
    for (body, pointer) in [
        (json!({"epoch": epoch, "outcome": "done"}), "/outcome"),
        (json!({"epoch": epoch, "outcome": "failed"}), "/reason"),
        (
            json!({"epoch": epoch, "outcome": "unknown", "reason": "x", "result": 1}),
            "/result",
        ),
        (
            json!({"epoch": epoch, "outcome": "succeeded", "reason": "x"}),
            "/reason",
        ),
        (json!({"outcome": "succeeded"}), "/epoch"),
    ] {
        let refused = world.post("service", &at(&work, "complete"), &body).await;
        assert_eq!(refused.status, 422, "{}", refused.text);
        assert_eq!(refused.json()["errors"][0]["pointer"], pointer);
    }
    let unknown = json!({"epoch": epoch, "outcome": "unknown", "reason": "the line broke"});
    let answer = world
        .post("service", &at(&work, "complete"), &unknown)
        .await;
    assert_eq!(
        answer.json()["status"],
        "unknown",
        "nothing before was taken for a report"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_claim_that_waits_is_answered_when_work_comes() {
    let world = Arc::new(World::new().await);
    let waiting = {
        let world = Arc::clone(&world);
        tokio::spawn(async move {
            let body = json!({"tools": ["ship"], "wait": "60s"});
            world.post("service", "/v1/work/claim", &body).await
        })
    };
    tokio::task::yield_now().await;
    let action = proposed(&world, 1).await;
    let work = waiting.await.expect("no panic");
    assert_eq!(work.json()["action"], action["id"]);
}

#[tokio::test]
async fn the_same_claim_again_is_answered_with_the_same_work() {
    let world = World::new().await;
    for number in 1..=2 {
        proposed(&world, number).await;
    }
    let claim = async |keys: &[&'static str], lease: u32| {
        let body = json!({"tools": ["ship"], "lease_seconds": lease}).to_string();
        let mut request = world.request("service", "POST", "/v1/work/claim", Some(&body));
        for key in keys {
            let key = http::HeaderValue::from_static(key);
            request.headers_mut().append("idempotency-key", key);
        }
        world.send(request).await
    };
    let first = claim(&["\"k1\""], 60).await;
    assert_eq!(first.status, 200, "{}", first.text);
    // Bare or quoted, it is the same key.
    let again = claim(&["k1"], 60).await;
    assert_eq!((again.status, &again.text), (first.status, &first.text));
    let other = claim(&["k1"], 61).await;
    assert_eq!(other.problem(), (422, "key_reused".into()));
    for keys in [&["k1", "k1"][..], &["\"k1"]] {
        assert_eq!(claim(keys, 60).await.status, 400, "{keys:?}");
    }
    let second = claim(&["k2"], 60).await.json();
    assert_ne!(second["attempt"], first.json()["attempt"]);
}
