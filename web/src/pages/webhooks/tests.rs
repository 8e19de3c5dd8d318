//! The pages of webhooks with a real engine behind them.

use holdpoint_engine::webhook::EndpointId;
use http::StatusCode;

use crate::pages::house::{House, body, fields};
use crate::pages::query;

fn with(fields: &[(String, String)], more: &[(&str, &str)]) -> String {
    let mut pairs: Vec<_> = fields
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_str()))
        .collect();
    pairs.extend(more);
    query::join(&pairs)
}

/// What stands between two texts.
fn between<'a>(text: &'a str, start: &str, end: &str) -> &'a str {
    let rest = text.split_once(start).expect("its start").1;
    rest.split_once(end).expect("its end").0
}

#[tokio::test]
async fn i16_an_endpoint_is_made_in_the_browser_and_its_secret_is_shown_once() {
    let house = House::new().await;
    let mut admin = house.signed_in("root").await;
    let page = admin.get("/settings/webhooks").await;
    assert_eq!(page.status, StatusCode::OK);
    assert!(page.text.contains("Nobody is told yet"));
    let form = fields(&page.text, "create");
    let wrong = with(&form, &[("name", "orders"), ("url", "http://example.com/")]);
    let refused = admin.send("POST", "/settings/webhooks", &wrong).await;
    assert_eq!(refused.status, StatusCode::UNPROCESSABLE_ENTITY);
    assert!(
        refused.text.contains("There is a problem") && refused.text.contains("value=\"orders\"")
    );
    let right = with(
        &form,
        &[("name", "orders"), ("url", "https://127.0.0.1:9/")],
    );
    let made = admin.send("POST", "/settings/webhooks", &right).await;
    assert_eq!(made.status, StatusCode::SEE_OTHER);
    let here = made.location;
    let page = admin.get(&here).await.text;
    let secret = between(&page, "id=\"secret\"", "</div>");
    assert!(secret.contains("whsec_"), "{secret}");
    let again = admin.get(&here).await.text;
    assert!(!again.contains("whsec_"), "it is shown once");
    let mut other = house.signed_in("root").await;
    assert!(!other.get(&here).await.text.contains("whsec_"));
    assert!(
        other
            .get("/settings/webhooks")
            .await
            .text
            .contains("orders")
    );
}

#[tokio::test]
async fn every_form_of_an_endpoint_ends_on_its_page_and_says_what_is_so() {
    let house = House::new().await;
    let mut admin = house.signed_in("root").await;
    let page = admin.get("/settings/webhooks").await.text;
    let form = with(
        &fields(&page, "create"),
        &[("name", "orders"), ("url", "https://127.0.0.1:9/")],
    );
    let here = admin
        .send("POST", "/settings/webhooks", &form)
        .await
        .location;
    admin.get(&here).await;
    let id: EndpointId = here
        .rsplit('/')
        .next()
        .expect("an id")
        .parse()
        .expect("an id");

    let page = admin.get(&here).await.text;
    let test = body(&fields(&page, "test"), "");
    let sent = admin.send("POST", &format!("{here}/test"), &test).await;
    assert_eq!(sent.status, StatusCode::SEE_OTHER);
    let page = admin.get(&here).await.text;
    assert!(
        page.contains("webhook.test") && page.contains("is an address"),
        "{page}"
    );

    let without_reason = body(&fields(&page, "disable"), "");
    let refused = admin
        .send("POST", &format!("{here}/disable"), &without_reason)
        .await;
    assert_eq!(refused.status, StatusCode::UNPROCESSABLE_ENTITY);
    let form = body(&fields(&page, "disable"), "maintenance");
    let done = admin.send("POST", &format!("{here}/disable"), &form).await;
    assert_eq!(
        (done.status, done.location.as_str()),
        (StatusCode::SEE_OTHER, here.as_str())
    );
    let page = admin.get(&here).await.text;
    assert!(page.contains("maintenance"));
    let form = body(&fields(&page, "enable"), "back");
    admin.send("POST", &format!("{here}/enable"), &form).await;

    let page = admin.get(&here).await.text;
    let changed = [
        ("name", "orders 2"),
        ("url", "https://127.0.0.1:9/"),
        ("tools", "issue_refund"),
    ];
    let form = with(&fields(&page, "change"), &changed);
    admin.send("POST", &format!("{here}/change"), &form).await;
    let page = admin.get(&here).await.text;
    assert!(page.contains("orders 2") && page.contains("issue_refund"));

    let form = body(&fields(&page, "rotate"), "");
    admin.send("POST", &format!("{here}/rotate"), &form).await;
    let page = admin.get(&here).await.text;
    assert!(page.contains("whsec_") && page.contains("Old secret signs until"));

    house.refund().await;
    let by = house
        .engine
        .identity()
        .person_by_email("root@example.com")
        .expect("root");
    let by = house.engine.identity().principal(&by.id).expect("enabled");
    while house
        .engine
        .webhook(&by, id)
        .expect("there")
        .place
        .trying
        .is_none()
    {
        tokio::task::yield_now().await;
    }
    let page = admin.get(&here).await.text;
    assert!(
        page.contains("action.staged") && page.contains("Again later"),
        "{page}"
    );
    let state = between(&page, "<h2>State</h2>", "</section>");
    assert!(
        state.contains("was not taken in") && state.contains("What came of the last attempt:"),
        "{state}"
    );
    let (change, disable) = (page.find("<h2>Change</h2>"), page.find("<h2>Disable</h2>"));
    assert!(
        change.is_some() && change < disable,
        "what ends it comes after what is usual"
    );
    let action = between(&page, "action=\"/settings/webhooks/deliveries/", "\"");
    let path = format!("/settings/webhooks/deliveries/{action}");
    let form = body(&fields(&page, "test"), "");
    let again = admin.send("POST", &path, &form).await;
    assert_eq!(again.status, StatusCode::SEE_OTHER);
    let page = admin.get(&here).await.text;
    assert!(page.contains("by hand"), "{page}");

    let form = body(&fields(&page, "delete"), "not needed");
    let gone = admin.send("POST", &format!("{here}/delete"), &form).await;
    assert_eq!(gone.location, "/settings/webhooks");
    assert_eq!(admin.get(&here).await.status, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn i18_and_i19_only_administrators_with_the_token_of_their_session_come_through() {
    let house = House::new().await;
    let (mut admin, mut ada) = (house.signed_in("root").await, house.signed_in("ada").await);
    assert_eq!(
        ada.get("/settings/webhooks").await.status,
        StatusCode::FORBIDDEN
    );
    assert!(!ada.get("/queue").await.text.contains("/settings/webhooks"));
    assert!(
        admin
            .get("/queue")
            .await
            .text
            .contains("/settings/webhooks")
    );
    let page = admin.get("/settings/webhooks").await.text;
    let form = with(
        &fields(&page, "create"),
        &[("name", "x"), ("url", "https://127.0.0.1:9/")],
    );
    let stolen = ada.send("POST", "/settings/webhooks", &form).await;
    assert_eq!(stolen.status, StatusCode::FORBIDDEN);
    let bare = query::join(&[("name", "x"), ("url", "https://127.0.0.1:9/")]);
    let forged = admin.send("POST", "/settings/webhooks", &bare).await;
    assert_eq!(forged.status, StatusCode::FORBIDDEN);
    let nothing = admin.get("/settings/webhooks").await.text;
    assert!(nothing.contains("Nobody is told yet"));
}
