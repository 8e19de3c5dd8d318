//! What somebody with a browser meets where things go wrong.

use axum::body::Body;
use holdpoint_engine::identity::{Secret, SessionKind};
use holdpoint_web::auth;
use http::Request;
use http::request::Builder;

use crate::world::{Answer, PASSWORD, World};

/// A request as a browser sends it from one of our pages.
fn browse(method: &str, path: &str) -> Builder {
    Request::builder()
        .method(method)
        .uri(path)
        .header("accept", "text/html,application/xhtml+xml,*/*;q=0.8")
}

pub(crate) fn post_form(path: &str, body: &str) -> Request<Body> {
    browse("POST", path)
        .header("content-type", "application/x-www-form-urlencoded")
        .header("sec-fetch-site", "same-origin")
        .body(Body::from(body.to_owned()))
        .expect("a request")
}

fn sign_in_form(name: &str) -> String {
    format!(
        "email={name}%40example.com&password={}",
        PASSWORD.replace(' ', "+")
    )
}

/// The session cookie of somebody.
pub(crate) async fn cookie(world: &World, name: &str) -> String {
    let answer = world.send(post_form("/sign-in", &sign_in_form(name))).await;
    assert_eq!(answer.status, 303, "{}", answer.text);
    let cookie = answer.header("set-cookie").split(';').next();
    cookie.expect("a cookie").to_owned()
}

pub(crate) async fn get(world: &World, cookie: &str, path: &str) -> Answer {
    let request = browse("GET", path).header("cookie", cookie);
    world
        .send(request.body(Body::empty()).expect("a request"))
        .await
}

#[tokio::test]
async fn what_goes_wrong_before_a_page_is_made_is_a_page_too() {
    let world = World::new().await;
    let cookie = cookie(&world, "approver").await;
    let cases = [
        ("GET", "/nowhere", "text/plain", "", 404),
        ("GET", "/actions/%ff", "text/plain", "", 400),
        ("GET", "/queue?tab=a&tab=b", "text/plain", "", 400),
        ("GET", "/history?statsu=failed", "text/plain", "", 400),
        (
            "GET",
            "/history/export.csv?status=a&status=b",
            "text/plain",
            "",
            400,
        ),
        ("GET", "/sign-out", "text/plain", "", 405),
        ("POST", "/sign-out", "application/json", "{}", 415),
        (
            "POST",
            "/sign-in",
            "application/x-www-form-urlencoded",
            "email=a&email=b",
            422,
        ),
    ];
    for (method, path, media_type, body, status) in cases {
        let request = browse(method, path)
            .header("content-type", media_type)
            .header("sec-fetch-site", "same-origin")
            .header("cookie", &cookie)
            .body(Body::from(body))
            .expect("a request");
        let answer = world.send(request).await;
        let is_status = answer.status == status || (status == 422 && answer.status == 400);
        assert!(is_status, "{method} {path}: {answer:?}");
        assert!(
            answer.header("content-type").starts_with("text/html"),
            "{path}: {answer:?}"
        );
        assert!(answer.text.contains("<h1"), "{path}: {}", answer.text);
        assert!(answer.text.contains("Go to the queue"), "{path}");
        assert!(
            answer.text.contains(answer.header("x-request-id")),
            "{path}: {}",
            answer.text
        );
        assert!(
            answer
                .header("content-security-policy")
                .contains("script-src 'self'"),
            "{path}"
        );
        if status == 405 {
            assert_eq!(answer.header("allow"), "POST");
        }
        if status != 404 {
            assert!(
                answer.text.contains("Nothing was recorded."),
                "{path}: {}",
                answer.text
            );
        }
    }
    // Programs get the same as a problem, also where they say that they take pages.
    let request = browse("GET", "/v1/nowhere")
        .body(Body::empty())
        .expect("a request");
    assert_eq!(
        world.send(request).await.problem(),
        (404, "not_found".into())
    );
}

#[tokio::test(start_paused = true)]
async fn i21_a_form_that_does_not_arrive_is_given_up() {
    let world = World::new().await;
    let started = tokio::time::Instant::now();
    let request = browse("POST", "/sign-in")
        .header("content-type", "application/x-www-form-urlencoded")
        .header("sec-fetch-site", "same-origin")
        .body(Body::from_stream(futures_util::stream::pending::<
            Result<&str, std::io::Error>,
        >()))
        .expect("a request");
    let answer = world.send(request).await;
    assert_eq!(answer.status, 408, "{}", answer.text);
    assert!(
        answer.text.contains("Nothing was recorded."),
        "{}",
        answer.text
    );
    assert!(
        started.elapsed() < holdpoint_web::limits::HANDLER,
        "well before the handler's end"
    );
}

