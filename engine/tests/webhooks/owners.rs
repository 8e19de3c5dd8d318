//! Whose an endpoint is decides what it hears of, and who may touch it.

use holdpoint_engine::identity::{PersonChange, Principal};
use holdpoint_engine::webhook::{Cause, NewEndpoint, WebhookError};

use crate::house::{House, submit};
use crate::receiver::Receiver;

#[tokio::test(flavor = "multi_thread")]
async fn i18_an_endpoint_hears_only_of_what_its_owner_may_see() {
    let house = House::new().await;
    let (own, all) = (Receiver::open().await, Receiver::open().await);
    house.endpoint_of(&house.service, &own.url, &[], &[]).await;
    house.endpoint(&all.url).await;
    submit(&house.engine, &house.stranger, "pay", "theirs").await;
    let mine = house.staged("mine").await;
    let messages = own.until(1).await;
    assert_eq!(
        messages[0].body["data"]["action_id"],
        mine.action.id.to_string()
    );
    assert_eq!(all.until(2).await.len(), 2);
    assert_eq!(own.messages().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn i18_a_role_that_was_taken_away_counts_from_the_next_message_on() {
    let house = House::new().await;
    let receiver = Receiver::open().await;
    let (id, _) = house.endpoint(&receiver.url).await;
    house.staged("before").await;
    receiver.until(1).await;
    let identity = house.engine.identity();
    let new = holdpoint_engine::identity::NewPerson {
        email: "second@example.com".to_owned(),
        name: "second".to_owned(),
        roles: [holdpoint_engine::identity::Role::Admin].into(),
        ..Default::default()
    };
    let second = identity.create_person("test", new).await.expect("a person");
    let change = PersonChange {
        roles: Some([holdpoint_engine::identity::Role::Requester].into()),
        ..PersonChange::default()
    };
    let changed = identity
        .change_person("test", &house.admin.id, change)
        .await;
    changed.expect("changed");
    house.staged("after").await;
    let last = house.records().last().expect("records").position;
    let by = identity.principal(&second.id).expect("enabled");
    while house
        .engine
        .webhook(&by, id)
        .expect("visible")
        .place
        .through
        < last
    {
        tokio::task::yield_now().await;
    }
    assert_eq!(receiver.messages().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_endpoint_whose_owner_is_gone_is_disabled_and_keeps_its_place() {
    let house = House::new().await;
    let receiver = Receiver::open().await;
    let (id, _) = house
        .endpoint_of(&house.service, &receiver.url, &[], &[])
        .await;
    let identity = house.engine.identity();
    let revoked = identity.revoke_key("test", &house.service.id, "lost").await;
    revoked.expect("revoked");
    let before = house.get(id).place.through;
    submit(&house.engine, &house.stranger, "pay", "x").await;
    let endpoint = house.until(id, |it| !it.is_enabled()).await;
    assert_eq!(endpoint.disabled.map(|it| it.cause), Some(Cause::OwnerLost));
    assert!(before <= endpoint.place.through);
    assert!(receiver.messages().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn i18_only_administrators_and_services_with_the_scope_manage_endpoints() {
    let house = House::new().await;
    let receiver = Receiver::open().await;
    let (id, _) = house.endpoint(&receiver.url).await;
    let (own, _) = house
        .endpoint_of(&house.service, &receiver.url, &[], &[])
        .await;
    let engine = &house.engine;
    let mut agent = house.service.clone();
    agent.kind = holdpoint_engine::action::PrincipalKind::Agent;
    let mut plain = house.service.clone();
    plain.scopes.clear();
    for by in [&agent, &plain] {
        let new = NewEndpoint {
            name: "x".to_owned(),
            url: receiver.url.clone(),
            ..NewEndpoint::default()
        };
        let refused = engine.create_webhook(by, new).await;
        assert!(matches!(refused, Err(WebhookError::Forbidden(_))));
        let refused = engine.rotate_webhook(by, own, None, None).await;
        assert!(matches!(refused, Err(WebhookError::Forbidden(_))));
        let refused = engine.delete_webhook(by, own, "x").await;
        assert!(matches!(refused, Err(WebhookError::Forbidden(_))));
    }
    // That there are others is nobody's business.
    let missing = |by: &Principal| engine.webhook(by, id).err();
    assert!(matches!(
        missing(&house.service),
        Some(WebhookError::NotFound)
    ));
    assert!(matches!(
        missing(&house.stranger),
        Some(WebhookError::NotFound)
    ));
    let theirs = engine.redeliver_webhook(
        &house.stranger,
        format!("msg_{}_1", &own.to_string()[4..])
            .parse()
            .expect("an id"),
    );
    assert!(matches!(theirs.await, Err(WebhookError::NotFound)));
    assert_eq!(engine.webhooks(&house.service).len(), 1);
    assert_eq!(engine.webhooks(&house.admin).len(), 2);
    assert!(
        engine
            .rotate_webhook(&house.service, own, None, None)
            .await
            .is_ok()
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn i21_what_an_endpoint_is_made_of_is_bounded_and_mistakes_are_named() {
    let house = House::new().await;
    let new = |change: &dyn Fn(&mut NewEndpoint)| {
        let mut new = NewEndpoint {
            name: "orders".to_owned(),
            url: "https://example.com/hook".to_owned(),
            ..NewEndpoint::default()
        };
        change(&mut new);
        new
    };
    let long = "a".repeat(20_000);
    for (field, wrong) in [
        ("name", new(&|it| it.name = String::new())),
        ("name", new(&|it| it.name.clone_from(&long))),
        ("url", new(&|it| it.url = "http://example.com/".to_owned())),
        (
            "url",
            new(&|it| it.url = format!("https://example.com/{long}")),
        ),
        (
            "url",
            new(&|it| it.url = "https://exa mple.com/".to_owned()),
        ),
        (
            "types",
            new(&|it| it.types = ["action.aproved".to_owned()].into()),
        ),
        ("tools", new(&|it| it.tools = [long.clone()].into())),
        (
            "tools",
            new(&|it| it.tools = (0..101).map(|n| n.to_string()).collect()),
        ),
        ("from", new(&|it| it.from = Some(1_000_000))),
        ("owner", new(&|it| it.owner = "per_nobody".to_owned())),
    ] {
        match house.engine.create_webhook(&house.admin, wrong).await {
            Err(WebhookError::Invalid { field: found, .. }) => assert_eq!(found, field),
            other => panic!("{field}: {other:?}"),
        }
    }
    for _ in 0..100 {
        house.endpoint("https://example.com/hook").await;
    }
    let more = house
        .engine
        .create_webhook(&house.admin, new(&|_| {}))
        .await;
    assert!(matches!(more, Err(WebhookError::NotPossible(_))));
}
