//! Bodies, forms and queries: what a route takes, or words that say what is wrong.

use axum::body::Body;
use hyper::Request;
use serde_json::{Value, json};

use super::house::{House, house};
use super::targets::lets_nothing_out;

/// Method and path. `{action}` is one that waits for votes, `{work}` one that a worker has, `{other}` an
/// id of nothing.
const ROUTES: [(&str, &str); 54] = [
    ("POST", "/v1/actions"),
    ("POST", "/v1/actions/{action}/votes"),
    ("POST", "/v1/actions/{action}/withdraw"),
    ("POST", "/v1/actions/{action}/cancel"),
    ("POST", "/v1/actions/{action}/settle"),
    ("POST", "/v1/work/claim"),
    ("POST", "/v1/work/{work}/heartbeat"),
    ("POST", "/v1/work/{work}/complete"),
    ("POST", "/v1/runs"),
    ("POST", "/v1/runs/run_{other}/events"),
    ("POST", "/v1/runs/run_{other}/cancel"),
    ("POST", "/v1/runs/run_{other}/resume"),
    ("POST", "/v1/schedules"),
    ("POST", "/v1/schedules/sch_{other}/pause"),
    ("POST", "/v1/schedules/sch_{other}/run"),
    ("POST", "/v1/sessions"),
    ("POST", "/v1/people"),
    ("PATCH", "/v1/people/per_{other}"),
    ("POST", "/v1/keys"),
    ("POST", "/v1/pause"),
    ("POST", "/v1/resume"),
    ("POST", "/v1/webhook-endpoints"),
    ("PATCH", "/v1/webhook-endpoints/whk_{other}"),
    ("POST", "/v1/webhook-endpoints/whk_{other}/rotate"),
    ("POST", "/v1/webhook-endpoints/whk_{other}/enable"),
    ("POST", "/v1/webhook-endpoints/whk_{other}/disable"),
    ("GET", "/v1/actions"),
    ("GET", "/v1/events"),
    ("GET", "/v1/runs"),
    ("GET", "/v1/schedules"),
    ("GET", "/v1/webhook-deliveries"),
    ("GET", "/v1/actions/{action}/events"),
    ("GET", "/v1/attention"),
    ("POST", "/actions/{action}/approve"),
    ("POST", "/actions/{action}/reject"),
    ("POST", "/actions/{action}/withdraw"),
    ("POST", "/actions/{action}/cancel"),
    ("POST", "/actions/{action}/settle"),
    ("POST", "/settings/webhooks"),
    ("POST", "/settings/webhooks/whk_{other}/change"),
    ("POST", "/settings/webhooks/whk_{other}/rotate"),
    ("POST", "/sign-in"),
    ("POST", "/sign-in/link"),
    ("GET", "/sign-in/link"),
    ("GET", "/sign-in"),
    ("GET", "/queue"),
    ("GET", "/history"),
    ("GET", "/history/events"),
    ("GET", "/history/export.csv"),
    ("GET", "/history/export.jsonl"),
    ("GET", "/runs"),
    ("GET", "/actions/{action}"),
    ("GET", "/outcomes"),
    ("GET", "/settings/webhooks"),
];

/// Words that stand in an input for what is different each time.
const DIGEST: &str = "DIGEST";
const EPOCH: &str = "EPOCH";
const TOKEN: &str = "TOKEN";

/// What the request is about.
#[derive(Default)]
struct About {
    id: String,
    digest: String,
    epoch: String,
    token: String,
}

