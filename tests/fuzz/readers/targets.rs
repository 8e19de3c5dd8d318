//! Texts, tools files and what stands in them, lists, headers and pages.

use std::net::{IpAddr, Ipv6Addr};

use axum::body::Body as HttpBody;
use holdpoint_engine::action::{Caller, PrincipalKind};
use holdpoint_engine::canon::{CanonicalJson, parse_answer};
use holdpoint_engine::engine::ListQuery;
use holdpoint_engine::limits::{JSON_BYTES_MAX, KEY_BYTES_MAX, URL_BYTES_MAX};
use holdpoint_engine::target::address::{AddressKind, kind_of};
use holdpoint_engine::target::{AddressRange, Answer, Body, Rules, classify};
use holdpoint_engine::tool::{Context, Format, StateView, StatusSet, Tool, ToolsFile};
use holdpoint_storage::codec;
use hyper::Request;
use serde_json::{Value, json};

use super::house::house;

pub(crate) fn json(data: &[u8]) {
    let Ok(canonical) = CanonicalJson::parse_strict(data) else {
        return;
    };
    assert!(data.len() <= JSON_BYTES_MAX);
    let text = canonical.as_str();
    let other: Value = serde_json::from_slice(data).expect("what is strict is JSON");
    assert_eq!(
        CanonicalJson::of(&other).as_str(),
        text,
        "the same value for another reader"
    );
    let again = CanonicalJson::parse_strict(text.as_bytes()).expect("the form is strict JSON");
    assert_eq!(again.as_str(), text, "the form has one form");
    assert_eq!(CanonicalJson::of(&canonical.value()).as_str(), text);
}

pub(crate) fn answer(data: &[u8]) {
    if let Ok(value) = parse_answer(data) {
        let text = CanonicalJson::of(&value);
        assert_eq!(CanonicalJson::of(&text.value()).as_str(), text.as_str());
    }
    let (status, rest) = data.split_at_checked(2).unwrap_or((&[0, 200], data));
    let status = u16::from_be_bytes([status[0] % 4, status[1]]);
    let rules = Rules {
        success: &StatusSet::AnySuccess,
        refused: &StatusSet::These([400, 404, 422].into()),
        keyed: data.len().is_multiple_of(2),
        if_match: data.len().is_multiple_of(3),
        fits: &|body| body.is_object(),
    };
    let seen = Answer {
        status,
        etag: None,
        body: Body::Whole(rest.to_vec()),
    };
    let outcome = format!("{:?}", classify(Ok(seen), &rules));
    let is_object = rest.first().is_some_and(|byte| b" \t\r\n{".contains(byte));
    let may_be_done = (200..300).contains(&status) && is_object;
    assert!(
        may_be_done || !outcome.starts_with("Done"),
        "{status}: {outcome}"
    );
}

/// The checksum that stands before a record, computed bit by bit.
fn crc32(bytes: &[u8]) -> u32 {
    let mut crc = u32::MAX;
    for byte in bytes {
        crc ^= u32::from(*byte);
        for _ in 0..8 {
            crc = (crc >> 1) ^ (0xedb8_8320 & (crc & 1).wrapping_neg());
        }
    }
    !crc
}

pub(crate) fn record(data: &[u8]) {
    let same = |bytes: &[u8]| {
        if let Ok(record) = codec::decode(bytes) {
            assert_eq!(
                codec::encode(&record).as_deref(),
                Ok(bytes),
                "one form for each record"
            );
        }
    };
    same(data);
    // With a checksum that fits, so that what stands behind it is read too.
    let Some(payload) = data.get(5..) else {
        return;
    };
    let summed = [&[codec::FORMAT], payload].concat();
    let sum = crc32(&summed).to_le_bytes();
    same(&[&[codec::FORMAT][..], &sum, payload].concat());
}

fn caller() -> Caller {
    Caller {
        id: "key_1".to_owned(),
        name: "checkout".to_owned(),
        kind: PrincipalKind::Service,
        owner: None,
        attributes: [("tenant".to_owned(), "eu".to_owned())].into(),
    }
}

