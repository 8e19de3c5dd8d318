//! The pages with a real engine behind them, from sign-in to outcome.

use http::StatusCode;

use super::house::{House, PASSWORD, Page, body, fields};
use super::query;

#[tokio::test]
async fn incidents_79_80_and_81_a_second_click_and_a_lost_race_lead_to_the_outcome() {
    let house = House::new().await;
    let id = house.refund().await;
    let (mut ada, mut bob) = (house.signed_in("ada").await, house.signed_in("bob").await);
    assert!(
        ada.get("/queue")
            .await
            .text
            .contains("Refund 48.00 EUR to order 8812")
    );
    let here = format!("/actions/{id}");
    let page = ada.get(&here).await.text;
    assert!(
        page.contains("= <bdi class=\"t\" dir=\"ltr\">48.00 EUR"),
        "{page}"
    );
    let form = body(&fields(&page, "approve"), "");
    let late = body(&fields(&bob.get(&here).await.text, "approve"), "");

    let approve = format!("{here}/approve");
    let first = ada.send("POST", &approve, &form).await;
    assert_eq!(
        (first.status, first.location),
        (StatusCode::SEE_OTHER, here.clone())
    );
    let page = ada.get(&here).await.text;
    assert!(
        page.contains("Your approval is recorded. It will be sent at"),
        "{page}"
    );
    assert!(
        !ada.get(&here).await.text.contains("is recorded"),
        "a message is shown once"
    );

    let again = ada.send("POST", &approve, &form).await;
    assert_eq!(again.status, StatusCode::SEE_OTHER);
    let page = ada.get(&here).await.text;
    assert!(page.contains("recorded"), "{page}");

    let lost = bob.send("POST", &approve, &late).await;
    assert_eq!(lost.status, StatusCode::SEE_OTHER);
    let page = bob.get(&here).await.text;
    assert!(
        page.contains("was not recorded: it was already approved by ada"),
        "{page}"
    );
    assert!(
        page.contains("<div class=\"note bad\" role=\"alert\" id=\"message\">"),
        "{page}"
    );
    for browser in [&mut ada, &mut bob] {
        let page = browser.get(&here).await.text;
        for form in ["approve", "reject"] {
            assert!(!page.contains(&format!("{here}/{form}")), "{form}: {page}");
        }
    }

    let withdraw = body(
        &fields(&ada.get(&here).await.text, "withdraw"),
        "Wrong order",
    );
    let taken = ada
        .send("POST", &format!("{here}/withdraw"), &withdraw)
        .await;
    assert_eq!(taken.status, StatusCode::SEE_OTHER);
    assert!(
        ada.get(&here)
            .await
            .text
            .contains("Your approval is taken back")
    );
}

#[tokio::test]
async fn the_page_of_an_error_keeps_the_way_on_for_whoever_is_signed_in() {
    let house = House::new().await;
    let mut ada = house.signed_in("ada").await;
    for (path, status) in [
        ("/settings/webhooks", StatusCode::FORBIDDEN),
        ("/actions/nothing", StatusCode::NOT_FOUND),
        ("/nothing/at/all", StatusCode::NOT_FOUND),
        ("/queue?cursor=xx", StatusCode::BAD_REQUEST),
    ] {
        let page = ada.get(path).await;
        assert_eq!(page.status, status, "{path}");
        for words in [
            "aria-label=\"Main\"",
            "action=\"/sign-out\"",
            "href=\"/history\"",
        ] {
            assert!(
                page.text.contains(words),
                "{path}: {words} in {}",
                page.text
            );
        }
        assert!(
            !page.text.contains("name=\"token\" value=\"\""),
            "{path}: a token to sign out"
        );
    }
    let page = ada.get("/queue?cursor=xx").await.text;
    assert!(
        page.contains("Open the list again from its beginning."),
        "{page}"
    );
    let mut nobody = house.browser();
    let page = nobody.get("/nothing/at/all").await;
    assert_eq!(page.status, StatusCode::NOT_FOUND);
    assert!(!page.text.contains("/sign-out"), "{}", page.text);
}

#[tokio::test]
async fn incident_89_get_never_decides() {
    let house = House::new().await;
    let id = house.refund().await;
    let mut ada = house.signed_in("ada").await;
    for verb in ["approve", "reject", "withdraw", "cancel", "settle"] {
        let page = ada
            .get(&format!("/actions/{id}/{verb}?digest=x&reason=y"))
            .await;
        assert_eq!(page.status, StatusCode::METHOD_NOT_ALLOWED, "{verb}");
    }
    assert!(
        ada.get(&format!("/actions/{id}"))
            .await
            .text
            .contains("You may vote")
    );
}

#[tokio::test]
async fn a_rejection_needs_a_reason_and_keeps_nothing_without_one() {
    let house = House::new().await;
    let id = house.refund().await;
    let mut ada = house.signed_in("ada").await;
    let here = format!("/actions/{id}");
    let hidden = fields(&ada.get(&here).await.text, "reject");
    let refused = ada
        .send("POST", &format!("{here}/reject"), &body(&hidden, " "))
        .await;
    assert_eq!(refused.status, StatusCode::UNPROCESSABLE_ENTITY);
    assert!(refused.text.contains("<title>Error: "));
    assert!(refused.text.contains("href=\"#reject-reason\""));
    let taken = ada
        .send(
            "POST",
            &format!("{here}/reject"),
            &body(&hidden, "Too much"),
        )
        .await;
    assert_eq!(taken.status, StatusCode::SEE_OTHER);
    assert!(
        ada.get(&here)
            .await
            .text
            .contains("Your rejection is recorded")
    );
}

