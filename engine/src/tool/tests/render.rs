use proptest::prelude::*;
use serde_json::{Value, json};

use super::{caller, context, mistakes, tool};
use crate::action::{ActionId, Rendered};
use crate::canon::CanonicalJson;
use crate::time::Timestamp;
use crate::tool::{Context, RenderError, StateView, resolve_etag};

fn execute(definition: &Value, args: &Value) -> Result<Rendered, RenderError> {
    tool(definition).render_execute(&context(args, &caller()))
}

fn url(template: &str, args: &Value) -> Result<String, RenderError> {
    execute(&json!({"execute": {"http": {"post": template}}}), args).map(|rendered| rendered.url)
}

#[test]
fn values_are_escaped_for_the_path_and_the_query() {
    let args = json!({"id": "a/b?c#d%2e ä&=+", "n": 5, "flag": true});
    assert_eq!(
        url("https://h/x/{id}/y?q={id}&n={n}&f={flag}", &args).expect("rendered"),
        "https://h/x/a%2Fb%3Fc%23d%252e%20%C3%A4%26%3D%2B/y?q=a%2Fb%3Fc%23d%252e%20%C3%A4%26%3D%2B&n=5&f=true"
    );
}

#[test]
fn i17_values_never_choose_where_a_call_goes() {
    for template in [
        "{scheme}://h/x",
        "https://{host}/x",
        "https://h{host}/x",
        "https://h:{port}/x",
        "https://h",
        "{url}",
        "https://user@h/",
        "https://h/#x",
        "ftp://h/",
        "https://h:x/",
        "https://h:99999/",
        "https:///x",
        "https://h /",
        "https://h/a/../b",
        "https://h/%2e%2E/b",
        "https://h\\@evil/",
        "//h/x",
    ] {
        let definition = json!({"execute": {"http": {"post": template}}});
        if template == "https://h" {
            assert_eq!(
                url(template, &json!({})).expect("a host alone"),
                "https://h"
            );
        } else {
            assert!(mistakes(&definition).contains(":1:"), "{template}");
        }
    }
    let args = json!({"x": "@evil.example/", "y": "//evil.example", "z": "\\evil"});
    let rendered = url("https://h/{x}{y}?{z}", &args).expect("rendered");
    assert!(
        rendered.starts_with("https://h/%40evil.example%2F%2F%2Fevil.example?%5Cevil"),
        "{rendered}"
    );
}

#[test]
fn dots_and_holes_in_a_path_are_refused() {
    for (template, args) in [
        ("https://h/a/{x}/b", json!({"x": ".."})),
        ("https://h/a/{x}", json!({"x": "."})),
        ("https://h/a/.{x}", json!({"x": "."})),
        ("https://h/a/{x}?q=1", json!({"x": ".."})),
        ("https://h/a/{x}{y}/", json!({"x": ".", "y": "."})),
        ("https://h/a/{x}", json!({"x": ""})),
        ("https://h/a/{x}", json!({})),
        ("https://h/a/{x}", json!({"x": null})),
        ("https://h/a/{x}", json!({"x": {"a": 1}})),
        ("https://h/a?q={x}", json!({"x": [1]})),
        ("https://h/a/{x}", json!({"x": "y".repeat(10_000)})),
    ] {
        assert!(url(template, &args).is_err(), "{template} {args}");
    }
    assert_eq!(
        url("https://h/{x}", &json!({"x": "..."})).expect("three dots"),
        "https://h/..."
    );
    assert_eq!(
        url("https://h/a?q={x}", &json!({"x": ""})).expect("an empty query"),
        "https://h/a?q="
    );
}

#[test]
fn the_error_of_a_missing_value_points_to_the_argument() {
    let error = url("https://h/{order.id}", &json!({"order": {}})).expect_err("missing");
    assert_eq!(error.pointer.as_deref(), Some("/order/id"));
    assert_eq!(error.to_string(), "{order.id} has no value");
}

