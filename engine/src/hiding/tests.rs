use serde_json::json;

use super::*;

fn hiding(secrets: &[(&str, Value)]) -> Hiding {
    let mut hiding = Hiding::default();
    for (name, secret) in secrets {
        hiding.add(secret, &format!("{{{{{name}}}}}"));
    }
    hiding
}

#[test]
fn i16_a_secret_is_found_in_every_form_in_which_it_comes_back() {
    let secret = "q7Zk/9+wT\"t== ö&b";
    let hiding = hiding(&[("token", json!(secret))]);
    let quoted = json!(secret).to_string();
    let twice = json!(quoted).to_string();
    let escaped = "q7Zk\\/9+wT\\\"t== \\u00f6&b";
    for (seen, hidden) in [
        (format!("a {secret} b"), "a {{token}} b"),
        (format!("not json: {quoted},"), "not json: \"{{token}}\","),
        (
            format!("not json: {twice}"),
            "not json: \"\\\"{{token}}\\\"\"",
        ),
        (format!("not json: {escaped}"), "not json: {{token}}"),
        (escaped.replace("00f6", "00F6"), "{{token}}"),
        (
            "?t=q7Zk%2F9%2BwT%22t%3D%3D%20%C3%B6%26b&x=1".to_owned(),
            "?t={{token}}&x=1",
        ),
        (
            "?t=q7Zk/9%2bwT%22t%3d%3d+%c3%b6%26b".to_owned(),
            "?t={{token}}",
        ),
        (
            "?t=q7Zk%252F9%252BwT%2522t%253D%253D%2520%25C3%25B6%2526b".to_owned(),
            "?t={{token}}",
        ),
        (
            format!("Basic {}", STANDARD_NO_PAD.encode(secret)),
            "Basic {{token}}",
        ),
        (
            format!("{}; x", URL_SAFE_NO_PAD.encode(secret)),
            "{{token}}; x",
        ),
        (
            format!(r#"{{"echo":{twice}}}"#),
            r#"{"echo":"\"{{token}}\""}"#,
        ),
        (
            format!(r#"{{"deep":[{{{quoted}:1}}]}}"#),
            r#"{"deep":[{"{{token}}":1}]}"#,
        ),
        (format!(r#"{{"e":"{escaped}"}}"#), r#"{"e":"{{token}}"}"#),
        (
            json!({ "body": json!({ "t": secret, "n": 1 }).to_string() }).to_string(),
            r#"{"body":"{\"n\":1,\"t\":\"{{token}}\"}"}"#,
        ),
    ] {
        assert_eq!(hiding.text(&seen), hidden, "{seen}");
        assert_eq!(hiding.text(hidden), hidden, "what is hidden stays");
    }
    let bytes = [b"\xff ".as_slice(), secret.as_bytes(), b"\xfe"].concat();
    assert_eq!(hiding.bytes(bytes), b"\xff {{token}}\xfe");
}

#[test]
fn i16_json_stays_json_and_a_number_is_hidden_whole_or_not_at_all() {
    let hiding = hiding(&[
        ("pin", json!("123456")),
        ("n", json!(4711)),
        ("short", json!("Q7z")),
        ("flag", json!(true)),
    ]);
    for (seen, hidden) in [
        (
            r#"{ "order": 91234567, "ok": true }"#,
            r#"{ "order": 91234567, "ok": true }"#,
        ),
        (
            r#"{"order":123456,"ok":true}"#,
            r#"{"ok":true,"order":"{{pin}}"}"#,
        ),
        (r#"{"a":"x91234567"}"#, r#"{"a":"x9{{pin}}7"}"#),
        (
            r#"[4711, 47110, "4711", "no. 4711.", "x4711"]"#,
            r#"["{{n}}",47110,"{{n}}","no. {{n}}.","x4711"]"#,
        ),
        (
            "s=Q7z&t=xQ7z&u=%22Q7z%22",
            "s={{short}}&t=xQ7z&u=%22{{short}}%22",
        ),
        (
            r#"{"body":"{\"pin\":123456,\"order\":91234567}"}"#,
            r#"{"body":"{\"order\":91234567,\"pin\":\"{{pin}}\"}"}"#,
        ),
    ] {
        assert_eq!(hiding.text(seen), hidden, "{seen}");
    }
}

#[test]
fn i16_the_parts_of_a_secret_are_as_secret_as_all_of_it() {
    let key = json!({ "user": "al", "password": "hunter22-and-more", "pin": 1_234_567 });
    for secret in [key.clone(), json!(key.to_string())] {
        let hiding = hiding(&[("key", secret)]);
        let seen = json!({ "all": key, "text": key.to_string(), "p": "hunter22-and-more", "n": 1_234_567, "u": "al" });
        let hidden = json!({ "all": "{{key}}", "text": "{{key}}", "p": "{{key}}", "n": "{{key}}", "u": "al" });
        assert_eq!(hiding.value(&seen), hidden);
    }
}

#[test]
fn i16_a_secret_that_reads_as_a_number_is_found_as_the_number_that_a_service_makes_of_it() {
    for secret in [
        "1234567890.10",
        "+1234567890.1",
        "001234567890.1",
        "1.2345678901e9",
        "1234567890.1",
    ] {
        let hiding = hiding(&[("token", json!(secret))]);
        for seen in [
            r#"{"n":1234567890.10}"#,
            r#"{"n":1234567890.1}"#,
            r#"{"n":1.23456789010E+9}"#,
        ] {
            assert_eq!(
                hiding.text(seen),
                r#"{"n":"{{token}}"}"#,
                "{secret} in {seen}"
            );
        }
        let other = r#"{"n":[11234567890.1,1234567890.11,-1234567890.1]}"#;
        assert_eq!(hiding.text(other), other, "{secret}");
    }
    let pins = hiding(&[
        ("pin", json!("0047110815")),
        ("zero", json!("-0.50")),
        ("sum", json!(470.5)),
    ]);
    assert_eq!(
        pins.text(r"[47110815,-0.5,4.705e2]"),
        r#"["{{pin}}","{{zero}}","{{sum}}"]"#
    );
}
