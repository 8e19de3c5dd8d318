//! What is sent again by hand, and what becomes of it.

use std::collections::BTreeSet;

use holdpoint_engine::webhook::{Cause, DeliveryState, EndpointChange, EndpointId};

use super::until_failed;
use crate::house::House;
use crate::receiver::{Answer, Receiver};

#[tokio::test(flavor = "multi_thread")]
async fn a_redelivery_of_the_event_that_is_waited_for_lets_the_endpoint_go_on() {
    let house = House::new().await;
    let receiver = Receiver::open().await;
    let (id, _) = house.endpoint(&receiver.url).await;
    receiver.answers(&[Answer::Status(500)]);
    house.stage(2).await;
    until_failed(&house, id, 1).await;
    let first = receiver.messages()[0].id().parse().expect("an id");
    let delivery = house
        .engine
        .redeliver_webhook(&house.admin, first)
        .await
        .expect("sent");
    assert_eq!(delivery.state, DeliveryState::Delivered);
    // The clock stands still: what follows did not wait for the schedule.
    let messages = receiver.until(3).await;
    assert_ne!(messages[2].id(), messages[1].id());
}

/// The states of the messages that are kept, the oldest event first.
fn states(house: &House, id: EndpointId) -> Vec<DeliveryState> {
    let kept = house.engine.webhook_deliveries(&house.admin, id);
    let mut kept = kept.expect("visible");
    kept.sort_by_key(|delivery| delivery.id);
    kept.into_iter().map(|delivery| delivery.state).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_that_is_not_tried_any_more_says_so_and_promises_no_attempt() {
    let house = House::new().await;
    let receiver = Receiver::open().await;
    let (id, _) = house.endpoint(&receiver.url).await;
    receiver.answers(&[Answer::Status(500), Answer::Status(500)]);
    house.stage(1).await;
    until_failed(&house, id, 1).await;
    let (admin, engine) = (&house.admin, &house.engine);
    let disabled = engine.disable_webhook(admin, id, "a repair").await;
    let position = disabled.expect("disabled").place.through + 1;
    assert_eq!(states(&house, id), [DeliveryState::Held]);
    let enabled = engine.enable_webhook(admin, id, None, "mended").await;
    enabled.expect("enabled");
    until_failed(&house, id, 1).await;
    let change = EndpointChange {
        types: Some(BTreeSet::from(["action.failed".to_owned()])),
        ..EndpointChange::default()
    };
    let changed = engine.change_webhook(admin, id, change).await;
    changed.expect("changed");
    house.until(id, |it| position <= it.place.through).await;
    assert_eq!(states(&house, id), [DeliveryState::Dropped]);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_disabled_endpoint_took_by_hand_is_not_sent_to_it_again_once_it_is_enabled() {
    let house = House::new().await;
    let receiver = Receiver::open().await;
    let (id, _) = house.endpoint(&receiver.url).await;
    receiver.answers(&[Answer::Status(410)]);
    house.stage(2).await;
    house.until(id, |it| !it.is_enabled()).await;
    let first = receiver.messages()[0].id().parse().expect("an id");
    let (admin, engine) = (&house.admin, &house.engine);
    let sent = engine.redeliver_webhook(admin, first).await.expect("sent");
    assert_eq!(sent.state, DeliveryState::Delivered);
    let enabled = engine.enable_webhook(admin, id, None, "it is back").await;
    enabled.expect("enabled");
    let messages = receiver.until(3).await;
    assert_eq!(messages[0].id(), messages[1].id());
    assert_ne!(messages[2].id(), messages[1].id(), "it goes on behind it");
}

#[tokio::test(flavor = "multi_thread")]
async fn gone_disables_at_once_whoever_sent_the_message() {
    let house = House::new().await;
    let receiver = Receiver::open().await;
    let (id, _) = house.endpoint(&receiver.url).await;
    receiver.answers(&[
        Answer::Status(500),
        Answer::Status(410),
        Answer::Status(410),
    ]);
    house.stage(1).await;
    until_failed(&house, id, 1).await;
    let (admin, engine) = (&house.admin, &house.engine);
    engine.test_webhook(admin, id).await.expect("sent");
    let cause = |id| house.get(id).disabled.map(|it| it.cause);
    assert_eq!(cause(id), Some(Cause::Gone));
    assert_eq!(states(&house, id)[0], DeliveryState::Held);
    let enabled = engine.enable_webhook(admin, id, None, "try").await;
    enabled.expect("enabled");
    house.until(id, |it| !it.is_enabled()).await;
    let event = receiver.messages()[0].id().parse().expect("an id");
    receiver.answers(&[Answer::Status(200)]);
    let sent = engine.redeliver_webhook(admin, event).await;
    assert_eq!(sent.expect("sent").state, DeliveryState::Delivered);
}
