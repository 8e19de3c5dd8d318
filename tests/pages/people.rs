//! People at work: sign in, find, understand, decide.

use holdpoint_engine::action::{ActionId, Status};
use serde_json::json;

use crate::browser::{Browser, DESKTOP, Look};
use crate::house::{House, PASSWORD};

pub(crate) const LOOKS: [Look; 4] = [
    DESKTOP,
    Look {
        width: 1280,
        dark: true,
        script: true,
    },
    Look {
        width: 360,
        dark: false,
        script: true,
    },
    Look {
        width: 360,
        dark: true,
        script: true,
    },
];

const WITHOUT_SCRIPT: Look = Look {
    width: 1280,
    dark: false,
    script: false,
};

pub(crate) async fn sign_in(browser: &Browser, house: &House, name: &str) {
    browser.goto(&format!("{}/sign-in", house.url)).await;
    browser.fill("#email", &format!("{name}@example.com")).await;
    browser.fill("#password", PASSWORD).await;
    browser.click("main form button[type=submit]").await;
    browser.wait_for_text("Sign out").await;
}

pub(crate) async fn sign_out(browser: &Browser, house: &House) {
    browser.goto(&format!("{}/queue", house.url)).await;
    browser.click("header form button").await;
    browser.wait_for_text("Email address").await;
}

