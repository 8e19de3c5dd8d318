//! Steps, data flow, proposals, and what is left out.

use serde_json::json;

use super::super::compile::{Apply, Census};
use super::{Trace, has, lines};

#[test]
fn a_value_of_an_earlier_answer_becomes_a_bind_and_a_hole() {
    let compiled = Trace::new()
        .call(
            "get_order",
            &json!({ "n": 1 }),
            &json!({ "order": { "id": "ord_812345", "total": 4990 } }),
        )
        .call(
            "update_order",
            &json!({ "order_id": "ord_812345", "total": 4990 }),
            &json!({}),
        )
        .compile();
    has(
        &compiled.text,
        &[
            "- action: update_order {\"order_id\":\"{{id}}\",\"total\":\"{{total}}\"}",
            "- bind: id = json.order.id",
            "- assert: json.order.id is string",
            "- bind: total = json.order.total",
            "- assert: json.order.total is number",
        ],
    );
}

#[test]
fn of_equal_values_the_newest_answer_counts() {
    let compiled = Trace::new()
        .call("get_a", &json!({}), &json!({ "id": "ord_812345" }))
        .call(
            "get_b",
            &json!({}),
            &json!({ "deep": { "id": "ord_812345" }, "ref": "ord_812345" }),
        )
        .call("get_c", &json!({ "id": "ord_812345" }), &json!({}))
        .compile();
    assert_eq!(
        lines(&compiled.text, "- bind: "),
        ["- bind: id = json.deep.id"]
    );
    let steps: Vec<&str> = compiled.text.split("### Step ").collect();
    assert!(steps[2].contains("- bind: "), "the second step binds it");
}

#[test]
fn an_answer_helps_no_call_that_was_made_before_it() {
    let line = |value: serde_json::Value| value;
    let compiled = Trace::new()
        .line(&line(
            json!({ "t": "call", "i": "a", "tool": "get_a", "args": {} }),
        ))
        .line(&line(
            json!({ "t": "call", "i": "b", "tool": "get_b", "args": { "id": "ord_812345" } }),
        ))
        .line(&line(
            json!({ "t": "result", "i": "a", "ok": true, "body": { "id": "ord_812345" } }),
        ))
        .compile();
    assert!(
        compiled
            .text
            .contains("- action: get_b {\"id\":\"ord_812345\"}")
    );
}

#[test]
fn types_are_kept() {
    let compiled = Trace::new()
        .call(
            "get_a",
            &json!({}),
            &json!({ "number": 812_345, "list": ["alpha", "beta"] }),
        )
        .call(
            "get_b",
            &json!({ "a": 812_345, "b": "812345", "c": "n 812345", "d": ["alpha", "beta"] }),
            &json!({}),
        )
        .compile();
    has(
        &compiled.text,
        &["{\"a\":\"{{number}}\",\"b\":\"812345\",\"c\":\"n {{number}}\",\"d\":\"{{list}}\"}"],
    );
    has(
        &compiled.questions.join("\n"),
        &["Step 2: \"b\" is text that equals a number of an earlier answer"],
    );
}

#[test]
fn short_and_common_values_are_no_data_flow() {
    let answer = json!({
        "a": true, "b": 0, "c": "", "d": "x", "e": "open", "f": 100, "g": 12, "h": "abc", "i": null,
    });
    let args = json!({
        "p": true, "q": 0, "r": "", "s": "x", "t": "open", "u": 100, "v": 12, "w": "abc", "y": null,
    });
    let compiled = Trace::new()
        .call("get_a", &json!({}), &answer)
        .call("get_b", &args, &json!({}))
        .compile();
    assert!(!compiled.text.contains("- bind: "), "{}", compiled.text);
    // Where the keys agree, less is enough.
    let compiled = Trace::new()
        .call("get_a", &json!({}), &json!({ "number": 42, "lang": "deu" }))
        .call(
            "get_b",
            &json!({ "issue_number": 42, "lang": "deu" }),
            &json!({}),
        )
        .compile();
    has(
        &compiled.text,
        &["{\"issue_number\":\"{{number}}\",\"lang\":\"{{lang}}\"}"],
    );
}

#[test]
fn only_whole_words_inside_a_text_are_holes() {
    let compiled = Trace::new()
        .call(
            "get_a",
            &json!({}),
            &json!({ "id": "ord_812345", "v": "1.0.228" }),
        )
        .call(
            "get_b",
            &json!({ "text": "xord_812345 ord_8123456 11.0.2281 1.0.228." }),
            &json!({}),
        )
        .compile();
    has(
        &compiled.text,
        &["\"xord_812345 ord_8123456 11.0.2281 {{v}}.\""],
    );
}

#[test]
fn odd_keys_of_answers_are_reached() {
    let compiled = Trace::new()
        .call(
            "get_a",
            &json!({}),
            &json!({ "a-b": [{ "1x": "ord_812345" }], "c\"d": "ord_999999" }),
        )
        .call(
            "get_b",
            &json!({ "x": "ord_812345", "y": "ord_999999" }),
            &json!({}),
        )
        .compile();
    has(
        &compiled.text,
        &[
            "- bind: _1x = json[\"a-b\"].0[\"1x\"]",
            "{\"x\":\"{{_1x}}\",\"y\":\"ord_999999\"}",
        ],
    );
}

