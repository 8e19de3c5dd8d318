//! What is a secret, and what only looks a little like one.

use super::{Place, Secrets, own};
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
        ("Bearer 12|aBcD9efgh8ijkl", "12|aBcD9efgh8ijkl"),
        (
            "curl -H 'Authorization: Digest username=\"ann\", response=\"6629fa\"' x",
            "username=\"ann\", response=\"6629fa\"",
        ),
        ("export DB_PASSWORD='$ecr3tP4ss'", "$ecr3tP4ss"),
        (
            "https://h.example/?access_token=SuperSecretPass",
            "SuperSecretPass",
        ),
        ("{\"api_key\":\"correcthorsebat\"}", "correcthorsebat"),
        ("{\"password\":\"ab\\\"cd ef\"}", "ab\\\"cd ef"),
        ("{\"in\":\"{\\\"password\\\":\\\"q7z\\\"}\"}", "q7z"),
        ("{\"pin\":\"12\"}", "12"),
        ("postgres://admin:hun/ter2xyz@h/db", "hun/ter2xyz"),
        ("postgres://admin:hun#ter2xyz@h/db", "hun#ter2xyz"),
        ("PGPASSWORD=hunter2xyz psql -h db", "hunter2xyz"),
        ("curl -uann:hunter2 https://h.example", "hunter2"),
        ("curl -sSu ann:hunter2 https://h.example", "hunter2"),
        ("curl --user=ann:hunter2 https://h.example", "hunter2"),
        ("bash -c 'mysql -u root -phunter2'", "hunter2"),
        ("mysql -p'hun ter2' shop", "hun ter2"),
        ("sshpass -p hunter2 ssh h", "hunter2"),
        ("docker login -u ann -p hunter2 reg", "hunter2"),
        (
            "https://hooks.slack.com/services/T0AB/B0EF/aZ9bY8cX7d",
            "T0AB/B0EF/aZ9bY8cX7d",
        ),
        (
            "https://discord.com/api/webhooks/123456789/aZ9bY8cX7d",
            "aZ9bY8cX7d",
        ),
        (
            "https://api.telegram.org/bot12345678:AAEhBOweik6ad9r_QXMENQjcrGbqCr4K-bc/send",
            "12345678:AAEhBOweik6ad9r_QXMENQjcrGbqCr4K-bc",
        ),
        (
            "bot 12345678:AAEhBOweik6ad9r_QXMENQjcrGbqCr4K-bc",
            "12345678:AAEhBOweik6ad9r_QXMENQjcrGbqCr4K-bc",
        ),
        ("log in with password hunter2xyz.", "hunter2xyz"),
        ("the password is hunter2xyz", "hunter2xyz"),
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
        ("auth", "Bearer 12|aBcD9efgh", "12|aBcD9efgh"),
        ("pass", "hunter2xyz", "hunter2xyz"),
        ("DB_PASS", "hunter2", "hunter2"),
        ("DBPassword", "hunter2", "hunter2"),
        ("secretkey", "hunter2", "hunter2"),
        ("clientsecret", "hunter2", "hunter2"),
        ("accesstoken", "hunter2", "hunter2"),
        ("authtoken", "hunter2", "hunter2"),
        ("password2", "x", "x"),
        ("pass\u{200b}word", "x", "x"),
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
        ("text", "Add Basic Authentication to nginx"),
        ("text", "use bearer client-side-tokens here"),
        ("text", "docker run -p 8080:80 web"),
        ("text", "http://localhost:8080/ann@h.example"),
        ("text", "mysql -p shop"),
        ("text", "the password is needed here"),
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

/// All secrets of arguments, sorted.
fn all(args: &Value) -> Vec<String> {
    let mut secrets = Secrets::default();
    secrets.value(args, &Place::top());
    let mut names: Vec<String> = secrets.names.into_keys().collect();
    names.sort();
    names
}

#[test]
fn what_stands_beside_or_above_a_value_says_what_it_is() {
    for (args, secret) in [
        (json!({ "secrets": { "key": "hunter2" } }), "hunter2"),
        (json!({ "credentials": { "token": "abc1" } }), "abc1"),
        (
            json!({ "secret": { "data": { "db_key": "hunter2" } } }),
            "hunter2",
        ),
        (json!(["mysql", "--password", "x"]), "x"),
        (json!(["curl", "-u", "ann:x", "https://h.example"]), "x"),
        (json!(["sshpass", "-px", "ssh"]), "x"),
        (json!({ "Name": "/prod/db/password", "Value": "x" }), "x"),
        (
            json!({ "ParameterKey": "DBPassword", "ParameterValue": "x" }),
            "x",
        ),
        (
            json!({ "headers": [["X-Api-Key", "k9f8e7d6"], ["Accept", "text/html"]] }),
            "k9f8e7d6",
        ),
        (
            json!({ "element": "Password field", "ref": "e1", "text": "x" }),
            "x",
        ),
        (json!({ "selector": "#password", "value": "x" }), "x"),
        (json!({ "token": 482_913_775_512_u64 }), "482913775512"),
        (
            json!({ "body": "{\"token\": 482913775512}" }),
            "482913775512",
        ),
        (json!({ "auth": ["ann", "hunter2"] }), "hunter2"),
    ] {
        assert_eq!(all(&args), [secret], "{args}");
    }
    for args in [
        json!({ "max_tokens": 100_000, "total_tokens": 4096 }),
        json!({ "scopes": ["token", "username"] }),
        json!(["docker", "run", "-p", "8080:80"]),
        json!({ "name": "Forgot your password?", "text": "Hello" }),
    ] {
        assert!(all(&args).is_empty(), "{args}: {:?}", all(&args));
    }
}

#[test]
fn the_search_for_secrets_ends_on_text_that_was_made_to_hold_it_up() {
    // Each of them took minutes where every beginning was followed to the end of the text.
    for part in [
        "eyJ",
        "eyJ.",
        "sk-",
        "-----BEGIN ",
        "a.1,",
        "bearer ",
        "://",
        "a://b:",
        "token:",
        "cookie:$x ",
        "key=",
        "password=\"",
        "token:'",
        "hooks.slack.com/services/",
        "12345678:",
        "curl -u ",
        "{\"a\":",
    ] {
        let text = part.repeat((1 << 15) / part.len());
        assert!(own(&text, &Place::top()).len() <= text.len());
    }
}
