use std::time::Duration;

use serde_json::json;

use super::{RELEASE, calling, one_step, refused, skill};
use crate::limits::{SKILL_BYTES_MAX, SKILL_ERRORS_MAX, SKILL_STEPS_MAX};
use crate::skill::{InputKind, Skill};
use crate::tool::{Annotations, EffectClass};

#[test]
fn a_file_says_what_it_says() {
    let skill = skill(RELEASE);
    assert_eq!(skill.name, "release-note");
    assert_eq!(skill.description, "Tell the team about a release");
    assert_eq!(skill.front[3].key, "author");
    assert_eq!(skill.inputs["tries"].kind, InputKind::Integer);
    assert!(skill.inputs["token"].secret);
    assert!(skill.preamble.starts_with("\n# Release note"));
    assert!(skill.preamble.ends_with("## Steps\n\n"));
    assert!(skill.trailing.starts_with("## Open questions"));
    assert!(skill.trailing.ends_with("made\n"));
    let [first, second] = skill.steps.as_slice() else {
        panic!("two steps");
    };
    assert_eq!(first.tool, "http.get");
    assert_eq!(first.asserts.len(), 2);
    assert_eq!(first.binds[0].name, "version");
    assert_eq!(first.timeout, Some(Duration::from_secs(10)));
    assert_eq!(first.retry, Some(2));
    assert_eq!(second.title, "Tell the team");
    assert_eq!(second.effect, Some(EffectClass::IdempotentWrite));
    assert_eq!(second.exposure.as_deref(), Some("internal"));
    assert_eq!(second.args["body"]["day"], json!("{{today-7d}}"));
    assert_eq!(skill.line_of(2), Some(25));
    let census = skill.census(|_| Annotations::default());
    assert_eq!(census.map(|(_, count)| count), [1, 1, 0]);
    assert_eq!(skill.text(), RELEASE);
}

#[test]
fn line_ends_and_a_byte_order_mark_mean_nothing() {
    let plain = skill(RELEASE);
    let windows = skill(&RELEASE.replace('\n', "\r\n"));
    assert_eq!(windows.steps, plain.steps);
    assert_eq!(windows.front, plain.front);
    let marked = format!("\u{feff}{RELEASE}");
    let marked = skill(&marked);
    assert!(marked.says_the_same(&plain));
    assert!(marked.text().starts_with('\u{feff}'));
    assert_ne!(marked.digest(), plain.digest());
}

#[test]
fn a_file_with_the_first_six_keys_of_the_format_is_read() {
    let text = "---\nname: demo\ndescription: d\nversion: 3\n---\n<!-- a comment -->\n\n## Steps\n\n\
        ### Step 1 — Read\n- intent: Fetch it\n- action: http.get {\"url\":\"https://a.example/latest\"}\n\
        - assert: json.version is string\n- assert: body not contains \"[]\"\n- bind: v = json.version\n- effect: read\n\n\
        ### Step 2 - Echo\n- intent: Post it\n- action: http.post {\"url\":\"https://b.example\",\"body\":{\"v\":\"{{v}}\"}}\n\
        - assert: status == 200\n- effect: idempotent-write\n\
        - approve: sha256:ef07062087faa4ae98065a3acd7d6230f1af194e4f9e45be1a45932db556ac00\n";
    let skill = skill(text);
    assert_eq!(skill.steps.len(), 2);
    assert_eq!(skill.steps[1].approved(), Some(false));
    assert_eq!(skill.trailing, "");
}

