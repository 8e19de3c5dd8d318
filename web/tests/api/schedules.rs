//! Schedules over the API.

use serde_json::{Value, json};

use crate::world::World;

fn at(schedule: &Value, rest: &str) -> String {
    let id = schedule["id"].as_str().expect("an id");
    format!("/v1/schedules/{id}{rest}")
}

#[tokio::test]
async fn a_schedule_is_made_paused_resumed_run_and_taken_away() {
    let world = World::new().await;
    let made = world.schedule().await;
    assert_eq!(
        (&made["name"], &made["skill"], &made["zone"]),
        (
            &json!("yearly"),
            &json!("pay-back"),
            &json!("Europe/Berlin")
        )
    );
    let next = made["next"][0].as_str().expect("a moment");
    assert!(
        next.ends_with("-12-31T23:00:00.000Z"),
        "midnight in Berlin: {next}"
    );
    assert_eq!(
        (&made["flags"]["stage"], &made["paused"]),
        (&json!(true), &Value::Null)
    );

    let why = json!({ "reason": "a holiday" });
    let paused = world
        .post("service", &at(&made, "/pause"), &why)
        .await
        .json();
    assert_eq!(
        (&paused["paused"], &paused["next"]),
        (&json!("a holiday"), &json!([]))
    );
    let run = world
        .post("service", &at(&made, "/run"), &json!({}))
        .await
        .json();
    assert_eq!(run["schedule"], made["id"]);
    let list = world.get("owner", "/v1/schedules").await.json();
    assert_eq!(list["data"][0]["last_run"], run["id"]);
    let resumed = world
        .post("service", &at(&made, "/resume"), &json!({}))
        .await
        .json();
    assert_eq!(
        (&resumed["paused"], &resumed["next"]),
        (&Value::Null, &made["next"])
    );

    let gone = world
        .call("service", "DELETE", &at(&made, "?reason=done"), None)
        .await;
    assert_eq!(gone.status, 204);
    let (status, code) = world.get("service", &at(&made, "")).await.problem();
    assert_eq!((status, code.as_str()), (404, "not_found"));
}

#[tokio::test]
async fn i15_a_repeated_request_makes_no_second_schedule_and_starts_no_second_run() {
    let world = World::new().await;
    let send = async |key: &str, path: &str, body: &Value| {
        let mut request = world.request("service", "POST", path, Some(&body.to_string()));
        let name = http::HeaderName::from_static("idempotency-key");
        let key = key.parse().expect("a header");
        request.headers_mut().insert(name, key);
        world.send(request).await
    };
    let body = world.schedule_body();
    let first = send("k1", "/v1/schedules", &body).await;
    let again = send("\"k1\"", "/v1/schedules", &body).await;
    assert_eq!((first.status.as_u16(), again.status.as_u16()), (201, 200));
    assert_eq!(again.header("idempotency-replayed"), "true");
    let (made, same) = (first.json(), again.json());
    assert_eq!(made["id"], same["id"]);
    let mut other = body.clone();
    other["name"] = json!("another");
    let refused = send("k1", "/v1/schedules", &other).await;
    assert_eq!(refused.problem(), (422, "key_reused".to_owned()));

    let run = at(&made, "/run");
    let first = send("k2", &run, &json!({})).await;
    let again = send("k2", &run, &json!({})).await;
    assert_eq!(again.header("idempotency-replayed"), "true");
    assert_eq!(first.json()["id"], again.json()["id"]);
    let refused = send("k2", "/v1/runs", &body["run"]).await;
    assert_eq!(refused.problem(), (422, "key_reused".to_owned()));
    let list = world.get("service", "/v1/schedules").await.json();
    assert_eq!(list["data"].as_array().map(Vec::len), Some(1));
    let runs = world.get("service", "/v1/runs").await.json();
    assert_eq!(runs["data"].as_array().map(Vec::len), Some(1));
}

#[tokio::test]
async fn what_is_wrong_with_a_schedule_is_said() {
    let world = World::new().await;
    for (member, value, words) in [
        ("cron", json!("every day"), "cron pattern"),
        ("zone", json!("Berlin"), "time zone"),
        ("name", json!(" "), "name of a schedule"),
        ("run", json!({ "skill": "# no skill" }), "skill file"),
        ("run", json!({ "workflow": "nothing" }), "no workflow named"),
    ] {
        let mut body = world.schedule_body();
        body[member] = value;
        let refused = world.post("service", "/v1/schedules", &body).await;
        assert!((400..500).contains(&refused.status.as_u16()), "{member}");
        let detail = refused.json()["detail"].as_str().unwrap_or("").to_owned();
        assert!(detail.contains(words), "{member}: {detail}");
    }
    let list = world.get("service", "/v1/schedules").await.json();
    assert_eq!(list["data"], json!([]));
}
