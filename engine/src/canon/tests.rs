use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

fn refused(text: &str) -> JsonError {
    parse_strict(text.as_bytes()).expect_err(text)
}

fn canonical(text: &str) -> String {
    CanonicalJson::parse_strict(text.as_bytes())
        .expect(text)
        .as_str()
        .to_owned()
}

#[test]
fn i13_members_are_sorted_by_utf16_as_in_rfc_8785() {
    let text = r#"{"\u20ac":"Euro Sign","\r":"Carriage Return","\ufb33":"Hebrew Letter Dalet With Dagesh",
        "1":"One","\ud83d\ude00":"Emoji: Grinning Face","\u0080":"Control","\u00f6":"Latin Small Letter O With Diaeresis"}"#;
    assert_eq!(
        canonical(text),
        "{\"\\r\":\"Carriage Return\",\"1\":\"One\",\"\u{80}\":\"Control\",\
         \"\u{f6}\":\"Latin Small Letter O With Diaeresis\",\"\u{20ac}\":\"Euro Sign\",\
         \"\u{1f600}\":\"Emoji: Grinning Face\",\"\u{fb33}\":\"Hebrew Letter Dalet With Dagesh\"}"
    );
}

#[test]
fn i13_the_sample_of_rfc_8785_has_its_canonical_form() {
    // 3.2.2 of the RFC. Two of its numbers change their decimal value or are beyond 2^53, so the
    // strict reader refuses them; the form itself is that of the RFC.
    let value: Value = serde_json::from_str(
        r#"{"numbers":[333333333.33333329,1E30,4.50,2e-3,0.000000000000000000000000001],
            "string":"\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/","literals":[null,true,false]}"#,
    )
    .expect("the sample");
    assert_eq!(
        CanonicalJson::of(&value).as_str(),
        "{\"literals\":[null,true,false],\
         \"numbers\":[333333333.3333333,1e+30,4.5,0.002,1e-27],\
         \"string\":\"\u{20ac}$\\u000f\\nA'B\\\"\\\\\\\\\\\"/\"}"
    );
    assert!(
        refused("333333333.33333329")
            .message
            .contains("send it as a string")
    );
}

#[test]
fn i13_numbers_that_keep_their_value_are_read() {
    for (text, form) in [
        ("0.1", "0.1"),
        ("1.10", "1.1"),
        ("10.10", "10.1"),
        ("1e1", "10"),
        ("-0", "0"),
        ("0e999", "0"),
        ("9007199254740992", "9007199254740992"),
        ("-9007199254740992", "-9007199254740992"),
        ("2e-3", "0.002"),
        ("0.000000000000000000000000001", "1e-27"),
        ("5e-324", "5e-324"),
        ("100.000", "100"),
    ] {
        assert_eq!(canonical(text), form, "{text}");
    }
}

#[test]
fn i13_numbers_that_would_lose_value_are_refused_with_advice() {
    for text in [
        "9007199254740993",
        "-9007199254740993",
        "9007199254740994",
        "1234567890123456789012345678901234567890",
        "1e400",
        "1e-400",
        "1e99999999999999999999",
        "1e-99999999999999999999",
        "0.10000000000000000001",
        "9007199254740992.5",
        "1e30",
    ] {
        let error = refused(text);
        assert!(
            error.message.contains("send it as a string"),
            "{text}: {error}"
        );
    }
}

