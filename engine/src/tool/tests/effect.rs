use proptest::prelude::*;
use serde_json::{Map, Value, json};

use crate::action::SafetyClass;
use crate::tool::{Annotations, Classified, EffectClass, Format, ToolsFile, classify_effect};

fn hints(value: &Value) -> Annotations {
    value.as_object().map(Annotations::of).unwrap_or_default()
}

fn effect(tool: &str) -> Classified {
    classify_effect(tool, Annotations::default())
}

#[test]
fn every_known_answer_is_given() {
    let text = include_str!("../../../tests/vectors/effect-classes.json");
    let vectors: Vec<Value> = serde_json::from_str(text).expect("the vectors are JSON");
    assert!(300 < vectors.len());
    for vector in vectors {
        let tool = vector["tool"].as_str().expect("a name");
        let told = classify_effect(tool, hints(&vector["annotations"]));
        assert_eq!(
            (told.effect.name(), told.review),
            (
                vector["effect"].as_str().expect("a class"),
                vector["review"].as_bool().expect("a flag")
            ),
            "{vector}: {}",
            told.reason
        );
        assert!(!told.reason.is_empty());
    }
}

#[test]
fn a_camel_case_destructive_name_is_seen_whatever_its_server_says() {
    let mild = hints(&json!({"readOnlyHint": true, "idempotentHint": true}));
    for tool in [
        "deleteUser",
        "HTTPDelete",
        "users2Delete",
        "getAndDELETE",
        "mcp__crm__deleteUser",
    ] {
        assert_eq!(
            classify_effect(tool, mild).effect,
            EffectClass::Destructive,
            "{tool}"
        );
    }
}

#[test]
fn a_verb_before_a_dot_or_two_underscores_is_not_hidden() {
    for (tool, expected) in [
        ("delete.item", EffectClass::Destructive),
        ("delete__item", EffectClass::Destructive),
        ("github/delete_repo:main", EffectClass::Destructive),
        ("crm.get.list", EffectClass::Read),
        ("delete.get", EffectClass::Read),
        ("mcp__delete__list", EffectClass::Read),
    ] {
        assert_eq!(effect(tool).effect, expected, "{tool}");
    }
}

#[test]
fn a_tool_without_a_safety_class_gets_one_from_its_effect_and_a_weaker_one_is_told() {
    let text = json!({"tools": {
        "get_order": {}, "update_order": {}, "refund_order": {}, "frobnicate": {},
        "snapshot": {"annotations": {"readOnlyHint": true}},
        "list_orders": {"annotations": {"destructiveHint": true}},
        "post_search": {"effect": "read"},
        "delete_draft": {"safetyClass": "idempotent"},
    }})
    .to_string();
    let file = ToolsFile::from_str(&text, Format::Json).unwrap_or_else(|error| panic!("{error}"));
    let class = |tool: &str| file.registry.get(tool).expect("the tool").class;
    for (tool, expected) in [
        ("get_order", SafetyClass::Idempotent),
        ("update_order", SafetyClass::WriteOnceCheckable),
        ("refund_order", SafetyClass::ApprovalBound),
        ("frobnicate", SafetyClass::ApprovalBound),
        ("snapshot", SafetyClass::Idempotent),
        ("list_orders", SafetyClass::ApprovalBound),
        ("post_search", SafetyClass::Idempotent),
        ("delete_draft", SafetyClass::Idempotent),
    ] {
        assert_eq!(class(tool), expected, "{tool}");
    }
    let warned = |tool: &str, words: &str| {
        file.warnings.iter().any(|warning| {
            warning.tool.as_deref() == Some(tool) && warning.problem.message.contains(words)
        })
    };
    assert!(warned(
        "delete_draft",
        "idempotent is weaker than approval-bound"
    ));
    assert!(warned(
        "post_search",
        "the effect read is weaker than destructive"
    ));
    assert!(warned("frobnicate", "the worst is assumed"));
    assert!(!warned("get_order", "weaker"));
    assert_eq!(file.registry.effects().map(|(_, count)| count), [3, 1, 4]);
}

#[test]
fn annotations_with_an_unknown_member_are_a_mistake() {
    let told = super::mistakes(&json!({"annotations": {"readonlyHint": true}}));
    assert!(told.contains("readOnlyHint"), "{told}");
}

fn any_hints() -> impl Strategy<Value = Annotations> {
    (any::<bool>(), any::<bool>(), any::<bool>()).prop_map(
        |(read_only, destructive, idempotent)| Annotations {
            read_only,
            destructive,
            idempotent,
        },
    )
}

proptest! {
    #[test]
    fn no_hint_weakens_what_a_verb_says(
        tool in "(mcp__)?[a-z]{0,4}(_|__|[.]|-| )?(get|List|update|SET|delete|Refund|query|x)(_|[.]|/)?[a-zA-Z0-9]{0,5}",
        hints in any_hints(),
    ) {
        let by_name = effect(&tool);
        let with_hints = classify_effect(&tool, hints);
        prop_assert!(by_name.review || by_name.effect <= with_hints.effect, "{by_name:?} {with_hints:?}");
    }

    #[test]
    fn one_more_destructive_word_in_the_last_segment_never_weakens(
        tool in "[a-zA-Z0-9_.]{0,12}", hints in any_hints(),
        verb in prop::sample::select(vec!["delete", "refund", "send", "wipe"]),
    ) {
        let more = classify_effect(&format!("{tool}_{verb}"), hints);
        prop_assert_eq!(more.effect, EffectClass::Destructive);
    }

    #[test]
    fn no_name_makes_the_classifier_panic(tool in any::<String>()) {
        let told = effect(&tool);
        prop_assert!(!told.review || told.effect == EffectClass::Destructive);
    }

    #[test]
    fn only_the_boolean_true_is_a_hint(value in "[a-z]{0,3}", number in any::<i64>()) {
        for value in [json!(value), json!(number), json!("true"), json!(false), json!(null), json!([true])] {
            let mut members = Map::new();
            for hint in ["readOnlyHint", "destructiveHint", "idempotentHint"] {
                members.insert(hint.to_owned(), value.clone());
            }
            prop_assert_eq!(Annotations::of(&members), Annotations::default());
        }
    }
}
