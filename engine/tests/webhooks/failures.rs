//! Receivers that fail, and what follows.

mod by_hand;

use std::time::{Duration, Instant};

use holdpoint_engine::webhook::{Cause, DeliveryState, EndpointId, SCHEDULE};

use crate::house::House;
use crate::receiver::{Answer, Message, PATIENCE, Receiver};

/// Waits until an attempt has failed this often, and answers with when the next one follows.
async fn until_failed(house: &House, id: EndpointId, attempts: u32) -> Duration {
    let endpoint = house
        .until(id, |it| {
            it.place.trying.is_some_and(|it| it.attempts == attempts)
        })
        .await;
    let next = endpoint.place.trying.expect("it is tried").next_at;
    next.since(house.engine.now())
}

#[tokio::test(flavor = "multi_thread")]
async fn an_endpoint_hears_on_once_the_log_can_be_read_again() {
    let house = House::new().await;
    let receiver = Receiver::open().await;
    let (id, _) = house.endpoint(&receiver.url).await;
    receiver.answers(&[Answer::Status(500)]);
    house.stage(1).await;
    let wait = until_failed(&house, id, 1).await;
    house.seen.fail_gets(None, u64::MAX);
    house.pass(wait);
    let begun = Instant::now();
    while house.seen.faults() == 0 {
        assert!(begun.elapsed() < PATIENCE, "nothing was read");
        tokio::task::yield_now().await;
    }
    house.seen.heal();
    let begun = Instant::now();
    while receiver.messages().len() < 2 {
        assert!(begun.elapsed() < PATIENCE, "it hears nothing any more");
        house.engine.wake();
        tokio::task::yield_now().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_endpoint_that_fails_thrice_gets_the_same_message_again_and_later_ones_wait() {
    let house = House::new().await;
    let receiver = Receiver::open().await;
    let (id, secret) = house.endpoint(&receiver.url).await;
    receiver.answers(&[Answer::Status(500); 3]);
    house.stage(3).await;
    for attempts in 1..=3 {
        let wait = until_failed(&house, id, attempts).await;
        let published = SCHEDULE[attempts as usize];
        assert!(
            published <= wait && wait <= published + published / 10,
            "{wait:?}"
        );
        assert_eq!(
            receiver.messages().len(),
            attempts as usize,
            "later ones wait"
        );
        house.pass(wait);
    }
    let messages = receiver.until(6).await;
    let ids: Vec<_> = messages.iter().map(Message::id).collect();
    assert_eq!(ids[..4], [ids[0]; 4], "one id for every attempt");
    assert_ne!(ids[3], ids[4]);
    let positions = receiver.positions();
    assert!(positions.is_sorted());
    let stamps: Vec<_> = messages
        .iter()
        .map(|it| it.header("webhook-timestamp"))
        .collect();
    assert_ne!(stamps[0], stamps[3], "the time is that of the attempt");
    assert!(
        messages
            .iter()
            .all(|message| message.is_signed_with(&secret))
    );
    house.until(id, |it| it.place.through == positions[5]).await;
    let kept = house
        .engine
        .webhook_deliveries(&house.admin, id)
        .expect("kept");
    let first = kept
        .iter()
        .find(|it| it.id.position() == Some(positions[0]));
    let first = first.expect("it is kept");
    assert_eq!((first.made, first.state), (4, DeliveryState::Delivered));
    let statuses: Vec<_> = first.attempts.iter().map(|it| it.status).collect();
    assert_eq!(statuses, [Some(500), Some(500), Some(500), Some(204)]);
}

#[tokio::test(flavor = "multi_thread")]
async fn gone_disables_at_once_and_enabling_goes_on_with_the_same_event() {
    let house = House::new().await;
    let receiver = Receiver::open().await;
    let (id, _) = house.endpoint(&receiver.url).await;
    receiver.answers(&[Answer::Status(410)]);
    house.stage(2).await;
    let endpoint = house.until(id, |it| !it.is_enabled()).await;
    assert_eq!(endpoint.disabled.map(|it| it.cause), Some(Cause::Gone));
    assert_eq!(receiver.messages().len(), 1);
    assert!(house.kinds().contains(&"webhook.disabled".to_owned()));
    let enabled = house
        .engine
        .enable_webhook(&house.admin, id, None, "it is back")
        .await;
    enabled.expect("enabled");
    let messages = receiver.until(3).await;
    assert_eq!(messages[0].id(), messages[1].id());
    assert_ne!(messages[1].id(), messages[2].id());
}

#[tokio::test(flavor = "multi_thread")]
async fn after_the_last_attempt_it_is_recorded_disabled_and_nothing_is_skipped() {
    let house = House::new().await;
    let (receiver, watcher) = (Receiver::open().await, Receiver::open().await);
    let (id, _) = house.endpoint(&receiver.url).await;
    house
        .endpoint_of(&house.admin, &watcher.url, &["webhook.disabled"], &[])
        .await;
    receiver.usually(Answer::Status(500));
    house.stage(2).await;
    for attempts in 1..10 {
        let wait = until_failed(&house, id, attempts).await;
        house.pass(wait);
    }
    let endpoint = house.until(id, |it| !it.is_enabled()).await;
    let disabled = endpoint.disabled.expect("disabled");
    assert_eq!(disabled.cause, Cause::Exhausted);
    assert!(
        disabled.reason.contains("answered 500"),
        "{}",
        disabled.reason
    );
    assert_eq!(
        receiver.until(10).await.len(),
        10,
        "ten attempts, as published"
    );
    let kinds = house.kinds();
    for kind in ["webhook.delivery_exhausted", "webhook.disabled"] {
        assert_eq!(kinds.iter().filter(|it| *it == kind).count(), 1, "{kind}");
    }
    let warning = &watcher.until(1).await[0];
    assert_eq!(warning.body["data"]["endpoint_id"], id.to_string());
    assert_eq!(warning.body["data"]["cause"], "exhausted");
    let kept = house
        .engine
        .webhook_deliveries(&house.admin, id)
        .expect("kept");
    assert_eq!((kept[0].made, kept[0].state), (10, DeliveryState::Failed));
    receiver.usually(Answer::Status(204));
    let enabled = house
        .engine
        .enable_webhook(&house.admin, id, None, "repaired")
        .await;
    enabled.expect("enabled");
    let messages = receiver.until(12).await;
    assert_eq!(messages[10].id(), messages[0].id(), "the very same event");
    assert!(messages[10].position() < messages[11].position());
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_enables_may_move_it_and_the_move_is_in_the_history() {
    let house = House::new().await;
    let receiver = Receiver::open().await;
    let (id, _) = house.endpoint(&receiver.url).await;
    let (engine, admin) = (&house.engine, &house.admin);
    engine
        .disable_webhook(admin, id, "maintenance")
        .await
        .expect("disabled");
    house.stage(5).await;
    let last = house.records().last().expect("records").position;
    let moved = engine
        .enable_webhook(admin, id, Some(last - 1), "only the newest")
        .await;
    moved.expect("enabled");
    receiver.until(1).await;
    house.until(id, |it| last <= it.place.through).await;
    assert_eq!(receiver.positions(), [last]);
    let records = engine.events(admin, last, 10).expect("visible");
    assert_eq!(records[0].kind, "webhook.enabled");
    assert_eq!(records[0].actor, admin.id);
    assert_eq!(records[0].data["from"], last - 1);
    assert_eq!(records[0].data["reason"], "only the newest");
    let beyond = engine.disable_webhook(admin, id, "again").await;
    beyond.expect("disabled");
    assert!(
        engine
            .enable_webhook(admin, id, Some(last + 99), "x")
            .await
            .is_err()
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn i17_a_redirect_is_a_failure_and_is_not_followed() {
    let house = House::new().await;
    let receiver = Receiver::open().await;
    let (id, _) = house.endpoint(&receiver.url).await;
    receiver.answers(&[Answer::Redirect]);
    let tested = house
        .engine
        .test_webhook(&house.admin, id)
        .await
        .expect("sent");
    assert_eq!(tested.state, DeliveryState::Failed);
    assert_eq!(tested.attempts[0].status, Some(307));
    assert!(!receiver.was_led_elsewhere());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_answer_leads_to_the_same_message_again() {
    let house = House::new().await;
    let receiver = Receiver::open().await;
    let (id, _) = house.endpoint(&receiver.url).await;
    receiver.answers(&[Answer::Lost]);
    house.stage(2).await;
    let wait = until_failed(&house, id, 1).await;
    house.pass(wait);
    let messages = receiver.until(3).await;
    assert_eq!(messages[0].id(), messages[1].id());
    assert_eq!(messages[0].text, messages[1].text);
    assert_ne!(messages[1].id(), messages[2].id());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_busy_endpoint_is_given_as_long_as_it_asks_for() {
    let house = House::new().await;
    let receiver = Receiver::open().await;
    let (id, _) = house.endpoint(&receiver.url).await;
    receiver.answers(&[
        Answer::RetryAfter(429, "600"),
        Answer::RetryAfter(503, "999999999"),
    ]);
    house.staged("a").await;
    let wait = until_failed(&house, id, 1).await;
    assert!(
        Duration::from_mins(10) <= wait && wait <= Duration::from_mins(11),
        "{wait:?}"
    );
    house.pass(wait);
    let wait = until_failed(&house, id, 2).await;
    assert!(
        wait <= Duration::from_hours(27),
        "i21: within bounds, {wait:?}"
    );
    house.pass(wait);
    receiver.until(3).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn i17_an_endpoint_inside_is_refused_when_it_is_called_and_says_why() {
    let house = House::new().await;
    // The range of this machine is allowed here, others are not.
    for url in [
        "http://10.1.2.3/hook",
        "http://192.168.0.9:8080/",
        "https://169.254.169.254/",
    ] {
        let (id, _) = house.endpoint(url).await;
        let tested = house
            .engine
            .test_webhook(&house.admin, id)
            .await
            .expect("tried");
        let attempt = &tested.attempts[0];
        assert_eq!(
            (tested.state, attempt.status),
            (DeliveryState::Failed, None)
        );
        let why = attempt.error.as_deref().unwrap_or_default();
        assert!(why.contains("is an address"), "{why}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repaired_url_is_used_at_the_next_attempt_and_a_deleted_endpoint_hears_nothing() {
    let house = House::new().await;
    let (broken, good) = (Receiver::open().await, Receiver::open().await);
    let (id, _) = house.endpoint(&broken.url).await;
    broken.usually(Answer::Status(500));
    house.staged("a").await;
    let wait = until_failed(&house, id, 1).await;
    let change = holdpoint_engine::webhook::EndpointChange {
        url: Some(good.url.clone()),
        reason: Some("moved".to_owned()),
        ..Default::default()
    };
    let changed = house.engine.change_webhook(&house.admin, id, change).await;
    changed.expect("changed");
    house.pass(wait);
    let messages = good.until(1).await;
    assert_eq!(messages[0].id(), broken.messages()[0].id());
    house.until(id, |it| it.place.trying.is_none()).await;
    let deleted = house
        .engine
        .delete_webhook(&house.admin, id, "not needed")
        .await;
    deleted.expect("deleted");
    assert!(house.engine.webhook(&house.admin, id).is_err());
    let (_, _) = house.endpoint(&broken.url).await;
    broken.usually(Answer::Status(204));
    house.staged("b").await;
    broken.until(2).await;
    assert_eq!(good.messages().len(), 1);
}
