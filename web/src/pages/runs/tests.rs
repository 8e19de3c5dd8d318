//! The pages of runs with a real engine behind them.

use std::collections::BTreeMap;

use holdpoint_engine::engine::{Submission, Submitted};
use holdpoint_engine::run::{RunId, RunStatus};
use http::StatusCode;
use serde_json::json;

use crate::pages::house::{House, body, fields};
use crate::pages::query;

const PAY: &str = r#"---
name: pay-back
description: Pay the balance back
---

### Step 1 — Look the balance up
- intent: Know how much it is
- action: read_balance {"say": "five"}
- assert: json.balance == 5
- bind: balance = json.balance

### Step 2 — Pay it back
- intent: The customer waited for too long
- action: issue_refund {"order_id": "8812", "amount_minor": "{{balance}}", "currency": "EUR"}

### Step 3 — Look again
- intent: See that it is gone
- action: read_balance {}
"#;

/// The action that a run waits for.
fn waiting(house: &House, id: RunId) -> String {
    let identity = house.engine.identity();
    let ada = identity.person_by_email("ada@example.com").expect("ada");
    let ada = identity.principal(&ada.id).expect("enabled");
    let run = house.engine.run(&ada, id).expect("the run");
    let made = run.steps.iter().find_map(|step| step.open());
    let (action, _) = made.and_then(|made| made.waiting).expect("it waits");
    action.to_string()
}

#[tokio::test]
async fn an_approver_sees_the_run_its_step_and_what_came_before() {
    let house = House::new().await;
    let id = house.run(PAY, true, RunStatus::Waiting).await;
    let action = waiting(&house, id);
    let mut ada = house.signed_in("ada").await;
    let page = ada.get(&format!("/runs/{id}")).await.text;
    for fact in [
        "Waiting",
        "Look the balance up",
        "json.balance == 5",
        "The customer waited for too long",
        "not begun",
        "it waits for people to decide",
        &format!("href=\"/actions/{action}\""),
        "what is not allowed is put before people",
    ] {
        assert!(page.contains(fact), "{fact}: {page}");
    }
    // Whoever neither started it nor operates reads it only.
    assert!(!page.contains("id=\"cancel\"") && !page.contains("id=\"resume\""));

    let here = format!("/actions/{action}");
    let page = ada.get(&here).await.text;
    for fact in [
        "The run that it is a step of",
        &format!("href=\"/runs/{id}\""),
        "of 3 of",
        "What the step is for",
        "Look the balance up",
        ">balance<",
    ] {
        assert!(page.contains(fact), "{fact}: {page}");
    }
    let queue = ada.get("/queue").await.text;
    assert!(queue.contains("of the run <a href=\"/runs/"), "{queue}");

    let rejected = body(&fields(&page, "reject"), "It was <b>paid</b> already");
    let sent = ada.send("POST", &format!("{here}/reject"), &rejected).await;
    assert_eq!(sent.status, StatusCode::SEE_OTHER);
    house.until(id, RunStatus::Rejected).await;
    let page = ada.get(&format!("/runs/{id}")).await.text;
    assert!(
        page.contains("It was &#60;b&#62;paid&#60;/b&#62; already"),
        "{page}"
    );
    assert!(page.contains("the run ended before it"), "{page}");

    // Whoever is asked again learns of the no.
    let mut rita = house.signed_in("rita").await;
    let form = body(
        &fields(&rita.get(&format!("/runs/{id}")).await.text, "resume"),
        "",
    );
    let resume = format!("/runs/{id}/resume");
    assert_eq!(
        rita.send("POST", &resume, &(form + "&stage=yes"))
            .await
            .status,
        StatusCode::SEE_OTHER
    );
    house.until(id, RunStatus::Waiting).await;
    let next = waiting(&house, id);
    for place in [format!("/actions/{next}"), format!("/runs/{id}")] {
        let page = ada.get(&place).await.text;
        for fact in [
            "This is try 2.",
            "rejected by ada",
            "It was &#60;b&#62;paid&#60;/b&#62; already",
            &format!("href=\"{here}\""),
        ] {
            assert!(page.contains(fact), "{fact}: {page}");
        }
    }
    assert!(
        !ada.get(&here).await.text.contains("This is try"),
        "it came before"
    );
}