/// The first byte says which route; the rest is the body, the form or the query.
pub(crate) fn api(data: &[u8]) {
    let Some((place, sent)) = data.split_first() else {
        return;
    };
    let (method, path) = ROUTES[usize::from(*place) % ROUTES.len()];
    let house = house();
    let about = match path {
        _ if path.contains("{action}") => action(&house, path.starts_with("/actions/")),
        _ if path.contains("{work}") => work(&house),
        _ => About::default(),
    };
    let path = path
        .replace("{action}", &about.id)
        .replace("{work}", &about.id)
        .replace("{other}", "01901f3ac0de7000a1b2c3d4e5f60718");
    let sent = String::from_utf8_lossy(sent)
        .replace(DIGEST, &about.digest)
        .replace(EPOCH, &about.epoch)
        .replace(TOKEN, &about.token);
    let is_api = path.starts_with("/v1");
    let (uri, body) = match method {
        // Nobody waits here.
        "GET" => (
            format!("{path}?{}", plain(&sent).replace("wait", "w")),
            String::new(),
        ),
        _ if is_api => (path, without_wait(sent)),
        _ => (path, plain(&sent)),
    };
    let request = Request::builder().method(method).uri(&uri);
    let request = if is_api {
        request
            .header("authorization", format!("Bearer {}", bearer(&house, &uri)))
            .header("content-type", "application/json")
    } else {
        request
            .header("cookie", &house.cookie)
            .header("sec-fetch-site", "same-origin")
            .header("content-type", "application/x-www-form-urlencoded")
            .header("accept", "text/html")
    };
    // What is no path never comes this far.
    let Ok(request) = request.body(Body::from(body)) else {
        return;
    };
    let (status, answer) = house.ask(request);
    if !about.epoch.is_empty() {
        // Only so much is done at once.
        complete(&house, &about);
    }
    if uri == "/v1/pause" {
        // Else nobody would get work from then on.
        let resumed = house.wait(house.engine.resume(&house.reader, None));
        resumed.expect("who is an administrator may");
    }
    assert!(status < 500, "{method} {uri}: {status}: {answer}");
    assert!(!answer.contains(&house.key), "i16: {answer}");
    assert!(!answer.contains(&house.token), "i16: {answer}");
    if is_api && 400 <= status {
        let problem: Value = serde_json::from_str(&answer).expect("a problem");
        assert_eq!(problem["status"], status, "{answer}");
        assert_ne!(problem["code"], Value::Null, "{answer}");
    }
    if answer.starts_with("<!doctype html>") {
        lets_nothing_out(&answer);
    }
}

/// An action that waits for votes.
fn action(house: &House, by_form: bool) -> About {
    let id = house.submit("pay", json!({ "amount": 5 }), None);
    let id = id.expect("it is taken");
    let (_, text) = house.ask(get(house, &format!("/v1/actions/{id}")));
    let action: Value = serde_json::from_str(&text).expect("an action");
    let digest = action["digest"].as_str().expect("a digest").to_owned();
    let mut token = String::new();
    if by_form {
        let (_, page) = house.ask(get(house, &format!("/actions/{id}")));
        let field = page.split("name=\"token\" value=\"").nth(1);
        let value = field.and_then(|rest| rest.split('"').next());
        value.expect("a form").clone_into(&mut token);
    }
    About {
        id,
        digest,
        token,
        epoch: String::new(),
    }
}

fn get(house: &House, path: &str) -> Request<Body> {
    Request::builder()
        .uri(path)
        .header("authorization", format!("Bearer {}", house.token))
        .header("cookie", &house.cookie)
        .body(Body::empty())
        .expect("a request")
}

/// An attempt that a worker has.
fn work(house: &House) -> About {
    house.submit("note", json!({}), None).expect("it is taken");
    let claim = "{\"tools\":[\"note\"],\"wait\":\"30s\"}";
    let text = worker(house, "/v1/work/claim", claim.to_owned());
    let work: Value = serde_json::from_str(&text).unwrap_or_else(|_| panic!("no work: {text}"));
    About {
        id: work["attempt"].as_str().expect("an attempt").to_owned(),
        epoch: work["epoch"].to_string(),
        ..About::default()
    }
}

/// What was not completed yet is.
fn complete(house: &House, about: &About) {
    let body = format!(
        "{{\"epoch\":{},\"outcome\":\"succeeded\",\"result\":{{}}}}",
        about.epoch
    );
    worker(house, &format!("/v1/work/{}/complete", about.id), body);
}

fn worker(house: &House, path: &str, body: String) -> String {
    let request = Request::builder()
        .method("POST")
        .uri(path)
        .header("authorization", format!("Bearer {}", house.key))
        .header("content-type", "application/json")
        .body(Body::from(body));
    house.ask(request.expect("a request")).1
}

/// Workers and whoever submits are services; the rest is done by a person.
fn bearer<'a>(house: &'a House, path: &str) -> &'a str {
    if path.starts_with("/v1/work/") || path == "/v1/actions" {
        &house.key
    } else {
        &house.token
    }
}

/// What can stand in a query or a form, with a mark before each `<`.
fn plain(sent: &str) -> String {
    let mut text = sent.to_owned();
    text.retain(|c| c.is_ascii_graphic() && !"\"<>\\^`{|}#".contains(c));
    text.replace("%3C", "zq%3C").replace("%3c", "zq%3c")
}

/// A body that asks for no time: a claim without work is answered at once.
fn without_wait(sent: String) -> String {
    match serde_json::from_str(&sent) {
        Ok(Value::Object(mut members)) if members.contains_key("wait") => {
            members.remove("wait");
            Value::Object(members).to_string()
        }
        Ok(_) | Err(_) => sent,
    }
}
