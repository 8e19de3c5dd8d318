//! The page of the operators, and the banner of the pause switch.

use holdpoint_engine::identity::Role;
use http::StatusCode;

use super::house::House;
use super::{query, samples};

#[tokio::test]
async fn incident_96_an_unknown_outcome_is_on_a_page_and_can_be_settled_there() {
    let house = House::new().await;
    let id = house.doubt().await;
    let mut oscar = house.signed_in("oscar").await;
    let page = oscar.get("/outcomes").await.text;
    assert!(page.contains("Unknown outcomes (1)"), "{page}");
    assert!(page.contains("Close account 77"), "{page}");
    assert!(page.contains("a person must settle it"), "{page}");
    assert!(!page.contains("<b>broke</b>"), "i14: {page}");
    let token = page.split("name=\"token\" value=\"").nth(2);
    let token = token
        .and_then(|rest| rest.split('"').next())
        .expect("a token");
    let settle = format!("/actions/{id}/settle");
    let forged = query::join(&[("token", "other"), ("happened", "yes"), ("reason", "seen")]);
    let refused = oscar.send("POST", &settle, &forged).await;
    assert_eq!(refused.status, StatusCode::FORBIDDEN, "i19");
    let form = query::join(&[("token", token), ("happened", "yes"), ("reason", "seen")]);
    for click in ["first", "second"] {
        let done = oscar.send("POST", &settle, &form).await;
        assert_eq!(done.status, StatusCode::SEE_OTHER, "{click}: {}", done.text);
    }
    let other = query::join(&[("token", token), ("happened", "no"), ("reason", "not seen")]);
    let late = oscar.send("POST", &settle, &other).await;
    assert_eq!(late.status, StatusCode::UNPROCESSABLE_ENTITY);
    let words = "was not recorded: it was already settled by ";
    assert!(late.text.contains(words), "{}", late.text);
    assert!(late.text.contains(": it happened"), "{}", late.text);
    let page = oscar.get("/outcomes").await.text;
    assert!(page.contains("There are none."), "{page}");
}

#[tokio::test]
async fn an_auditor_reads_the_unknown_outcomes_and_settles_none() {
    let house = House::new().await;
    let id = house.doubt().await;
    let mut alma = house.signed_in("alma").await;
    assert!(alma.get("/queue").await.text.contains("/outcomes"));
    let page = alma.get("/outcomes").await;
    assert_eq!(page.status, StatusCode::OK, "{}", page.text);
    assert!(page.text.contains("Close account 77"), "{}", page.text);
    let words = "Settling is for people with the role of operator.";
    assert!(page.text.contains(words), "{}", page.text);
    let settle = format!("/actions/{id}/settle");
    assert!(!page.text.contains(&settle), "{}", page.text);
}

#[tokio::test]
async fn the_page_of_the_operators_is_not_for_others() {
    let house = House::new().await;
    house.doubt().await;
    let mut ada = house.signed_in("ada").await;
    assert_eq!(ada.get("/outcomes").await.status, StatusCode::FORBIDDEN);
    assert!(!ada.get("/queue").await.text.contains("/outcomes"));
}

#[tokio::test]
async fn every_page_says_that_it_is_paused_by_whom_and_why() {
    let house = House::new().await;
    let by = samples::person("per_oscar", &[Role::Operator]);
    house
        .engine
        .pause(&by, "an <i>incident</i>")
        .await
        .expect("paused");
    let mut ada = house.signed_in("ada").await;
    for path in ["/queue", "/tools", "/history"] {
        let page = ada.get(path).await.text;
        assert!(page.contains("Paused: nothing new is sent."), "{path}");
        assert!(
            page.contains("PER_OSCAR") && !page.contains("<i>incident"),
            "{path}"
        );
    }
    house.engine.resume(&by, None).await.expect("resumed");
    assert!(!ada.get("/queue").await.text.contains("Paused:"));
}