#[tokio::test]
async fn a_digest_that_was_not_shown_is_answered_with_a_conflict() {
    let house = House::new().await;
    let id = house.refund().await;
    let mut ada = house.signed_in("ada").await;
    let here = format!("/actions/{id}");
    let mut hidden = fields(&ada.get(&here).await.text, "approve");
    for (name, value) in &mut hidden {
        if name == "digest" {
            *value = format!("sha256:{}", "0".repeat(64));
        }
    }
    let page = ada
        .send(
            "POST",
            &format!("{here}/approve"),
            &body(&hidden, "My words"),
        )
        .await;
    assert_eq!(page.status, StatusCode::CONFLICT);
    assert!(page.text.contains("Your answer was not recorded.") && page.text.contains("My words"));
}

#[tokio::test]
async fn w1_a_form_of_another_session_records_nothing() {
    let house = House::new().await;
    let id = house.refund().await;
    let (mut ada, mut bob) = (house.signed_in("ada").await, house.signed_in("bob").await);
    let here = format!("/actions/{id}");
    let of_bob = body(&fields(&bob.get(&here).await.text, "approve"), "");
    let page = ada.send("POST", &format!("{here}/approve"), &of_bob).await;
    assert_eq!(page.status, StatusCode::FORBIDDEN);
    assert!(ada.get(&here).await.text.contains("You may vote"));
}

#[tokio::test]
async fn an_ended_session_keeps_the_words_and_records_nothing() {
    let house = House::new().await;
    let id = house.refund().await;
    let mut ada = house.signed_in("ada").await;
    let here = format!("/actions/{id}");
    let form = body(
        &fields(&ada.get(&here).await.text, "reject"),
        "Not this one",
    );
    ada.cookies.clear();
    let sent = ada.send("POST", &format!("{here}/reject"), &form).await;
    assert_eq!(sent.status, StatusCode::SEE_OTHER);
    assert!(
        sent.location.starts_with("/sign-in?return=%2Factions%2F"),
        "{}",
        sent.location
    );
    assert!(
        ada.get(&sent.location)
            .await
            .text
            .contains("nothing was recorded")
    );
    ada.sign_in("ada@example.com", PASSWORD).await;
    let page = ada.get(&here).await.text;
    assert!(page.contains("Not this one") && page.contains("Nothing was recorded yet"));
}

#[tokio::test]
async fn signing_in_says_the_same_for_an_unknown_person_and_a_wrong_password() {
    let house = House::new().await;
    let mut browser = house.browser();
    let unknown = browser.sign_in("nobody@example.com", "x").await;
    let wrong = browser.sign_in("ada@example.com", "x").await;
    assert_eq!(unknown.status, wrong.status);
    let words = |page: &Page| {
        page.text
            .replace("nobody@example.com", "")
            .replace("ada@example.com", "")
    };
    assert_eq!(words(&unknown), words(&wrong));
    assert_eq!(
        browser.get("/queue").await.location,
        "/sign-in?return=%2Fqueue"
    );
}

#[tokio::test]
async fn incident_89_a_sign_in_link_is_used_up_by_its_button_alone() {
    let house = House::new().await;
    let identity = house.engine.identity();
    let ada = identity.person_by_email("ada@example.com").expect("ada");
    let ttl = std::time::Duration::from_mins(10);
    let token = identity
        .create_sign_in_link("test", &ada.id, ttl)
        .await
        .expect("a link");
    let link = format!("/sign-in/link?{}", query::pair("token", token.expose()));
    let mut browser = house.browser();
    for _ in 0..3 {
        assert!(browser.get(&link).await.text.contains("Sign in as"));
    }
    let form = query::pair("token", token.expose());
    assert_eq!(
        browser.send("POST", "/sign-in/link", &form).await.location,
        "/queue"
    );
    let second = house.browser().send("POST", "/sign-in/link", &form).await;
    assert_eq!(second.status, StatusCode::UNPROCESSABLE_ENTITY);
}

#[tokio::test]
async fn every_page_answers_with_nothing_in_it_and_with_something() {
    let house = House::new().await;
    let mut ada = house.signed_in("ada").await;
    for round in 0..2 {
        for path in [
            "/queue",
            "/queue?tab=others",
            "/queue?tab=mine",
            "/queue?tab=open",
            "/queue?tab=done",
            "/queue?text=zzz",
            "/history",
            "/history?status=staged&from=2026-01-01",
            "/tools",
            "/history/events",
            "/history/export.csv",
            "/history/export.jsonl",
        ] {
            let page = ada.get(path).await;
            assert_eq!(
                page.status,
                StatusCode::OK,
                "{path} in round {round}: {}",
                page.text
            );
        }
        if round == 0 {
            house.refund().await;
        }
    }
    assert!(
        ada.get("/history/export.csv")
            .await
            .text
            .contains("refund:8812")
    );
    assert_eq!(
        ada.get("/history?from=x").await.status,
        StatusCode::UNPROCESSABLE_ENTITY
    );
    assert_eq!(
        ada.get("/actions/act_x").await.status,
        StatusCode::NOT_FOUND
    );
    let page = ada.get("/nothing").await;
    assert_eq!(page.status, StatusCode::NOT_FOUND);
    assert!(page.text.contains("Go to the queue"));
}