#[tokio::test]
async fn labels_alone_make_no_action_a_step_of_a_run() {
    let house = House::new().await;
    let id = house.run(PAY, true, RunStatus::Waiting).await;
    let identity = house.engine.identity();
    let rita = identity.person_by_email("rita@example.com").expect("rita");
    let rita = identity.principal(&rita.id).expect("enabled");
    let submission = Submission {
        tool: "issue_refund".into(),
        args: json!({ "order_id": "666", "amount_minor": 1, "currency": "EUR" }),
        reason: None,
        labels: BTreeMap::from([
            ("run".to_owned(), id.to_string()),
            ("step".to_owned(), "2".to_owned()),
        ]),
        expires_in: None,
        not_before: None,
        request_key: None,
    };
    let forged = match house.engine.submit(&rita, submission).await {
        Ok(Submitted::Action { action, .. }) => action.action.id,
        other => panic!("it is staged: {other:?}"),
    };
    let mut ada = house.signed_in("ada").await;
    let page = ada.get(&format!("/actions/{forged}")).await.text;
    assert!(!page.contains("The run that it is a step of"), "{page}");
    assert!(page.contains("Label <bdi"), "it is a label like any other");
    let queue = ada.get("/queue").await.text;
    assert_eq!(queue.matches("of the run <a href=").count(), 1, "{queue}");
}

#[tokio::test]
async fn a_withheld_call_is_shown_exactly_and_the_run_is_resumed_or_called_off() {
    let house = House::new().await;
    let id = house.run(PAY, false, RunStatus::Failed).await;
    let here = format!("/runs/{id}");
    let mut rita = house.signed_in("rita").await;
    let page = rita.get(&here).await.text;
    for fact in [
        "Nothing was sent.",
        "“Allow destructive steps as well” would allow exactly this call",
        "&#34;amount_minor&#34;: 5",
        "withheld",
        "left out",
    ] {
        assert!(page.contains(fact), "{fact}: {page}");
    }
    let mut form = fields(&page, "resume");
    let resume = format!("{here}/resume");
    let without = rita.send("POST", &resume, "stage=yes").await;
    assert_eq!(
        without.status,
        StatusCode::FORBIDDEN,
        "the token is missing"
    );
    form.push(("stage".to_owned(), "yes".to_owned()));
    let sent = rita.send("POST", &resume, &body(&form, "")).await;
    assert_eq!(
        (sent.status, sent.location.as_str()),
        (StatusCode::SEE_OTHER, here.as_str())
    );
    house.until(id, RunStatus::Waiting).await;
    let again = rita.send("POST", &resume, &body(&form, "")).await;
    assert_eq!(again.status, StatusCode::SEE_OTHER, "twice is once");

    let page = rita.get(&here).await.text;
    assert!(!page.contains("id=\"resume\""), "it goes on by itself");
    let form = body(&fields(&page, "cancel"), "no need any more");
    let cancel = format!("{here}/cancel");
    let mut ada = house.signed_in("ada").await;
    let foreign = body(&fields(&rita.get(&here).await.text, "cancel"), "");
    assert_eq!(
        ada.send("POST", &cancel, &foreign).await.status,
        StatusCode::FORBIDDEN
    );
    assert_eq!(
        rita.send("POST", &cancel, &form).await.status,
        StatusCode::SEE_OTHER
    );
    house.until(id, RunStatus::Cancelled).await;
    let page = rita.get(&here).await.text;
    assert!(
        page.contains("Called off") && page.contains("no need any more"),
        "{page}"
    );
    let late = rita.send("POST", &cancel, &form).await;
    assert_eq!(late.status, StatusCode::UNPROCESSABLE_ENTITY);
    assert!(late.text.contains("the run is over"), "{}", late.text);
}

#[tokio::test]
async fn a_run_that_was_left_behind_says_so_and_an_operator_goes_on_with_it() {
    let house = House::new().await;
    let id = house.run(PAY, true, RunStatus::Waiting).await;
    let log = house.log.clone();
    drop(house);
    let house = House::on(log).await;
    let here = format!("/runs/{id}");
    let mut oscar = house.signed_in("oscar").await;
    let page = oscar.get(&here).await.text;
    assert!(
        page.contains("Interrupted") && page.contains("Nothing happens until"),
        "{page}"
    );
    assert!(
        page.contains("Only whoever started it may allow more"),
        "{page}"
    );
    let list = oscar.get("/runs?status=interrupted").await.text;
    assert!(
        list.contains("Interrupted") && list.contains("1 of 3 steps passed"),
        "{list}"
    );
    assert!(
        oscar
            .get("/runs?status=waiting")
            .await
            .text
            .contains("Nothing fits this filter")
    );

    let form = body(&fields(&page, "resume"), "");
    let sent = oscar.send("POST", &format!("{here}/resume"), &form).await;
    assert_eq!(sent.status, StatusCode::SEE_OTHER, "{}", sent.text);
    assert!(oscar.get(&here).await.text.contains("Waiting"));
}

