use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::{Value, json};

use super::{caller, context, tool};
use crate::canon::CanonicalJson;
use crate::time::Timestamp;
use crate::tool::{Context, StateView, differences};

fn refund() -> Value {
    json!({
        "safetyClass": "approval-bound",
        "requiredScopes": ["refunds:write", "refunds:read"],
        "identity": "caller.tenant == args.tenant",
        "preconditions": [{"rule": "state.left >= args.amount", "message": "more than is left"}],
        "state": {"http": {"get": "https://h/"}, "watch": ["/left", "/status"]},
        "check": {"http": {"get": "https://h/?k={idempotency_key}"}, "happened": "size(body.refunds) > 0", "settle": "2s"},
        "approval": {"groups": ["finance"], "hold": "30s", "rules": [
            {"when": "args.amount > 100", "required": 2, "reason": "above 1.00"},
            {"when": "args.country != 'de'", "groups": ["risk"], "reason": "abroad"},
        ]},
    })
}

#[test]
fn every_matching_rule_adds_its_need_and_a_broken_rule_matches() {
    let (tool, caller) = (tool(&refund()), caller());
    let needs = |args: Value| {
        let requirement = tool.requirement(&context(&args, &caller), Timestamp(0), None);
        requirement
            .needs
            .into_iter()
            .map(|need| {
                (
                    need.required,
                    Vec::from_iter(need.groups).join(","),
                    need.because,
                )
            })
            .collect::<Vec<_>>()
    };
    let base = (1, "finance".to_owned(), None);
    assert_eq!(
        needs(json!({"amount": 5, "country": "de"})),
        std::slice::from_ref(&base)
    );
    assert_eq!(
        needs(json!({"amount": 500, "country": "fr"})),
        [
            base.clone(),
            (2, "finance".to_owned(), Some("above 1.00".to_owned())),
            (1, "risk".to_owned(), Some("abroad".to_owned()))
        ]
    );
    let broken = needs(json!({"amount": "lots", "country": "de"}));
    assert_eq!((broken.len(), broken[1].0), (2, 2));
    assert!(
        broken[1]
            .2
            .as_deref()
            .is_some_and(|because| because.contains("could not be evaluated"))
    );
}

#[test]
fn i09_a_caller_may_shorten_the_deadline_and_never_lengthen_it() {
    let (tool, args, caller) = (tool(&refund()), json!({}), caller());
    let deadline = |wish| {
        tool.requirement(&context(&args, &caller), Timestamp(1000), wish)
            .deadline
    };
    let day = Duration::from_hours(24);
    assert_eq!(deadline(None), Timestamp(1000).plus(day));
    assert_eq!(deadline(Some(Duration::from_mins(1))), Timestamp(61_000));
    assert_eq!(deadline(Some(day * 30)), Timestamp(1000).plus(day));
}

#[test]
fn identity_scopes_and_preconditions_are_asked() {
    let (tool, caller) = (tool(&refund()), caller());
    let own = json!({"tenant": "acme", "amount": 5});
    assert_eq!(tool.check_identity(&context(&own, &caller)), Ok(true));
    assert_eq!(
        tool.check_identity(&context(&json!({"tenant": "other"}), &caller)),
        Ok(false)
    );
    assert!(tool.check_identity(&context(&json!({}), &caller)).is_err());
    let have = BTreeSet::from(["refunds:read".to_owned()]);
    assert_eq!(tool.missing_scopes(&have), ["refunds:write"]);
    let failed = |left: u32| {
        let state = json!({"left": left});
        tool.failed_precondition(&Context {
            state: Some(StateView {
                body: &state,
                etag: None,
            }),
            ..context(&own, &caller)
        })
    };
    assert_eq!(failed(5), Ok(None));
    assert_eq!(failed(4), Ok(Some("more than is left".to_owned())));
    assert!(
        tool.failed_precondition(&context(&own, &caller)).is_err(),
        "the state was not read"
    );
}

#[test]
fn i10_a_check_that_gives_no_answer_is_no_evidence() {
    let (tool, args, caller) = (tool(&refund()), json!({}), caller());
    let happened = |body: Value| tool.happened(200, &body, &context(&args, &caller));
    assert_eq!(happened(json!({"refunds": [1]})), Ok(true));
    assert_eq!(happened(json!({"refunds": []})), Ok(false));
    assert!(happened(json!({"error": "down"})).is_err());
    assert!(happened(json!(null)).is_err());
}

