//! Requests that a proxy and a server could read in different ways.

/// What it is, and its bytes. A second request is hidden in each.
#[expect(clippy::too_many_lines, reason = "one line for each, read as a table")]
pub(crate) fn junk(key: &str) -> Vec<(&'static str, Vec<u8>)> {
    let body = r#"{"tool":"pay","args":{"amount":5}}"#;
    let hidden = format!(
        "POST /v1/actions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {key}\r\n\
         content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    let with = |lengths: &str, rest: &str| {
        format!(
            "POST /v1/actions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {key}\r\n\
             content-type: application/json\r\n{lengths}\r\n{rest}{hidden}"
        )
        .into_bytes()
    };
    let line = |line: &str| format!("{line}\r\nhost: x\r\n\r\n{hidden}").into_bytes();
    let many_headers = "x: y\r\n".repeat(500);
    let long_header = format!("x: {}\r\n", "y".repeat(100_000));
    vec![
        (
            "two lengths",
            with("content-length: 0\r\ncontent-length: 34\r\n", ""),
        ),
        (
            "two lengths in one line",
            with("content-length: 0, 34\r\n", ""),
        ),
        (
            "a length and chunks",
            with(
                "content-length: 4\r\ntransfer-encoding: chunked\r\n",
                "0\r\n\r\n",
            ),
        ),
        (
            "chunks and a length",
            with(
                "transfer-encoding: chunked\r\ncontent-length: 4\r\n",
                "0\r\n\r\n",
            ),
        ),
        (
            "chunks that are none",
            with("transfer-encoding: xchunked\r\n", "0\r\n\r\n"),
        ),
        (
            "chunks, then none",
            with("transfer-encoding: chunked, identity\r\n", "0\r\n\r\n"),
        ),
        (
            "two encodings",
            with(
                "transfer-encoding: gzip\r\ntransfer-encoding: x\r\n",
                "0\r\n\r\n",
            ),
        ),
        ("a negative length", with("content-length: -1\r\n", "")),
        ("a length with a sign", with("content-length: +0\r\n", "")),
        (
            "a length in hexadecimal",
            with("content-length: 0x0\r\n", ""),
        ),
        (
            "a length beyond numbers",
            with("content-length: 99999999999999999999\r\n", ""),
        ),
        (
            "a space before the colon",
            with("content-length : 0\r\n", ""),
        ),
        (
            "a folded header",
            with("x: a\r\n b\r\ncontent-length: 0\r\nx\r\n", ""),
        ),
        ("a header without a colon", with("content-length\r\n", "")),
        (
            "a bare carriage return",
            with("x: a\rb\r\ncontent-length: 0\r\n", ""),
        ),
        (
            "a zero in a header",
            with("x: a\0b\r\ncontent-length: 0\r\n", ""),
        ),
        ("too many headers", with(&many_headers, "")),
        ("a header too long", with(&long_header, "")),
        (
            "a chunk of no size",
            with("transfer-encoding: chunked\r\n", "zz\r\n"),
        ),
        (
            "a chunk too large",
            with("transfer-encoding: chunked\r\n", "fffffffffffffffff\r\n"),
        ),
        (
            "no HTTP",
            b"\x16\x03\x01\x02\0\x01\0\x01\xfc\x03\x03".to_vec(),
        ),
        (
            "another protocol",
            b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec(),
        ),
        ("an old version", line("GET /livez HTTP/0.9")),
        ("a version that is none", line("GET /livez HTTP/1.x")),
        ("no version", line("GET /livez")),
        ("no path", line("GET  HTTP/1.1")),
        ("a method with a zero", line("GE\0T /livez HTTP/1.1")),
        (
            "an endless path",
            line(&format!("GET /{} HTTP/1.1", "a".repeat(200_000))),
        ),
        ("only zeros", vec![0; 100_000]),
    ]
}