#[test]
fn all_mistakes_are_told_at_once_with_their_places() {
    let text = "---\nname: a/../b\ndescripton: d\ninputs: {\"x\": {\"typ\": \"string\"}}\n---\n\
        ### Step 1 — A\n- intent: i\n- acton: http.get {}\n- assert: json.a is sett\n- assert: json.b matches /(/\n\
        ### Step 3 — B\n- intent: i\n- action: http.get {\"a\": 1,}\n- effect: reed\n- when: vars.x =\n- timeout: 10\n- made up\n\
        ### Step 4: C\n";
    let errors = refused(text).0;
    let told: Vec<String> = errors.iter().map(ToString::to_string).collect();
    let told = told.join("\n");
    for part in [
        "1:1: the front matter has no \"description\" (there is something alike: did you mean \"descripton\"?)",
        "2:7: \"a/../b\" cannot be the name of a skill",
        "4:16: unknown key \"typ\" (did you mean \"type\"?)",
        "6:1: step 1: it has no \"action\"",
        "8:3: step 1 has a line that is none of a step: \"- acton: http.get {}\" (did you mean \"action\"?)",
        "9:11: step 1: \"sett\" is not one of array, set",
        "10:11: step 1: the regular expression cannot be used",
        "11:10: this is step 2, and says 3",
        "13:28: step 3: what follows \"http.get\" is not JSON",
        "14:11: step 3: \"reed\" is not an effect: read, idempotent-write, destructive; did you mean \"read\"?",
        "15:9: step 3: the rule is not a CEL expression",
        "16:12: step 3: \"10\" is not a duration",
        "17:1: step 3 has a line that is none of a step: \"- made up\"",
        "18:1: this looks like the header of a step",
    ] {
        assert!(told.contains(part), "{part} is not in\n{told}");
    }
    assert_eq!(errors.len(), 14, "{told}");
    for error in errors {
        assert!(text.get(error.span.clone()).is_some(), "{error:?}");
    }
}

#[test]
fn what_is_not_supported_is_refused_in_words() {
    for key in ["expect", "attest", "emit"] {
        let text = one_step(&format!(
            "- intent: i\n- action: http.get {{}}\n- {key}: {{}}"
        ));
        let told = refused(&text).to_string();
        assert!(
            told.contains(&format!(
                "8:1: step 1: `{key}` is not supported; the file is refused"
            )),
            "{told}"
        );
    }
}

#[test]
fn single_lines_are_refused_with_what_is_valid() {
    for (line, part) in [
        ("- assert: status >= 200", "== or != only"),
        ("- assert: status == 99999", "is not a status"),
        ("- assert: body contains x", "between double quotes"),
        (
            "- assert: json.a > \"x\"",
            "only numbers are compared by order",
        ),
        ("- assert: json.a == x", "is not JSON"),
        ("- assert: json.a-b == 1", "json[\"a-b\"]"),
        ("- assert: json.a matches b", "write it as /RE/"),
        ("- assert: json.a matches /b/g", "known are i"),
        ("- assert: json.a matches /(?=b)/", "nothing looks around"),
        ("- assert: json.a matches /(a)\\1/", "not supported"),
        (
            "- assert: json.a matches /x{1000}{1000}/",
            "too much memory",
        ),
        ("- assert: json.a length > -1", "is not a length"),
        ("- assert: jsn.a == 1", "an assertion is one of"),
        ("- assert:", "an assertion is one of"),
        ("- bind: today = json.a", "stands for a date"),
        ("- bind: a-b = json.a", "is not a name"),
        ("- bind: a = json.b c", "does not belong to a path"),
        ("- bind: a = body match /b/", "has no group"),
        ("- bind: a", "NAME = json.PATH"),
        ("- approve: sha256:00", "64 lowercase"),
        ("- retry: -1", "number of further attempts"),
        ("- timeout: 2h", "at most an hour"),
        ("- when: nothing == 1", "there is no nothing here"),
        ("- effect: read\n- effect: read", "twice"),
        ("- effect: destructive\n- retry: 1", "never tried again"),
        ("---", "none of a step"),
    ] {
        let told = refused(&one_step(&format!(
            "- intent: i\n- action: http.get {{}}\n{line}"
        )));
        assert!(told.to_string().contains(part), "{line}: {told}");
        assert_eq!(told.0.len(), 1, "{line}: {told}");
    }
    for (args, part) in [
        ("[]", "not a JSON object"),
        ("{\"a\": 1, \"a\": 2}", "twice"),
        ("{\"a\": 9007199254740993}", "send it as a string"),
        ("{\"a\": \"{{ x }}\"}", "without spaces"),
        ("{\"a\": \"{{}}\"}", "is not a hole"),
        ("{\"a\": \"{{today-0d}}\"}", "N from 1 to 365"),
        ("{\"a\": \"{{today+366d}}\"}", "N from 1 to 365"),
        ("{\"a\": \"{{today+é}}\"}", "is not a date"),
        ("{\"{{x}}\": 1}", "keys are never filled"),
        ("", "is not a tool and its arguments"),
    ] {
        let told = refused(&calling(args));
        assert!(told.to_string().contains(part), "{args}: {told}");
    }
}