/// Renders all that a tool renders, and evaluates all that it evaluates.
fn exercise(tool: &Tool) {
    let args = json!({
        "a": "x/../y?z#\r\n\u{202e}\"{b}", "b": 5, "c": { "d": [1, null] }, "currency": "EUR",
        "order_id": "8812", "amount": 12.5, "": "empty",
    });
    let (caller, state) = (caller(), json!({ "status": "paid", "n": 3 }));
    let ctx = Context {
        args: &args,
        caller: &caller,
        state: Some(StateView {
            body: &state,
            etag: Some("\"v1\""),
        }),
        action_id: None,
        idempotency_key: Some("key-1"),
    };
    let summary = tool.render_summary(&ctx);
    assert!(
        summary.len() <= 4096,
        "a headline of {} bytes",
        summary.len()
    );
    if let Ok(key) = tool.render_key(&ctx) {
        assert!(!key.is_empty() && key.len() <= KEY_BYTES_MAX, "{key:?}");
        assert!(!key.contains(['\r', '\n']), "{key:?}");
    }
    let rendered = [
        tool.render_execute(&ctx),
        tool.render_state(&ctx),
        tool.render_check(&ctx),
    ];
    for request in rendered.into_iter().flatten() {
        assert!(request.url.len() <= URL_BYTES_MAX);
        assert!(!request.url.contains(['\r', '\n', ' ']), "{}", request.url);
        for (name, value) in &request.headers {
            assert!(!value.contains(['\r', '\n', '\0']), "{name}: {value:?}");
        }
        let is_json = request.content_type.as_deref() == Some("application/json");
        if let Some(body) = request.body.as_ref().filter(|_| is_json) {
            serde_json::from_str::<Value>(body).expect("a body that is JSON");
        }
    }
    let _mistakes = tool.check_args(&args);
    let _answer = tool.check_identity(&ctx);
    let _answer = tool.failed_precondition(&ctx);
    let _answer = tool.happened(200, &json!({ "refunds": [1, "x", null] }), &ctx);
    let _labels = tool.labels(&args);
}

