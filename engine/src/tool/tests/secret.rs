//! Which arguments of a tool may be secret, and what else of a definition decides by the others.

use serde_json::{Value, json};

use super::tool;
use crate::tool::SecretHole;

/// What is wrong with a secret at a place of the arguments of a tool that this is added to.
fn wrong(more: &Value, place: &str) -> Option<String> {
    let mut definition = json!({
        "safetyClass": "approval-bound",
        "execute": { "http": { "post": "https://h/{id}", "json": { "id": "{id}", "to": "{to.name}" } } },
    });
    let members = definition.as_object_mut().expect("an object");
    members.extend(more.as_object().expect("an object").clone());
    // A worker pulls what nothing executes.
    members.retain(|_, value| !value.is_null());
    let hole = SecretHole {
        path: place.split('/').map(str::to_owned).collect(),
        name: "token".to_owned(),
    };
    let wrong = tool(&definition).check_secrets(&[hole]);
    wrong.into_iter().next().map(|error| {
        assert_eq!(error.pointer, format!("/{place}"));
        assert!(error.message.contains("token"), "{error}");
        error.message
    })
}

fn rule(rule: &str) -> Value {
    json!({ "preconditions": [{ "rule": rule, "message": "no" }] })
}

fn input(id: &Value) -> Value {
    json!({ "input": { "type": "object", "required": ["id"], "properties": { "id": id } } })
}

#[test]
fn i03_no_secret_stands_where_a_tool_decides_by_the_argument() {
    let check = |url: &str, happened: &str| json!({ "check": { "http": { "get": url }, "happened": happened } });
    let state = |http: &Value| json!({ "state": { "http": http } });
    let approval = json!({ "approval": { "rules": [{ "when": "args.id == 'x'", "required": 2, "reason": "r" }] } });
    let cases = [
        (
            json!({ "identity": "args.id != 'admin'" }),
            "id",
            "its identity rule",
        ),
        (rule("args.id != 'admin'"), "id", "one of its preconditions"),
        (approval, "id", "one of its approval rules"),
        (
            check("https://h/?id={id}", "body != null"),
            "id",
            "its check",
        ),
        (check("https://h/", "body.id == args.id"), "id", "its check"),
        (
            state(&json!({ "get": "https://h/{id}" })),
            "id",
            "its state query",
        ),
        (
            state(&json!({ "get": "https://h/", "headers": { "X-Id": "a{args.id}" } })),
            "id",
            "its state query",
        ),
        (
            json!({ "idempotencyKey": "s:{id}" }),
            "id",
            "its idempotencyKey",
        ),
        (json!({ "summary": "Send {id}" }), "id", "its summary"),
        (
            json!({ "summary": "Send {n|money:id}" }),
            "id",
            "its summary",
        ),
        (json!({ "labels": ["id"] }), "id", "one of its labels"),
        (input(&json!({ "maxLength": 12 })), "id", "its input schema"),
        (json!({ "execute": null }), "id", "the worker"),
    ];
    for (more, place, words) in cases {
        let said = wrong(&more, place).unwrap_or_default();
        assert!(said.starts_with(words), "{more}: {said:?}");
        assert_eq!(
            wrong(&more, "to/name").is_some(),
            words == "the worker",
            "{more}"
        );
    }
    assert_eq!(wrong(&json!({}), "id"), None, "it only goes along");
    assert_eq!(wrong(&json!({}), "to/name"), None);
}

#[test]
fn i03_a_rule_reads_what_it_names_and_everything_where_that_cannot_be_told() {
    for (source, read, not_read) in [
        (
            "args.to.name != 'a'",
            &["to/name", "to", "to/name/first"][..],
            &["id", "to/x"][..],
        ),
        ("args['to'][\"name\"] != 'a'", &["to/name"], &["id", "to/x"]),
        ("args.to.all(x, x != args.id)", &["to/0", "id"], &["other"]),
        ("args.list[0] != 'a'", &["list/0"], &["list/1", "id"]),
        (
            "args.list[size(args.list) - 1] != 'a'",
            &["list/0", "list/7"],
            &["id"],
        ),
        ("has(args.id) || size(caller.id) > 0", &["id"], &["to/name"]),
        ("args == caller", &["id", "to/name"], &[]),
        ("args[caller.id] != 'a'", &["id", "to/name"], &[]),
        (
            "string(args.id) in ['a'] || [args].size() > 1",
            &["id", "other"],
            &[],
        ),
        ("{'a': args}.a.id == 'x'", &["id", "other"], &[]),
        ("caller.id != 'args'", &[], &["id"]),
    ] {
        for place in read {
            assert!(
                wrong(&rule(source), place).is_some(),
                "{source} reads {place}"
            );
        }
        for place in not_read {
            assert_eq!(
                wrong(&rule(source), place),
                None,
                "{source} does not read {place}"
            );
        }
    }
}