#[test]
fn days_are_asked_about_or_move() {
    let trace = Trace::new().call(
        "get_a",
        &json!({ "from": "2026-02-23", "to": "till 2026-03-02T00:00:00Z", "born": "1999-01-01", "next": "2026-03-03" }),
        &json!({}),
    );
    let compiled = trace.compile();
    assert_eq!(compiled.questions.len(), 3, "{:?}", compiled.questions);
    has(
        &compiled.text,
        &["\"from\":\"2026-02-23\"", "Then write {{today-7d}}"],
    );
    let compiled = trace.compile_with(Apply {
        dates: true,
        inputs: false,
    });
    has(
        &compiled.text,
        &[
            "{\"born\":\"1999-01-01\",\"from\":\"{{today-7d}}\",\"next\":\"{{today+1d}}\",\"to\":\"till {{today}}T00:00:00Z\"}",
        ],
    );
    assert!(compiled.questions.is_empty(), "{:?}", compiled.questions);
}

#[test]
fn what_several_steps_use_is_asked_about_or_becomes_an_input() {
    let trace = Trace::new()
        .call(
            "get_a",
            &json!({ "city": "San Francisco", "size": 4990 }),
            &json!({}),
        )
        .call(
            "get_b",
            &json!({ "in": { "city": ["San Francisco"] }, "size": 4990 }),
            &json!({}),
        );
    let compiled = trace.compile();
    has(
        &compiled.questions.join("\n"),
        &[
            "Steps 1, 2 all use \"San Francisco\" (\"city\")",
            "Steps 1, 2 all use 4990 (\"size\")",
        ],
    );
    let compiled = trace.compile_with(Apply {
        dates: false,
        inputs: true,
    });
    has(
        &compiled.text,
        &[
            "inputs: {\"city\":{\"default\":\"San Francisco\",\"type\":\"string\"},\"size\":{\"default\":4990,\"type\":\"integer\"}}",
            "- action: get_b {\"in\":{\"city\":[\"{{city}}\"]},\"size\":\"{{size}}\"}",
        ],
    );
}

#[test]
fn a_failed_call_that_was_repeated_is_left_out() {
    let args = json!({ "id": 1 });
    let compiled = Trace::new()
        .line(&json!({ "t": "note", "text": "Read it." }))
        .ended("get_a", &args, &json!("no"), false)
        .ended("get_b", &args, &json!("no"), false)
        .line(&json!({ "t": "note", "text": "Once more." }))
        .call("get_a", &args, &json!({}))
        .compile();
    has(
        &compiled.text,
        &[
            "### Step 1 — Read it\n- intent: Read it.",
            "## Left out\n\n- Call 1 (line 3) failed and was repeated successfully: it is step 1.",
            "- Call 2 (line 5) failed, was not repeated, and is left out. Does the job need it?",
        ],
    );
    assert!(!compiled.text.contains("get_b"));
    let none = Trace::new().ended("get_a", &args, &json!(0), false);
    let error = none.try_compile(Apply::default()).expect_err("no step");
    assert!(error.to_string().contains("all of them failed"), "{error}");
}

#[test]
fn effects_are_those_of_the_classifier_with_what_the_server_says() {
    let call = |tool: &str, hints: serde_json::Value, number: u64| json!({ "t": "call", "i": number, "tool": tool, "args": {}, "annotations": hints });
    let compiled = Trace::new()
        .line(&call("get_order", json!({}), 1))
        .line(&call("update_order", json!({}), 2))
        .line(&call("frobnicate", json!({}), 3))
        .line(&call("snapshot", json!({ "readOnlyHint": true }), 4))
        .line(&call("get_it", json!({ "destructiveHint": true }), 5))
        .compile();
    let census = Census {
        read: 2,
        idempotent_write: 1,
        destructive: 2,
    };
    assert_eq!(compiled.census, census);
    assert_eq!(
        census.to_string(),
        "effects: read=2 idempotent-write=1 destructive=2"
    );
    has(
        &compiled.questions.join("\n"),
        &[
            "Step 3: nothing says what frobnicate does",
            "Step 4: snapshot counts as read because its server said so",
        ],
    );
    has(
        &compiled.warnings.join("\n"),
        &[
            "steps 2 (update_order, idempotent-write), 3 (frobnicate, destructive), 5 (get_it, destructive)",
            "step 4 (snapshot) counts as read because its server said so; by its name it would be destructive",
        ],
    );
}

#[test]
fn a_call_without_a_result_stays_with_a_question() {
    let compiled = Trace::new()
        .line(&json!({ "t": "call", "i": 1, "tool": "http.get", "args": { "url": "https://a.example" } }))
        .compile();
    has(
        &compiled.text,
        &["- action: http.get {\"url\":\"https://a.example\"}"],
    );
    assert!(!compiled.text.contains("- assert: status"));
    assert_eq!(
        compiled.questions,
        ["Step 1: its answer was not recorded. Did it take effect?"]
    );
}

#[test]
fn the_status_that_was_recorded_is_asserted() {
    let compiled = Trace::new()
        .call(
            "http.post",
            &json!({}),
            &json!({ "status": 201, "body": {} }),
        )
        .call("http.get", &json!({}), &json!({ "x": 1 }))
        .call("http.put", &json!({}), &json!({ "x": 1 }))
        .call("get_a", &json!({}), &json!({ "status": 201, "body": {} }))
        .compile();
    assert_eq!(
        lines(&compiled.text, "- assert: "),
        ["- assert: status == 201", "- assert: status == 200"]
    );
}

#[test]
fn answers_wrapped_by_a_server_are_unwrapped() {
    let wrapped = json!({ "content": [{ "type": "text", "text": "{\"id\":\"ord_812345\"}" }], "isError": false });
    let compiled = Trace::new()
        .call("get_a", &json!({}), &wrapped)
        .call("get_b", &json!({ "id": "ord_812345" }), &json!({}))
        .compile();
    has(&compiled.text, &["- bind: id = json.id"]);
}
