//! The document that describes the API is part of the contract.

use crate::world::World;

/// To renew it: `HOLDPOINT_RENEW=1 cargo test -p holdpoint-web --test api the_document`.
#[test]
fn the_document_is_the_one_in_the_repository() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/openapi.json");
    let document = holdpoint_web::api::openapi()
        .to_pretty_json()
        .expect("JSON")
        + "\n";
    if std::env::var_os("HOLDPOINT_RENEW").is_some() {
        std::fs::write(file, &document).expect("the file can be written");
    }
    let kept = std::fs::read_to_string(file).unwrap_or_default();
    assert!(
        document == kept,
        "the API has changed: look at the difference after HOLDPOINT_RENEW=1, and commit it"
    );
}

#[test]
fn every_reference_in_the_document_leads_somewhere() {
    let document = serde_json::to_value(holdpoint_web::api::openapi()).expect("a document");
    assert_eq!(
        document["openapi"].as_str().map(|version| &version[..3]),
        Some("3.1")
    );
    let text = document.to_string();
    for part in text.split("\"#/").skip(1) {
        let pointer = format!("/{}", part.split('"').next().unwrap_or_default());
        assert!(document.pointer(&pointer).is_some(), "{pointer}");
    }
}

#[tokio::test]
async fn a_parameter_that_a_route_does_not_name_is_an_error_on_every_route() {
    let world = World::new().await;
    for (route, item) in &holdpoint_web::api::openapi().paths.paths {
        let item = serde_json::to_value(item).expect("methods");
        let path = route.replace("{id}", "x").replace("{attempt}", "x");
        for method in item.as_object().expect("methods").keys() {
            let method = method.to_uppercase();
            for name in ["bogus", "label.x"] {
                let target = format!("{path}?{name}=1");
                let answer = world
                    .send(world.request("admin", &method, &target, Some("{}")))
                    .await;
                let takes_labels = method == "GET" && route == "/v1/actions";
                if name == "label.x" && takes_labels {
                    assert_eq!(answer.status, 200, "{}", answer.text);
                    continue;
                }
                assert_eq!(answer.status, 400, "{method} {target}: {}", answer.text);
                let told = answer.text.contains("unknown_parameter");
                assert!(told && answer.text.contains(name), "{}", answer.text);
            }
        }
    }
    for target in ["/v1/runs?limt=1", "/v1/actions?label.=1"] {
        let answer = world.get("admin", target).await;
        assert_eq!(answer.status, 400, "{target}: {}", answer.text);
    }
    let head = world.call("admin", "HEAD", "/v1/pause?limit=5", None).await;
    assert_eq!(head.status, 400);
    assert_eq!(world.get("admin", "/v1/pause").await.status, 200);
}

#[tokio::test]
async fn the_docs_page_shows_every_route_and_loads_nothing_from_elsewhere() {
    let world = World::new().await;
    let page = world.get("", "/docs").await;
    assert_eq!(page.header("content-type"), "text/html; charset=utf-8");
    let policy = page.header("content-security-policy");
    assert!(
        policy.starts_with("default-src 'none'") && !policy.contains("unsafe"),
        "{policy}"
    );
    for route in holdpoint_web::api::openapi().paths.paths.keys() {
        assert!(page.text.contains(&format!("{route}</code>")), "{route}");
    }
    for outside in ["http://", "https://", "<script", "style=\"", " onclick"] {
        assert!(!page.text.contains(outside), "{outside}");
    }
    assert_eq!(
        world
            .get("", "/docs/style.css")
            .await
            .header("content-type"),
        "text/css; charset=utf-8"
    );
}
