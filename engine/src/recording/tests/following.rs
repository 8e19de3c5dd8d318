//! Which of equal values an argument follows, where else they stand, and what is asked.

use serde_json::json;

use super::super::compile::{Apply, Compiled};
use super::super::flow::Flow;
use super::super::secret::Secrets;
use super::{Trace, has, lines};
use crate::recording::CompileError;

/// A step that answers, and one that may follow.
fn two(answer: &serde_json::Value, tool: &str, args: &serde_json::Value) -> Compiled {
    Trace::new()
        .call("get_a", &json!({}), answer)
        .call(tool, args, &json!({}))
        .compile()
}

#[test]
fn all_places_of_a_value_follow_it_or_are_asked_about() {
    let compiled = Trace::new()
        .call(
            "http.get",
            &json!({ "url": "https://h.example/v" }),
            &json!({ "status": 200, "body": { "id": 44_117, "number": 42 } }),
        )
        .call(
            "http.post",
            &json!({ "url": "https://h.example/hook", "body": { "id": 44_117, "ids": "44117", "issue_number": 42 } }),
            &json!({ "status": 200, "body": {} }),
        )
        .call(
            "http.delete",
            &json!({ "url": "https://h.example/items/44117?price=44117.50", "why": "see 42 there", "rank": 42 }),
            &json!({ "status": 200, "body": {} }),
        )
        .compile();
    has(
        &compiled.text,
        &[
            "{\"body\":{\"id\":\"{{id}}\",\"ids\":\"44117\",\"issue_number\":\"{{number}}\"}",
            "\"url\":\"https://h.example/items/{{id}}?price=44117.50\"",
            "\"why\":\"see 42 there\"",
        ],
    );
    has(
        &compiled.questions.join("\n"),
        &[
            "Step 2: \"ids\" is text that equals a number",
            "Step 3: \"url\" has a word that equals json.id of step 1",
            "Step 3: \"why\" has a word that equals json.number of step 1",
            "Step 3: \"rank\" equals a value of an earlier answer: json.number of step 1 may be equal by chance",
        ],
    );
}

#[test]
fn of_equal_values_the_one_whose_key_agrees_counts() {
    for (answer, args, bind) in [
        (
            json!({ "amount": 44_117, "user_id": 44_117 }),
            json!({ "user_id": 44_117 }),
            "user_id = json.user_id",
        ),
        (
            json!({ "order": { "id": "x_44117" }, "user": { "id": "x_44117" } }),
            json!({ "user_id": "x_44117" }),
            "id = json.user.id",
        ),
        (
            json!({ "crate": { "id": "serde" }, "name": "serde" }),
            json!({ "crate": "serde" }),
            "id = json.crate.id",
        ),
        (
            json!({ "orders": ["x_44117"], "all": "x_44117" }),
            json!({ "order": "x_44117" }),
            "orders = json.orders.0",
        ),
        (
            json!({ "a": "x_44117" }),
            json!({ "url": "https://h.example/x_44117" }),
            "a = json.a",
        ),
    ] {
        let compiled = two(&answer, "get_b", &args);
        assert_eq!(
            lines(&compiled.text, "- bind: "),
            [format!("- bind: {bind}")],
            "{answer}"
        );
        assert!(compiled.questions.is_empty(), "{:?}", compiled.questions);
    }
    // The tool says what an id at the top is of.
    let compiled = Trace::new()
        .call(
            "mcp__shop__get_order",
            &json!({}),
            &json!({ "id": "x_44117" }),
        )
        .call("refund", &json!({ "order": "x_44117" }), &json!({}))
        .compile();
    has(&compiled.text, &["- bind: id = json.id"]);
    assert!(compiled.questions.is_empty(), "{:?}", compiled.questions);
    // An older answer counts where only its key agrees.
    let compiled = Trace::new()
        .call("get_a", &json!({}), &json!({ "user_id": 44_117 }))
        .call("get_b", &json!({}), &json!({ "amount": 44_117 }))
        .call("get_c", &json!({ "user_id": 44_117 }), &json!({}))
        .compile();
    has(&compiled.text, &["- bind: user_id = json.user_id"]);
}

