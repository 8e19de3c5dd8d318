//! Every class of mistake in a definition.

/// A definition, the place of its mistake, and a part of what is told.
pub(crate) const MISTAKES: &[(&str, &str, &str)] = &[
    (
        r#"{ "idempotencykey": "a:{a}" }"#,
        "2:3",
        "did you mean \"idempotencyKey\"?",
    ),
    (
        r#"{ "execute": { "htpp": {} } }"#,
        "2:16",
        "did you mean \"http\"?",
    ),
    (
        r#"{ "execute": { "http": { "post": "https://h/", "header": {} } } }"#,
        "2:48",
        "did you mean \"headers\"?",
    ),
    (
        r#"{ "execute": { "http": {} } }"#,
        "2:16",
        "one of get, post",
    ),
    (
        r#"{ "execute": { "http": { "get": "https://h/", "post": "https://h/" } } }"#,
        "2:16",
        "one method only",
    ),
    (
        r#"{ "execute": { "http": { "get": "https://h/", "json": {} } } }"#,
        "2:16",
        "a GET has no body",
    ),
    (
        r#"{ "execute": { "http": { "post": "https://h/", "json": {}, "form": {} } } }"#,
        "2:60",
        "one body",
    ),
    (
        r#"{ "execute": { "http": { "post": "https://h/" }, "worker": {} } }"#,
        "2:50",
        "one way",
    ),
    (
        r#"{ "execute": { "http": { "post": "https://h/", "headers": { "Host": "x" } } } }"#,
        "2:61",
        "set by the engine",
    ),
    (
        r#"{ "execute": { "http": { "post": "https://h/", "headers": { "A": "a\nb" } } } }"#,
        "2:66",
        "visible ASCII",
    ),
    (
        r#"{ "execute": { "http": { "post": "https://h/{a" } } }"#,
        "2:34",
        "belongs to no placeholder",
    ),
    (
        r#"{ "execute": { "http": { "post": "https://h/{state.a}" } } }"#,
        "2:34",
        "add state",
    ),
    (
        r#"{ "execute": { "timeout": "10" } }"#,
        "2:27",
        "such as 500ms",
    ),
    (r#"{ "execute": { "timeout": "2h" } }"#, "2:27", "3600s"),
    (
        r#"{ "execute": { "retry": { "attempts": 0 } } }"#,
        "2:39",
        "from 1 to 100",
    ),
    (
        r#"{ "execute": { "retry": { "backoff": "5m..1s" } } }"#,
        "2:38",
        "1s..5m",
    ),
    (
        r#"{ "execute": { "success": [200, 409], "refused": [409] } }"#,
        "2:3",
        "status 409",
    ),
    (
        r#"{ "execute": { "success": ["200"] } }"#,
        "2:28",
        "from 200 to 599",
    ),
    (
        r#"{ "state": { "http": { "post": "https://h/" } } }"#,
        "2:24",
        "known here: get, headers, auth",
    ),
    (
        r#"{ "state": { "watch": ["status"], "http": { "get": "https://h/" } } }"#,
        "2:24",
        "\"/status\"",
    ),
    (
        r#"{ "state": { "mode": "loose", "http": { "get": "https://h/" } } }"#,
        "2:22",
        "one of strict, conditions",
    ),
    (
        r#"{ "check": { "http": { "get": "https://h/" } } }"#,
        "2:3",
        "\"happened\" is missing",
    ),
    (
        r#"{ "check": { "http": { "get": "https://h/" }, "happened": "bdy.x" } }"#,
        "2:59",
        "did you mean body?",
    ),
    (
        r#"{ "identity": "caller.tenant = args.tenant" }"#,
        "2:15",
        "not a CEL expression",
    ),
    (
        r#"{ "preconditions": [ { "rule": "state.a > 1" } ] }"#,
        "2:32",
        "there is no state here",
    ),
    (
        r#"{ "preconditions": { } }"#,
        "2:20",
        "expected an array, found an object",
    ),
    (
        r#"{ "input": { "properties": { "a": { "type": "strng" } } } }"#,
        "2:45",
        "not a valid schema",
    ),
    (
        r#"{ "input": { "$ref": "https://x/y" } }"#,
        "2:22",
        "nothing is fetched",
    ),
    (r#"{ "labels": ["a", "a"] }"#, "2:19", "twice"),
    (
        r#"{ "labels": ["a b"] }"#,
        "2:14",
        "not the name of an argument",
    ),
    (
        r#"{ "idempotencyKey": "{a}{b}" }"#,
        "2:21",
        "put a character between them",
    ),
    (
        r#"{ "idempotencyKey": "k:{state.a}", "state": { "http": { "get": "https://h/" } } }"#,
        "2:21",
        "not known here",
    ),
    (
        r#"{ "approval": { "required": 0 } }"#,
        "2:29",
        "from 1 to 100",
    ),
    (
        r#"{ "approval": { "hold": "2d" } }"#,
        "2:25",
        "shorter than expiresIn",
    ),
    (
        r#"{ "safetyClass": "irreversible", "approval": {} }"#,
        "2:34",
        "approval has no effect",
    ),
    (r#"{ "concurrency": 0 }"#, "2:18", "from 1 to 1024"),
    (
        r#"{ "description": 5 }"#,
        "2:18",
        "expected a string, found a number",
    ),
    (r"[]", "2:1", "expected an object, found an array"),
];
