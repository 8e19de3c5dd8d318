//! What the forms of pages say to whoever sent them.

use crate::browser::{cookie, get, post_form};
use crate::world::{Answer, World};

/// The token of the forms of a page.
fn form_token(page: &Answer) -> &str {
    let after = page.text.split("name=\"token\" value=\"").nth(1);
    let value = after.and_then(|rest| rest.split('"').next());
    value.unwrap_or_else(|| panic!("no form in {}", page.text))
}

#[tokio::test]
async fn i10_a_page_does_not_pass_a_persons_word_off_as_the_targets() {
    for (happened, words) in [
        ("yes", "A person says that it happened."),
        ("no", "A person says that it did not happen."),
    ] {
        let world = World::new().await;
        let action = world.unknown().await;
        let here = format!("/actions/{}", action["id"].as_str().expect("an id"));
        let mut cookie = cookie(&world, "operator").await;
        let page = get(&world, &cookie, &here).await;
        let token = form_token(&page).replace(':', "%3A");
        let settle = |cookie: &str, happened: &str| {
            let form = format!("token={token}&happened={happened}&reason=The+bank+told+me");
            let mut request = post_form(&format!("{here}/settle"), &form);
            let cookie = cookie.parse().expect("a header");
            request.headers_mut().insert("cookie", cookie);
            request
        };
        let settled = world.send(settle(&cookie, happened)).await;
        assert_eq!(settled.status, 303, "{}", settled.text);
        let message = settled.header("set-cookie").split(';').next();
        cookie = format!("{cookie}; {}", message.expect("a message"));

        // The same again is a repeat; the opposite is refused.
        let again = world.send(settle(&cookie, happened)).await;
        assert_eq!(again.status, 303, "{}", again.text);
        let opposite = if happened == "yes" { "no" } else { "yes" };
        let again = world.send(settle(&cookie, opposite)).await;
        assert_eq!(again.status, 422);
        assert!(
            !again.text.contains("settlement is recorded"),
            "of the form before"
        );

        let page = get(&world, &cookie, &here).await;
        assert!(
            page.text.contains("Your settlement is recorded."),
            "{}",
            page.text
        );
        assert!(page.text.contains(words), "{}", page.text);
        for claim in [
            "the target says",
            "It happened; the evidence",
            "It certainly did not",
            "it certainly did not",
        ] {
            assert!(!page.text.contains(claim), "{claim}");
        }
    }
}

#[tokio::test]
async fn i24_words_typed_before_a_session_ended_come_back_to_nobody_else() {
    let world = World::new().await;
    let action = world.staged().await;
    let here = format!("/actions/{}", action["id"].as_str().expect("an id"));
    let cookie_of_first = cookie(&world, "approver").await;
    let page = get(&world, &cookie_of_first, &here).await;
    let token = form_token(&page).replace(':', "%3A");
    // The session is gone from the browser, and the form is sent.
    let form = format!("token={token}&reason=my+own+words");
    let answer = world
        .send(post_form(&format!("{here}/reject"), &form))
        .await;
    assert_eq!(answer.status, 303);
    let draft = answer.header("set-cookie").split(';').next();
    let draft = draft.expect("a draft").to_owned();
    for (name, is_theirs) in [("approver2", false), ("approver", true)] {
        let cookie = format!("{}; {draft}", cookie(&world, name).await);
        let page = get(&world, &cookie, &here).await;
        assert_eq!(page.status, 200);
        assert_eq!(page.text.contains("my own words"), is_theirs, "{name}");
        assert_eq!(
            page.text.contains("that you typed before"),
            is_theirs,
            "{name}"
        );
    }
}

#[tokio::test]
async fn a_form_that_is_refused_says_that_nothing_was_recorded() {
    let world = World::new().await;
    let action = world.staged().await;
    let id = action["id"].as_str().expect("an id");
    let cookie = cookie(&world, "auditor").await;
    let page = get(&world, &cookie, "/queue").await;
    let token = form_token(&page).replace(':', "%3A");
    let nobody = format!("act_{}", "0".repeat(32));
    for (path, form, status) in [
        (
            format!("/actions/{id}/settle"),
            format!("token={token}&happened=yes&reason=a+b"),
            403,
        ),
        (
            format!("/actions/{id}/approve"),
            "token=forged".to_owned(),
            403,
        ),
        (
            format!("/actions/{id}/approve"),
            format!("token={token}&revision=x"),
            400,
        ),
        (
            format!("/actions/{nobody}/cancel"),
            format!("token={token}&reason=a"),
            404,
        ),
    ] {
        let mut request = post_form(&path, &form);
        let value = cookie.parse().expect("a header");
        request.headers_mut().insert("cookie", value);
        let answer = world.send(request).await;
        assert_eq!(answer.status, status, "{path}: {}", answer.text);
        assert!(
            answer.text.to_lowercase().contains("nothing was recorded"),
            "{path}: {}",
            answer.text
        );
    }
}
