//! Who may do what: every route of the document, for everybody. A route without a row fails.

mod rows;

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::world::{World, path, vote};
use rows::{ROWS, WHO};

/// A body that only authorisation can refuse.
fn body(world: &World, method: &str, route: &str, action: &Value, n: usize) -> Option<Value> {
    match (method, route) {
        ("POST", "/v1/actions") => Some(world.refund()),
        ("POST", "/v1/actions/{id}/votes") => Some(vote(action, "approve")),
        ("POST", "/v1/actions/{id}/withdraw" | "/v1/actions/{id}/cancel" | "/v1/sessions") => {
            Some(json!({}))
        }
        ("POST", "/v1/actions/{id}/settle") => Some(json!({"happened": true, "reason": "seen"})),
        ("POST", "/v1/work/claim") => Some(json!({"tools": ["ship"]})),
        ("POST", "/v1/work/{attempt}/heartbeat") => Some(json!({"epoch": 1})),
        ("POST", "/v1/work/{attempt}/complete") => {
            Some(json!({"epoch": 1, "outcome": "succeeded", "result": {}}))
        }
        ("POST", "/v1/runs") => Some(json!({"skill": world.skill(), "stage": true})),
        ("POST", "/v1/runs/{id}/events") => Some(json!({"name": "paid", "data": {"n": n}})),
        ("POST", "/v1/runs/{id}/resume") => Some(json!({"stage": true})),
        ("POST", "/v1/schedules") => Some(world.schedule_body()),
        ("POST", "/v1/schedules/{id}/pause") => Some(json!({"reason": "a holiday"})),
        ("POST", "/v1/people") => Some(json!({"email": format!("n{n}@example.com"), "name": "N"})),
        ("PATCH", "/v1/people/{id}" | "/v1/webhook-endpoints/{id}") => {
            Some(json!({"name": format!("N{n}")}))
        }
        ("PUT", "/v1/people/{id}/password") => Some(json!({"password": "another long password"})),
        ("POST", "/v1/keys") => {
            Some(json!({"name": "n", "kind": "service", "owner": world.ids["owner"]}))
        }
        ("POST", "/v1/pause") => Some(json!({"reason": "an incident"})),
        ("POST", "/v1/resume" | "/v1/runs/{id}/cancel") => Some(json!({})),
        ("POST", "/v1/webhook-endpoints") => {
            Some(json!({"name": "n", "url": "https://127.0.0.1:9/hook"}))
        }
        ("POST", "/v1/webhook-endpoints/{id}/enable" | "/v1/webhook-endpoints/{id}/disable") => {
            Some(json!({"reason": "because"}))
        }
        ("POST", "/v1/keys/{id}/revoke") => Some(json!({"reason": "lost"})),
        _ => None,
    }
}

#[tokio::test]
async fn i18_everybody_may_do_what_the_table_says_and_nothing_else() {
    let (world, leaving) = (World::new().await, World::new().await);
    for (method, route, statuses) in ROWS {
        for (n, (who, expected)) in WHO.into_iter().zip(statuses).enumerate() {
            // A sign-out ends the session that the other cells need.
            let world = if *route == "/v1/sessions" {
                &leaving
            } else {
                &world
            };
            let acts = ["/v1/actions/{id}", "/v1/work/{attempt}"];
            let action = if acts.iter().any(|start| route.starts_with(start)) {
                world.staged().await
            } else {
                Value::Null
            };
            let hooked = if route.contains("webhook") {
                Some(world.endpoint().await)
            } else {
                None
            };
            let target = match (*route, hooked) {
                ("/v1/webhook-deliveries", Some((id, _))) => format!("{route}?endpoint={id}"),
                (route, Some((id, _))) if route.starts_with("/v1/webhook-endpoints") => {
                    route.replace("{id}", &id.to_string())
                }
                (route, Some((_, message))) => route.replace("{id}", &message.to_string()),
                (route, None) => match route {
                    route if route.starts_with("/v1/runs/{id}") => {
                        let run = world.run().await;
                        route.replace("{id}", run["id"].as_str().expect("an id"))
                    }
                    route if route.starts_with("/v1/schedules/{id}") => {
                        let schedule = world.schedule().await;
                        route.replace("{id}", schedule["id"].as_str().expect("an id"))
                    }
                    route if route.starts_with("/v1/actions/{id}") => {
                        route.replace("/v1/actions/{id}", &path(&action))
                    }
                    route if route.starts_with("/v1/work/{attempt}") => {
                        let attempt = format!("{}.1", action["id"].as_str().expect("an id"));
                        route.replace("{attempt}", &attempt)
                    }
                    route if route.starts_with("/v1/people/") => {
                        route.replace("{id}", &world.ids["approver2"])
                    }
                    route => route.replace("{id}", &world.ids["stranger"]),
                },
            };
            let text = body(world, method, route, &action, n).map(|body| body.to_string());
            let request = world.request(who, method, &target, text.as_deref());
            let status = if *route == "/v1/events/stream" {
                world.status(request).await
            } else {
                world.send(request).await.status
            };
            assert_eq!(status, *expected, "{method} {route} for {who:?}");
            if let Some((id, _)) = hooked {
                // There is room for a hundred; some of the cells have deleted theirs.
                world.delete_endpoint(id).await;
            }
        }
    }
}

#[tokio::test]
async fn every_route_has_a_row() {
    let document = serde_json::to_value(holdpoint_web::api::openapi()).expect("a document");
    let paths = document["paths"].as_object().expect("paths");
    let routes: BTreeSet<(String, String)> = paths
        .iter()
        .flat_map(|(path, item)| {
            let methods = item.as_object().expect("methods").keys();
            methods.map(|method| (method.to_uppercase(), path.clone()))
        })
        .collect();
    let rows: BTreeSet<(String, String)> = ROWS
        .iter()
        .map(|(method, route, _)| ((*method).to_owned(), (*route).to_owned()))
        .collect();
    assert_eq!(routes, rows);
}
