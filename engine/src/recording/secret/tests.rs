//! What is a secret, and what only looks a little like one.

use super::{Place, own};
use serde_json::{Map, Value, json};

/// The secrets of an argument.
fn of(key: &str, text: &str) -> Vec<String> {
    let members = Map::from_iter([(key.to_owned(), Value::from(text))]);
    let place = Place::top().member(&members, key);
    own(text, &place)
        .into_iter()
        .map(|span| text[span.at].to_owned())
        .collect()
}

#[test]
fn tokens_are_known_by_their_look() {
    for token in [
        "sk-proj-abcdefghijklmnop",
        "ghp_abcdefghijklmnopqrstuvwx",
        "github_pat_11ABCDEFG0123456789_abcdef",
        "glpat-abcdefghijklmnop1234",
        "xoxb-1234567890-abcdef",
        "AKIAIOSFODNN7EXAMPLE",
        "AIzaSyA1234567890abcdefghijklmnopqrstu",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl",
        "whsec_abcdefghijklmnop1234",
        "npm_abcdefghijklmnopqrstuvwxyz012345",
    ] {
        for text in [
            token.to_owned(),
            format!("use {token}, please"),
            format!("\"{token}\""),
            format!("x={token}."),
        ] {
            assert_eq!(of("text", &text), [token], "{text}");
        }
    }
    let key = "-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----";
    assert_eq!(of("text", &format!("a {key} b")), [key]);
    let cut = "-----BEGIN PRIVATE KEY-----\nMIIE";
    assert_eq!(of("text", cut), [cut]);
}

#[test]
fn what_follows_a_telling_word_is_a_secret() {
    for (text, secret) in [
        ("Bearer abc", "abc"),
        (
            "curl -H 'Authorization: Bearer hook-7f3a9c21e8' x",
            "hook-7f3a9c21e8",
        ),
        ("Authorization: Basic dXNlcjpwYXNz", "dXNlcjpwYXNz"),
        ("-H \"Cookie: sid=1; more=2\"", "sid=1; more=2"),
        ("https://ann:hunter2@host.example/x", "hunter2"),
        ("curl -u ann:hunter2 https://host.example", "hunter2"),
        ("https://h.example/?api_key=k9f8e7d6c5&x=1", "k9f8e7d6c5"),
        ("export DB_PASSWORD=hunter2; run", "hunter2"),
        ("{\"password\":\"hun ter2\"}", "hun ter2"),
        ("{\\\"password\\\":\\\"hunter2\\\"}", "hunter2"),
        ("login --token abcdefgh1234", "abcdefgh1234"),
        ("clientSecret: 'hunter2'", "hunter2"),
    ] {
        assert_eq!(of("text", text), [secret], "{text}");
    }
}

#[test]
fn what_stands_under_a_telling_key_is_a_secret() {
    for (key, text, secret) in [
        ("password", "hunter2", "hunter2"),
        ("Authorization", "Bearer abc", "abc"),
        ("authorization", "abc", "abc"),
        ("x-api-key", "k9f8e7d6", "k9f8e7d6"),
        ("accessToken", "k9f8e7d6", "k9f8e7d6"),
        ("client_secret", "a b", "a b"),
        (
            "key",
            "0123456789abcdef0123456789abcdef",
            "0123456789abcdef0123456789abcdef",
        ),
    ] {
        assert_eq!(of(key, text), [secret], "{key}");
    }
    let nested = json!({ "name": "Authorization", "value": "abcdef" });
    let members = nested.as_object().expect("an object");
    let place = Place::top().member(members, "value");
    assert_eq!(
        own("abcdef", &place).len(),
        1,
        "said by the member beside it"
    );
    let place = Place::top()
        .member(members, "credentials")
        .member(members, "inner");
    assert_eq!(own("abcdef", &place).len(), 1, "said by the key above it");
}

#[test]
fn what_only_speaks_of_secrets_is_none() {
    for (key, text) in [
        ("text", "the bearer of this letter"),
        ("text", "bearer tokens are used here"),
        ("text", "Basic auth is needed"),
        ("text", "password=$DB_PASSWORD"),
        ("text", "token: {{token}}"),
        ("text", "https://host.example/a:b@c"),
        ("text", "task-1234567890123456789"),
        ("text", "9c1185a5c5e9fc54612808977ee8f548b2258d31"),
        ("key", "OPS-17"),
        ("token_type", "bearer-token"),
        ("secret_name", "db-password"),
        ("page_token", "abcdefgh12"),
        ("max_tokens", "100"),
        ("auth", "oauth"),
        ("author", "Ann Example"),
        ("monkey", "abcdefgh12"),
    ] {
        assert!(
            of(key, text).is_empty(),
            "{key}: {text}: {:?}",
            of(key, text)
        );
    }
}
