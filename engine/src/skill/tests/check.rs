use serde_json::{Value, json};

use crate::canon::parse_answer;
use crate::skill::{Answer, Assertion, Bind};

const BODY: &str = r#"{"name": "a b", "n": 2, "half": 0.5, "nothing": null, "yes": true, "list": [1, {"id": 7}],
    "a-b": {"c.d": 1}, "big": 1152921504606846977, "text": "one\ntwo", "0": "zero", "price": "EUR 12,50"}"#;

fn body() -> Value {
    parse_answer(BODY.as_bytes()).expect("JSON")
}

fn holds(text: &str) -> bool {
    let assertion = Assertion::parse(text).unwrap_or_else(|error| panic!("{error}"));
    let json = body();
    let answer = Answer {
        status: Some(200),
        text: BODY,
        json: Some(&json),
    };
    let verdict = assertion.check(&answer);
    assert_eq!(verdict.text, text);
    verdict.passed
}

#[test]
fn assertions_hold_or_not() {
    for (text, expected) in [
        ("status == 200", true),
        ("status==201", false),
        ("status != 500", true),
        ("body contains \"\"name\": \"a b\"\"", true),
        ("body contains \"zzz\"", false),
        ("body not contains \"zzz\"", true),
        ("body not contains \"name\"", false),
        ("json.list is array", true),
        ("json.name is array", false),
        ("json.name is string", true),
        ("json.n is number", true),
        ("json.yes is boolean", true),
        ("json.nothing is null", true),
        ("json.missing is null", false),
        ("json.nothing is set", false),
        ("json.missing is set", false),
        ("json.yes is set", true),
        ("json.n == 2", true),
        ("json.n == 2.0", true),
        ("json.n == \"2\"", false),
        ("json.n != 3", true),
        ("json.missing != 3", true),
        ("json.missing == null", false),
        ("json.half < 1", true),
        ("json.half >= 0.5", true),
        ("json.n > 2", false),
        ("json.n <= 2", true),
        ("json.name > 1", false),
        ("json.missing < 1", false),
        ("json.yes == true", true),
        ("json.list == [1, {\"id\": 7.0}]", true),
        ("json.list length == 2", true),
        ("json.list length > 2", false),
        ("json.name length >= 3", true),
        ("json.n length > 0", false),
        ("json.list.1.id == 7", true),
        ("json.list[1].id == 7", true),
        ("json.list.01 is set", false),
        ("json.list.length == 2", false),
        ("json.0 == \"zero\"", true),
        ("json[\"a-b\"][\"c.d\"] == 1", true),
        ("json[\"na\\u006de\"] is string", true),
        ("json is set", true),
        ("json.big == \"1152921504606846977\"", true),
        ("json.name matches /^a\\sb$/", true),
        ("json.name matches /A/", false),
        ("json.name matches /A/i", true),
        ("json.n matches /2/", false),
        ("json.text matches /^two$/", false),
        ("json.text matches /^two$/m", true),
        ("json.text matches /one.two/", false),
        ("json.text matches /one.two/s", true),
        ("json.price matches /^EUR \\d+,\\d{2}$/", true),
        ("json.price matches /[^\\D]/", true),
        ("json.price matches /{/", false),
        ("json.name matches /\\bb\\b/", true),
        ("json.name matches /\\Bb/", false),
    ] {
        assert_eq!(holds(text), expected, "{text}");
    }
}

#[test]
fn classes_of_characters_are_those_of_javascript() {
    let check = |text: &str, value: &str| {
        let json = json!({ "v": value });
        let assertion = Assertion::parse(text).unwrap_or_else(|error| panic!("{error}"));
        let answer = Answer {
            status: None,
            text: "",
            json: Some(&json),
        };
        assertion.check(&answer).passed
    };
    for (pattern, value, expected) in [
        ("/^\\d$/", "٣", false),
        ("/^\\w$/", "é", false),
        ("/^[\\w-]+$/", "a-b", true),
        ("/^[[]$/", "[", true),
        ("/^[a&&b]+$/", "&a", true),
        ("/^a\\/b$/", "a/b", true),
        ("/^a/b$/", "a/b", true),
        ("/a{,2}/", "a{,2}", true),
        ("/^a{2}$/", "aa", true),
        ("/^(?<year>\\d{4})$/", "2026", true),
        ("/^(?:a|b)$/", "b", true),
        ("/^\\u00e9$/", "é", true),
        ("/^.$/", "\u{2028}", false),
        ("/^a$/", "a\n", false),
        ("/^\\<$/", "<", true),
    ] {
        assert_eq!(
            check(&format!("json.v matches {pattern}"), value),
            expected,
            "{pattern}"
        );
    }
    for pattern in [
        "/\\A/",
        "/\\pL/",
        "/[]/",
        "/[a/",
        "/a\\/",
        "/(?i:a)/",
        "/(?P<a>b)/",
        "/\\k<a>/",
    ] {
        let read = Assertion::parse(&format!("json.v matches {pattern}"));
        assert!(read.is_err(), "{pattern}");
    }
}

#[test]
fn an_answer_that_is_not_json_fails_what_needs_json() {
    let answer = Answer {
        status: None,
        text: "<html>",
        json: None,
    };
    for text in [
        "json.a is set",
        "json.a length > 0",
        "json.a == 1",
        "json.a != 1",
        "status != 200",
    ] {
        let verdict = Assertion::parse(text).expect("valid").check(&answer);
        assert!(!verdict.passed, "{text}");
        assert!(verdict.seen.contains("answer"), "{}", verdict.seen);
    }
    let bind = Bind::parse("a = json.b").expect("valid");
    assert!(
        bind.take(&answer)
            .expect_err("no JSON")
            .contains("not JSON")
    );
}

#[test]
fn binds_keep_types_and_fail_where_nothing_is() {
    let json = body();
    let answer = Answer {
        status: Some(200),
        text: BODY,
        json: Some(&json),
    };
    let take = |text: &str| {
        Bind::parse(text)
            .unwrap_or_else(|error| panic!("{error}"))
            .take(&answer)
    };
    assert_eq!(take("a = json.n"), Ok(json!(2)));
    assert_eq!(take("a=json.nothing"), Ok(Value::Null));
    assert_eq!(take("a = json.list"), Ok(json!([1, {"id": 7}])));
    assert_eq!(take("a = body match /\"n\": (\\d)/"), Ok(json!("2")));
    assert_eq!(take("a = body match /N\": (\\d)/i"), Ok(json!("2")));
    assert!(take("a = json.missing").is_err());
    assert!(take("a = body match /zzz(.)/").is_err());
    assert!(take("a = body match /name|(zzz)/").is_err());
}

#[test]
fn what_was_seen_is_short() {
    let json = json!({ "v": "x".repeat(10_000) });
    let answer = Answer {
        status: None,
        text: "",
        json: Some(&json),
    };
    let verdict = Assertion::parse("json.v == 1")
        .expect("valid")
        .check(&answer);
    assert!(
        verdict.seen.chars().count() <= 201,
        "{}",
        verdict.seen.len()
    );
}
