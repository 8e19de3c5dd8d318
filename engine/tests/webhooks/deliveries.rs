//! What comes, in which order, and in which form.

use holdpoint_engine::webhook::{DeliveryState, WebhookError};
use standardwebhooks::Webhook;

use crate::house::{House, submit};
use crate::receiver::{Answer, Message, Receiver};

#[tokio::test(flavor = "multi_thread")]
async fn i20_messages_are_what_the_standard_library_accepts_and_nothing_else_is() {
    let house = House::with(None).await;
    let receiver = Receiver::open().await;
    let (_, secret) = house.endpoint(&receiver.url).await;
    let (_, other) = house.endpoint(&Receiver::open().await.url).await;
    house.staged("a").await;
    let message = &receiver.until(1).await[0];
    let webhook = Webhook::new(&secret).expect("a secret of the standard's form");
    let verify =
        |text: &str, headers: &axum::http::HeaderMap| webhook.verify(text.as_bytes(), headers);
    assert!(verify(&message.text, &message.headers).is_ok());
    // W4: altered, signed for somebody else, old, from the future, another id.
    let altered = message.text.replace("staged", "approved");
    assert!(verify(&altered, &message.headers).is_err());
    let others = Webhook::new(&other).expect("a secret");
    assert!(
        others
            .verify(message.text.as_bytes(), &message.headers)
            .is_err()
    );
    let at: i64 = message
        .header("webhook-timestamp")
        .parse()
        .expect("seconds");
    for (name, value) in [
        ("webhook-timestamp", (at - 301).to_string()),
        ("webhook-timestamp", (at + 301).to_string()),
        ("webhook-id", format!("{}0", message.id())),
    ] {
        let mut headers = message.headers.clone();
        headers.insert(name, value.parse().expect("a header"));
        assert!(verify(&message.text, &headers).is_err(), "{name}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_tells_what_happened_and_never_the_arguments() {
    let house = House::new().await;
    let receiver = Receiver::open().await;
    house.endpoint(&receiver.url).await;
    let view = house.staged("a").await;
    let message = &receiver.until(1).await[0];
    assert_eq!(message.kind(), "action.staged");
    let data = &message.body["data"];
    let id = view.action.id.to_string();
    assert_eq!(data["action_id"], id);
    assert_eq!(data["tool"], "pay");
    assert_eq!(data["status"], "staged");
    assert_eq!(data["caller"]["name"], "checkout");
    let link = format!("https://holdpoint.example/v1/actions/{id}");
    assert_eq!(data["links"]["action"], link);
    assert!(!message.text.contains("canary"), "{}", message.text);
    assert!(message.text.len() < 20_000);
    assert_eq!(message.header("content-type"), "application/json");
    assert!(!message.id().contains('.'));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_tells_the_status_right_after_its_event_whatever_has_happened_since() {
    let house = House::new().await;
    let view = submit(&house.engine, &house.service, "note", "a").await;
    let mut known = view.version;
    loop {
        let far = crate::receiver::PATIENCE;
        let now = house
            .engine
            .wait(&house.admin, view.action.id, known, far)
            .await;
        let now = now.expect("visible");
        if now.action.status().is_final() {
            break;
        }
        known = now.version;
    }
    let receiver = Receiver::open().await;
    let new = holdpoint_engine::webhook::NewEndpoint {
        name: "late".to_owned(),
        url: receiver.url.clone(),
        from: Some(0),
        ..Default::default()
    };
    let made = house.engine.create_webhook(&house.admin, new).await;
    made.expect("an endpoint");
    let told: Vec<_> = receiver
        .until(3)
        .await
        .iter()
        .map(|it| (it.kind().to_owned(), it.body["data"]["status"].clone()))
        .collect();
    let expected = [
        ("action.accepted", "accepted"),
        ("action.executing", "executing"),
        ("action.succeeded", "succeeded"),
    ];
    assert_eq!(
        told,
        expected.map(|(kind, status)| (kind.to_owned(), status.into()))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn i05_a_thousand_events_arrive_in_the_order_of_the_log_and_none_before_it_is_in_it() {
    let house = House::new().await;
    let receiver = Receiver::open().await;
    let (id, secret) = house.endpoint(&receiver.url).await;
    house.stage(1000).await;
    let messages = receiver.until(1000).await;
    let expected: Vec<_> = house
        .records()
        .into_iter()
        .filter(|record| record.kind == "action.staged")
        .map(|record| record.position)
        .collect();
    assert_eq!(receiver.positions(), expected);
    assert!(
        messages
            .iter()
            .all(|message| message.is_signed_with(&secret))
    );
    let last = expected.last().copied().expect("a thousand");
    house
        .until(id, |endpoint| last <= endpoint.place.through)
        .await;
    let kept = house
        .engine
        .webhook_deliveries(&house.admin, id)
        .expect("kept");
    assert_eq!(kept.len(), 100, "i21: the latest ones");
    assert!(kept.iter().all(|it| it.state == DeliveryState::Delivered));
    assert_eq!(kept[0].id.position(), Some(last));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_endpoint_hears_only_of_the_types_and_tools_that_it_asks_for() {
    let house = House::new().await;
    let (by_type, by_tool) = (Receiver::open().await, Receiver::open().await);
    house
        .endpoint_of(&house.admin, &by_type.url, &["action.succeeded"], &[])
        .await;
    house
        .endpoint_of(&house.admin, &by_tool.url, &[], &["pay"])
        .await;
    for to in ["a", "b"] {
        house.staged(to).await;
        submit(&house.engine, &house.service, "note", to).await;
    }
    let kinds = |messages: Vec<Message>| -> Vec<String> {
        messages.iter().map(|it| it.kind().to_owned()).collect()
    };
    assert_eq!(kinds(by_type.until(2).await), ["action.succeeded"; 2]);
    assert_eq!(kinds(by_tool.until(2).await), ["action.staged"; 2]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_test_and_a_redelivery_are_sent_at_once_and_kept() {
    let house = House::new().await;
    let receiver = Receiver::open().await;
    let (id, secret) = house.endpoint(&receiver.url).await;
    let (engine, admin) = (&house.engine, &house.admin);
    let tested = engine.test_webhook(admin, id).await.expect("sent");
    assert_eq!(tested.state, DeliveryState::Delivered);
    assert_eq!(tested.attempts[0].by.as_deref(), Some(admin.id.as_str()));
    house.staged("a").await;
    let messages = receiver.until(2).await;
    assert_eq!(messages[0].kind(), "webhook.test");
    let again = messages[1].id().parse().expect("an id");
    let delivery = engine.redeliver_webhook(admin, again).await.expect("sent");
    assert_eq!(
        (delivery.made, delivery.state),
        (2, DeliveryState::Delivered)
    );
    let messages = receiver.until(3).await;
    assert_eq!(messages[2].id(), messages[1].id());
    assert_eq!(messages[2].text, messages[1].text);
    assert!(
        messages
            .iter()
            .all(|message| message.is_signed_with(&secret))
    );
    let kept = engine.webhook_deliveries(admin, id).expect("kept");
    assert_eq!(kept.len(), 2);
    let test_again = engine.redeliver_webhook(admin, tested.id).await;
    assert!(matches!(test_again, Err(WebhookError::NotPossible(_))));
    let none = format!("msg_{}_999999", &id.to_string()[4..])
        .parse()
        .expect("an id");
    let beyond = engine.redeliver_webhook(admin, none).await;
    assert!(matches!(beyond, Err(WebhookError::NotFound)));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_endless_body_after_a_yes_is_a_yes() {
    let house = House::new().await;
    let receiver = Receiver::open().await;
    let (id, _) = house.endpoint(&receiver.url).await;
    receiver.answers(&[Answer::Endless]);
    let tested = house
        .engine
        .test_webhook(&house.admin, id)
        .await
        .expect("sent");
    assert_eq!(tested.state, DeliveryState::Delivered);
}

#[tokio::test(flavor = "multi_thread")]
async fn incident_76_an_event_before_anybody_listens_is_told_all_the_same() {
    let house = House::new().await;
    let receiver = Receiver::open().await;
    // The event follows the creation at once, whether or not the task of the endpoint has begun.
    for number in 0..20 {
        house.endpoint(&receiver.url).await;
        house.staged(&format!("{number}")).await;
    }
    // The first endpoint hears of all 20, the last one of one.
    let messages = receiver.until(20 * 21 / 2).await;
    let ids: std::collections::BTreeSet<_> = messages.iter().map(Message::id).collect();
    assert_eq!(ids.len(), messages.len(), "none twice");
}
