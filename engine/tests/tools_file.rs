//! The tools file: what loads, and how each mistake is told.

#[path = "tools/mistakes.rs"]
mod mistakes;

use std::path::Path;

use holdpoint_engine::action::SafetyClass;
use holdpoint_engine::tool::{Format, ToolsFile, ToolsFileError};

fn fixture(name: &str) -> ToolsFile {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/tools")
        .join(name);
    ToolsFile::load(&path).unwrap_or_else(|error| panic!("{error}"))
}

fn refused(text: &str) -> ToolsFileError {
    ToolsFile::from_str(text, Format::Json).expect_err(text)
}

/// The mistakes of a definition, which starts on line 2 of its file.
fn mistakes(definition: &str) -> String {
    refused(&format!("{{ \"tools\": {{ \"t\":\n{definition} }} }}")).to_string()
}

/// The warnings of a definition, which starts on line 2 of its file.
fn warnings(definition: &str) -> Vec<String> {
    let text = format!("{{ \"tools\": {{ \"t\":\n{definition} }} }}");
    let file = ToolsFile::from_str(&text, Format::Json).unwrap_or_else(|error| panic!("{error}"));
    file.warnings
        .into_iter()
        .map(|warning| warning.problem.message)
        .collect()
}

#[test]
fn the_seed_example_loads_and_is_executed_by_workers() {
    let file = fixture("seed.json");
    assert_eq!(file.registry.census().map(|(_, count)| count), [0, 1, 1, 1]);
    let charge = file
        .registry
        .get("stripe.charge_customer")
        .expect("the tool");
    assert_eq!(charge.class, SafetyClass::WriteOnceCheckable);
    assert!(charge.has_key_template());
    assert_eq!(file.registry.nearest("issue_refunds"), Some("issue_refund"));
    assert!(file.registry.get("unknown").is_none());
}

#[test]
fn the_full_example_loads_from_both_formats_with_one_digest() {
    let (file, same) = (fixture("full.json"), fixture("full.toml"));
    let tool = file.registry.get("issue_refund").expect("the tool");
    assert_eq!(
        tool.digest,
        same.registry.get("issue_refund").expect("the tool").digest
    );
    assert_ne!(
        tool.digest,
        fixture("seed.json")
            .registry
            .get("issue_refund")
            .expect("the tool")
            .digest
    );
    let terms = tool.terms();
    assert!(terms.can_check && !terms.restage);
    assert_eq!(
        (terms.attempts_max, terms.timeout_ms, terms.settle_ms),
        (5, 10_000, 2_000)
    );
    assert_eq!(
        (
            terms.backoff_min_ms,
            terms.backoff_max_ms,
            terms.request_lifetime_ms
        ),
        (1_000, 300_000, 60_000)
    );
    let secret = tool.secrets()[0];
    assert_eq!(secret.name, "secrets/shop.token");
    assert!(secret.path.ends_with("tests/tools/secrets/shop.token"));
    let messages: Vec<_> = file
        .warnings
        .iter()
        .map(|warning| warning.problem.message.as_str())
        .collect();
    assert_eq!(
        messages,
        ["the secret \"secrets/shop.token\" is not there; calls would fail"]
    );
}

