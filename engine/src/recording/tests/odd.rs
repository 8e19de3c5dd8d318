//! Sessions with odd lines and odd answers are read all the same.

use serde_json::{Value, json};

use super::{Trace, has, lines, read};
use crate::recording::compile::{Apply, Compiled, compile};
use crate::recording::gather::Recording;
use crate::recording::{Format, RecordingError};

fn codex(payload: &Value) -> String {
    json!({ "type": "response_item", "payload": payload }).to_string()
}

fn call(id: &str, tool: &str, arguments: &str) -> String {
    codex(&json!({ "type": "function_call", "name": tool, "arguments": arguments, "call_id": id }))
}

fn output(id: &str, output: &Value) -> String {
    codex(&json!({ "type": "function_call_output", "call_id": id, "output": output }))
}

fn skill(recording: &Recording) -> Compiled {
    compile(recording, "file", Apply::default()).expect("a skill")
}

/// A session of Claude Code with this line between a call and its result.
fn claude(line: &[u8]) -> Result<Recording, RecordingError> {
    let call = br#"{"type":"assistant","message":{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"get_x","input":{}}]}}"#;
    let result = br#"{"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"{}"}]}}"#;
    read(
        Format::ClaudeCode,
        &[call.as_slice(), line, result.as_slice()],
    )
}

#[test]
fn values_are_found_in_every_wrapping_of_codex() {
    let answer = json!({ "id": "ord_99123" }).to_string();
    let blocks = json!([{ "type": "text", "text": answer }]);
    for wrapped in [
        json!(answer),
        blocks.clone(),
        json!(blocks.to_string()),
        json!(format!("Wall time: 0.5 seconds\nOutput:\n{answer}")),
        json!(format!(
            "Chunk ID: 3c\nProcess exited with code 0\nOutput:\n{answer}"
        )),
        json!(format!("Wall time: 0.5 seconds\nOutput:\n{blocks}")),
        json!([
            { "type": "input_text", "text": "Wall time: 0.5 seconds\nOutput:" },
            { "type": "input_text", "text": answer },
        ]),
        json!(json!({ "content": blocks, "isError": false }).to_string()),
    ] {
        let lines = [
            call("a", "get_order", "{}"),
            output("a", &wrapped),
            call("b", "get_items", "{\"order\":\"ord_99123\"}"),
        ];
        let compiled = skill(&read(Format::Codex, &lines).expect("a transcript"));
        assert!(
            compiled.text.contains("- bind: id = json.id"),
            "{wrapped}: {}",
            compiled.text
        );
    }
}

#[test]
fn a_failed_command_that_was_run_again_is_one_step() {
    let report = |code: u8| {
        json!(format!(
            "Chunk ID: 3c\nWall time: 0 seconds\nProcess exited with code {code}\nOriginal token count: 4\nOutput:\nx"
        ))
    };
    let lines = [
        call("a", "exec_command", "{\"cmd\":\"./deploy.sh\"}"),
        output("a", &report(1)),
        call("b", "exec_command", "{\"cmd\":\"./deploy.sh\"}"),
        output("b", &report(0)),
    ];
    let compiled = skill(&read(Format::Codex, &lines).expect("a transcript"));
    assert_eq!(compiled.text.matches("- action: ").count(), 1);
    has(&compiled.text, &["failed and was repeated successfully"]);
}

#[test]
fn a_call_whose_arguments_cannot_be_read_has_failed() {
    for arguments in ["{\"command\": [\"a", "[1]", "7"] {
        let lines = [
            call("a", "shell", arguments),
            output("a", &json!("failed to parse function arguments: EOF")),
            call("b", "shell", "{}"),
            output("b", &json!("ok")),
        ];
        let compiled = skill(&read(Format::Codex, &lines).expect("a transcript"));
        assert_eq!(compiled.text.matches("- action: ").count(), 1);
        has(
            &compiled.questions.join("\n"),
            &["Call 1 (line 1) has arguments that are no JSON object"],
        );
    }
    let long = json!({ "text": "a".repeat(1_500_000) }).to_string();
    let recording = read(Format::Codex, &[call("a", "write_file", &long)]).expect("a transcript");
    assert_eq!(
        recording.calls[0].args["text"].as_str().map(str::len),
        Some(1_500_000)
    );
    let said = br#"{"type":"assistant","message":{"role":"assistant","content":[{"type":"tool_use","id":"z","name":"Write","input":"no object"}]}}"#;
    let recording = claude(said).expect("a transcript");
    assert!(!recording.calls[1].is_readable);
}