#[test]
fn what_may_be_equal_by_chance_stays_and_is_asked_about() {
    for (answer, tool, args) in [
        (
            json!({ "region": "production" }),
            "deploy",
            json!({ "environment": "production" }),
        ),
        (
            json!({ "region": "production" }),
            "get_b",
            json!({ "environment": "production" }),
        ),
    ] {
        let compiled = two(&answer, tool, &args);
        assert!(!compiled.text.contains("- bind: "), "{}", compiled.text);
        has(
            &compiled.questions.join("\n"),
            &["json.region of step 1 may be equal by chance"],
        );
    }
    let compiled = two(&json!({ "amount_paid": 42 }), "get_b", &json!({ "id": 42 }));
    assert!(!compiled.text.contains("- bind: "), "{}", compiled.text);
    // What a write follows by another name, or from a list, is asked about.
    for (answer, args) in [
        (json!({ "total": 44_117 }), json!({ "amount": 44_117 })),
        (
            json!({ "users": [{ "role": "admin" }] }),
            json!({ "role": "admin" }),
        ),
    ] {
        let compiled = two(&answer, "create_user", &args);
        assert!(compiled.text.contains("- bind: "), "{}", compiled.text);
        has(
            &compiled.questions.join("\n"),
            &["is what it follows. Is it the same thing?"],
        );
        assert!(two(&answer, "get_user", &args).questions.is_empty());
    }
    let compiled = two(
        &json!({ "env": "production" }),
        "login",
        &json!({ "password": "production" }),
    );
    assert_eq!(compiled.secrets, ["password"]);
    assert!(!compiled.text.contains("- bind: "), "{}", compiled.text);
}

#[test]
fn values_of_answers_that_no_path_leads_to_are_asked_about() {
    for (answer, arg) in [
        (json!("ord_991234"), json!("ord_991234")),
        (json!(991_234), json!(991_234)),
        (
            json!("Made the order ord_991234."),
            json!("https://h.example/ord_991234"),
        ),
        (json!({ "a\"b": "ord_991234" }), json!("ord_991234")),
    ] {
        let compiled = two(&answer, "get_b", &json!({ "x": arg }));
        has(
            &compiled.questions.join("\n"),
            &[
                "Step 2: \"x\" has what stands in the answer of step 1 too, where no path leads to it",
            ],
        );
    }
}

#[test]
fn an_input_stands_for_the_values_of_one_key() {
    let args = |n: u64| json!({ "limit": 1000, "port": 1000, "n": n });
    let trace = Trace::new()
        .call("get_a", &args(1), &json!({}))
        .call("get_b", &args(2), &json!({}))
        .call(
            "get_c",
            &json!({ "limit": 1000, "ratio": 1000 }),
            &json!({}),
        );
    let asked = trace.compile().questions.join("\n");
    has(
        &asked,
        &["Steps 1, 2, 3 all use 1000 (\"limit\", \"port\", \"ratio\"). Should it be an input?"],
    );
    let apply = Apply {
        dates: false,
        inputs: true,
    };
    let compiled = trace.compile_with(apply);
    has(
        &compiled.text,
        &[
            "{\"limit\":\"{{limit}}\",\"n\":1,\"port\":\"{{port}}\"}",
            "{\"limit\":\"{{limit}}\",\"ratio\":1000}",
        ],
    );
    let many = (0..60).fold(Trace::new(), |trace, number| {
        let args = json!({ "a": format!("alpha {number}"), "b": format!("beta {number}") });
        trace
            .call("get_a", &args, &json!({}))
            .call("get_b", &args, &json!({}))
    });
    let error = many.try_compile(apply).expect_err("too many inputs");
    assert!(matches!(error, CompileError::TooMuch { .. }), "{error}");
    assert!(
        error.to_string().contains("leave out `--apply inputs`"),
        "{error}"
    );
}

#[test]
fn the_search_for_values_ends_on_text_that_was_made_to_hold_it_up() {
    let values: Vec<String> = (6..128)
        .map(|length| format!("a.1{}", "x".repeat(length - 3)))
        .collect();
    let mut flow = Flow::default();
    flow.learn(1, "get_a", &json!({ "all": values }), &Secrets::default());
    for part in ["a.1,", "a.1x", "1,", "a.1xxxxx,"] {
        let text = part.repeat((16 << 10) / part.len());
        flow.parts(&text);
    }
    assert!(!flow.is_full, "no more was compared than there is");
}
