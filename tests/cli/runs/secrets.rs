//! What becomes of the secrets of a run: where they are sent, and where they never stand.

use serde_json::{Value, json};

use super::web::Web;
use super::{FRONT, assert_nowhere, receipt};
use crate::support::Place;

/// A file with these secret inputs and these steps, each a tool, its arguments and further lines.
fn skill(inputs: &Value, steps: &[(&str, Value, &str)]) -> String {
    let front = FRONT.replace("description", &format!("inputs: {inputs}\ndescription"));
    let steps = (1..).zip(steps).map(|(number, (tool, args, lines))| {
        format!("\n### Step {number} — Do\n- intent: Do it\n- action: {tool} {args}\n{lines}\n")
    });
    std::iter::once(front).chain(steps).collect()
}

#[test]
fn i16_no_answer_draws_a_secret_out_of_a_run() {
    const SECRET: &str = "TOP/SECRET-\"123";
    let (place, other, own) = (Place::new(), Web::open(), Web::open());
    let at = |web: &Web, path: &str| format!("{}{path}", web.address);
    other.say(json!({
        "next": at(&other, "/page2?c=%7B%7Btoken%7D%7D&d=%7b%7btoken%7d%7d"),
        "o": { "{{token}}": 1 },
    }));
    let inputs = json!({ "token": { "secret": true }, "user": { "secret": true } });
    let binds = "- bind: next = json.next\n- bind: o = json.o";
    let sent = json!({
        "url": at(&own, "/own?t={{token}}"),
        "headers": { "authorization": "{{user}}:{{token}}" },
        "body": { "t": "{{token}}" },
    });
    let steps = [
        ("http.post", json!({ "url": at(&other, "/page1") }), binds),
        ("http.post", json!({ "url": "{{next}}" }), "- effect: read"),
        (
            "http.post",
            json!({ "url": at(&other, "/post"), "body": { "o": "{{o}}" } }),
            "",
        ),
        ("http.post", sent, ""),
    ];
    place.write("SKILL.md", &skill(&inputs, &steps));
    let given = format!("token={SECRET}");
    let run = [
        "run",
        "SKILL.md",
        "--allow-writes",
        "--var",
        &given,
        "--var",
        "user=alice123",
    ];
    place.run(&run).code(0);
    let calls = other.calls();
    assert_eq!(
        calls[1].path,
        "/page2?c=%7B%7Btoken%7D%7D&d=%7b%7btoken%7d%7d"
    );
    assert_eq!(calls[2].body, json!({ "o": { "{{token}}": 1 } }));
    let own = own.calls();
    assert_eq!(own[0].path, "/own?t=TOP%2FSECRET-%22123");
    assert_eq!(own[0].token, format!("alice123:{SECRET}"));
    assert_eq!(own[0].body, json!({ "t": SECRET }));
}

#[test]
fn i16_a_secret_that_comes_back_in_another_form_is_kept_in_none() {
    let (place, web) = (Place::new(), Web::open());
    let token = "q7Zk/9+wTt==\"AbCdEf";
    let percent = "q7Zk%2F9%2BwTt%3D%3D%22AbCdEf";
    let quoted = json!(token).to_string();
    web.say(json!({
        "url": format!("/x?t={percent}&s=Q7z"), "text": json!({ "t": token, "pin": 47110 }).to_string(),
        "pin": 47110, "word": "Q7z", "order": 9_471_101, token: true,
    }));
    let inputs = json!({
        "token": { "secret": true }, "pin": { "secret": true }, "short": { "secret": true },
    });
    let args = json!({
        "url": format!("{}/x?t={{{{token}}}}", web.address), "body": { "pin": "{{pin}}", "s": "{{short}}" },
    });
    let lines = "- assert: json.order == 9471101\n- assert: json.url == \"other\"\n- bind: all = json\n- bind: text = json.text";
    place.write("SKILL.md", &skill(&inputs, &[("http.post", args, lines)]));
    let given = format!("token={token}");
    let run = [
        "run",
        "SKILL.md",
        "--json",
        "--allow-writes",
        "--var",
        &given,
        "--var",
        "pin=47110",
        "--var",
        "short=Q7z",
    ];
    let run = place.run(&run).code(1);
    let told = receipt(&run);
    assert_eq!(
        told["steps"][0]["asserts"][0]["passed"], true,
        "no number was torn apart: {told}"
    );
    for form in [
        token,
        percent,
        quoted.trim_matches('"'),
        "AbCdEf",
        "47110,",
        "\"47110\"",
        "Q7z",
    ] {
        assert!(
            !run.out.contains(form) && !run.err.contains(form),
            "{form}: {run:?}"
        );
        assert_nowhere(&place, "holdpoint-runs", form);
    }
}

#[test]
fn i16_a_state_that_repeats_what_was_sent_is_kept_without_the_secret() {
    const SECRET: &str = "canary-of-the-state";
    let (place, web) = (Place::new(), Web::open());
    let tools = json!({ "tools": { "set_price": {
        "safetyClass": "write-once-checkable",
        "state": { "http": { "get": format!("{}/last", web.address) } },
        "execute": { "http": { "post": format!("{}/price", web.address), "json": { "p": "{p}" } } },
    } } });
    place.write("holdpoint.json", &tools.to_string());
    let inputs = json!({ "token": { "secret": true } });
    let first = json!({ "url": format!("{}/x", web.address), "body": { "t": "{{token}}" } });
    let lines = "- effect: idempotent-write";
    let steps = [
        ("http.post", first, lines),
        ("set_price", json!({ "p": 3 }), lines),
    ];
    place.write("SKILL.md", &skill(&inputs, &steps));
    let given = format!("token={SECRET}");
    let run = ["run", "SKILL.md", "--allow-writes", "--var", &given];
    place.run(&run).code(0);
    assert_eq!(web.calls()[0].body, json!({ "t": SECRET }));
    assert_eq!(web.calls().len(), 2);
    assert_nowhere(&place, "holdpoint-runs", SECRET);
}