#[test]
fn i03_a_snapshot_digest_covers_the_watched_fields_only() {
    let tool = tool(&refund());
    let shot = |body: Value| tool.snapshot(&body, Some("\"v1\"".to_owned()), Timestamp(5));
    let first = shot(json!({"left": 10, "status": "paid", "seen": 1}));
    assert_eq!(
        first.digest,
        shot(json!({"left": 10, "status": "paid", "seen": 2})).digest
    );
    let moved = shot(json!({"left": 4, "seen": 1}));
    assert_ne!(first.digest, moved.digest);
    let diff = differences(&first, &moved);
    let paths: Vec<&str> = diff
        .iter()
        .map(|difference| difference.path.as_str())
        .collect();
    assert_eq!(paths, ["/left", "/status"]);
    assert_eq!(diff[1].now, None);
    assert_ne!(
        shot(json!({"left": null})).digest,
        shot(json!({})).digest,
        "null is not absent"
    );
    let whole = super::tool(&json!({"state": {"http": {"get": "https://h/"}}}));
    assert_eq!(
        whole
            .snapshot(&json!({"a": 1}), None, Timestamp(0))
            .watched
            .keys()
            .collect::<Vec<_>>(),
        [""]
    );
}

#[test]
fn i03_any_change_of_a_definition_is_another_digest() {
    let before = tool(&refund()).digest;
    let mut seen = BTreeSet::from([before]);
    for (pointer, value) in [
        ("/requiredScopes/0", json!("other")),
        ("/identity", json!("caller.tenant != args.tenant")),
        ("/preconditions/0/message", json!("other")),
        ("/state/http/get", json!("https://h/other")),
        ("/state/watch/0", json!("/other")),
        ("/check/settle", json!("3s")),
        ("/approval/hold", json!("31s")),
        ("/approval/rules/0/required", json!(3)),
        ("/approval/rules/1/reason", json!("other")),
    ] {
        let mut changed = refund();
        *changed.pointer_mut(pointer).expect(pointer) = value;
        assert!(seen.insert(tool(&changed).digest), "{pointer}");
    }
    let called = |change: &dyn Fn(&mut Value)| {
        let mut definition = json!({
            "safetyClass": "write-once-checkable",
            "execute": {
                "http": {"post": "https://h/", "auth": {"bearer": {"file": "a"}}},
                "timeout": "5s",
                "retry": {"attempts": 2, "backoff": "1s..5s"},
            },
            "requestLifetime": "1m",
            "keyRetention": "1h",
        });
        change(&mut definition);
        tool(&definition).digest
    };
    assert!(seen.insert(called(&|_| {})));
    for (pointer, value) in [
        ("/safetyClass", json!("irreversible")),
        ("/execute/http/post", json!("https://other/")),
        ("/execute/http/auth/bearer/file", json!("b")),
        ("/execute/timeout", json!("6s")),
        ("/execute/retry/attempts", json!(3)),
        ("/execute/retry/backoff", json!("1s..6s")),
        ("/requestLifetime", json!("2m")),
        ("/keyRetention", json!("2h")),
    ] {
        let digest = called(&|it| *it.pointer_mut(pointer).expect(pointer) = value.clone());
        assert!(seen.insert(digest), "{pointer}");
    }
    let by_put = called(&|it| {
        it["execute"]["http"] = json!({"put": "https://h/", "auth": {"bearer": {"file": "a"}}});
    });
    assert!(seen.insert(by_put), "the method");
}

#[test]
fn i03_an_approval_binds_to_tool_definition_arguments_and_caller() {
    let (tool, caller) = (tool(&refund()), caller());
    let args = CanonicalJson::of(&json!({"b": 1, "a": 2}));
    let digest = tool.binding_digest(&args, &caller, None);
    assert_eq!(
        digest,
        tool.binding_digest(&CanonicalJson::of(&json!({"a": 2, "b": 1})), &caller, None)
    );
    assert_ne!(
        digest,
        tool.binding_digest(&CanonicalJson::of(&json!({"a": 2, "b": 2})), &caller, None)
    );
    let mut other = caller.clone();
    other.id = "key_2".to_owned();
    assert_ne!(digest, tool.binding_digest(&args, &other, None));
    other = caller.clone();
    other.attributes.clear();
    assert_ne!(digest, tool.binding_digest(&args, &other, None));
    assert_ne!(
        digest,
        super::tool(&json!({})).binding_digest(&args, &caller, None)
    );
    // The text is canonical as it is put together.
    let text = format!(
        r#"{{"args":{args},"caller":{},"definition":"{}","tool":"t"}}"#,
        CanonicalJson::of(
            &json!({"id": caller.id, "kind": "service", "owner": caller.owner, "attributes": caller.attributes})
        ),
        tool.digest
    );
    assert_eq!(
        CanonicalJson::parse_strict(text.as_bytes())
            .expect("JSON")
            .digest(),
        digest
    );
}
