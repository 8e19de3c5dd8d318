//! Secrets: shown once, stored nowhere, changed without a gap.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use holdpoint_engine::time::SystemEntropy;
use holdpoint_engine::webhook::{Cause, EndpointChange, SigningKey, describe};
use holdpoint_storage::{Direction, EventLog, ScanRange};

use crate::house::House;
use crate::receiver::{Answer, Receiver};

#[tokio::test(flavor = "multi_thread")]
async fn a_new_secret_signs_beside_the_old_one_until_that_ends() {
    let house = House::new().await;
    let receiver = Receiver::open().await;
    let (id, first) = house.endpoint(&receiver.url).await;
    let (engine, admin) = (&house.engine, &house.admin);
    house.staged("a").await;
    assert_eq!(receiver.until(1).await[0].signatures().len(), 1);
    let rotated = engine
        .rotate_webhook(admin, id, None, Some("routine".to_owned()))
        .await;
    let (_, second) = rotated.expect("rotated");
    let second = second.expose();
    assert_ne!(first, second);
    house.staged("b").await;
    let both = &receiver.until(2).await[1];
    assert_eq!(both.signatures().len(), 2);
    assert!(both.is_signed_with(&first) && both.is_signed_with(second));
    house.pass(Duration::from_hours(24));
    house.staged("c").await;
    let after = &receiver.until(3).await[2];
    assert_eq!(after.signatures().len(), 1);
    assert!(!after.is_signed_with(&first) && after.is_signed_with(second));
    let rotated = engine
        .rotate_webhook(admin, id, Some(Duration::ZERO), None)
        .await;
    let (_, third) = rotated.expect("rotated");
    house.staged("d").await;
    // What was on its way while the secret changed may be sent again before, as it was signed.
    let mut count = 4;
    let at_once = loop {
        let told = receiver.until(count).await;
        match told
            .into_iter()
            .find(|one| one.is_signed_with(third.expose()))
        {
            Some(one) => break one,
            None => count += 1,
        }
    };
    assert!(!at_once.is_signed_with(second));
    let year = Duration::from_hours(24 * 365);
    assert!(
        engine
            .rotate_webhook(admin, id, Some(year), None)
            .await
            .is_err()
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn i16_no_secret_is_in_the_log_its_indexes_the_history_or_what_is_printed() {
    let house = House::new().await;
    let receiver = Receiver::open().await;
    let (id, first) = house.endpoint(&receiver.url).await;
    let rotated = house
        .engine
        .rotate_webhook(&house.admin, id, None, None)
        .await;
    let (endpoint, second) = rotated.expect("rotated");
    receiver.answers(&[Answer::Status(500)]);
    house.staged("a").await;
    house.until(id, |it| it.place.trying.is_some()).await;
    let mut places: Vec<Vec<u8>> = Vec::new();
    for record in house.records() {
        places.push(describe(&record).map_or_else(Vec::new, |it| it.to_string().into_bytes()));
        places.push(record.body);
    }
    for index in 0..=255 {
        let entries = house
            .log
            .scan(index, ScanRange::default(), 10_000, Direction::Forward);
        for (key, value) in entries.expect("a scan") {
            places.extend([key, value]);
        }
    }
    let deliveries = house.engine.webhook_deliveries(&house.admin, id);
    places.push(format!("{endpoint:?} {deliveries:?} {second:?} {:?}", house.key).into_bytes());
    for text in [first.as_str(), second.expose()] {
        let bare = text.strip_prefix("whsec_").expect("the standard's form");
        let bytes = STANDARD.decode(bare).expect("base64");
        assert_eq!(bytes.len(), 32);
        for needle in [bare.as_bytes(), bytes.as_slice()] {
            for place in &places {
                let found = place.windows(needle.len()).any(|part| part == needle);
                assert!(!found, "a secret in {}", String::from_utf8_lossy(place));
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn i18_i24_the_history_names_the_server_of_an_endpoint_and_not_its_whole_url() {
    let house = House::new().await;
    let (engine, admin) = (&house.engine, &house.admin);
    let url = "https://example.com/canary-path?key=canary-query";
    let (id, _) = house.endpoint(url).await;
    let change = EndpointChange {
        url: Some("https://example.com:8443/canary-path".to_owned()),
        ..EndpointChange::default()
    };
    let changed = engine.change_webhook(admin, id, change).await;
    assert!(changed.expect("changed").url.contains("canary-path"));
    let events = engine.events(admin, 0, 1000).expect("the history");
    let data: Vec<String> = events.iter().map(|it| it.data.to_string()).collect();
    let all = data.join("\n");
    assert!(!all.contains("canary"), "{all}");
    for server in ["https://example.com:443", "https://example.com:8443"] {
        assert!(all.contains(server), "{all}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn another_key_file_disables_instead_of_signing_what_nobody_can_verify() {
    let mut house = House::new().await;
    let receiver = Receiver::open().await;
    let (id, first) = house.endpoint(&receiver.url).await;
    house
        .restart_with(SigningKey::random(&SystemEntropy).expect("random bytes"))
        .await;
    house.staged("a").await;
    let endpoint = house.until(id, |it| !it.is_enabled()).await;
    assert_eq!(
        endpoint.disabled.map(|it| it.cause),
        Some(Cause::SecretLost)
    );
    assert!(receiver.messages().is_empty());
    let rotated = house
        .engine
        .rotate_webhook(&house.admin, id, None, None)
        .await;
    let (_, second) = rotated.expect("rotated");
    let enabled = house
        .engine
        .enable_webhook(&house.admin, id, None, "new secret")
        .await;
    enabled.expect("enabled");
    let message = &receiver.until(1).await[0];
    assert!(message.is_signed_with(second.expose()) && !message.is_signed_with(&first));
}
