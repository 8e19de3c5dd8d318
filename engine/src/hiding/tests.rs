use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE_NO_PAD};
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

#[test]
fn i16_a_secret_is_found_in_base64_of_any_longer_text() {
    for secret in [
        "s3cr3t",
        "s3cr3t-",
        "s3cr3t-o",
        "q7\"Zk/9+wT\u{f6}\u{3ff}~~",
    ] {
        let hiding = hiding(&[("token", json!(secret))]);
        for (before, behind) in (0..4).flat_map(|a| (0..4).map(move |b| (a, b))) {
            let (before, behind) = (&"a:?~"[..before], &"~:z?"[..behind]);
            let quoted = json!(secret).to_string();
            for text in [
                format!("{before}{secret}{behind}"),
                format!("{before}{quoted}{behind}"),
            ] {
                let lines = |text: &str, end: &str| -> String {
                    let lines = text.as_bytes().chunks(5).map(String::from_utf8_lossy);
                    lines.collect::<Vec<_>>().join(end)
                };
                let plain = STANDARD.encode(&text);
                let begin = text
                    .find(&quoted[1..quoted.len() - 1])
                    .or_else(|| text.find(secret));
                let begin = begin.expect("it is there");
                let end = text.len() - behind.len() - usize::from(text.contains(&quoted));
                // Not a character is left that has bits of the secret.
                let behind_it = (text.len() * 8).div_ceil(6) - (end * 8).div_ceil(6);
                let left = begin * 8 / 6 + behind_it;
                for seen in [
                    URL_SAFE_NO_PAD.encode(&text),
                    plain.replace('+', "%2B").replace('/', "%2f"),
                    lines(&plain, "\n"),
                    lines(&plain, "\r\n"),
                    plain,
                ] {
                    let hidden = hiding.text(&format!("Basic {seen}; ok"));
                    let rest = hidden
                        .strip_prefix("Basic ")
                        .and_then(|rest| rest.strip_suffix("; ok"));
                    let (first, last) = rest
                        .and_then(|rest| rest.split_once("{{token}}"))
                        .expect("it is hidden");
                    let rest = [first, last]
                        .concat()
                        .replace("%2B", "+")
                        .replace("%2f", "/");
                    let rest = rest.replace(['\r', '\n', '='], "");
                    assert_eq!(rest.len(), left, "{text}: {seen} became {hidden}");
                }
            }
        }
    }
    let other = STANDARD.encode("s3crEt and s3cr3T and 3cr3t-");
    assert_eq!(hiding(&[("t", json!("s3cr3t"))]).text(&other), other);
}

#[test]
fn i16_a_percent_sign_of_a_secret_is_found_percent_encoded_twice() {
    let hiding = hiding(&[("token", json!("50%25 of k%2Fy"))]);
    for seen in [
        "?t=50%2525+of+k%252Fy",
        "?t=50%2525%20of%20k%252Fy",
        "?t=50%252525%2Bof%2Bk%25252Fy",
        "?t=%2535%2530%2525%2532%2535%2520of%2520k%25252Fy",
    ] {
        assert_eq!(hiding.text(seen), "?t={{token}}", "{seen}");
    }
}

#[test]
fn i16_a_secret_is_found_as_html_writes_it() {
    let secret = "q<7>Z&k'9=\"w/T\u{f6}&amp;";
    let hiding = hiding(&[("token", json!(secret)), ("pin", json!("a&b"))]);
    let named = |text: &str| {
        text.replace('&', "&amp;")
            .replace('<', "&lt;")
            .replace('>', "&gt;")
            .replace('"', "&quot;")
    };
    let numbered = |hex: bool| -> String {
        let one = |c: char| {
            if hex {
                format!("&#x{:02X};", u32::from(c))
            } else {
                format!("&#{};", u32::from(c))
            }
        };
        secret.chars().map(one).collect()
    };
    for form in [
        named(secret),
        named(secret).replace('\'', "&#39;"),
        named(secret).replace('\'', "&#x27;").replace('/', "&#x2f;"),
        named(secret)
            .replace('\'', "&apos;")
            .replace('=', "&equals;"),
        named(secret).replace('\u{f6}', "&#246;"),
        named(&named(secret)),
        named(&named(secret).replace('\'', "&#039;")),
        numbered(false),
        numbered(true),
        numbered(true).replace('&', "&amp;"),
    ] {
        let page = format!("<p title=\"{form}\">{form}</p>");
        let hidden = "<p title=\"{{token}}\">{{token}}</p>";
        assert_eq!(hiding.text(&page), hidden, "{form}");
        let json = json!({ "page": page }).to_string();
        assert_eq!(hiding.text(&json), json!({ "page": hidden }).to_string());
    }
    let short = "<b>a&amp;b</b> xa&amp;b a&#38;b; a&amp;c &amp; &;&#;&#x110000; a&amp";
    let hidden = "<b>{{pin}}</b> xa&amp;b {{pin}}; a&amp;c &amp; &;&#;&#x110000; a&amp";
    assert_eq!(hiding.text(short), hidden);
}
