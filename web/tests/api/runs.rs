//! Runs over the API: started once, read, waited for, steered.

use http::Request;
use serde_json::{Value, json};

use crate::world::{Answer, World, path, vote};

async fn start(world: &World, key: &str, body: &Value) -> Answer {
    let mut request = world.request("service", "POST", "/v1/runs", Some(&body.to_string()));
    let name = http::HeaderName::from_static("idempotency-key");
    request
        .headers_mut()
        .insert(name, key.parse().expect("a header"));
    world.send(request).await
}

/// The action that a run waits for.
async fn waiting(world: &World, run: &Value) -> Value {
    let steps = run["receipt"]["steps"].as_array().expect("steps");
    let step = steps.iter().find(|step| step["outcome"] == "waiting");
    let id = step.expect("it waits")["action"].as_str().expect("an id");
    world
        .get("auditor", &format!("/v1/actions/{id}"))
        .await
        .json()
}

#[tokio::test]
async fn a_staged_run_goes_on_by_itself_once_people_have_decided() {
    let world = World::new().await;
    let run = world.run().await;
    assert_eq!(
        (&run["flags"]["stage"], &run["name"]),
        (&json!(true), &json!("pay-back"))
    );
    assert_eq!(run["caller"]["name"], "service");
    let at = format!("/v1/runs/{}", run["id"].as_str().expect("an id"));
    let resumed = world
        .post("service", &format!("{at}/resume"), &json!({}))
        .await;
    let flags = &resumed.json()["flags"];
    assert_eq!(*flags, run["flags"], "what is left out stays as it is");
    let steps = &run["receipt"]["steps"];
    assert_eq!(
        (&steps[0]["outcome"], &steps[0]["binds"]),
        (&json!("passed"), &json!(["balance"]))
    );
    let action = waiting(&world, &run).await;
    assert_eq!(action["args"]["amount"], 5, "a bind keeps its type");
    assert_eq!(action["reason"], "The customer waited for too long");
    let (votes, yes) = (format!("{}/votes", path(&action)), vote(&action, "approve"));
    let voted = world.post("approver", &votes, &yes).await;
    assert_eq!(voted.status, 200);
    let run = world.run_until(run, "passed").await;
    let receipt = world.get("owner", &format!("{at}/receipt")).await.json();
    assert_eq!(
        (&receipt["passed"], &receipt["totals"]["passed"]),
        (&json!(true), &json!(2))
    );
    assert_eq!(receipt["steps"], run["receipt"]["steps"]);

    let events = world
        .get("owner", &format!("{at}/events?limit=1"))
        .await
        .json();
    assert_eq!(events["data"][0]["kind"], "run.started");
    let rest = world
        .get("owner", &format!("{at}/events?after=1"))
        .await
        .json();
    let last = rest["data"]
        .as_array()
        .and_then(|all| all.last())
        .expect("events");
    assert_eq!(
        (&last["kind"], &rest["next_after"]),
        (&json!("run.ended"), &run["events"])
    );
}

#[tokio::test]
async fn a_rejected_run_says_why_and_is_over() {
    let world = World::new().await;
    let run = world.run().await;
    let action = waiting(&world, &run).await;
    let votes = format!("{}/votes", path(&action));
    world
        .post("approver", &votes, &vote(&action, "reject"))
        .await;
    let run = world.run_until(run, "rejected").await;
    let message = run["receipt"]["message"].as_str().expect("words");
    assert!(message.contains("because"), "{message}");
    let at = format!("/v1/runs/{}", run["id"].as_str().expect("an id"));
    let signal = world
        .post("service", &format!("{at}/events"), &json!({"name": "x"}))
        .await;
    assert_eq!(
        signal.problem(),
        (422, "invalid_request".to_owned()),
        "only code takes events"
    );
    let cancel = world
        .post("service", &format!("{at}/cancel"), &json!({}))
        .await;
    assert_eq!(cancel.problem(), (409, "run_over".to_owned()));
}

