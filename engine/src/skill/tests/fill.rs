use chrono::NaiveDate;
use serde_json::{Value, json};

use super::{RELEASE, calling, refused, skill};
use crate::skill::{Filled, Skill, Vars};

fn today() -> NaiveDate {
    NaiveDate::from_ymd_opt(2026, 3, 1).expect("a day")
}

fn given(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    let pair = |(name, text): &(&str, &str)| ((*name).to_owned(), (*text).to_owned());
    pairs.iter().map(pair).collect()
}

fn vars(skill: &Skill, pairs: &[(&str, &str)]) -> Vars {
    Vars::given(skill, &given(pairs)).unwrap_or_else(|errors| panic!("{errors:?}"))
}

/// The arguments of a call, filled with variables of any type.
fn filled(args: &Value, values: &[(&str, Value)]) -> Result<Filled, String> {
    let skill = skill(&calling(&args.to_string()));
    let mut vars = vars(&skill, &[]);
    for (name, value) in values {
        vars.bind(name, value.clone());
    }
    let filled = skill.steps[0].fill(&vars, today());
    filled.map_err(|errors| lines(&errors))
}

fn lines(errors: &[impl ToString]) -> String {
    let lines: Vec<String> = errors.iter().map(ToString::to_string).collect();
    lines.join("\n")
}

#[test]
fn holes_are_filled_by_type_or_into_text() {
    let values = [
        ("n", json!(5)),
        ("o", json!({"b": 1, "a": [true]})),
        ("s", json!("text")),
        ("x", Value::Null),
    ];
    let args = json!({
        "whole": "{{n}}", "object": "{{o}}", "inside": "n={{n}}, o={{o}}, s={{s}}, x={{x}}",
        "deep": [{"a": ["{{s}}"]}], "braces": "{{{s}}} }} {{", "same": 7, "null": "{{x}}",
    });
    let filled = filled(&args, &values).expect("filled");
    assert_eq!(
        filled.args,
        json!({
            "whole": 5, "object": {"b": 1, "a": [true]},
            "inside": "n=5, o={\"a\":[true],\"b\":1}, s=text, x=null",
            "deep": [{"a": ["text"]}], "braces": "{text} }} {{", "same": 7, "null": null,
        })
    );
    assert!(filled.secrets.is_empty());
}

#[test]
fn dates_are_counted_from_the_day_of_the_run() {
    let args = json!({"a": "{{today}}", "b": "from {{today-1d}} to {{today+365d}}"});
    let filled = filled(&args, &[]).expect("filled");
    assert_eq!(
        filled.args,
        json!({"a": "2026-03-01", "b": "from 2026-02-28 to 2027-03-01"})
    );
}

#[test]
fn an_unbound_name_is_told_with_its_step_and_place() {
    let told = filled(&json!({"a": {"b": ["x {{one}} {{two}}"]}}), &[]).expect_err("unbound");
    assert!(
        told.contains("step 1, /a/b/0: {{one}} is not bound"),
        "{told}"
    );
    assert!(told.contains("{{two}} is not bound"), "{told}");
}

#[test]
fn variables_are_read_by_their_declared_type() {
    let skill = skill(RELEASE);
    let vars = vars(
        &skill,
        &[("token", "t0ps3cret"), ("tries", "5"), ("version", "1")],
    );
    assert_eq!(vars.values()["crate"], json!("serde"));
    assert_eq!(vars.values()["tries"], json!(5));
    assert_eq!(vars.values()["version"], json!("1"));
    assert!(!vars.values().contains_key("token"));
    let told = |pairs: &[(&str, &str)]| {
        let errors = Vars::given(&skill, &given(pairs)).expect_err("refused");
        lines(&errors)
    };
    let all = told(&[
        ("tries", "five"),
        ("crat", "x"),
        ("token", "a"),
        ("token", "b"),
    ]);
    for part in [
        "\"tries\" must be JSON of type integer",
        "\"crat\" is not one of this skill: it has crate, token, tries, version; did you mean \"crate\"?",
        "\"token\" is given twice",
    ] {
        assert!(all.contains(part), "{part}: {all}");
    }
    assert!(!told(&[("tries", "s3cret")]).contains("s3cret"));
    let required = super::skill(&RELEASE.replace("\"default\": \"serde\", ", ""));
    let errors = Vars::given(&required, &[]).expect_err("missing");
    assert!(
        errors[0].to_string().contains("\"crate\" is required"),
        "{errors:?}"
    );
    let typed = Vars::given_values(&skill, &[("tries".to_owned(), json!("5"))]);
    assert!(typed.is_err());
    let typed = Vars::given_values(&skill, &[("tries".to_owned(), json!(5))]);
    assert_eq!(typed.expect("fits").values()["tries"], json!(5));
}