#[test]
fn i03_a_schema_may_ask_for_the_type_of_a_secret_and_for_nothing_else() {
    for id in [
        json!({}),
        json!(true),
        json!({ "type": "string", "title": "the id", "description": "d", "x-order": 1 }),
        json!({ "allOf": [{ "type": "string" }, { "$ref": "#/$defs/text" }] }),
    ] {
        let mut schema = input(&id);
        schema["input"]["$defs"] = json!({ "text": { "type": "string" } });
        assert_eq!(wrong(&schema, "id"), None, "{id}");
    }
    for id in [
        json!({ "const": "a" }),
        json!({ "enum": ["a"] }),
        json!({ "not": { "const": "admin" } }),
        json!({ "not": { "type": "integer" } }),
        json!({ "anyOf": [{ "type": "integer" }, { "type": "string" }] }),
        json!({ "pattern": "^a" }),
        json!({ "format": "email" }),
        json!({ "minLength": 1 }),
        json!({ "properties": { "a": { "const": 1 } } }),
        json!({ "$ref": "#/$defs/loop" }),
        json!({ "$ref": "#/$defs/short" }),
        json!({ "if": { "maxLength": 2 }, "then": {} }),
    ] {
        let mut schema = input(&id);
        schema["input"]["$defs"] = json!({
            "loop": { "allOf": [{ "$ref": "#/$defs/loop" }] }, "short": { "maxLength": 3 },
        });
        assert!(wrong(&schema, "id").is_some(), "{id}");
        assert_eq!(wrong(&schema, "to/name"), None, "{id}: of another argument");
    }
}

#[test]
fn i03_a_schema_looks_at_a_secret_from_around_it_too() {
    let looks = |schema: &Value| wrong(&json!({ "input": schema }), "to/name").is_some();
    let of_to = |schema: Value| json!({ "properties": { "to": schema } });
    for schema in [
        of_to(json!({ "const": { "name": "a" } })),
        of_to(json!({ "additionalProperties": { "maxLength": 3 } })),
        of_to(json!({ "patternProperties": { "^n": { "maxLength": 3 } } })),
        json!({ "additionalProperties": { "properties": { "name": { "const": 1 } } } }),
        json!({ "anyOf": [of_to(json!({ "properties": { "name": { "type": "null" } } })), true] }),
        json!({ "dependentSchemas": { "id": of_to(json!({ "enum": [1] })) } }),
        json!({ "unevaluatedProperties": { "minProperties": 1, "enum": [{}] } }),
    ] {
        assert!(looks(&schema), "{schema}");
    }
    for schema in [
        of_to(
            json!({ "type": "object", "required": ["name"], "additionalProperties": { "type": "string" } }),
        ),
        of_to(json!({ "properties": { "name": {} }, "additionalProperties": { "maxLength": 3 } })),
        json!({ "anyOf": [{ "required": ["id"] }, { "required": ["to"] }], "additionalProperties": false,
                "properties": { "id": {}, "to": {} } }),
        of_to(json!({ "properties": { "other": { "const": 1 } }, "maxProperties": 3 })),
    ] {
        assert!(!looks(&schema), "{schema}");
    }
    let list = |schema: Value| wrong(&json!({ "input": of_to(schema) }), "to/1").is_some();
    assert!(list(json!({ "uniqueItems": true })));
    assert!(list(json!({ "contains": { "const": 1 } })));
    assert!(list(json!({ "items": { "maxLength": 3 } })));
    assert!(list(json!({ "prefixItems": [{}, { "maxLength": 3 }] })));
    assert!(!list(
        json!({ "items": { "type": "string" }, "minItems": 1, "uniqueItems": false })
    ));
}

#[test]
fn the_built_in_tools_decide_by_no_argument() {
    let registry = crate::tool::Registry::default().with_built_in();
    let hole = |place: &[&str]| SecretHole {
        path: place.iter().map(|name| (*name).to_owned()).collect(),
        name: "token".to_owned(),
    };
    let holes = [
        hole(&["url"]),
        hole(&["headers", "authorization"]),
        hole(&["body"]),
    ];
    let post = registry.get("http.post").expect("it is built in");
    assert_eq!(post.check_secrets(&holes), []);
}
