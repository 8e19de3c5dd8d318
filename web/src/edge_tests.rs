//! What happens to a request, whatever its handler does.

use std::sync::Arc;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::middleware::from_fn_with_state;
use axum::routing::get;
use holdpoint_engine::engine::{Engine, Options};
use holdpoint_engine::tool::{Format, ToolsFile};
use holdpoint_storage::MemoryLog;
use http::Request;
use serde_json::Value;
use tower::ServiceExt as _;

use crate::state::{AppState, WebConfig};

async fn boom() -> &'static str {
    panic!("canary-panic")
}

async fn answer(path: &str) -> (u16, Value, String) {
    let tools = ToolsFile::from_str(r#"{"tools":{}}"#, Format::Json).expect("a file");
    let log = Arc::new(MemoryLog::new());
    let engine = Engine::open(log, Arc::new(tools.registry), Options::default()).await;
    let state = AppState::new(engine.expect("an engine"), WebConfig::default(), None);
    let router: Router = Router::new()
        .route("/panic", get(boom))
        .route("/hang", get(std::future::pending::<&'static str>))
        .layer(from_fn_with_state(state, super::request));
    let request = Request::builder()
        .uri(path)
        .body(Body::empty())
        .expect("a request");
    let response = router.oneshot(request).await.expect("an answer");
    let status = response.status().as_u16();
    let id = response.headers()["x-request-id"]
        .to_str()
        .expect("text")
        .to_owned();
    let bytes = to_bytes(response.into_body(), 10_000)
        .await
        .expect("a body");
    (status, serde_json::from_slice(&bytes).expect("JSON"), id)
}

#[tokio::test]
async fn a_panic_is_a_problem_that_tells_nothing_but_its_request_id() {
    let (status, problem, id) = answer("/panic").await;
    assert_eq!((status, &problem["code"]), (500, &"internal".into()));
    assert_eq!(problem["request_id"], id.as_str());
    assert!(!problem.to_string().contains("canary"), "{problem}");
}

#[tokio::test(start_paused = true)]
async fn a_handler_without_end_is_a_problem_that_may_be_tried_again() {
    let (status, problem, _) = answer("/hang").await;
    assert_eq!(
        (status, &problem["code"], &problem["retryable"]),
        (503, &"timeout".into(), &true.into())
    );
}
