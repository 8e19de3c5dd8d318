//! Events that runs are sent.

use serde_json::{Value, json};

use crate::world::{Answer, World};

async fn send(world: &World, run: &Value, key: Option<&str>, body: &Value) -> Answer {
    let path = format!("/v1/runs/{}/events", run["id"].as_str().expect("an id"));
    let mut request = world.request("service", "POST", &path, Some(&body.to_string()));
    if let Some(key) = key {
        let key = key.parse().expect("a header");
        request.headers_mut().insert("idempotency-key", key);
    }
    world.send(request).await
}

#[tokio::test]
async fn i15_an_event_that_is_sent_again_under_its_key_is_taken_once() {
    let world = World::new().await;
    let new = json!({ "workflow": "waits" });
    let run = world.post("service", "/v1/runs", &new).await.json();
    let other = world.post("service", "/v1/runs", &new).await.json();
    let paid = |n: u32| json!({ "name": "paid", "data": n });
    let (body, key) = (paid(1), Some("k1"));
    let at_once = tokio::join!(
        send(&world, &run, key, &body),
        send(&world, &run, Some("\"k1\""), &body),
    );
    let again = send(&world, &run, key, &body).await;
    let answers = [at_once.0, at_once.1, again];
    let replays = answers.map(|answer| {
        assert_eq!(answer.status, 200, "{}", answer.text);
        answer.header("idempotency-replayed") == "true"
    });
    assert_eq!(replays.iter().filter(|it| **it).count(), 2);
    for (to, body) in [
        (&run, paid(2)),
        (&run, json!({ "name": "lost", "data": 1 })),
        (&other, paid(1)),
    ] {
        let refused = send(&world, to, key, &body).await;
        assert_eq!(refused.problem(), (422, "key_reused".to_owned()));
    }
    send(&world, &run, None, &paid(3)).await;
    let ended = world.run_until(run.clone(), "passed").await;
    assert_eq!(ended["receipt"]["output"], json!([1, 3]), "{ended}");
    let late = send(&world, &run, key, &body).await;
    assert_eq!(
        (late.status.as_u16(), late.header("idempotency-replayed")),
        (200, "true"),
        "the answer that was lost is the same after the end"
    );
}