#[tokio::test]
async fn i15_a_repeated_request_never_starts_a_second_run() {
    let world = World::new().await;
    let body = json!({"skill": world.skill(), "inputs": {"token": "one", "why": "so"}});
    let (first, at_once) = tokio::join!(start(&world, "k1", &body), start(&world, "k1", &body));
    let id = &first.json()["id"];
    assert_eq!(*id, at_once.json()["id"]);
    let mut statuses = [first.status.as_u16(), at_once.status.as_u16()];
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 201]);
    let again = start(&world, "\"k1\"", &body).await;
    assert_eq!(
        (again.status.as_u16(), again.header("idempotency-replayed")),
        (200, "true")
    );
    assert_eq!(again.json()["id"], *id);
    // The value of a secret is not kept in any form that could be compared.
    let mut other = body.clone();
    other["inputs"]["token"] = json!("two");
    assert_eq!(start(&world, "k1", &other).await.json()["id"], *id);
    other["inputs"]["why"] = json!("something else");
    let refused = start(&world, "k1", &other).await;
    assert_eq!(refused.problem(), (422, "key_reused".to_owned()));
    let all = world.get("service", "/v1/runs").await.json();
    assert_eq!(all["data"].as_array().map(Vec::len), Some(1), "{all}");
    // A key belongs to its route: under another one it stands for nothing yet.
    let mut request = world.request(
        "service",
        "POST",
        "/v1/actions",
        Some(&world.refund().to_string()),
    );
    request
        .headers_mut()
        .insert("idempotency-key", "k1".parse().expect("a header"));
    let answer = world.send(request).await;
    assert_eq!(answer.status, 201, "{}", answer.text);
}

#[tokio::test]
async fn every_mistake_of_a_skill_file_is_named_with_its_place() {
    let world = World::new().await;
    let text = "---\nname: x\ndescription: y\n---\n### Step 1 — A\n- intent: b\n- acton: lookup {}\n- assert: nothing\n";
    let answer = world
        .post("service", "/v1/runs", &json!({"skill": text}))
        .await;
    assert_eq!(answer.problem(), (422, "bad_skill".to_owned()));
    let errors = answer.json()["errors"].as_array().expect("a list").clone();
    assert!(2 <= errors.len(), "{errors:?}");
    let first = errors
        .iter()
        .find(|error| error["line"] == 7)
        .expect("the key");
    assert!(
        first["column"].is_u64() && first["detail"].is_string(),
        "{first}"
    );
}

#[tokio::test]
async fn what_can_be_refused_is_refused_before_the_first_step() {
    let world = World::new().await;
    let skill = world.skill();
    let unknown = skill.replace("issue_refund", "isue_refund");
    for (body, status, code, words) in [
        (json!({}), 422, "invalid_request", "say what to run"),
        (
            json!({"skill": skill, "workflow": "w"}),
            422,
            "invalid_request",
            "not of both",
        ),
        (
            json!({"skill": skill, "version": 1}),
            422,
            "invalid_request",
            "version is for a run of a workflow",
        ),
        (
            json!({"workflow": "w", "yes": true}),
            422,
            "invalid_request",
            "yes is for a run of a skill file",
        ),
        (
            json!({"workflow": "w"}),
            422,
            "invalid_request",
            "there is no workflow named w",
        ),
        (
            json!({"skill": skill, "allow_write": true}),
            422,
            "invalid_request",
            "did you mean allow_writes?",
        ),
        (
            json!({"skill": skill, "inputs": {"whi": "x"}}),
            422,
            "bad_inputs",
            "whi",
        ),
        (
            json!({"skill": skill, "inputs": {"why": 5}}),
            422,
            "bad_inputs",
            "must be of type string",
        ),
        (
            json!({"skill": unknown}),
            422,
            "bad_tools",
            "did you mean issue_refund?",
        ),
        (
            json!({"skill": skill, "allow_writes": true}),
            403,
            "forbidden",
            "runs:writes",
        ),
        (
            json!({"skill": skill, "yes": true}),
            403,
            "forbidden",
            "runs:writes",
        ),
    ] {
        let answer = world.post("service", "/v1/runs", &body).await;
        assert_eq!(answer.problem(), (status, code.to_owned()), "{body}");
        let detail = answer.json()["detail"].as_str().expect("words").to_owned();
        assert!(detail.contains(words), "{detail}");
    }
    let all = world.get("auditor", "/v1/runs").await.json();
    assert_eq!(all["data"], json!([]));
    for (route, code) in [
        ("/v1/runs/run_x", 404),
        ("/v1/runs?status=pased", 400),
        ("/v1/runs?cursor=x", 400),
    ] {
        assert_eq!(world.get("service", route).await.status, code, "{route}");
    }
}

