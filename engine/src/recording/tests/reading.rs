//! What is read, and what is an error or a question.

use serde_json::{Value, json};

use super::super::recognise::{Kind, Recogniser};
use super::{Trace, read};
use crate::limits::{RECORDING_CALLS_MAX, RECORDING_LINE_BYTES_MAX};
use crate::recording::Format;

fn line(value: &Value) -> String {
    value.to_string()
}

fn call(number: u64) -> String {
    line(&json!({ "t": "call", "i": number, "tool": "get_x", "args": {} }))
}

fn result(number: u64) -> String {
    line(&json!({ "t": "result", "i": number, "ok": true, "body": {} }))
}

/// Why a trace is refused.
fn refusal(lines: &[String]) -> String {
    match read(Format::Trace, lines) {
        Ok(recording) => panic!("{recording:?}"),
        Err(error) => error.to_string(),
    }
}

fn claude(role: &str, block: &Value) -> String {
    line(&json!({ "type": role, "message": { "role": role, "content": [block] } }))
}

fn use_of(id: &str) -> String {
    claude(
        "assistant",
        &json!({ "type": "tool_use", "id": id, "name": "get_x", "input": { "a": 1 } }),
    )
}

fn result_of(id: &str, text: &str) -> String {
    claude(
        "user",
        &json!({ "type": "tool_result", "tool_use_id": id, "content": text }),
    )
}

#[test]
fn what_is_wrong_in_a_trace_is_an_error_with_its_line() {
    for (lines, words) in [
        (vec![call(1), "{\"t\":".to_owned()], "line 2: not JSON"),
        (vec!["[]".to_owned()], "line 1: not a JSON object"),
        (
            vec![line(&json!({ "t": "prov" }))],
            "line 1: \"t\" is none of \"meta\", \"note\", \"call\", \"result\"",
        ),
        (
            vec![line(&json!({ "t": "call", "tool": "x" }))],
            "the same number \"i\"",
        ),
        (
            vec![line(&json!({ "t": "call", "i": 1 }))],
            "line 1: a call without the text \"tool\"",
        ),
        (
            vec![line(
                &json!({ "t": "call", "i": 1, "tool": "x", "args": [] }),
            )],
            "\"args\" of the call is not a JSON object",
        ),
        (
            vec![call(1), call(1)],
            "line 2: the call has the same number as the one in line 1",
        ),
        (
            vec![call(1), result(2)],
            "line 2: a result without its call",
        ),
        (
            vec![call(1), result(1), result(1)],
            "line 3: a second result of the call in line 1",
        ),
        (
            vec![call(1), line(&json!({ "t": "result", "i": 1 }))],
            "line 2: a result without \"ok\"",
        ),
        (
            vec![line(&json!({ "t": "note" }))],
            "line 1: a note without a \"text\"",
        ),
        (
            vec![line(&json!({ "t": "meta" }))],
            "there is no call in it",
        ),
        (
            vec!["{\"t\":\"call\",\"t\":\"note\"}".to_owned()],
            "line 1: not JSON: this key is there twice",
        ),
    ] {
        let refusal = refusal(&lines);
        assert!(refusal.contains(words), "{words:?}: {refusal}");
    }
}

#[test]
fn unknown_fields_of_a_trace_are_accepted() {
    let lines = [
        line(&json!({ "t": "meta", "policy": {} })),
        line(&json!({ "t": "call", "i": 1, "tool": "get_x", "ts": "…", "more": 1 })),
        line(&json!({ "t": "result", "i": 1, "ok": true, "more": [] })),
        String::new(),
    ];
    assert_eq!(read(Format::Trace, &lines).expect("a trace").calls(), 1);
}

