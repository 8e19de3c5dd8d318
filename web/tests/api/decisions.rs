//! Votes and what else people do.

use serde_json::json;

use crate::world::{World, path, vote};

#[tokio::test]
async fn an_approved_action_runs_and_has_a_receipt() {
    let world = World::new().await;
    let action = world.staged().await;
    let receipt = format!("{}/receipt", path(&action));
    assert_eq!(
        world.get("service", &receipt).await.problem(),
        (409, "not_final".into())
    );

    let votes = format!("{}/votes", path(&action));
    let answer = world
        .post("approver", &votes, &vote(&action, "approve"))
        .await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    assert_eq!(
        answer.json()["approval"]["votes"][0]["person"],
        world.ids["approver"].as_str()
    );

    let mut now = answer.json();
    while now["status"] != "succeeded" {
        now = world
            .get("service", &format!("{}?wait=5s", path(&action)))
            .await
            .json();
    }
    assert_eq!(now["result"]["args"], action["args"]);
    let json = world.get("service", &receipt).await.json();
    assert_eq!(json["records"][0]["kind"], "action.staged");
    let mut request = world.request("service", "GET", &receipt, None);
    request
        .headers_mut()
        .insert("accept", "text/plain".parse().expect("a value"));
    let text = world.send(request).await.text;
    assert!(
        text.contains("Vote            approve by approver"),
        "{text}"
    );
    let attempt = text.lines().find(|line| line.starts_with("Attempt"));
    let window = json["action"]["attempts"][0]["window"].as_str();
    let told = window.map(|window| format!("window {window}"));
    assert!(told.is_some_and(|told| attempt.is_some_and(|line| line.ends_with(&told))));
}

#[tokio::test]
async fn incident_50_and_51_the_voter_is_the_credential_and_nothing_in_the_body() {
    let world = World::new().await;
    let action = world.staged().await;
    let votes = format!("{}/votes", path(&action));
    for member in [
        "person",
        "voter",
        "approver",
        "actor",
        "by",
        "channel",
        "args",
        "arguments",
    ] {
        let mut body = vote(&action, "approve");
        body[member] = json!(world.ids["approver"]);
        let answer = world.post("service", &votes, &body).await;
        assert_eq!(
            answer.problem(),
            (422, "invalid_request".into()),
            "{member}"
        );
    }
    // Agents and services have no way to decide, whoever they say they are.
    let answer = world
        .post("service", &votes, &vote(&action, "approve"))
        .await;
    assert_eq!(answer.problem(), (403, "not_an_approver".into()));
    let nobody = world.post("", &votes, &vote(&action, "approve")).await;
    assert_eq!(nobody.problem(), (401, "unauthenticated".into()));
    assert_eq!(
        world.get("service", &path(&action)).await.json()["status"],
        "staged"
    );
}

#[tokio::test]
async fn incident_57_there_is_no_way_to_decide_more_than_one_action_at_once() {
    let world = World::new().await;
    let (first, second) = (world.staged().await, world.staged().await);
    for route in [
        "/v1/votes",
        "/v1/actions/votes",
        "/v1/actions/*/votes",
        "/v1/actions/all/votes",
    ] {
        let answer = world
            .post("approver", route, &vote(&first, "approve"))
            .await;
        assert_eq!(answer.status.as_u16() / 100, 4, "{route}");
    }
    // A vote on one action does not fit another.
    let other = format!("{}/votes", path(&second));
    let answer = world
        .post("approver", &other, &vote(&first, "approve"))
        .await;
    assert_eq!(answer.problem(), (409, "stale_digest".into()));
    assert_eq!(answer.json()["current"]["digest"], second["digest"]);
    assert_eq!(answer.json()["action_status"], "staged");
}

#[tokio::test]
async fn incident_58_who_may_not_see_an_action_cannot_tell_that_it_exists() {
    let world = World::new().await;
    let action = world.staged().await;
    let missing = "/v1/actions/act_00000000000070008000000000000000";
    for part in ["", "/events", "/receipt"] {
        let theirs = world
            .get("stranger", &format!("{}{part}", path(&action)))
            .await;
        let none = world.get("stranger", &format!("{missing}{part}")).await;
        assert_eq!(theirs.problem(), (404, "not_found".into()), "{part}");
        assert_eq!(theirs.json()["detail"], none.json()["detail"], "{part}");
    }
    for (part, body) in [
        ("votes", vote(&action, "approve")),
        ("cancel", json!({})),
        ("withdraw", json!({})),
        ("settle", json!({"happened": true, "reason": "x"})),
    ] {
        let answer = world
            .post("stranger", &format!("{}/{part}", path(&action)), &body)
            .await;
        assert_eq!(answer.problem(), (404, "not_found".into()), "{part}");
    }
}