#[tokio::test]
async fn the_list_is_filtered_and_goes_on_where_the_page_ended() {
    let world = World::new().await;
    let run = world.run().await;
    let body = json!({"skill": world.skill().replace("pay-back", "other")});
    let other = world.post("owner", "/v1/runs", &body).await.json();
    let other = world.run_until(other, "failed").await;
    let ids = |answer: &Answer| -> Vec<Value> {
        let json = answer.json();
        json["data"]
            .as_array()
            .expect("a list")
            .iter()
            .map(|run| run["id"].clone())
            .collect()
    };
    for (filter, expected) in [
        ("", vec![&other["id"], &run["id"]]),
        ("?status=waiting,passed", vec![&run["id"]]),
        ("?status=interrupted", vec![]),
        ("?name=other", vec![&other["id"]]),
        ("?schedule=nightly", vec![]),
    ] {
        let answer = world.get("auditor", &format!("/v1/runs{filter}")).await;
        assert_eq!(
            ids(&answer).iter().collect::<Vec<_>>(),
            expected,
            "{filter}"
        );
    }
    let first = world.get("auditor", "/v1/runs?limit=1").await;
    let cursor = first.json()["next_cursor"]
        .as_str()
        .expect("more")
        .to_owned();
    assert!(
        first
            .header("link")
            .contains(&format!("</v1/runs?limit=1&cursor={cursor}>"))
    );
    let second = world
        .get("auditor", &format!("/v1/runs?limit=1&cursor={cursor}"))
        .await;
    assert_eq!(ids(&second), [run["id"].clone()]);
    // The owner of the service's key sees its runs; the service does not see those of the owner.
    assert_eq!(ids(&world.get("owner", "/v1/runs").await).len(), 2);
    assert_eq!(ids(&world.get("service", "/v1/runs").await).len(), 1);
    assert!(ids(&world.get("stranger", "/v1/runs").await).is_empty());
}

#[tokio::test]
async fn an_entity_tag_and_a_wait_tell_of_changes_only() {
    let world = World::new().await;
    let run = world.run().await;
    let at = format!("/v1/runs/{}", run["id"].as_str().expect("an id"));
    let read = world.get("service", &at).await;
    let tag = read.header("etag").to_owned();
    let ask = |path: String| {
        let mut request: Request<_> = world.request("service", "GET", &path, None);
        request
            .headers_mut()
            .insert("if-none-match", tag.parse().expect("a header"));
        world.send(request)
    };
    assert_eq!(ask(at.clone()).await.status, 304);
    let (cancel, why) = (format!("{at}/cancel"), json!({"reason": "no need"}));
    let (waited, cancelled) = tokio::join!(
        ask(format!("{at}?wait=30s&after={}", run["events"])),
        world.post("service", &cancel, &why),
    );
    assert_eq!(
        (waited.status.as_u16(), cancelled.status.as_u16()),
        (200, 200)
    );
    assert_ne!(waited.header("etag"), tag);
    let run = world.run_until(waited.json(), "cancelled").await;
    assert_eq!(run["receipt"]["message"], "step 2: called off: no need");
    let steps = run["receipt"]["steps"].as_array().expect("steps");
    let action = steps[1]["action"].as_str().expect("an id");
    let action = world
        .get("service", &format!("/v1/actions/{action}"))
        .await
        .json();
    assert_eq!(
        action["status"], "cancelled",
        "it does not stay in the queue"
    );
}

#[tokio::test]
async fn i16_a_secret_input_is_in_no_answer() {
    let world = World::new().await;
    let secret = "s3cr3t-t0k3n-of-the-run";
    let skill = world.skill().replace("{{why}}", "{{token}}");
    let body = json!({"skill": skill, "inputs": {"token": secret}, "stage": true});
    let started = world.post("service", "/v1/runs", &body).await;
    assert!(!started.text.contains(secret), "{}", started.text);
    assert_eq!(started.json()["secrets"], json!(["token"]));
    let run = world.run_until(started.json(), "waiting").await;
    let at = format!("/v1/runs/{}", run["id"].as_str().expect("an id"));
    for path in [
        at.clone(),
        format!("{at}/receipt"),
        format!("{at}/events"),
        "/v1/events?limit=1000".to_owned(),
    ] {
        let answer = world.get("auditor", &path).await;
        assert_eq!(answer.status, 200);
        assert!(!answer.text.contains(secret), "{path}: {}", answer.text);
    }
}