fn load(text: &str, format: Format) {
    match ToolsFile::from_str(text, format) {
        Ok(file) => file.registry.iter().for_each(|tool| exercise(tool)),
        // The words for people are made from the text, so they are made here too.
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

pub(crate) fn tools_file(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    load(text, Format::Json);
    load(text, Format::Toml);
}

pub(crate) fn template(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let file = |tool: Value| json!({ "tools": { "t": tool } }).to_string();
    load(
        &file(json!({ "safetyClass": "irreversible", "summary": text })),
        Format::Json,
    );
    load(
        &file(json!({ "safetyClass": "irreversible", "idempotencyKey": text })),
        Format::Json,
    );
    let url = format!("https://shop.example/{text}");
    let execute = json!({ "http": {
        "post": url, "json": { "a": text, "b": [text] }, "headers": { "X-A": text },
    } });
    let tool = file(json!({ "safetyClass": "irreversible", "execute": execute }));
    if let Ok(file) = ToolsFile::from_str(&tool, Format::Json) {
        for tool in file.registry.iter() {
            exercise(tool);
            let (args, caller) = (
                json!({ "a": "https://evil.example/@:", "b": ".." }),
                caller(),
            );
            let ctx = Context {
                args: &args,
                caller: &caller,
                state: None,
                action_id: None,
                idempotency_key: None,
            };
            if let Ok(request) = tool.render_execute(&ctx) {
                let url = &request.url;
                assert!(url.starts_with("https://shop.example/"), "i17: {url}");
            }
        }
    }
}

pub(crate) fn rule(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let tool = json!({
        "safetyClass": "irreversible", "identity": text,
        "check": { "http": { "get": "https://shop.example/" }, "happened": text },
    });
    load(&json!({ "tools": { "t": tool } }).to_string(), Format::Json);
    let only_check = json!({
        "safetyClass": "irreversible",
        "check": { "http": { "get": "https://shop.example/" }, "happened": text },
    });
    load(
        &json!({ "tools": { "t": only_check } }).to_string(),
        Format::Json,
    );
}

pub(crate) fn schema(data: &[u8]) {
    let Ok(schema) = serde_json::from_slice::<Value>(data) else {
        return;
    };
    let tool = json!({ "safetyClass": "irreversible", "input": schema });
    load(&json!({ "tools": { "t": tool } }).to_string(), Format::Json);
}

pub(crate) fn cursor(data: &[u8]) {
    let house = house();
    let text = String::from_utf8_lossy(data);
    for cursor in [
        text.clone().into_owned(),
        format!("{}.{text}", house.cursor_tag),
    ] {
        let query = ListQuery {
            limit: 1,
            cursor: Some(cursor),
            ..ListQuery::default()
        };
        // Refused, or a page; never a failure of the store.
        if let Err(error) = house.engine.list(&house.reader, &query) {
            assert!(error.to_string().contains("cursor"), "{error}");
        }
    }
}

pub(crate) fn headers(data: &[u8]) {
    let house = house();
    let (place, value) = data.split_first().unwrap_or((&0, &[]));
    let names = [
        "idempotency-key",
        "authorization",
        "if-none-match",
        "cookie",
        "accept",
        "origin",
    ];
    let name = names[usize::from(*place) % names.len()];
    let query: String = value
        .iter()
        .filter(|byte| byte.is_ascii_graphic())
        .map(|byte| char::from(*byte))
        .collect();
    let query = query.replace(['#', '<', '>', '"', '\\', '^', '`', '{', '|', '}'], "");
    let requests = [
        ("GET", format!("/v1/actions?{query}"), ""),
        (
            "GET",
            format!("/v1/actions?limit=1&wait={query}&cursor={query}&from={query}"),
            "",
        ),
        ("GET", "/queue".to_owned(), ""),
        (
            "POST",
            "/v1/actions".to_owned(),
            "{\"tool\":\"pay\",\"args\":{}}",
        ),
    ];
    for (method, path, body) in requests {
        let mut request = Request::builder()
            .method(method)
            .uri(&path)
            .header(name, value);
        if name != "authorization" {
            request = request.header("authorization", format!("Bearer {}", house.key));
        }
        if !body.is_empty() {
            request = request.header("content-type", "application/json");
        }
        // What is no header, and no path, never comes this far.
        if let Ok(request) = request.body(HttpBody::from(body)) {
            let (status, text) = house.ask(request);
            assert!(status < 500, "{method} {path}: {status}: {text}");
            assert!(!text.contains(&house.key), "i16: {text}");
        }
    }
}

pub(crate) fn address(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    if let Ok(range) = text.parse::<AddressRange>() {
        let _inside = range.contains(IpAddr::from([10, 0, 0, 1]));
    }
    let Ok(address) = text.parse::<IpAddr>() else {
        return;
    };
    let kind = kind_of(address);
    if let IpAddr::V4(inner) = address {
        let [a, b, c, d] = inner.octets().map(u16::from);
        let (high, low) = (a << 8 | b, c << 8 | d);
        for spelling in [
            Ipv6Addr::new(0, 0, 0, 0, 0, 0xffff, high, low),
            Ipv6Addr::new(0, 0, 0, 0, 0xffff, 0, high, low),
            Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, high, low),
            Ipv6Addr::new(0x2002, high, low, 0, 0, 0, 0, 1),
        ] {
            assert_eq!(kind_of(spelling.into()), kind, "{spelling} is {inner}");
        }
        let inside = inner.is_loopback() || inner.is_private() || inner.is_link_local();
        assert!(!inside || kind != AddressKind::Public, "{inner}");
    }
}

/// Characters that must not reach a page as they are.
fn is_raw(character: char) -> bool {
    matches!(character, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200b}'..='\u{200f}'
        | '\u{61c}' | '\u{2060}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}' | '\u{2028}' | '\u{2029}')
        || (character.is_control() && !matches!(character, '\n' | '\t'))
}

/// Nothing that was marked opens a tag, and every character is seen.
pub(crate) fn lets_nothing_out(html: &str) {
    assert!(!html.contains("zq<"), "i14: markup came through: {html}");
    if let Some(raw) = html.chars().find(|character| is_raw(*character)) {
        panic!("i14: {raw:?} came through: {html}");
    }
}

pub(crate) fn page(data: &[u8]) {
    let house = house();
    // Whatever opens a tag is marked, so that it is known again.
    let text = String::from_utf8_lossy(data).replace('<', "zq<");
    let args = CanonicalJson::parse_strict(text.as_bytes()).map(|canonical| canonical.value());
    let args = match args {
        Ok(args @ Value::Object(_)) => args,
        Ok(_) | Err(_) => json!({ &text: 1, "value": text, "list": [text, { "inner": text }] }),
    };
    let reason = Some(text.chars().take(1000).collect());
    let Some(id) = house.submit("pay", args, reason) else {
        return;
    };
    let path = format!("/actions/{id}");
    let request = Request::builder()
        .uri(&path)
        .header("cookie", &house.cookie);
    let request = request
        .header("accept", "text/html")
        .body(HttpBody::empty());
    let (status, html) = house.ask(request.expect("a request"));
    assert_eq!(status, 200, "{html}");
    lets_nothing_out(&html);
    let bound = 200_000 + 200 * data.len();
    assert!(html.len() <= bound, "i21: a page of {} bytes", html.len());
}
