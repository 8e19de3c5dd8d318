//! Runs in a real browser: people let a staged step go, and the run goes on by itself.

use holdpoint_engine::engine::NewSchedule;
use holdpoint_engine::run::{Flags, Inputs, NewOrigin, Run, RunStatus};

use crate::browser::{Browser, DESKTOP};
use crate::house::House;
use crate::people::{LOOKS, check, sign_in, sign_out};

/// Reads a price, refunds it, and reads again.
fn skill(order: &str) -> String {
    format!(
        r#"---
name: refund-order
description: Refund an order at its price
---

### Step 1 — Read the price
- intent: Know what was paid
- action: read_price {{}}
- assert: json.minor == 4800
- bind: price = json.minor

### Step 2 — Refund it
- intent: The parcel never arrived
- action: issue_refund {{"order_id": "{order}", "refund_ref": "r1", "amount_minor": "{{{{price}}}}", "currency": "EUR"}}
- assert: json.refunded == 4800

### Step 3 — Read the price again
- intent: Nothing else has changed
- action: read_price {{}}
"#
    )
}

/// The page of the action that a run waits for.
fn waiting(house: &House, run: &Run) -> String {
    let made = run.steps.iter().find_map(|step| step.open());
    let (action, _) = made.and_then(|made| made.waiting).expect("it waits");
    house.page(action)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_staged_run_is_approved_in_the_browser_and_goes_on_by_itself() {
    let house = House::open("0s").await;
    let id = house.run(&skill("8812"), true).await;
    house.run_until(id, RunStatus::Waiting).await;
    let (reader, approver) = (Browser::open(DESKTOP).await, Browser::open(DESKTOP).await);
    sign_in(&reader, &house, "rita").await;
    reader.click("nav a[href='/runs']").await;
    reader.click(&format!("a[href='/runs/{id}']")).await;
    reader
        .wait_for_text("Open the action that it waits for")
        .await;

    sign_in(&approver, &house, "ana").await;
    approver.wait_for_text("of the run refund-order").await;
    approver.goto(&format!("{}/runs/{id}", house.url)).await;
    approver.click(".steps a[href^='/actions/']").await;
    approver.wait_for_text("The run that it is a step of").await;
    let page = approver.text().await;
    for fact in [
        "Step 2 of 3 of refund-order",
        "The parcel never arrived",
        "price",
        "4800",
    ] {
        assert!(page.contains(fact), "the page names {fact}:\n{page}");
    }
    approver.picture("step-of-a-run").await;
    approver.click("#approve button[type=submit]").await;
    house.run_until(id, RunStatus::Passed).await;
    assert_eq!(house.shop.refunds(), 1);
    // The page of whoever waits hears of it, and shows it when asked.
    reader.wait_for_text("This run has changed").await;
    reader.click("[data-live-bar] a").await;
    reader.wait_for_text("3 steps: 3 passed").await;
    for browser in [reader, approver] {
        browser.close().await;
    }
    house.close();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rejected_run_shows_the_reason_and_a_withheld_one_is_resumed_by_its_owner() {
    let house = House::open("0s").await;
    let id = house.run(&skill("8812"), true).await;
    let run = house.run_until(id, RunStatus::Waiting).await;
    let browser = Browser::open(DESKTOP).await;
    sign_in(&browser, &house, "ana").await;
    browser.goto(&waiting(&house, &run)).await;
    browser.fill("#reject-reason", "the parcel is back").await;
    browser.click("#reject button[type=submit]").await;
    house.run_until(id, RunStatus::Rejected).await;
    browser.goto(&format!("{}/runs/{id}", house.url)).await;
    browser.wait_for_text("the parcel is back").await;
    assert_eq!(house.shop.refunds(), 0);
    sign_out(&browser, &house).await;

    let withheld = house.run(&skill("8813"), false).await;
    house.run_until(withheld, RunStatus::Failed).await;
    sign_in(&browser, &house, "rita").await;
    browser
        .goto(&format!("{}/runs/{withheld}", house.url))
        .await;
    browser
        .wait_for_text("“Allow destructive steps as well” would allow exactly this call")
        .await;
    browser.click("#flag-stage").await;
    browser.click("#resume button[type=submit]").await;
    let run = house.run_until(withheld, RunStatus::Waiting).await;
    browser.fill("#cancel-reason", "no need any more").await;
    browser.click("#cancel button[type=submit]").await;
    house.run_until(withheld, RunStatus::Cancelled).await;
    browser.goto(&waiting(&house, &run)).await;
    browser.wait_for_text("Cancelled").await;
    assert_eq!(house.shop.refunds(), 0);
    browser.close().await;
    house.close();
}

/// Schedules of Rita's: one that has started a run, and one that is paused.
async fn schedules(house: &House) {
    let identity = house.engine.identity();
    let rita = identity.person_by_email("rita@example.com").expect("Rita");
    let rita = identity.principal(&rita.id).expect("enabled");
    let mut made = Vec::new();
    for name in ["nightly refunds", "weekly look at all the prices"] {
        let new = NewSchedule {
            name: name.to_owned(),
            what: NewOrigin::Skill {
                text: skill("8815"),
                inputs: Inputs::Values(Vec::new()),
                ignore_manifest: false,
            },
            flags: Flags::default(),
            cron: "30 2 1 1 *".to_owned(),
            zone: "Europe/Berlin".to_owned(),
            overlap: false,
        };
        let schedule = house.engine.create_schedule(&rita, new).await;
        made.push(schedule.expect("it is made").schedule.id);
    }
    let run = house.engine.run_schedule(&rita, made[0]).await;
    let run = run.expect("it starts").id;
    house.run_until(run, RunStatus::Failed).await;
    let paused = house
        .engine
        .pause_schedule(&rita, made[1], "the shop moves");
    paused.await.expect("it is paused");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_pages_of_runs_are_accessible_and_fit_in_light_and_dark_on_desktop_and_phone() {
    let house = House::open("0s").await;
    let staged = house.run(&skill("8812"), true).await;
    let run = house.run_until(staged, RunStatus::Waiting).await;
    let action = waiting(&house, &run);
    let withheld = house.run(&skill("8813"), false).await;
    house.run_until(withheld, RunStatus::Failed).await;
    let wrong_price = skill("8814").replace("== 4800", "== 1");
    let failed = house.run(&wrong_price, true).await;
    house.run_until(failed, RunStatus::Failed).await;
    schedules(&house).await;
    let browser = Browser::open(DESKTOP).await;
    let mut wrong = Vec::new();
    for look in LOOKS {
        browser.look(look).await;
        for (who, pages) in [
            (
                "rita",
                vec![
                    ("runs", format!("{}/runs", house.url)),
                    ("runs-none", format!("{}/runs?name=nothing", house.url)),
                    ("run-waiting", format!("{}/runs/{staged}", house.url)),
                    ("run-withheld", format!("{}/runs/{withheld}", house.url)),
                    ("run-failed", format!("{}/runs/{failed}", house.url)),
                    ("schedules", format!("{}/schedules", house.url)),
                    ("tools-built-in", format!("{}/tools", house.url)),
                ],
            ),
            (
                "ana",
                vec![
                    ("run-queue", format!("{}/queue", house.url)),
                    ("run-action", action.clone()),
                ],
            ),
        ] {
            sign_in(&browser, &house, who).await;
            for (name, url) in pages {
                browser.goto(&url).await;
                check(&browser, name, look, &mut wrong).await;
            }
            sign_out(&browser, &house).await;
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    browser.close().await;
    house.close();
}