#[test]
fn what_is_odd_in_a_transcript_is_a_question() {
    let cut = use_of("b").split_at(30).0.to_owned();
    for (lines, words) in [
        (
            vec![use_of("a"), result_of("z", "")],
            "Line 2: a result without its call",
        ),
        (
            vec![
                use_of("a"),
                result_of("a", "{\"n\":1}"),
                result_of("a", "{\"n\":2}"),
            ],
            "Line 3: a second result of the call in line 1",
        ),
        (vec![use_of("a"), cut], "Line 2: the last line is not whole"),
    ] {
        let recording = read(Format::ClaudeCode, &lines).expect("a transcript");
        assert_eq!(recording.calls(), 1);
        let [question] = recording.questions.as_slice() else {
            panic!("{:?}", recording.questions);
        };
        assert!(question.contains(words), "{words:?}: {question}");
    }
    // The same line again is what a session that was gone on with has.
    let lines = [
        use_of("a"),
        use_of("a"),
        result_of("a", "x"),
        result_of("a", "x"),
    ];
    let recording = read(Format::ClaudeCode, &lines).expect("a transcript");
    assert!(recording.questions.is_empty(), "{:?}", recording.questions);
    assert_eq!(recording.calls(), 1);
}

#[test]
fn a_broken_line_inside_a_transcript_is_an_error() {
    let lines = [use_of("a"), "{\"type\":".to_owned(), result_of("a", "x")];
    let error = read(Format::ClaudeCode, &lines).expect_err("broken");
    assert!(error.to_string().starts_with("line 2: not JSON"), "{error}");
}

#[test]
fn lines_that_are_no_calls_are_skipped_in_transcripts() {
    let lines = [
        line(&json!({ "type": "file-history-snapshot" })),
        line(&json!({ "type": "system", "content": "…" })),
        use_of("a"),
        line(&json!({ "type": "user", "message": { "role": "user", "content": "hello" } })),
    ];
    assert_eq!(
        read(Format::ClaudeCode, &lines)
            .expect("a transcript")
            .calls(),
        1
    );
}

#[test]
fn a_call_of_a_helper_is_inside_another_call() {
    let aside = json!({
        "type": "assistant", "isSidechain": true,
        "message": { "role": "assistant", "content": [{ "type": "tool_use", "id": "h", "name": "x", "input": {} }] },
    });
    let recording = read(Format::ClaudeCode, &[use_of("a"), line(&aside)]).expect("a transcript");
    assert_eq!(recording.calls(), 1);
    assert!(recording.questions[0].starts_with("Calls that a helper made"));
}

#[test]
fn bounds_are_checked() {
    let long = vec![b' '; RECORDING_LINE_BYTES_MAX + 1];
    let error = read(Format::Trace, &[long]).expect_err("too long");
    assert!(error.to_string().contains("line 1: longer than"), "{error}");
    let many: Vec<String> = (0..=RECORDING_CALLS_MAX as u64).map(call).collect();
    let refusal = refusal(&many);
    assert!(
        refusal.contains("line 2001: more than 2000 calls"),
        "{refusal}"
    );
}

#[test]
fn a_number_beyond_what_json_keeps_is_asked_about() {
    let call = r#"{"t":"call","i":1,"tool":"get_x","args":{"id":12345678901234567890}}"#;
    let recording = read(Format::Trace, &[call]).expect("a trace");
    assert_eq!(recording.calls[0].args["id"], json!("12345678901234567890"));
    assert!(recording.questions[0].starts_with("Line 1: a number has more digits"));
}