#[tokio::test]
async fn the_list_explains_itself_and_keeps_its_filters_in_the_address() {
    let house = House::new().await;
    let mut rita = house.signed_in("rita").await;
    let empty = rita.get("/runs").await.text;
    assert!(
        empty.contains("There are no runs yet.") && empty.contains("holdpoint run"),
        "{empty}"
    );
    let id = house.run(PAY, false, RunStatus::Failed).await;
    for (filter, found) in [
        ("", true),
        ("?status=failed", true),
        ("?status=passed", false),
        ("?name=pay-back", true),
        ("?name=pay", false),
    ] {
        let page = rita.get(&format!("/runs{filter}")).await.text;
        assert_eq!(
            page.contains(&format!("/runs/{id}")),
            found,
            "{filter}: {page}"
        );
    }
    for wrong in ["?status=nothing", "?stats=failed", "?cursor=x"] {
        let page = rita.get(&format!("/runs{wrong}")).await;
        assert_eq!(page.status, StatusCode::BAD_REQUEST, "{wrong}");
    }
    let receipt = rita.get(&format!("/runs/{id}/receipt.json")).await;
    let receipt: serde_json::Value = serde_json::from_str(&receipt.text).expect("JSON");
    assert_eq!(
        (&receipt["run"], &receipt["totals"]["withheld"]),
        (&json!(id.to_string()), &json!(1))
    );
    // A requester sees the own runs, and no others.
    let mut nobody = house.browser();
    assert_eq!(
        nobody.get(&format!("/runs/{id}")).await.status,
        StatusCode::SEE_OTHER
    );
    let mut ada = house.signed_in("ada").await;
    assert_eq!(ada.get("/runs/run_x").await.status, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn i14_hostile_titles_and_answers_are_shown_as_what_they_are() {
    let house = House::new().await;
    let text = r#"---
name: pay-back
description: Pay the balance back
---

### Step 1 — <script>alert(1)</script><img src=x onerror=alert(2)>TURNED gpj
- intent: </p><h1>Approved</h1> "quoted" {{7*7}}
- action: read_balance {"say": "</bdi><script>alert(3)</script>\u202e\u200b\u001b[2J"}
- assert: body contains "</code><script>alert(4)</script>"
- bind: said = json.said

### Step 2 — Pay it back
- intent: x
- action: issue_refund {"order_id": "{{said}}", "amount_minor": 5, "currency": "EUR"}
"#;
    let text = &text.replace("TURNED ", "\u{202e}");
    let failed = house.run(text, true, RunStatus::Failed).await;
    let passes = text.replace(
        "- assert: body contains \"</code><script>alert(4)</script>\"\n",
        "",
    );
    let staged = house.run(&passes, true, RunStatus::Waiting).await;
    let mut ada = house.signed_in("ada").await;
    let action = waiting(&house, staged);
    for path in [
        format!("/runs/{failed}"),
        format!("/runs/{staged}"),
        format!("/actions/{action}"),
        "/runs".to_owned(),
        "/queue".to_owned(),
        "/history/events".to_owned(),
    ] {
        let page = ada.get(&path).await;
        assert_eq!(page.status, StatusCode::OK, "{path}");
        for danger in [
            "<script>alert",
            "<img src=x",
            "<h1>Approved",
            "\u{202e}",
            "\u{200b}",
            "\u{1b}",
        ] {
            assert!(
                !page.text.contains(danger),
                "{danger:?} on {path}: {}",
                page.text
            );
        }
    }
    let page = ada.get(&format!("/runs/{staged}")).await.text;
    assert!(
        page.contains("&#60;script&#62;alert(1)") && page.contains("⟦U+202E⟧"),
        "{page}"
    );
    assert_eq!(page.matches("<h1>").count(), 1);
    // What hides in the address of a filter is shown in its field only.
    let query = query::join(&[("name", "\"><script>alert(5)</script>")]);
    let page = ada.get(&format!("/runs?{query}")).await.text;
    assert!(!page.contains("<script>alert(5)"), "{page}");
}