#[tokio::test]
async fn i19_a_page_checks_where_a_form_comes_from_whatever_credential_is_sent_along() {
    let world = World::new().await;
    for authorization in [None, Some("Basic eDp4"), Some("Bearer hp_x")] {
        let mut request = post_form("/sign-in", &sign_in_form("approver"));
        let headers = request.headers_mut();
        headers.insert("origin", "https://evil.example".parse().expect("a header"));
        headers.insert("sec-fetch-site", "cross-site".parse().expect("a header"));
        if let Some(authorization) = authorization {
            headers.insert("authorization", authorization.parse().expect("a header"));
        }
        let answer = world.send(request).await;
        assert_eq!(answer.status, 403, "{authorization:?}: {}", answer.text);
        assert_eq!(answer.header("set-cookie"), "", "{authorization:?}");
        assert!(
            answer.text.contains("This form came from another site"),
            "{}",
            answer.text
        );
    }
}

#[tokio::test]
async fn i21_a_made_up_credential_does_not_make_guessing_cheaper() {
    for (name, value) in [
        ("authorization", "Bearer hp_made-up"),
        ("cookie", "holdpoint-session=hps_made-up"),
    ] {
        let world = World::new().await;
        let mut refused = 0;
        for _ in 0..=holdpoint_web::limits::ADDRESS_BURST.get() + 20 {
            let request = Request::builder()
                .method("POST")
                .uri("/v1/sessions")
                .header("content-type", "application/json")
                .header(name, value)
                .body(Body::from("{}"))
                .expect("a request");
            refused += u32::from(world.send(request).await.status == 429);
        }
        assert!(0 < refused, "with {name}");
    }
}

#[tokio::test]
async fn i19_signing_in_again_ends_the_session_that_the_browser_had() {
    let world = World::new().await;
    let first = cookie(&world, "approver").await;
    let mut request = post_form("/sign-in", &sign_in_form("auditor"));
    let value = first.parse().expect("a header");
    request.headers_mut().insert("cookie", value);
    let answer = world.send(request).await;
    let second = answer
        .header("set-cookie")
        .split(';')
        .next()
        .expect("a cookie");
    assert_eq!(get(&world, second, "/queue").await.status, 200);
    let old = get(&world, &first, "/queue").await;
    assert_eq!(old.status, 303, "the old session has ended");
    assert!(old.header("location").starts_with("/sign-in"));
}

#[tokio::test]
async fn i24_a_filter_that_cannot_be_read_exports_nothing() {
    let world = World::new().await;
    world.staged().await;
    let auditor = cookie(&world, "auditor").await;
    for query in ["status=bogus", "statsu=failed", "from=yesterday", "label=x"] {
        for path in ["/history/export.csv", "/history/export.jsonl"] {
            let answer = get(&world, &auditor, &format!("{path}?{query}")).await;
            assert_eq!(answer.status, 400, "{path}?{query}");
            assert!(!answer.text.contains("act_"), "{path}?{query}");
        }
    }
    let page = get(&world, &auditor, "/history?status=bogus").await;
    assert_eq!(page.status, 422);
    assert!(page.text.contains("href=\"#status\""), "{}", page.text);
    assert!(page.text.contains("Nothing was searched."), "{}", page.text);
    assert!(
        !page.text.contains("Nothing fits this filter"),
        "nobody looked"
    );
}

#[tokio::test]
async fn i18_an_export_is_cut_off_when_its_reader_may_not_see_it_any_more() {
    use http_body_util::BodyExt as _;
    use tower::ServiceExt as _;
    let world = World::new().await;
    world.staged().await;
    let identity = world.state.engine.identity();
    let password = Secret::new(PASSWORD);
    let kind = SessionKind::Browser;
    let signed_in = identity
        .sign_in("auditor@example.com", &password, "192.0.2.9", kind)
        .await;
    let (token, _, _) = signed_in.expect("a session");
    let name = auth::cookie_name(&world.state.config);
    let request = browse("GET", "/history/export.jsonl")
        .header("cookie", format!("{name}={}", token.expose()))
        .body(Body::empty())
        .expect("a request");
    let answer = world
        .router
        .clone()
        .oneshot(request)
        .await
        .expect("an answer");
    assert_eq!(answer.status(), 200);
    identity.end_session(token.expose()).await.expect("it ends");
    assert!(
        answer.into_body().collect().await.is_err(),
        "it does not look whole"
    );
}

#[tokio::test]
async fn i21_a_header_that_says_who_is_meant_is_there_once() {
    let world = World::new().await;
    for name in ["host", "origin", "content-type"] {
        let request = Request::builder()
            .uri("/livez")
            .header(name, "a.example")
            .header(name, "b.example")
            .body(Body::empty())
            .expect("a request");
        assert_eq!(
            world.send(request).await.problem(),
            (400, "bad_request".into()),
            "{name}"
        );
    }
}
