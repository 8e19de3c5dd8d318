use proptest::prelude::*;
use serde_json::{Value, json};

use super::{caller, context, mistakes, tool};
use crate::action::ActionId;
use crate::time::Timestamp;
use crate::tool::{Context, RenderError};

fn key(template: &str, args: &Value) -> Result<String, RenderError> {
    tool(&json!({"idempotencyKey": template})).render_key(&context(args, &caller()))
}

#[test]
fn i15_without_a_template_the_key_is_the_action() {
    let (args, caller) = (json!({}), caller());
    let id = ActionId::new(Timestamp(0), [7; 10]);
    let context = Context {
        action_id: Some(id),
        ..context(&args, &caller)
    };
    assert_eq!(tool(&json!({})).render_key(&context), Ok(id.to_string()));
}

#[test]
fn v6_separators_holes_and_lengths_in_keys() {
    let pair = |a: &str, b: &str| key("r:{a}:{b}", &json!({"a": a, "b": b})).expect("a key");
    assert_ne!(pair("1", "23"), pair("12", "3"));
    assert_ne!(pair("1:2", "3"), pair("1", "2:3"));
    assert_ne!(pair("1%3A2", "3"), pair("1:2", "3"));
    assert_eq!(pair("1:2", "ä"), "r:1%3A2:%C3%A4");
    assert_eq!(
        key(
            "refund:{order_id}:{n}",
            &json!({"order_id": "8812", "n": 1})
        ),
        Ok("refund:8812:1".to_owned())
    );
    let readable = key("r:{a}:{b}", &json!({"a": "r-1", "b": "r.2"}));
    assert_eq!(readable, Ok("r:r-1:r.2".to_owned()));
    for args in [
        json!({"a": "1"}),
        json!({"a": "1", "b": ""}),
        json!({"a": "1", "b": null}),
        json!({"a": "1", "b": {}}),
        json!({"a": "x".repeat(300), "b": "1"}),
    ] {
        assert!(key("r:{a}:{b}", &args).is_err(), "{args}");
    }
    for template in [
        "{a}{b}", "constant", "r:{a{b}}", "ä:{a}", "a b:{a}", "50%:{a}",
    ] {
        assert!(
            mistakes(&json!({"idempotencyKey": template})).contains("holdpoint.json:1:"),
            "{template}"
        );
    }
}

proptest! {
    #[test]
    fn i15_different_fields_make_different_keys(
        a in "[-a-d0-4:%.x ]{1,4}", b in "[-a-d0-4:%.x ]{1,4}", c in "[-a-d0-4:%.x ]{1,4}", d in "[-a-d0-4:%.x ]{1,4}",
        template in prop::sample::select(vec!["{a}:{b}", "{a}-{b}", "{a}x{b}", "3{a}3{b}3", "{a}AB{b}", "r.{b}..{a}"]),
    ) {
        let one = key(template, &json!({"a": a, "b": b})).expect("a key");
        let two = key(template, &json!({"a": c, "b": d})).expect("a key");
        prop_assert_eq!(one == two, (&a, &b) == (&c, &d), "{} {}", one, two);
    }

    #[test]
    fn i15_keys_are_printable_ascii_within_bounds(a in any::<String>(), b in any::<String>()) {
        if let Ok(key) = key("k:{a}/{b}", &json!({"a": a, "b": b})) {
            prop_assert!(key.len() <= 255 && key.bytes().all(|byte| byte.is_ascii_graphic()));
        }
    }
}