#[test]
fn a_bind_does_not_take_the_name_of_an_input() {
    let text = RELEASE.replace("bind: version", "bind: token");
    let told = refused(&text).to_string();
    assert!(told.contains("\"token\" is an input already"), "{told}");
}

#[test]
fn inputs_are_checked_where_they_are_declared() {
    for (inputs, part) in [
        ("{", "is not JSON"),
        ("[]", "is not an object"),
        ("{\"a-b\": {}}", "cannot be the name of an input"),
        ("{\"today\": {}}", "cannot be the name of an input"),
        ("{\"a\": 1}", "is not an object"),
        ("{\"a\": {\"type\": \"strng\"}}", "did you mean \"string\"?"),
        ("{\"a\": {\"required\": 1}}", "true or false"),
        (
            "{\"a\": {\"type\": \"integer\", \"default\": \"1\"}}",
            "not of type integer",
        ),
        (
            "{\"a\": {\"secret\": true, \"default\": \"x\"}}",
            "a secret has no default",
        ),
    ] {
        let text = format!(
            "---\nname: n\ndescription: d\ninputs: {inputs}\n---\n### Step 1 — T\n- intent: i\n- action: t {{}}\n"
        );
        let told = refused(&text).to_string();
        assert!(told.contains(part), "{inputs}: {told}");
    }
}

#[test]
fn i21_the_size_of_a_file_is_bounded() {
    let long = format!("{RELEASE}{}", "x".repeat(SKILL_BYTES_MAX));
    assert!(refused(&long).to_string().contains("at most"));
    let head = "---\nname: n\ndescription: d\n---\n";
    let step = |number: usize| format!("### Step {number} — T\n- intent: i\n- action: t {{}}\n");
    let steps: String = (1..=SKILL_STEPS_MAX + 1).map(step).collect();
    let told = refused(&format!("{head}{steps}")).to_string();
    assert!(told.contains("more than 1000 steps"), "{told}");
    let wrong = format!("{head}### Step 1 — T\n{}", "- x\n".repeat(100_000));
    let told = refused(&wrong).0;
    assert_eq!(told.len(), SKILL_ERRORS_MAX + 1);
    assert!(told[SKILL_ERRORS_MAX].message.contains("more mistakes"));
}

#[test]
fn without_a_whole_front_matter_or_a_step_there_is_no_skill() {
    for (text, part) in [
        ("", "starts with front matter"),
        ("# Title\n", "starts with front matter"),
        ("---\nname: n\n", "never closed"),
        ("---\nname: n\ndescription: d\n---\n", "there are no steps"),
        ("---\nname: n\nname: m\ndescription: d\n---\n", "twice"),
        ("---\nname:\ndescription: d\n---\n", "\"name\" is empty"),
        (
            "---\nname: n\ndescription: d\n- x\n---\n",
            "is not a line of front matter",
        ),
    ] {
        let told = refused(text).to_string();
        assert!(told.contains(part), "{text:?}: {told}");
    }
}