#[test]
fn codex_reports_of_programs_say_how_they_ended() {
    let item = |payload: Value| line(&json!({ "type": "response_item", "payload": payload }));
    for (output, ok) in [
        (
            json!("{\"output\":\"x\",\"metadata\":{\"exit_code\":1}}"),
            false,
        ),
        (
            json!("{\"output\":\"x\",\"metadata\":{\"exit_code\":0}}"),
            true,
        ),
        (
            json!("Exit code: 127\nWall time: 0.1 seconds\nOutput:\nx"),
            false,
        ),
        (json!("Exit code: 0\nOutput:\nx"), true),
        (json!({ "content": "x", "success": false }), false),
        (
            json!(
                "Chunk ID: 3c\nWall time: 0 seconds\nProcess exited with code 1\nOriginal token count: 4\nOutput:\nx"
            ),
            false,
        ),
        (
            json!("Wall time: 0 seconds\nProcess exited with code 0\nOutput:\nx"),
            true,
        ),
        (
            json!("{\"content\":[{\"type\":\"text\",\"text\":\"x\"}],\"isError\":true}"),
            false,
        ),
        (json!("plain"), true),
    ] {
        let call =
            json!({ "type": "function_call", "name": "shell", "arguments": "{}", "call_id": "c" });
        let answer = json!({ "type": "function_call_output", "call_id": "c", "output": output });
        let recording = read(Format::Codex, &[item(call), item(answer)]).expect("a transcript");
        let answer = recording.calls[0].answer.as_ref().expect("an answer");
        assert_eq!(answer.ok, ok, "{output}");
    }
}

#[test]
fn the_first_lines_say_what_a_file_is() {
    let log = Kind::ExportedLog;
    let is = Kind::Recording;
    for (lines, kind) in [
        (vec!["{\"holdpoint_log\":1,\"from\":1}"], log.clone()),
        (vec!["{\"holdpoint_log\":1,\"fr"], log),
        (vec!["", "{\"t\":\"meta\"}"], is(Format::Trace)),
        (
            vec!["{\"type\":\"summary\"}", &use_of("a")],
            is(Format::ClaudeCode),
        ),
        (
            vec!["{\"type\":\"session_meta\",\"payload\":{}}"],
            is(Format::Codex),
        ),
        (
            vec!["{\"type\":\"session\",\"id\":\"s\"}"],
            is(Format::OpenClaw),
        ),
        (
            vec!["{\"type\":\"message\",\"message\":{\"role\":\"user\"}}"],
            is(Format::OpenClaw),
        ),
        // A log names itself in its first line only, and nothing else is taken for one.
        (
            vec!["{\"type\":\"system\"}", "{\"holdpoint_log\":1}"],
            Kind::Unknown("line 2 is an object without \"t\" or \"type\"".to_owned()),
        ),
        (
            vec!["PK"],
            Kind::Unknown("line 1 is not JSON: expected a JSON value here (column 1)".to_owned()),
        ),
        (vec!["\u{feff}{\"t\":\"meta\"}"], is(Format::Trace)),
        (
            vec!["[1]"],
            Kind::Unknown("line 1 is not a JSON object".to_owned()),
        ),
        (vec![], Kind::Unknown("the file is empty".to_owned())),
    ] {
        let mut recogniser = Recogniser::new();
        let told = lines
            .iter()
            .find_map(|line| recogniser.line(line.as_bytes()));
        assert_eq!(told.unwrap_or_else(|| recogniser.end()), kind, "{lines:?}");
    }
}

#[test]
fn no_line_tells_for_ever() {
    let mut recogniser = Recogniser::new();
    let told = (0..1000).find_map(|_| recogniser.line(b"{\"type\":\"system\"}"));
    let Some(Kind::Unknown(words)) = told else {
        panic!("{told:?}");
    };
    assert!(words.contains("the first 200 lines"), "{words}");
}

#[test]
fn the_day_is_that_of_the_first_time() {
    let recording = Trace::new()
        .call("get_x", &json!({}), &json!({}))
        .recording();
    assert_eq!(recording.day.expect("a day").to_string(), "2026-03-02");
    let late = json!({ "t": "call", "i": 1, "tool": "x", "ts": "2026-03-02T23:30:00-02:00" });
    let recording = read(Format::Trace, &[line(&late)]).expect("a trace");
    assert_eq!(
        recording.day.expect("a day").to_string(),
        "2026-03-03",
        "of UTC"
    );
    for ts in [1_772_442_000_u64, 1_772_442_000_000] {
        let counted = json!({ "t": "call", "i": 1, "tool": "x", "ts": ts });
        let recording = read(Format::Trace, &[line(&counted)]).expect("a trace");
        assert_eq!(recording.day.expect("a day").to_string(), "2026-03-02");
    }
}