#[test]
fn what_only_strict_readers_refuse_is_read_with_a_question() {
    for (line, words) in [
        (br#"{"type":"progress","x":"\ud83d"}"#.as_slice(), "U+FFFD"),
        (br#"{"type":"progress","x":"\ud83d\u0041"}"#, "U+FFFD"),
        (b"{\"type\":\"progress\",\"x\":\"\xff\xfe\"}", "U+FFFD"),
        (br#"{"type":"progress","x":1,"x":2}"#, "a key stands twice"),
    ] {
        let recording = claude(line).expect("a transcript");
        assert_eq!(recording.calls(), 1);
        let [question] = recording.questions.as_slice() else {
            panic!("{:?}", recording.questions);
        };
        assert!(
            question.starts_with("Line 2: ") && question.contains(words),
            "{question}"
        );
    }
    let mark = format!("\u{feff}{}", call("a", "get_x", "{}"));
    assert!(read(Format::Codex, &[mark]).is_ok(), "a byte order mark");
}

#[test]
fn a_last_line_that_is_whole_is_not_told_as_cut_off() {
    let deep = format!(
        "{{\"type\":\"progress\",\"x\":{}1{}}}",
        "[".repeat(200),
        "]".repeat(200)
    );
    let lines = [call("a", "get_x", "{}"), deep];
    let error = read(Format::Codex, &lines)
        .expect_err("too deep")
        .to_string();
    assert!(
        error.starts_with("line 2: not JSON") && error.contains("deep"),
        "{error}"
    );
}

#[test]
fn an_answer_that_only_looks_like_a_wrapper_is_the_answer() {
    for (answer, path) in [
        (json!([{ "type": "User", "id": "usr_99123" }]), "json.0.id"),
        (
            json!({ "content": [{ "id": "usr_99123" }] }),
            "json.content.0.id",
        ),
        (json!([{ "type": "image", "id": "usr_99123" }]), "json.0.id"),
    ] {
        for tool in ["list_users", "http.get"] {
            let compiled = Trace::new()
                .call(tool, &json!({}), &answer)
                .call("get_user", &json!({ "id": "usr_99123" }), &json!({}))
                .compile();
            assert_eq!(
                lines(&compiled.text, "- bind: "),
                [format!("- bind: id = {path}")]
            );
        }
    }
    let long = json!({ "id": "usr_99123", "pad": "x".repeat(1_200_000) }).to_string();
    let compiled = Trace::new()
        .call("get_user", &json!({}), &json!(long))
        .call("get_more", &json!({ "id": "usr_99123" }), &json!({}))
        .compile();
    assert_eq!(lines(&compiled.text, "- bind: "), ["- bind: id = json.id"]);
}

#[test]
fn a_refusal_that_was_tried_again_is_no_step() {
    let args = json!({ "url": "https://a.example/1" });
    let compiled = Trace::new()
        .call("http.get", &args, &json!({ "status": 503, "body": "x" }))
        .call("http.get", &args, &json!({ "status": 200, "body": {} }))
        .call(
            "http.get",
            &json!({ "url": "https://a.example/2" }),
            &json!({ "status": 404, "body": {} }),
        )
        .compile();
    assert_eq!(
        lines(&compiled.text, "- assert: "),
        ["- assert: status == 200", "- assert: status == 404"]
    );
    assert_eq!(
        compiled.questions,
        ["Step 2: it was answered with the status 404. Is that what the job expects?"]
    );
}

#[test]
fn days_of_a_recording_without_a_time_are_asked_about() {
    let call = json!({ "t": "call", "i": 1, "tool": "get_x", "args": { "since": "2026-03-01" } });
    let recording = read(Format::Trace, &[call.to_string()]).expect("a trace");
    has(
        &skill(&recording).questions.join("\n"),
        &["\"since\" has a day, and no time of the recording says"],
    );
}
