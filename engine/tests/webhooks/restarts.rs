//! Stops at bad moments: nothing is skipped, and the order is kept.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use holdpoint_engine::webhook::{EndpointChange, MessageId, WebhookError};
use holdpoint_storage::faulty::{Fault, FaultyLog};
use holdpoint_storage::{Batch, Direction, EventLog, MemoryLog, ScanRange};

use crate::house::{House, open, submit};
use crate::receiver::{Answer, PATIENCE, Receiver};

/// The positions without repeats of the one before.
fn once(mut positions: Vec<u64>) -> Vec<u64> {
    positions.dedup();
    positions
}

fn staged(log: &dyn EventLog) -> Vec<u64> {
    let records = log.read_all(0, 100_000).expect("the log");
    let staged = records.into_iter().filter(|it| it.kind == "action.staged");
    staged.map(|record| record.position).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn incident_73_a_restart_in_the_middle_goes_on_exactly_where_it_stood() {
    let mut house = House::new().await;
    let receiver = Receiver::open().await;
    let (id, secret) = house.endpoint(&receiver.url).await;
    house.stage(100).await;
    for stop in [5, 20, 21, 60] {
        receiver.until(stop).await;
        house.restart().await;
    }
    house.staged("the last").await;
    let expected = staged(house.log.as_ref());
    let last = expected.last().copied().expect("staged");
    house.until(id, |it| it.place.through == last).await;
    assert_eq!(once(receiver.positions()), expected);
    assert!(
        receiver.messages().len() <= expected.len() + 4,
        "one repeat a stop at most"
    );
    assert!(
        receiver
            .messages()
            .iter()
            .all(|it| it.is_signed_with(&secret))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restart_keeps_the_attempts_that_were_made_and_the_time_of_the_next() {
    let mut house = House::new().await;
    let receiver = Receiver::open().await;
    let (id, _) = house.endpoint(&receiver.url).await;
    receiver.answers(&[Answer::Status(500), Answer::Status(500)]);
    house.stage(2).await;
    house.until(id, |it| it.place.trying.is_some()).await;
    house.pass(Duration::from_secs(6));
    let before = house
        .until(id, |it| it.place.trying.is_some_and(|it| it.attempts == 2))
        .await;
    house.restart().await;
    assert_eq!(house.get(id), before);
    house.staged("another").await;
    house.pass(Duration::from_mins(4));
    assert_eq!(receiver.messages().len(), 2, "its time has not come");
    house.pass(Duration::from_mins(2));
    let messages = receiver.until(5).await;
    assert_eq!(messages[2].id(), messages[0].id());
}

#[tokio::test(flavor = "multi_thread")]
async fn i29_after_a_restore_an_event_has_its_id_again_and_no_id_stands_for_two() {
    let mut house = House::new().await;
    let receiver = Receiver::open().await;
    let (id, _) = house.endpoint(&receiver.url).await;
    receiver.answers(&[Answer::Status(500)]);
    house.stage(1).await;
    house.until(id, |it| it.place.trying.is_some()).await;
    let copy = house.log.copy();
    house.pass(Duration::from_secs(6));
    house.stage(3).await;
    let lost = receiver.until(5).await.pop().expect("a message");
    house.restore(copy).await;
    let messages = receiver.until(6).await;
    assert_eq!(messages[5].id(), messages[0].id(), "it was not taken there");
    assert_eq!(messages[5].text, messages[0].text);
    house.stage(5).await;
    let messages = receiver.until(11).await;
    let again = messages[6..].iter();
    let again = again.filter(|it| it.position() <= lost.position());
    assert!(0 < again.count(), "positions are given again");
    let mut said = BTreeMap::new();
    for message in &messages {
        let first = said.entry(message.id()).or_insert(&message.text);
        assert_eq!(*first, &message.text, "{}", message.id());
    }
    let redeliver = async |text: &str| {
        let id: MessageId = text.parse().expect("an id");
        house.engine.redeliver_webhook(&house.admin, id).await
    };
    let of_lost = redeliver(lost.id()).await;
    assert!(
        matches!(of_lost, Err(WebhookError::NotFound)),
        "{of_lost:?}"
    );
    for message in [&messages[0], &messages[10]] {
        redeliver(message.id()).await.expect("it is in the log");
        let sent = receiver.messages().pop().expect("a message");
        assert_eq!(
            (sent.id(), &sent.text),
            (message.id(), &message.text),
            "the same once more"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_graceful_stop_stores_the_place_of_what_nobody_hears_of() {
    let mut house = House::new().await;
    let url = "https://example.com/hook";
    let (id, _) = house
        .endpoint_of(&house.admin, url, &["action.late_answer"], &[])
        .await;
    house.stage(10).await;
    let last = house.records().last().expect("records").position;
    house.until(id, |it| it.place.through == last).await;
    house.engine.shutdown(Duration::from_secs(10)).await;
    house.restart().await;
    assert!(last <= house.get(id).place.through);
}

#[tokio::test(flavor = "multi_thread")]
async fn i06_a_log_without_its_indexes_has_every_endpoint_and_skips_nothing() {
    let mut house = House::new().await;
    let receiver = Receiver::open().await;
    let (id, secret) = house.endpoint(&receiver.url).await;
    let (gone, _) = house.endpoint(&receiver.url).await;
    house
        .engine
        .delete_webhook(&house.admin, gone, "unused")
        .await
        .expect("deleted");
    house.stage(300).await;
    let last = house.records().last().expect("records").position;
    house.until(id, |it| last <= it.place.through + 1).await;
    let before = house.get(id);
    house.engine.shutdown(Duration::from_secs(10)).await;
    let log = house.log.reopen();
    for index in [1, 2, 3, 40, 41, 42] {
        let entries = log.scan(index, ScanRange::default(), 100_000, Direction::Forward);
        let entries = entries.expect("a scan");
        let deletes = entries.into_iter().map(|(key, _)| (index, key)).collect();
        let batch = Batch {
            deletes,
            ..Batch::default()
        };
        log.append(batch).await.expect("deleted");
    }
    house.log = Arc::new(log);
    house.restart().await;
    assert_eq!(
        house.engine.webhooks(&house.admin).len(),
        1,
        "the deleted one stays deleted"
    );
    let after = house.get(id);
    assert_eq!(
        (after.url, after.generations),
        (before.url, before.generations)
    );
    house.staged("the last").await;
    let expected = staged(house.log.as_ref());
    let last = expected.last().copied().expect("staged");
    house.until(id, |it| last <= it.place.through).await;
    let messages = receiver.messages();
    assert!(
        messages.len() <= expected.len() + 256,
        "what the log knows is not repeated"
    );
    let ids: std::collections::BTreeSet<_> = messages.iter().map(|it| it.id().to_owned()).collect();
    assert_eq!(
        ids.len(),
        expected.len(),
        "repeats have the ids that they had"
    );
    assert!(messages.iter().all(|it| it.is_signed_with(&secret)));
}

#[tokio::test(flavor = "multi_thread")]
async fn i22_a_store_that_fails_while_it_delivers_repeats_a_message_and_skips_none() {
    for fault in [Fault::CrashBefore, Fault::CrashAfter, Fault::Full] {
        for number in 0..6 {
            let house = House::new().await;
            let receiver = Receiver::open().await;
            house.endpoint(&receiver.url).await;
            house.engine.shutdown(Duration::from_secs(10)).await;
            let memory: Arc<MemoryLog> = Arc::new(house.log.reopen());
            let faulty = Arc::new(FaultyLog::new(memory.clone()));
            let engine = open(faulty.clone(), None, house.key.clone()).await;
            for to in ["a", "b"] {
                submit(&engine, &house.service, "pay", to).await;
            }
            faulty.fail_after(number, fault);
            // May be refused; what was acknowledged must be told.
            let submission = holdpoint_engine::engine::Submission {
                tool: "pay".to_owned(),
                args: serde_json::json!({ "to": "c" }),
                reason: None,
                labels: std::collections::BTreeMap::new(),
                expires_in: None,
                not_before: None,
                request_key: None,
            };
            let _maybe = engine.submit(&house.service, submission).await;
            engine.shutdown(Duration::from_secs(10)).await;
            let memory = Arc::new(memory.reopen());
            let engine = open(memory.clone(), None, house.key.clone()).await;
            submit(&engine, &house.service, "pay", "d").await;
            let expected = staged(memory.as_ref());
            let until = async {
                while once(receiver.positions()) != expected {
                    tokio::time::sleep(Duration::from_millis(2)).await;
                }
            };
            let came = tokio::time::timeout(PATIENCE, until).await;
            assert!(
                came.is_ok(),
                "{fault:?} {number}: {:?} {expected:?}",
                receiver.positions()
            );
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn i22_nobody_is_told_how_an_endpoint_is_already_after_a_write_of_unknown_outcome() {
    let house = House::new().await;
    let (id, _) = house.endpoint("http://127.0.0.1:9/hook").await;
    house.engine.shutdown(Duration::from_secs(10)).await;
    let faulty = Arc::new(FaultyLog::new(Arc::new(house.log.reopen())));
    let engine = open(faulty.clone(), None, house.key.clone()).await;
    let by = &house.admin;

    // It is in the log, and nobody knows.
    faulty.fail_after(0, Fault::CrashAfter);
    let disabled = engine.disable_webhook(by, id, "a move").await;
    assert!(disabled.is_err());
    faulty.heal();
    let enabled = engine.enable_webhook(by, id, None, "not yet").await;
    assert!(
        enabled.is_err(),
        "it is not known to be enabled: {enabled:?}"
    );
    let same = EndpointChange::default();
    let changed = engine.change_webhook(by, id, same).await;
    assert!(changed.is_err(), "nor what it is like: {changed:?}");
}