#[test]
fn the_manifest_is_read_and_checked() {
    let digest = "sha256:383f998a776a18af8170671187ef9c45555d77704db499048171669a2e31b29c";
    let file = |manifest: &str| {
        format!(
            "---\nname: n\ndescription: d\nmanifest: {manifest}\n---\n### Step 1 — T\n- intent: i\n- action: t {{}}\n"
        )
    };
    let text = file(&format!(
        "{{\"v\":1,\"tools\":[{{\"name\":\"t\",\"server\":\"s\",\"digest\":\"{digest}\"}}]}}"
    ));
    let manifest = skill(&text).manifest.expect("a manifest");
    assert!(manifest.names("t") && !manifest.names("u"));
    let right = digest.parse().ok();
    assert_eq!(manifest.check(|_| right), []);
    let missing = manifest.check(|_| None);
    assert!(missing[0].to_string().contains("there is no tool \"t\""));
    let other = manifest.check(|_| Some(crate::canon::Digest::of(b"")));
    assert!(other[0].to_string().contains("no longer"), "{}", other[0]);
    for (manifest, part) in [
        ("{\"v\":2,\"tools\":[]}", "version 1"),
        ("{\"v\":1}", "no list \"tools\""),
        (
            "{\"v\":1,\"tools\":[{\"name\":\"t\"}]}",
            "needs a text \"digest\"",
        ),
        (
            "{\"v\":1,\"tools\":[{\"name\":\"t\",\"digest\":\"x\"}]}",
            "64 lowercase",
        ),
        (
            "{\"v\":1,\"tools\":[{\"nam\":\"t\"}]}",
            "unknown key \"nam\"",
        ),
    ] {
        let told = refused(&file(manifest)).to_string();
        assert!(told.contains(part), "{manifest}: {told}");
    }
}

#[test]
fn the_digests_of_calls_are_those_of_the_format() {
    use crate::skill::call_digest;
    for (tool, args, digest) in [
        (
            "http.post",
            json!({"url": "https://example.com", "body": {"a": 1}}),
            "sha256:ef07062087faa4ae98065a3acd7d6230f1af194e4f9e45be1a45932db556ac00",
        ),
        (
            "crm.create_contact",
            json!({"b": 2, "a": 1}),
            "sha256:383f998a776a18af8170671187ef9c45555d77704db499048171669a2e31b29c",
        ),
    ] {
        assert_eq!(call_digest(tool, &args).to_string(), digest);
    }
    // Keys that look like places in an array come first, by their number.
    let sorted = "{\"args\":{\"0\":1,\"2\":1,\"10\":1,\"4294967294\":1,\"01\":1,\"4294967295\":1,\"a\":1,\"b\":1},\"tool\":\"t\"}";
    let args =
        json!({"b": 1, "2": 1, "a": 1, "10": 1, "01": 1, "4294967295": 1, "4294967294": 1, "0": 1});
    assert_eq!(
        call_digest("t", &args),
        crate::canon::Digest::of(sorted.as_bytes())
    );
}

#[test]
fn a_class_that_is_weaker_than_the_name_of_the_tool_is_told() {
    let effects = |lines: &str| {
        let text = one_step(&format!("- intent: i\n{lines}"));
        let skill = skill(&text);
        let told = skill.warnings(|_| Annotations::default());
        let told: Vec<String> = told.iter().map(|told| told.place.to_string()).collect();
        (
            skill.steps[0].classified(Annotations::default()),
            told.join("\n"),
        )
    };
    let (told, warnings) = effects("- action: delete_order {}\n- effect: read");
    assert!(told.overrides && told.weakens);
    assert!(
        warnings.contains("8:11: `effect: read` is weaker"),
        "{warnings}"
    );
    let (told, warnings) = effects("- action: get_order {}\n- effect: destructive");
    assert!(told.overrides && !told.weakens);
    assert!(!warnings.contains("weaker"), "{warnings}");
    let (told, warnings) = effects("- action: frobnicate {}");
    assert_eq!(told.effect, EffectClass::Destructive);
    assert!(
        warnings.contains("nothing says what \"frobnicate\" does"),
        "{warnings}"
    );
}

#[test]
fn doubtful_lines_are_told() {
    let text = RELEASE
        .replace("{{crate}} {{version}}", "{{crate}} {{later}}")
        .replace("- exposure: internal", "- bind: later = json.id")
        .replace("- none", "- assert: status == 200");
    let told = skill(&text).warnings(|_| Annotations::default());
    let told: Vec<String> = told.iter().map(|told| told.place.to_string()).collect();
    let told = told.join("\n");
    assert!(told.contains("{{later}} is bound by step 2"), "{told}");
    assert!(told.contains("\"assert\" belongs to no step"), "{told}");
    assert!(told.contains("nothing is checked"), "{told}");
    assert!(Skill::parse(&text).is_ok());
}