#[tokio::test]
async fn incident_80_the_first_vote_wins_and_the_same_again_is_the_same_answer() {
    let world = World::new().await;
    let action = world.staged().await;
    let votes = format!("{}/votes", path(&action));
    let body = vote(&action, "reject");
    let first = world.post("approver", &votes, &body).await;
    assert_eq!(
        (first.status.as_u16(), first.json()["status"].as_str()),
        (200, Some("rejected"))
    );
    let again = world.post("approver", &votes, &body).await;
    assert_eq!(again.status, 200, "{}", again.text);
    assert_eq!(again.json(), first.json());
    // From the other tab, and from the other approver: a typed refusal that carries the outcome.
    for (who, what) in [
        ("approver", "approve"),
        ("approver2", "approve"),
        ("approver2", "reject"),
    ] {
        let answer = world.post(who, &votes, &vote(&action, what)).await;
        assert_eq!(
            answer.problem(),
            (409, "already_decided".into()),
            "{who} {what}"
        );
        assert_eq!(answer.json()["action_status"], "rejected");
    }
}

#[tokio::test]
async fn i08_the_requester_and_the_owner_of_the_key_do_not_vote() {
    let world = World::new().await;
    let mine = world
        .post("approver", "/v1/actions", &world.refund())
        .await
        .json();
    let answer = world
        .post(
            "approver",
            &format!("{}/votes", path(&mine)),
            &vote(&mine, "approve"),
        )
        .await;
    assert_eq!(answer.problem(), (403, "self_approval".into()));
    let theirs = world.staged().await;
    let answer = world
        .post(
            "owner",
            &format!("{}/votes", path(&theirs)),
            &vote(&theirs, "approve"),
        )
        .await;
    assert_eq!(answer.problem(), (403, "self_approval".into()));
}

#[tokio::test]
async fn i08_one_person_is_one_vote() {
    let world = World::new().await;
    let body = json!({"tool": "pay_both", "args": {"n": 1}});
    let action = world.post("service", "/v1/actions", &body).await.json();
    let votes = format!("{}/votes", path(&action));
    for _ in 0..2 {
        let answer = world
            .post("approver", &votes, &vote(&action, "approve"))
            .await;
        assert_eq!(answer.json()["status"], "staged", "{}", answer.text);
        assert_eq!(
            answer.json()["approval"]["votes"].as_array().map(Vec::len),
            Some(1)
        );
    }
    let answer = world
        .post("approver", &votes, &vote(&action, "reject"))
        .await;
    assert_eq!(answer.problem(), (409, "already_voted".into()));
    let answer = world
        .post("approver2", &votes, &vote(&action, "approve"))
        .await;
    assert_eq!(answer.json()["status"], "approved", "{}", answer.text);
}

#[tokio::test]
async fn a_rejection_needs_a_reason_and_a_cancelled_action_is_decided() {
    let world = World::new().await;
    let action = world.staged().await;
    let votes = format!("{}/votes", path(&action));
    let mut body = vote(&action, "reject");
    body["reason"] = json!("  ");
    assert_eq!(
        world.post("approver", &votes, &body).await.problem(),
        (422, "reason_required".into())
    );
    // Bodies that say nothing may be left out.
    let cancelled = world
        .call(
            "service",
            "POST",
            &format!("{}/cancel", path(&action)),
            None,
        )
        .await;
    assert_eq!(
        cancelled.json()["status"],
        "cancelled",
        "{}",
        cancelled.text
    );
    let late = world
        .post("approver", &votes, &vote(&action, "approve"))
        .await;
    assert_eq!(late.json()["action_status"], "cancelled");
}