#[test]
fn i16_secrets_stay_holes_until_the_call() {
    let skill = skill(RELEASE);
    let vars = vars(&skill, &[("token", "t0ps3cret")]);
    let filled = skill.steps[0].fill(&vars, today()).expect("filled");
    assert_eq!(filled.args["headers"]["authorization"], "Bearer {{token}}");
    assert_eq!(filled.args["url"], "https://registry.example/serde");
    assert!(filled.secrets.contains("token"));
    let sent = vars.secrets().fill(&filled.args).expect("has a value");
    assert_eq!(sent["headers"]["authorization"], "Bearer t0ps3cret");
    assert!(!format!("{vars:?}").contains("t0ps3cret"));
    let seen = "{\"echo\":\"Bearer t0ps3cret\"}";
    assert_eq!(vars.secrets().hide(seen), "{\"echo\":\"Bearer {{token}}\"}");
}

#[test]
fn i16_a_value_never_pulls_a_secret_in() {
    let text = "---\nname: n\ndescription: d\ninputs: {\"token\": {\"secret\": true}}\n---\n### Step 1 — T\n- intent: i\n- action: t ARGS\n";
    let check = |args: &str, values: &[(&str, Value)]| {
        let skill = skill(&text.replace("ARGS", args));
        let mut vars = vars(&skill, &[("token", "t0ps3cret")]);
        for (name, value) in values {
            vars.bind(name, value.clone());
        }
        skill.steps[0]
            .fill(&vars, today())
            .map(|filled| vars.secrets().fill(&filled.args).expect("has a value"))
            .map_err(|errors| errors[0].to_string())
    };
    for (args, values) in [
        (r#"{"a": "{{x}}"}"#, vec![("x", json!("{{token}}"))]),
        (
            r#"{"a": "{{x}}"}"#,
            vec![("x", json!({"deep": ["a {{token}}"]}))],
        ),
        (r#"{"a": "say {{x}}"}"#, vec![("x", json!("{{token}}"))]),
        (r#"{"a": "say {{x}}"}"#, vec![("x", json!(["{{token}}"]))]),
        (
            r#"{"a": "{{x}}{{y}}"}"#,
            vec![("x", json!("{{tok")), ("y", json!("en}}"))],
        ),
        (r#"{"a": "{{{x}}token}}"}"#, vec![("x", json!("{"))]),
        (
            r#"{"a": "{{token}} {{x}}"}"#,
            vec![("x", json!("{{token}}"))],
        ),
    ] {
        let told = check(args, &values).expect_err(args);
        assert!(
            told.contains("reads like the hole of a secret"),
            "{args}: {told}"
        );
    }
    // What only looks a little like it is sent as it is, and the secret with it where it belongs.
    for (args, x, sent) in [
        (r#"{"a": "{{x}}{{token}}"}"#, "{{", "{{t0ps3cret"),
        (r#"{"a": "{{x}}{{token}}}"}"#, "{{a", "{{at0ps3cret}"),
        (
            r#"{"a": "{{x}} {{token}}"}"#,
            "{{other}}",
            "{{other}} t0ps3cret",
        ),
        (r#"{"a": "{{x}}"}"#, "{{today}}", "{{today}}"),
        (r#"{"a": "{{x}}"}"#, "{{x}}", "{{x}}"),
    ] {
        let got = check(args, &[("x", json!(x))]);
        assert_eq!(got, Ok(json!({ "a": sent })), "{args}");
    }
    // Nor does a secret pull anything in.
    let skill = skill(&text.replace("ARGS", r#"{"a": "x{{token}}", "b": "{{token}}"}"#));
    let vars = vars(&skill, &[("token", "{{token}}{{today}}")]);
    let filled = skill.steps[0].fill(&vars, today()).expect("filled");
    let sent = vars.secrets().fill(&filled.args).expect("has a value");
    assert_eq!(
        sent,
        json!({"a": "x{{token}}{{today}}", "b": "{{token}}{{today}}"})
    );
}

#[test]
fn a_run_that_goes_on_has_its_values_and_needs_its_secrets_again() {
    let skill = skill(RELEASE);
    let first = vars(&skill, &[("token", "t0ps3cret"), ("tries", "9")]);
    let stored = first.values().clone();
    let filled = skill.steps[0].fill(&first, today()).expect("filled");
    let without = Vars::restored(&skill, stored.clone(), &[]).expect("restored");
    assert_eq!(without.values(), first.values());
    let told = skill.steps[0]
        .fill(&without, today())
        .expect_err("no secret");
    assert!(
        told[0].to_string().contains("{{token}} has no value"),
        "{told:?}"
    );
    let told = without.secrets().fill(&filled.args).expect_err("no secret");
    assert!(told.to_string().contains("\"token\""), "{told}");
    let with = Vars::restored(&skill, stored.clone(), &given(&[("token", "t0ps3cret")]));
    assert_eq!(with.expect("restored"), first);
    let other = Vars::restored(&skill, stored, &given(&[("crate", "x")]));
    assert!(other.is_err());
}

#[test]
fn conditions_read_variables_and_binds_and_no_secret() {
    let text = |when: &str| RELEASE.replace("version != null && vars.crate == \"serde\"", when);
    let holds = |when: &str, version: Option<Value>| {
        let skill = skill(&text(when));
        let mut vars = vars(&skill, &[("token", "t0ps3cret")]);
        if let Some(version) = version {
            vars.bind("version", version);
        }
        let when = skill.steps[1].when.clone().expect("a condition");
        when.holds(&vars)
    };
    let one = Some(json!("1.0.0"));
    assert_eq!(holds("version == \"1.0.0\"", one.clone()), Ok(true));
    assert_eq!(holds("vars.version != \"1.0.0\"", one.clone()), Ok(false));
    assert_eq!(
        holds("version == null && !has(vars.version)", None),
        Ok(true)
    );
    assert_eq!(holds("vars.tries == 3", None), Ok(true));
    assert_eq!(holds("version == \"vars.token\"", one.clone()), Ok(false));
    for secret in [
        "has(vars.token)",
        "vars.token == \"a\"",
        "vars[\"token\"] == \"a\"",
        "version == \"1\" || [1].exists(x, vars.token == \"a\")",
    ] {
        let told = refused(&text(secret)).to_string();
        let words = "vars.token is a secret input, and secrets are not visible to `when`";
        assert!(told.contains(words), "{secret}: {told}");
    }
    assert!(holds("vars.crate", one).is_err());
}

#[test]
fn i21_filled_arguments_are_bounded() {
    let long = json!("x".repeat(700_000));
    let args = json!({"a": "{{x}}", "b": "{{x}}"});
    let told = filled(&args, &[("x", long)]).expect_err("too long");
    assert!(told.contains("longer than"), "{told}");
    let deep = (0..60).fold(json!(1), |inner, _| json!([inner]));
    let args = json!({"a": [[[[["{{x}}"]]]]]});
    let told = filled(&args, &[("x", deep)]).expect_err("too deep");
    assert!(told.contains("nested"), "{told}");
}
