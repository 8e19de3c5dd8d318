//! The log, live.

use axum::body::Body;
use holdpoint_engine::identity::{PersonChange, Role, Secret, SessionKind};
use holdpoint_web::auth;
use http::{HeaderMap, Request};
use http_body_util::BodyExt as _;
use tower::ServiceExt as _;

use crate::world::{PASSWORD, World, path, vote};

/// A stream, read message by message.
struct Stream {
    headers: HeaderMap,
    body: Body,
    text: String,
}

impl Stream {
    async fn open(world: &World, request: Request<Body>) -> Self {
        let response = world
            .router
            .clone()
            .oneshot(request)
            .await
            .expect("an answer");
        assert_eq!(response.status(), 200);
        let (parts, body) = response.into_parts();
        Self {
            headers: parts.headers,
            body,
            text: String::new(),
        }
    }

    /// The next message with an id: its id and its kind. None at the end.
    async fn next(&mut self) -> Option<(u64, String)> {
        loop {
            if let Some((message, rest)) = self.text.split_once("\n\n") {
                let field = |name: &str| {
                    message
                        .lines()
                        .find_map(|line| line.strip_prefix(name))
                        .map(str::to_owned)
                };
                let found = field("id: ").zip(field("event: "));
                let rest = rest.to_owned();
                self.text = rest;
                if let Some((id, kind)) = found {
                    return Some((id.parse().expect("a position"), kind));
                }
                continue;
            }
            let frame = self.body.frame().await?.expect("a frame");
            let bytes = frame.into_data().expect("data");
            self.text
                .push_str(std::str::from_utf8(&bytes).expect("UTF-8"));
        }
    }
}

#[tokio::test]
async fn a_stream_goes_on_where_the_last_one_broke_off() {
    let world = World::new().await;
    world.staged().await;
    let mut first = Stream::open(
        &world,
        world.request("auditor", "GET", "/v1/events/stream?after=0", None),
    )
    .await;
    let mut positions = Vec::new();
    for _ in 0..3 {
        positions.push(first.next().await.expect("an event").0);
    }
    drop(first);
    world.staged().await;
    let last = world
        .get("auditor", "/v1/events?after=0&limit=1000")
        .await
        .json()["next_after"]
        .as_u64();
    let mut request = world.request("auditor", "GET", "/v1/events/stream?after=0", None);
    // The header is newer than the address, which a browser sends again as it was.
    request
        .headers_mut()
        .insert("last-event-id", positions[2].into());
    let mut second = Stream::open(&world, request).await;
    while positions.last().copied() != last {
        positions.push(second.next().await.expect("an event").0);
    }
    assert!(
        positions.windows(2).all(|pair| pair[0] + 1 == pair[1]),
        "{positions:?}"
    );
}

#[tokio::test]
async fn a_stream_says_how_it_wants_to_be_carried_and_ends_with_the_server() {
    let world = World::new().await;
    let mut stream = Stream::open(
        &world,
        world.request("auditor", "GET", "/v1/events/stream", None),
    )
    .await;
    let header = |name: &str| {
        stream
            .headers
            .get(name)
            .and_then(|value| value.to_str().ok())
            .unwrap_or("")
            .to_owned()
    };
    assert_eq!(header("content-type"), "text/event-stream");
    assert_eq!(header("x-accel-buffering"), "no");
    assert_eq!(header("cache-control"), "no-store");
    world.staged().await;
    assert_eq!(stream.next().await.expect("an event").1, "action.staged");
    world.state.stopping.cancel();
    assert_eq!(stream.next().await, None);
}

#[tokio::test]
async fn incident_59_a_stream_shows_only_what_its_principal_may_see() {
    let world = World::new().await;
    let mut stream = Stream::open(
        &world,
        world.request("stranger", "GET", "/v1/events/stream?after=0", None),
    )
    .await;
    world.staged().await;
    let own = world
        .post("stranger", "/v1/actions", &world.refund())
        .await
        .json();
    let (position, kind) = stream.next().await.expect("an event");
    assert_eq!(kind, "action.staged");
    let events = world
        .get(
            "auditor",
            &format!("/v1/events?after={}&limit=1", position - 1),
        )
        .await
        .json();
    let stream_name = events["data"][0]["stream"].as_str().expect("a stream");
    let id = own["id"].as_str().expect("an id");
    assert!(
        stream_name.contains(id.trim_start_matches("act_")),
        "{stream_name} is not {id}"
    );
}

#[tokio::test]
async fn a_page_follows_with_its_cookie_and_changes_nothing_with_it() {
    let world = World::new().await;
    let identity = world.state.engine.identity();
    let password = Secret::new(PASSWORD);
    let signed_in = identity
        .sign_in(
            "auditor@example.com",
            &password,
            "192.0.2.9",
            SessionKind::Browser,
        )
        .await;
    let (token, _, _) = signed_in.expect("a session");
    let cookie = format!(
        "{}={}",
        auth::cookie_name(&world.state.config),
        token.expose()
    );
    let with_cookie = |method: &str, path: &str| {
        Request::builder()
            .method(method)
            .uri(path)
            .header("cookie", &cookie)
    };
    let request = with_cookie("GET", "/v1/events/stream")
        .body(Body::empty())
        .expect("a request");
    Stream::open(&world, request).await;
    // Everything else of the API takes a bearer token, and the cookie of a browser is none.
    let request = with_cookie("GET", "/v1/actions")
        .body(Body::empty())
        .expect("a request");
    assert_eq!(
        world.send(request).await.problem(),
        (401, "unauthenticated".into())
    );
    // From another site, the request does not even get there.
    let request = with_cookie("POST", "/v1/actions")
        .header("origin", "https://evil.example")
        .header("sec-fetch-site", "cross-site")
        .body(Body::empty())
        .expect("a request");
    assert_eq!(
        world.send(request).await.problem(),
        (403, "cross_origin".into())
    );
}

#[tokio::test]
async fn i18_a_stream_ends_with_the_credential_or_the_role_that_it_was_opened_with() {
    let world = World::new().await;
    let identity = world.state.engine.identity();
    let password = Secret::new(PASSWORD);
    let from = "192.0.2.9";
    let signed_in = identity
        .sign_in("auditor@example.com", &password, from, SessionKind::Browser)
        .await;
    let (token, _, _) = signed_in.expect("a session");
    let name = auth::cookie_name(&world.state.config);
    let request = Request::builder()
        .uri("/v1/events/stream")
        .header("cookie", format!("{name}={}", token.expose()))
        .body(Body::empty())
        .expect("a request");
    let open = |who| world.request(who, "GET", "/v1/events/stream", None);
    let action = world.staged().await;
    let mut page = Stream::open(&world, request).await;
    let mut key = Stream::open(&world, open("service")).await;
    let mut role = Stream::open(&world, open("operator")).await;

    let by = &world.ids["admin"];
    identity.end_session(token.expose()).await.expect("it ends");
    identity
        .revoke_key(by, &world.ids["service"], "lost")
        .await
        .expect("it is revoked");
    let change = PersonChange {
        roles: Some([Role::Requester].into()),
        ..PersonChange::default()
    };
    identity
        .change_person(by, &world.ids["operator"], change)
        .await
        .expect("it is changed");
    let body = vote(&action, "reject");
    let voted = world
        .post("approver", &format!("{}/votes", path(&action)), &body)
        .await;
    assert_eq!(voted.status, 200, "{}", voted.text);

    assert_eq!(page.next().await, None, "the session has ended");
    assert_eq!(key.next().await, None, "the key is revoked");
    assert_eq!(role.next().await, None, "the role is gone");
}