#[tokio::test]
async fn i10_an_operator_settles_an_unknown_outcome_and_nobody_settles_another() {
    let world = World::new().await;
    let body = json!({"happened": true, "reason": "seen on the statement"});
    let staged = world.staged().await;
    let answer = world
        .post("operator", &format!("{}/settle", path(&staged)), &body)
        .await;
    assert_eq!(answer.problem(), (409, "not_unknown".into()));
    let unknown = world.unknown().await;
    assert_eq!(unknown["doubt"]["next_check"], json!(null));
    let without = json!({"happened": true, "reason": " "});
    let answer = world
        .post("operator", &format!("{}/settle", path(&unknown)), &without)
        .await;
    assert_eq!(answer.problem(), (422, "reason_required".into()));
    let settled = world
        .post("operator", &format!("{}/settle", path(&unknown)), &body)
        .await;
    assert_eq!(settled.json()["status"], "succeeded", "{}", settled.text);
    // A retry of a lost answer gets that answer; whoever says something else hears who was first.
    let again = world
        .post("operator", &format!("{}/settle", path(&unknown)), &body)
        .await;
    assert_eq!(again.json(), settled.json(), "{}", again.text);
    let other = json!({"happened": false, "reason": "not on the statement"});
    let answer = world
        .post("operator", &format!("{}/settle", path(&unknown)), &other)
        .await;
    assert_eq!(answer.problem(), (409, "not_unknown".into()));
    let detail = format!("it was already settled by {} at ", world.ids["operator"]);
    assert!(answer.text.contains(&detail), "{}", answer.text);
}

#[tokio::test]
async fn incident_32_the_whole_loop_needs_an_id_and_what_was_shown() {
    let world = World::new().await;
    let submitted = world.staged().await;
    // Whoever decides has the id alone; everything else is what the server shows.
    let shown = world.get("approver", &path(&submitted)).await.json();
    let votes = format!("{}/votes", path(&shown));
    let answer = world
        .post("approver", &votes, &vote(&shown, "approve"))
        .await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    // Whoever asked comes back with the id alone too.
    let mut now = submitted;
    while now["status"] != "succeeded" {
        let again = format!("{}?wait=5s", path(&now));
        now = world.get("service", &again).await.json();
    }
    assert_eq!(now["result"]["args"], now["args"]);
}

#[tokio::test]
async fn incident_67_whoever_waits_is_told_that_it_expired_and_was_not_run() {
    let world = World::new().await;
    let mut wish = world.refund();
    wish["expires_in"] = json!("1s");
    let answer = world.post("service", "/v1/actions?wait=30s", &wish).await;
    let ended = answer.json();
    assert_eq!(ended["status"], "expired", "{}", answer.text);
    assert_eq!(ended["ended"]["code"], "expired");
    let words = ended["ended"]["message"].as_str().expect("words");
    assert!(words.starts_with("expired, not run"), "{words}");
    assert!(words.contains("submit it again"), "{words}");
    let votes = format!("{}/votes", path(&ended));
    let late = world
        .post("approver", &votes, &vote(&ended, "approve"))
        .await;
    assert_eq!(late.status, 409, "{}", late.text);
    assert_eq!(late.json()["action_status"], "expired");
}

#[tokio::test]
async fn i27_an_approval_for_more_people_than_may_vote_says_so_to_whoever_asked_and_to_operators() {
    let world = World::new().await;
    let body = json!({"tool": "pay_both", "args": {}});
    let enough = world.post("service", "/v1/actions", &body).await.json();
    assert_eq!(enough["approval"].get("short"), None, "{enough}");
    let listed = world.get("operator", "/v1/attention").await.json();
    assert_eq!(listed["short_total"], 0, "{listed}");

    let identity = world.state.engine.identity();
    let gone = identity.disable_person("test", &world.ids["approver2"], "left");
    gone.await.expect("disabled");
    let body = json!({"tool": "pay_both", "args": {"order": 2}});
    let answer = world.post("service", "/v1/actions", &body).await;
    assert_eq!(answer.status, 201, "{}", answer.text);
    let words = "It cannot be met: 2 more must approve, and 1 person may.";
    let asked = answer.json();
    for told in [
        &asked,
        &world.get("service", &path(&enough)).await.json(),
        &world.get("approver", &path(&asked)).await.json(),
    ] {
        let told = told["approval"]["short"][0].as_str().unwrap_or_default();
        assert!(told.starts_with(words), "{told}");
        assert!(!told.contains(&world.ids["approver"]), "{told}");
    }
    let listed = world.get("operator", "/v1/attention").await.json();
    assert_eq!(listed["short_total"], 2, "{listed}");
    let first = &listed["data"][0];
    assert_eq!(
        (&first["trouble"], &first["status"]),
        (&json!("short"), &json!("staged"))
    );
    assert!(
        first["help"]
            .as_str()
            .is_some_and(|help| help.starts_with(words)),
        "{first}"
    );
    let next = first["next"].as_str().unwrap_or_default();
    assert!(next.contains("it expires at"), "{first}");
}
