//! Answers of success that are none, and answers without an end: each after the deed and without it.

use super::manners::{Deed, Manner, Piece, Seen, answers, idle, manner, write};

const HEAD: &str = "HTTP/1.1 200 OK\r\n";
const CHUNKED: &str = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";

/// Sixteen bytes of zeros, packed; and a head that says that it is.
const PACKED: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: 24\r\n\r\n\
    \x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\x63\x60\x80\x03\x00\x65\x2f\xfc\xee\x10\x00\x00\x00\x00";

/// Frames of the other protocol: settings, then an end before or after the stream, or a refusal.
const GO_AWAY: &[u8] = b"\0\0\0\x04\0\0\0\0\0\0\0\x08\x07\0\0\0\0\0\0\0\0\0\0\0\0";
const REFUSED_STREAM: &[u8] = b"\0\0\0\x04\0\0\0\0\0\0\0\x04\x03\0\0\0\0\x01\0\0\0\x07";

fn body(text: &str) -> String {
    let length = text.len();
    format!("HTTP/1.1 200 OK\r\ncontent-length: {length}\r\n\r\n{text}")
}

/// Answers of success whose bytes are not what they should be; each with the deed and without.
pub(super) fn bodies() -> Vec<Manner> {
    let unknown = |name: &str, answer: Vec<u8>| answers(name, answer, Seen::Unknown);
    let joined = |parts: &[&[u8]]| parts.concat();
    let list = vec![
        unknown("a page", body("<html>id</html>").into()),
        unknown("another form", body("{\"other\":1}").into()),
        unknown("an error in a success", body("{\"error\":\"no\"}").into()),
        unknown("a key twice", body("{\"id\":1,\"id\":2}").into()),
        unknown("deep nesting", body(&"[".repeat(100_000)).into()),
        unknown("a lone surrogate", body("{\"id\":\"\\ud800\"}").into()),
        unknown("two values", body("{\"id\":1}{\"id\":2}").into()),
        unknown(
            "no UTF-8",
            joined(&[HEAD.as_bytes(), b"content-length: 2\r\n\r\n\xff\xfe"]),
        ),
        unknown("no content", b"HTTP/1.1 204 No Content\r\n\r\n".to_vec()),
        unknown("a packed body", PACKED.to_vec()),
        unknown("a cut chunk", format!("{CHUNKED}ff\r\n{{\"id\":1}}").into()),
        unknown(
            "a chunk of no size",
            format!("{CHUNKED}zz\r\n{{\"id\":1}}\r\n0\r\n\r\n").into(),
        ),
        unknown(
            "a cut body without a length",
            format!("{HEAD}\r\n{{\"id\":1,\"am").into(),
        ),
        unknown(
            "a length too long",
            format!("{HEAD}content-length: 100\r\n\r\n{{\"id\":1}}").into(),
        ),
        unknown(
            "a length too short",
            format!("{HEAD}content-length: 4\r\n\r\n{{\"id\":1}}").into(),
        ),
        unknown(
            "two lengths",
            format!("{HEAD}content-length: 3\r\ncontent-length: 8\r\n\r\n{{\"id\":1}}").into(),
        ),
        unknown(
            "a length that is none",
            format!("{HEAD}content-length: many\r\n\r\n{{\"id\":1}}").into(),
        ),
        unknown("no HTTP", b"SSH-2.0-OpenSSH_9.0\r\n".to_vec()),
        unknown(
            "an old protocol",
            b"HTTP/0.9 200 OK\r\n\r\n{\"id\":1}".to_vec(),
        ),
        unknown("a newer protocol that goes away", GO_AWAY.to_vec()),
        unknown("a newer protocol that refuses", REFUSED_STREAM.to_vec()),
    ];
    let quiet = list.clone().into_iter().map(idle);
    quiet.chain(list).collect()
}

/// Answers without an end.
pub(super) fn endless() -> Vec<Manner> {
    let ever = |name: &str, first: &str, piece: &[u8], pause| {
        let script = vec![
            Piece::Read,
            write(first),
            Piece::Ever(piece.to_vec(), pause),
        ];
        manner(name, Deed::Once, script, Seen::Unknown)
    };
    let then_silence = |name: &str, first: &str| {
        let script = vec![Piece::Read, write(first), Piece::Silence];
        manner(name, Deed::Once, script, Seen::Unknown)
    };
    let huge_chunk = format!("10000\r\n{}\r\n", "x".repeat(0x10000));
    let long_header = format!("x: {}\r\n", "y".repeat(8000));
    let list = vec![
        ever("chunks for ever", CHUNKED, b"1\r\n \r\n", 20),
        ever("a bomb of chunks", CHUNKED, huge_chunk.as_bytes(), 0),
        ever("a byte now and then", "HTTP/1.1 2", b"0", 300),
        ever(
            "a body byte now and then",
            "HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\n",
            b" ",
            300,
        ),
        ever("news for ever", "", b"HTTP/1.1 103 Early Hints\r\n\r\n", 5),
        ever(
            "headers for ever",
            HEAD,
            b"x: yyyyyyyyyyyyyyyyyyyyyyyy\r\n",
            1,
        ),
        ever("long headers for ever", HEAD, long_header.as_bytes(), 0),
        ever(
            "one header for ever",
            "HTTP/1.1 200 OK\r\nx: ",
            &[b'y'; 4096],
            0,
        ),
        ever("a status for ever", "HTTP/1.1 200 ", &[b'O'; 4096], 0),
        ever(
            "trailers for ever",
            &format!("{CHUNKED}8\r\n{{\"id\":1}}\r\n0\r\n"),
            b"x: y\r\n",
            1,
        ),
        ever(
            "a chunk extension for ever",
            &format!("{CHUNKED}8;"),
            &[b'z'; 4096],
            0,
        ),
        then_silence("silence", ""),
        then_silence("continue, and silence", "HTTP/1.1 100 Continue\r\n\r\n"),
        then_silence("silence in the head", "HTTP/1.1 200 OK\r\ncontent-"),
        then_silence(
            "silence in the body",
            "HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n{",
        ),
        then_silence(
            "a gigabyte",
            "HTTP/1.1 200 OK\r\ncontent-length: 1073741824\r\n\r\n{\"id\":1}",
        ),
        then_silence(
            "another protocol",
            "HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n",
        ),
    ];
    let quiet = list.clone().into_iter().map(idle);
    quiet.chain(list).collect()
}