#[test]
fn a_whole_value_placeholder_keeps_its_type() {
    let body = json!({"n": "{n}", "list": "{list}", "text": "n={n}", "deep": [{"x": "{o.k}"}], "lit": 7, "null": "{null}"});
    let args = json!({"n": 5, "list": [1, "a"], "o": {"k": false}, "null": null});
    let rendered = execute(
        &json!({"execute": {"http": {"put": "https://h/", "json": body}}}),
        &args,
    )
    .expect("rendered");
    let sent: Value =
        serde_json::from_str(rendered.body.as_deref().expect("a body")).expect("JSON");
    assert_eq!(
        sent,
        json!({"n": 5, "list": [1, "a"], "text": "n=5", "deep": [{"x": false}], "lit": 7, "null": null})
    );
    assert_eq!(rendered.content_type.as_deref(), Some("application/json"));
}

#[test]
fn incident_35_a_placeholder_in_an_argument_is_only_text() {
    // Approved arguments held references that were resolved again later, from elsewhere. Here the
    // approved request holds values, and a brace in a value means nothing.
    let definition =
        json!({"execute": {"http": {"post": "https://h/{a}", "json": {"a": "{a}", "b": "x {a}"}}}});
    let args = json!({"a": "{state_etag}{b}{args.b}", "b": "secret"});
    let rendered = execute(&definition, &args).expect("rendered");
    assert_eq!(
        rendered.url,
        "https://h/%7Bstate_etag%7D%7Bb%7D%7Bargs.b%7D"
    );
    assert_eq!(
        rendered.body.as_deref(),
        Some(r#"{"a":"{state_etag}{b}{args.b}","b":"x {state_etag}{b}{args.b}"}"#)
    );
    let other = execute(
        &definition,
        &json!({"a": "{state_etag}{b}{args.b}", "b": "other"}),
    )
    .expect("rendered");
    assert_eq!(
        other.digest, rendered.digest,
        "only values that are sent count"
    );
    let moved = execute(&definition, &json!({"a": "x", "b": "secret"})).expect("rendered");
    assert_ne!(moved.digest, rendered.digest);
}

#[test]
fn forms_are_encoded_as_forms() {
    let definition =
        json!({"execute": {"http": {"post": "https://h/", "form": {"a b": "{x}", "c": 5}}}});
    let rendered = execute(&definition, &json!({"x": "1&2=3 +ü"})).expect("rendered");
    assert_eq!(
        rendered.body.as_deref(),
        Some("a%20b=1%262%3D3%20%2B%C3%BC&c=5")
    );
    assert_eq!(
        rendered.content_type.as_deref(),
        Some("application/x-www-form-urlencoded")
    );
}

#[test]
fn headers_carry_no_line_breaks_and_no_forged_etag() {
    let definition = json!({
        "state": {"http": {"get": "https://h/"}},
        "execute": {"http": {"post": "https://h/", "headers": {"If-Match": "{state_etag}", "X-Note": "n: {note}{more}"}}},
    });
    let render =
        |note: &str, more: &str| execute(&definition, &json!({"note": note, "more": more}));
    for (note, more) in [
        ("a\r\nX-Evil: 1", ""),
        ("a\nb", ""),
        ("ä", ""),
        ("\u{0}", ""),
        (" a", ""),
        ("a ", ""),
        ("{state_etag}", ""),
        ("{state_", "etag}"),
    ] {
        assert!(render(note, more).is_err(), "{note:?} {more:?}");
    }
    let rendered = render("fine", "!").expect("rendered");
    let headers = resolve_etag(&rendered, "\"v7\"");
    let expected = [
        ("If-Match", "\"v7\""),
        ("X-Note", "n: fine!"),
        ("Idempotency-Key", "k:1"),
    ];
    assert_eq!(
        headers,
        expected.map(|(name, value)| (name.to_owned(), value.to_owned()))
    );
    assert!(
        rendered
            .headers
            .contains(&("If-Match".to_owned(), "{state_etag}".to_owned()))
    );
}

#[test]
fn i16_secrets_are_named_and_never_part_of_a_request() {
    let definition = json!({"execute": {"http": {"post": "https://h/", "auth": {"bearer": {"file": "secrets/t"}}}}});
    let rendered = execute(&definition, &json!({})).expect("rendered");
    assert_eq!(rendered.secrets, ["secrets/t"]);
    assert!(
        mistakes(
            &json!({"execute": {"http": {"post": "https://h/", "auth": {"bearer": "sk_live_1"}}}})
        )
        .contains("secrets stand in files")
    );
}

#[test]
fn state_caller_and_action_fill_placeholders() {
    let definition = json!({
        "state": {"http": {"get": "https://h/{action.id}"}},
        "execute": {"http": {"post": "https://h/{state.version}/{caller.tenant}/{caller.kind}", "json": {"k": "{idempotency_key}"}}},
    });
    let (args, caller) = (json!({}), caller());
    let id = ActionId::new(Timestamp(0), [7; 10]);
    let state = json!({"version": 3});
    let full = Context {
        state: Some(StateView {
            body: &state,
            etag: None,
        }),
        action_id: Some(id),
        ..context(&args, &caller)
    };
    let tool = tool(&definition);
    let rendered = tool.render_execute(&full).expect("rendered");
    assert_eq!(rendered.url, "https://h/3/acme/service");
    assert_eq!(rendered.body.as_deref(), Some(r#"{"k":"k:1"}"#));
    assert_eq!(
        tool.render_state(&full).expect("rendered").url,
        format!("https://h/{id}")
    );
    assert!(
        tool.render_execute(&context(&args, &caller)).is_err(),
        "the state was not read"
    );
    assert!(tool.render_check(&full).is_err(), "it has no check");
}

#[test]
fn a_worker_gets_the_arguments_as_they_are() {
    let args = json!({"b": 1, "a": [2]});
    let rendered = execute(&json!({}), &args).expect("rendered");
    assert_eq!(
        (rendered.method.as_str(), rendered.url.as_str()),
        ("WORK", "")
    );
    assert_eq!(
        rendered.body.as_deref(),
        Some(CanonicalJson::of(&args).as_str())
    );
}

#[test]
fn summaries_show_money_in_its_currency_and_say_what_was_cut() {
    let (caller, pay) = (
        caller(),
        tool(&json!({"summary": "Pay {amount|money:currency} to {who}"})),
    );
    let summary = |args: Value| pay.render_summary(&context(&args, &caller));
    assert_eq!(
        summary(json!({"amount": 1250, "currency": "EUR", "who": "Ada"})),
        "Pay 12.50 EUR to Ada"
    );
    assert_eq!(
        summary(json!({"amount": 1250, "currency": "JPY", "who": "Ada"})),
        "Pay 1250 JPY to Ada"
    );
    assert_eq!(
        summary(json!({"amount": 1250, "currency": "EUR"})),
        "Pay 12.50 EUR to (who is missing)"
    );
    assert_eq!(
        summary(json!({"amount": "x", "currency": "EUR", "who": "Ada"})),
        "Pay x (minor units of EUR) to Ada"
    );
    let long = summary(json!({"amount": 1, "currency": "EUR", "who": "ä".repeat(1000)}));
    assert!(
        long.len() <= 500 && long.ends_with("more characters)"),
        "{long}"
    );
    let plain = tool(&json!({}));
    assert_eq!(
        plain.render_summary(&context(&json!({"b": 1, "a": "x"}), &caller)),
        r#"t: a "x", b 1"#
    );
}

#[test]
fn labels_are_the_arguments_that_are_there() {
    let labels =
        tool(&json!({"labels": ["order_id", "who.name", "gone", "list"]})).labels(&json!({
            "order_id": 8812, "who": {"name": "Ada"}, "list": [1]
        }));
    let expected = [("order_id", "8812"), ("who.name", "Ada")];
    assert_eq!(
        labels.into_iter().collect::<Vec<_>>(),
        expected.map(|(a, b)| (a.to_owned(), b.to_owned()))
    );
}

proptest! {
    #[test]
    fn i17_no_value_changes_the_origin_or_the_number_of_segments(a in any::<String>(), b in any::<String>()) {
        if let Ok(url) = url("https://h:8443/p/{a}/q?b={b}", &json!({"a": a, "b": b})) {
            let parsed = reqwest::Url::parse(&url).expect("a URL");
            prop_assert_eq!(parsed.as_str(), &url);
            prop_assert_eq!((parsed.host_str(), parsed.port()), (Some("h"), Some(8443)));
            prop_assert_eq!(parsed.path_segments().expect("a path").count(), 3);
            prop_assert_eq!(parsed.query_pairs().count(), 1);
            prop_assert_eq!(parsed.fragment(), None);
        }
    }
}