/// Waits until the action has a status, as the engine works on.
async fn until(house: &House, id: ActionId, status: Status) {
    for _ in 0..200 {
        if house.action(id).status() == status {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    panic!(
        "it never becomes {}: {:?}",
        status.name(),
        house.action(id).phase
    );
}

/// Finds a waiting refund in the queue, reads it, approves it, and sees what became of it.
async fn find_and_approve(look: Look) {
    let house = House::open("0s").await;
    let id = house.refund("8812", 4_800).await;
    let browser = Browser::open(look).await;
    sign_in(&browser, &house, "ana").await;
    browser.click(&format!("a[href='/actions/{id}']")).await;
    browser
        .wait_for_text("Refund 48.00 EUR to order 8812")
        .await;
    let page = browser.text().await;
    for fact in [
        "amount_minor",
        "4800",
        "/refundable_minor",
        "60000",
        "POST",
        "refund:8812:r-8812",
    ] {
        assert!(page.contains(fact), "the page names {fact}:\n{page}");
    }
    browser.click("#approve button[type=submit]").await;
    until(&house, id, Status::Succeeded).await;
    browser.goto(&house.page(id)).await;
    browser.wait_for_text("Ana").await;
    assert_eq!(house.shop.refunds(), 1);
    assert_eq!(
        browser.count("#approve").await,
        0,
        "there is nothing left to decide"
    );
    let page = browser.text().await;
    assert!(page.contains("action.commit_recorded") && page.contains("action.attempt_succeeded"));
    browser.close().await;
    house.close();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_person_finds_understands_and_approves_on_a_desktop() {
    find_and_approve(DESKTOP).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_person_approves_without_javascript() {
    find_and_approve(WITHOUT_SCRIPT).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_person_approves_on_a_phone() {
    find_and_approve(LOOKS[3]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rejection_asks_for_a_reason_and_keeps_what_was_typed() {
    let house = House::open("0s").await;
    let id = house.refund("8812", 4_800).await;
    let browser = Browser::open(WITHOUT_SCRIPT).await;
    sign_in(&browser, &house, "ana").await;
    browser.goto(&house.page(id)).await;
    browser.click("#reject button[type=submit]").await;
    browser.wait_for_text("There is a problem").await;
    assert!(
        browser
            .driver
            .title()
            .await
            .expect("a title")
            .starts_with("Error: ")
    );
    assert_eq!(house.action(id).status(), Status::Staged);
    browser
        .fill("#reject-reason", "the customer kept the goods")
        .await;
    browser.click("#reject button[type=submit]").await;
    browser.wait_for_text("the customer kept the goods").await;
    assert_eq!(house.action(id).status(), Status::Rejected);
    assert_eq!(house.shop.refunds(), 0);
    browser.close().await;
    house.close();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_moved_state_shows_on_the_page_what_moved_and_refunds_nothing() {
    let house = House::open("0s").await;
    let id = house.refund("8812", 4_800).await;
    let browser = Browser::open(DESKTOP).await;
    sign_in(&browser, &house, "ana").await;
    browser.goto(&house.page(id)).await;
    house.shop.set_refundable("8812", 5_000);
    browser.click("#approve button[type=submit]").await;
    until(&house, id, Status::ReplanRequired).await;
    browser.goto(&house.page(id)).await;
    let page = browser.text().await;
    for fact in ["/refundable_minor", "60000", "5000"] {
        assert!(page.contains(fact), "the page shows {fact}:\n{page}");
    }
    assert_eq!(house.shop.refunds(), 0);
    browser.picture("replan").await;
    browser.close().await;
    house.close();
}

#[tokio::test(flavor = "multi_thread")]
async fn two_people_are_needed_above_the_limit_and_one_may_not_be_both() {
    let house = House::open("0s").await;
    let id = house.refund("8813", 52_000).await;
    let browser = Browser::open(DESKTOP).await;
    sign_in(&browser, &house, "ana").await;
    browser.goto(&house.page(id)).await;
    assert!(browser.text().await.contains("above 500.00"));
    browser.click("#approve button[type=submit]").await;
    browser.wait_for_text("1 of 2").await;
    assert_eq!(
        browser.count("#approve").await,
        0,
        "one person has one vote"
    );
    sign_out(&browser, &house).await;
    sign_in(&browser, &house, "ben").await;
    browser.goto(&house.page(id)).await;
    browser.click("#approve button[type=submit]").await;
    until(&house, id, Status::Succeeded).await;
    assert_eq!(house.shop.refunds(), 1);
    browser.close().await;
    house.close();
}

#[tokio::test(flavor = "multi_thread")]
async fn the_page_says_why_a_reader_may_not_vote() {
    let house = House::open("0s").await;
    let id = house.refund("8812", 4_800).await;
    let browser = Browser::open(DESKTOP).await;
    for (name, why) in [("rita", "may not"), ("lea", "group"), ("otto", "approver")] {
        sign_in(&browser, &house, name).await;
        browser.goto(&house.page(id)).await;
        let page = browser.find(".standing").await.text().await.expect("text");
        assert!(page.to_lowercase().contains(why), "{name} reads: {page}");
        assert_eq!(browser.count("#approve").await, 0);
        sign_out(&browser, &house).await;
    }
    browser.close().await;
    house.close();
}

#[tokio::test(flavor = "multi_thread")]
async fn incident_79_a_second_click_and_the_back_button_lead_to_the_outcome() {
    let house = House::open("0s").await;
    let id = house.refund("8812", 4_800).await;
    let (first, second) = (Browser::open(DESKTOP).await, Browser::open(DESKTOP).await);
    sign_in(&first, &house, "ana").await;
    sign_in(&second, &house, "ben").await;
    first.goto(&house.page(id)).await;
    second.goto(&house.page(id)).await;
    first.click("#approve button[type=submit]").await;
    until(&house, id, Status::Succeeded).await;
    // Ben's page is old: his click must not look like a failure, and must not count.
    second.click("#approve button[type=submit]").await;
    second.wait_for_text("Ana").await;
    assert!(second.text().await.to_lowercase().contains("already"));
    first.driver.back().await.expect("the browser goes back");
    if first.count("#approve").await == 1 {
        first.click("#approve button[type=submit]").await;
        first.wait_for_text("action.attempt_succeeded").await;
    }
    assert_eq!(house.shop.refunds(), 1);
    assert_eq!(house.action(id).attempts.len(), 1);
    first.close().await;
    second.close().await;
    house.close();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_approval_can_be_taken_back_while_it_is_held() {
    let house = House::open("10m").await;
    let id = house.refund("8812", 4_800).await;
    let browser = Browser::open(WITHOUT_SCRIPT).await;
    sign_in(&browser, &house, "ana").await;
    browser.goto(&house.page(id)).await;
    browser.click("#approve button[type=submit]").await;
    until(&house, id, Status::Approved).await;
    browser.goto(&house.page(id)).await;
    assert!(browser.text().await.contains("Held back until"));
    browser
        .click("form[action$='/withdraw'] button[type=submit]")
        .await;
    until(&house, id, Status::Staged).await;
    assert_eq!(house.shop.refunds(), 0);
    browser.close().await;
    house.close();
}

#[tokio::test(flavor = "multi_thread")]
async fn i14_hostile_text_is_shown_as_what_it_is_and_runs_nothing() {
    let house = House::open("0s").await;
    let args = json!({ "order_id": "8814", "refund_ref": "r\u{202e}1\u{200b}", "amount_minor": 100,
        "currency": "EUR", "note": "<script>document.title='owned'</script><img src=x onerror=alert(1)>",
        "<b>key</b>": "javascript:alert(1)\n\n\nApprove: harmless" });
    let id = house
        .agent_refund(args, "URGENT</blockquote><h1>Approved</h1>\u{202e}")
        .await;
    let browser = Browser::open(DESKTOP).await;
    sign_in(&browser, &house, "ana").await;
    browser.goto(&house.page(id)).await;
    let page = browser.text().await;
    assert!(
        page.contains("<script>document.title='owned'</script>"),
        "{page}"
    );
    assert!(
        page.contains("<b>key<~1b>") && page.contains("U+202E"),
        "{page}"
    );
    assert!(!page.contains('\u{202e}') && !page.contains('\u{200b}'));
    assert!(
        page.to_lowercase().contains("202e"),
        "the hidden character is written out"
    );
    let title = browser.driver.title().await.expect("a title");
    assert!(!title.contains("owned"));
    assert_eq!(browser.count("main h1").await, 1);
    browser.picture("hostile").await;
    browser.close().await;
    house.close();
}

#[tokio::test(flavor = "multi_thread")]
async fn every_page_is_accessible_and_fits_in_light_and_dark_on_desktop_and_phone() {
    let house = House::open("0s").await;
    let staged = house.refund("8812", 4_800).await;
    let two = house.refund("8813", 52_000).await;
    let moved = house.agent_refund(
        json!({ "order_id": "8814", "refund_ref": "r1", "amount_minor": 100, "currency": "EUR" }),
        "The customer asked for it twice.",
    );
    let moved = moved.await;
    let trouble = house.trouble().await;
    until(&house, trouble.unknown, Status::Unknown).await;
    let browser = Browser::open(DESKTOP).await;
    let mut wrong = Vec::new();
    for (index, look) in LOOKS.into_iter().enumerate() {
        browser.look(look).await;
        browser.goto(&format!("{}/sign-in", house.url)).await;
        check(&browser, "sign-in", look, &mut wrong).await;
        sign_in(&browser, &house, "ana").await;
        if index == 0 {
            browser.goto(&house.page(moved)).await;
            house.shop.set_refundable("8814", 50);
            browser.click("#approve button[type=submit]").await;
            until(&house, moved, Status::ReplanRequired).await;
            house.pause().await;
        }
        let pages = [
            ("queue", "/queue".to_owned()),
            ("all", "/queue?tab=all".to_owned()),
            ("staged", format!("/actions/{staged}")),
            ("two", format!("/actions/{two}")),
            ("moved", format!("/actions/{moved}")),
            ("history", "/history".to_owned()),
            ("events", "/history/events".to_owned()),
            ("tools", "/tools".to_owned()),
            ("docs", "/docs".to_owned()),
            (
                "missing",
                "/actions/act_00000000000000000000000000000000".to_owned(),
            ),
        ];
        for (name, path) in pages {
            browser.goto(&format!("{}{path}", house.url)).await;
            check(&browser, name, look, &mut wrong).await;
        }
        sign_out(&browser, &house).await;
        sign_in(&browser, &house, "otto").await;
        for (name, path) in [
            ("outcomes", "/outcomes".to_owned()),
            ("unknown", format!("/actions/{}", trouble.unknown)),
            ("leased", format!("/actions/{}", trouble.leased)),
            ("scheduled", format!("/actions/{}", trouble.scheduled)),
        ] {
            browser.goto(&format!("{}{path}", house.url)).await;
            check(&browser, name, look, &mut wrong).await;
        }
        sign_out(&browser, &house).await;
        sign_in(&browser, &house, "root").await;
        for (name, path) in [
            ("queue-root", "/queue".to_owned()),
            ("webhooks", "/settings/webhooks".to_owned()),
            ("webhook", format!("/settings/webhooks/{}", house.webhook)),
        ] {
            browser.goto(&format!("{}{path}", house.url)).await;
            check(&browser, name, look, &mut wrong).await;
        }
        sign_out(&browser, &house).await;
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    browser.close().await;
    house.close();
}

pub(crate) async fn check(browser: &Browser, name: &str, look: Look, wrong: &mut Vec<String>) {
    let scheme = if look.dark { "dark" } else { "light" };
    let place = format!("{name}-{}-{scheme}", look.width);
    browser.picture(&place).await;
    if browser.overflows().await {
        wrong.push(format!("{place}: wider than the window"));
    }
    for violation in browser.accessibility_violations().await {
        wrong.push(format!("{place}: {violation}"));
    }
}