#[test]
fn i13_malformed_text_is_refused() {
    for (bytes, part) in [
        (&br#"{"a":1,"a":2}"#[..], "twice"),
        (br#"{"a":1,"\u0061":2}"#, "twice"),
        (br#""\ud800""#, "surrogate"),
        (br#""\udc00x""#, "surrogate"),
        (br#""\ud800\u0041""#, "surrogate"),
        (b"\"\xed\xa0\x80\"", "UTF-8"),
        (b"\"\xff\"", "UTF-8"),
        (b"\xef\xbb\xbf{}", "byte order mark"),
        (b"{} {}", "more text"),
        (b"NaN", "JSON value"),
        (b"Infinity", "JSON value"),
        (b"01", "leading zeros"),
        (b"+1", "JSON value"),
        (b".5", "JSON value"),
        (b"1.", "decimal point"),
        (b"[1,]", "JSON value"),
        (b"{\"a\":1,}", "key"),
        (b"\"a\nb\"", "control character"),
        (b"\"a", "does not end"),
        (b"\"\\x\"", "escape"),
        (b"\"\\u12\"", "hexadecimal"),
        (b"", "ends where"),
        (b"nul", "JSON value"),
        (b"\xef\xbc\x91", "JSON value"),
    ] {
        let error = parse_strict(bytes).expect_err(part);
        assert!(
            error.message.contains(part),
            "{error} for {:?}",
            String::from_utf8_lossy(bytes)
        );
    }
}

#[test]
fn i21_depth_and_size_are_bounded() {
    let depth = crate::limits::JSON_DEPTH_MAX;
    let nested = |n: usize| format!("{}{}", "[".repeat(n), "]".repeat(n));
    assert!(parse_strict(nested(depth).as_bytes()).is_ok());
    assert!(refused(&nested(depth + 1)).message.contains("nested"));
    assert!(refused(&"[".repeat(500_000)).message.contains("nested"));
    let longest = format!("\"{}\"", "x".repeat(crate::limits::JSON_BYTES_MAX - 2));
    assert!(parse_strict(longest.as_bytes()).is_ok());
    let long = format!("\"{}\"", "x".repeat(crate::limits::JSON_BYTES_MAX));
    assert!(refused(&long).message.contains("bytes long"));
    // Refused for its length before anything of it is read.
    assert!(
        refused(&long.replace('"', "!"))
            .message
            .contains("bytes long")
    );
}

#[test]
fn a_tools_file_may_be_longer_than_a_request() {
    let text = format!("\"{}\"", "x".repeat(2 * crate::limits::JSON_BYTES_MAX));
    assert!(parse_spanned(text.as_bytes(), text.len()).is_ok());
    assert!(parse_spanned(text.as_bytes(), text.len() - 1).is_err());
}

#[test]
fn an_error_names_line_column_and_pointer() {
    let error = refused("{\n  \"ä\": [1,\n  \"é\", 9007199254740993]}");
    assert_eq!(
        (error.line, error.column, error.pointer.as_str()),
        (3, 8, "/ä/2")
    );
    assert!(
        error.to_string().contains("line 3, column 8, at /ä/2"),
        "{error}"
    );
}

#[test]
fn a_place_inside_of_a_character_is_the_place_of_the_character() {
    assert_eq!(line_and_column("x\n\u{1f600}", 5), (2, 1));
}

#[test]
fn a_digest_and_a_canonical_value_are_shown_as_they_are_read() {
    let digest = Digest::of(b"abc");
    let text = "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    assert_eq!(digest.to_string(), text);
    assert_eq!(format!("{digest:?}"), text);
    assert_eq!(text.parse(), Ok(digest));
    assert_eq!(Digest::from_bytes(*digest.as_bytes()), digest);
    let value = CanonicalJson::of(&json!({"b": 1, "a": 2}));
    assert_eq!(value.to_string(), r#"{"a":2,"b":1}"#);
    assert_eq!(format!("{value:?}"), value.as_str());
}

#[test]
fn the_answer_of_another_system_keeps_long_numbers_as_text() {
    let value = parse_answer(br#"{"id":1152921504606846977,"n":5}"#).expect("an answer");
    assert_eq!(value, json!({"id": "1152921504606846977", "n": 5}));
    assert!(parse_answer(br#"{"a":1,"a":2}"#).is_err());
}

#[test]
fn spans_say_where_keys_and_values_are() {
    let text = r#"{ "a/b": [10, {"c": "x"}] }"#;
    let (_, spans) = parse_spanned(text.as_bytes(), 1000).expect("valid");
    let part = |range: Option<std::ops::Range<usize>>| &text[range.expect("a span")];
    assert_eq!(part(spans.key("/a~1b")), "\"a/b\"");
    assert_eq!(part(spans.value("/a~1b/0")), "10");
    assert_eq!(part(spans.value("/a~1b/1/c")), "\"x\"");
    assert_eq!(part(spans.value("")), text);
}

fn json_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-9_007_199_254_740_992_i64..=9_007_199_254_740_992).prop_map(Value::from),
        (-1e6..1e6).prop_map(|x: f64| if x.fract() == 0.0 {
            json!(0.5)
        } else {
            json!(x)
        }),
        ".{0,12}".prop_map(Value::from),
        any::<char>().prop_map(|c| json!(c.to_string())),
    ];
    leaf.prop_recursive(4, 40, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::btree_map(".{0,8}", inner, 0..6)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn i13_reading_what_was_printed_is_the_identity(value in json_value()) {
        let form = CanonicalJson::of(&value);
        prop_assert_eq!(parse_strict(form.as_str().as_bytes()).expect("own text"), value.clone());
        prop_assert_eq!(form.value(), value.clone());
        prop_assert_eq!(CanonicalJson::parse_strict(form.as_str().as_bytes()).expect("own text"), form.clone());
        let pretty = serde_json::to_string_pretty(&value).expect("prints");
        prop_assert_eq!(CanonicalJson::parse_strict(pretty.as_bytes()).expect("pretty text"), form);
    }

    #[test]
    fn i13_one_changed_byte_changes_the_value_and_the_digest(
        value in json_value(), at in any::<prop::sample::Index>(), byte in any::<u8>()
    ) {
        let form = CanonicalJson::of(&value);
        let mut bytes = form.as_str().as_bytes().to_vec();
        let at = at.index(bytes.len());
        prop_assume!(bytes[at] != byte);
        bytes[at] = byte;
        if let Ok(other) = CanonicalJson::parse_strict(&bytes) {
            // Two texts may mean the same (`-0` and ` 0`); then they have one form, else two digests.
            prop_assert_eq!(other.digest() == form.digest(), other.value() == value);
        }
    }

    #[test]
    fn i13_no_bytes_make_the_reader_panic(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
        let _ = parse_strict(&bytes);
        let _ = parse_answer(&bytes);
    }

    #[test]
    fn i13_whatever_is_read_agrees_with_another_reader(text in "[-0-9.eE\\[\\],{}:\"au\\\\ ]{0,24}") {
        if let Ok(value) = parse_strict(text.as_bytes()) {
            let other: Value = serde_json::from_str(&text).expect("the other reader is more lenient");
            prop_assert_eq!(CanonicalJson::of(&value), CanonicalJson::of(&other));
        }
    }
}