#[test]
fn layout_does_not_change_a_digest_and_content_does() {
    let digest = |text: &str| {
        ToolsFile::from_str(text, Format::Json)
            .expect(text)
            .registry
            .get("t")
            .expect("the tool")
            .digest
    };
    let one = digest(r#"{"tools":{"t":{"safetyClass":"irreversible","labels":["a"]}}}"#);
    assert_eq!(
        one,
        digest(
            "{ \"tools\": { \"t\": {\n \"labels\": [ \"a\" ], \"safetyClass\": \"irreversible\" } } }"
        )
    );
    assert_ne!(
        one,
        digest(r#"{"tools":{"t":{"safetyClass":"irreversible","labels":["b"]}}}"#)
    );
    let toml = "[tools.t]\nlabels = ['a']\nsafetyClass = 'irreversible'\n";
    let toml = ToolsFile::from_str(toml, Format::Toml).expect(toml);
    assert_eq!(one, toml.registry.get("t").expect("the tool").digest);
}

#[test]
fn all_mistakes_are_told_at_once_in_the_order_of_the_text() {
    let error = refused(
        "{\n  \"tool\": 1,\n  \"tools\": {\n    \"a\": {\n      \"safetyClas\": \"irreversible\",\n      \
         \"safetyClass\": \"irreversable\",\n      \"requestLifetime\": \"10\"\n    }\n  }\n}",
    );
    let told: Vec<_> = error
        .problems
        .iter()
        .map(|p| (p.line, p.column, p.help.clone().unwrap_or_default()))
        .collect();
    assert_eq!(
        told,
        [
            (2, 3, "did you mean \"tools\"?".to_owned()),
            (5, 7, "did you mean \"safetyClass\"?".to_owned()),
            (6, 22, "did you mean \"irreversible\"?".to_owned()),
            (7, 26, String::new()),
        ]
    );
    let first = &error.problems[0];
    assert_eq!(
        &error.text[first.offset..first.offset + first.length],
        "\"tool\""
    );
    assert!(
        error
            .to_string()
            .starts_with("holdpoint.json:2:3: unknown key \"tool\" (did you mean")
    );
}

#[test]
fn each_class_of_mistake_names_its_place_and_a_way_out() {
    for (definition, place, part) in mistakes::MISTAKES {
        let told = mistakes(definition);
        assert!(
            told.contains(&format!("holdpoint.json:{place}: ")) && told.contains(part),
            "{definition}\n{told}"
        );
    }
}

#[test]
fn placeholders_are_compared_with_the_schema() {
    let closed = r#"{ "summary": "{amont}", "input": { "additionalProperties": false, "properties": { "amount": {} } } }"#;
    assert!(
        mistakes(closed).contains(
            "2:14: the input schema has no argument \"amont\" (did you mean \"amount\"?)"
        )
    );
    let open = r#"{ "summary": "{amont}", "input": { "properties": { "amount": {} } } }"#;
    assert!(
        warnings(open)
            .iter()
            .any(|message| message.contains("does not mention the argument \"amont\""))
    );
    let optional = r#"{ "idempotencyKey": "k:{a}", "input": { "additionalProperties": false, "properties": { "a": {} } } }"#;
    assert!(
        warnings(optional)
            .iter()
            .any(|message| message.contains("\"a\" may be missing"))
    );
}

#[test]
fn what_works_but_perhaps_not_as_meant_is_a_warning() {
    for (definition, part) in [
        ("{}", "treated as approval-bound"),
        ("{}", "no input schema"),
        ("{}", "a service must pull"),
        ("{}", "two actions"),
        ("{}", "no check"),
        ("{}", "no state"),
        (
            r#"{ "execute": { "http": { "post": "http://h/" } } }"#,
            "without encryption",
        ),
        (
            r#"{ "state": { "http": { "get": "https://h/" } } }"#,
            "no watch",
        ),
        (
            r#"{ "state": { "mode": "conditions", "http": { "get": "https://h/" } } }"#,
            "lets everything move",
        ),
        (
            r#"{ "state": { "http": { "get": "https://h/" } }, "execute": { "http": { "post": "https://h/" } } }"#,
            "narrowed",
        ),
        (
            r#"{ "safetyClass": "idempotent", "state": { "http": { "get": "https://h/" } } }"#,
            "not read again",
        ),
    ] {
        let told = warnings(definition);
        assert!(
            told.iter().any(|message| message.contains(part)),
            "{definition}: {told:?}"
        );
    }
    let quiet = r#"{ "safetyClass": "idempotent", "effect": "read", "input": {}, "execute": { "http": { "get": "http://127.0.0.1/" } } }"#;
    assert_eq!(warnings(quiet), Vec::<String>::new());
}

#[test]
fn the_file_as_a_whole_is_checked() {
    for (text, part) in [
        ("", "1:1: the JSON ends"),
        ("[]", "expected an object, found an array"),
        ("{}", "\"tools\" is missing"),
        (r#"{"tools": []}"#, "tools must be an object"),
        (
            r#"{"tools": {"a": {}, "a": {}}}"#,
            "1:21: this key is there twice",
        ),
        (r#"{"tools": {"a b": {}}}"#, "cannot be the name of a tool"),
        (r#"{"tools": {}, "server": 5}"#, "server must be an object"),
        ("{\"tools\": {},}", "1:14: expected a key"),
    ] {
        let told = refused(text).to_string();
        assert!(told.contains(part), "{text}: {told}");
    }
    let missing = ToolsFile::load(Path::new("/nonexistent/holdpoint.json")).expect_err("missing");
    assert!(missing.to_string().contains("cannot be read"));
}

#[test]
fn settings_of_the_server_are_passed_on_with_their_places() {
    let text =
        "{\n \"$schema\": \"x\",\n \"server\": { \"listen\": \"nowhere\" },\n \"tools\": {}\n}";
    let file = ToolsFile::from_str(text, Format::Json).expect(text);
    assert_eq!(
        file.server
            .as_ref()
            .and_then(|server| server.get("listen"))
            .and_then(|v| v.as_str()),
        Some("nowhere")
    );
    let mistake = file.mistake("/server/listen", "not an address".to_owned(), None);
    assert_eq!(
        file.reject(vec![mistake]).to_string(),
        "holdpoint.json:3:24: not an address"
    );
}

#[test]
fn mistakes_in_toml_have_places_too() {
    for (text, part) in [
        (
            "[tools.a]\nsafetyclass = 'irreversible'",
            "holdpoint.toml:2:1: unknown key \"safetyclass\" (did you mean \"safetyClass\"?)",
        ),
        (
            "[tools.a]\nsafetyClass = 'irreversable'",
            "holdpoint.toml:2:15: \"irreversable\" is not a value",
        ),
        (
            "[tools.a]\nlabels = ['a', 5]",
            "holdpoint.toml:2:16: expected a string",
        ),
        (
            "[tools.a]\ndescription = 2026-01-01",
            "holdpoint.toml:2:15: write dates as strings",
        ),
        (
            "[tools.a]\nconcurrency = 9007199254740993",
            "holdpoint.toml:2:15: this number would lose",
        ),
        ("[tools.a\n", "holdpoint.toml:1:"),
        ("[tools.a]\n[tools.a]", "holdpoint.toml:2:"),
        (
            "[[tools.a.approval.rules]]\nwhen = 'x'",
            "holdpoint.toml:2:8: there is no x here",
        ),
    ] {
        let told = ToolsFile::from_str(text, Format::Toml)
            .expect_err(text)
            .to_string();
        assert!(told.contains(part), "{text}: {told}");
    }
}

#[test]
fn the_example_of_the_reference_loads() {
    let page = include_str!("../../docs/TOOLS.md");
    let examples: Vec<&str> = page
        .split("```json\n")
        .skip(1)
        .filter_map(|rest| rest.split("```").next())
        .collect();
    assert_eq!(examples.len(), 1);
    ToolsFile::from_str(examples[0], Format::Json).unwrap_or_else(|error| panic!("{error}"));
}
