//! The request of a step with the secrets of its run in it.
//!
//! What is stored, shown and approved has holes in their places. The values go into the arguments, at
//! the holes and nowhere else, and the request is made once more from these: a text of a request is
//! never searched, so that nothing which an answer brought along can draw a secret out.

use serde_json::Value;

use super::{Hidden, Outgoing};
use crate::action::Rendered;
use crate::skill::{Secrets, Written, holes};
use crate::tool::{Context, Execute, RenderError, Tool, origin_of};

/// The request to send; none where no secret stands in its arguments. `bound` is the one that is stored.
/// It is refused where the two differ in more than the texts that hold the secrets.
pub(super) fn filled(
    tool: &Tool,
    ctx: &Context<'_>,
    bound: &Rendered,
    secrets: &Secrets,
) -> Result<Option<Rendered>, String> {
    if !holes(ctx.args).iter().any(|name| secrets.declares(name)) {
        return Ok(None);
    }
    let words = |error: RenderError| secrets.hide(&error.message);
    let again = tool.render_execute(ctx).map_err(words)?;
    if again.digest != bound.digest {
        return Err(
            "the request that is bound cannot be made again, so no secret was put into it"
                .to_owned(),
        );
    }
    let args = secrets
        .fill_as(ctx.args, &|pointer| written(tool, bound, pointer))
        .map_err(|error| error.message)?;
    fits(tool, &args, secrets)?;
    let ctx = Context {
        args: &args,
        ..*ctx
    };
    let request = tool.render_execute(&ctx).map_err(words)?;
    if is_alike(tool, bound, &request) {
        Ok(Some(request))
    } else {
        Err("a secret would change more of the request than the place of its hole; nothing was sent".to_owned())
    }
}

/// Fails where arguments do not fit the input schema with their secrets in them, without telling these.
pub(super) fn fits(tool: &Tool, args: &Value, secrets: &Secrets) -> Result<(), String> {
    let wrong = tool.check_args(args).err();
    match wrong.as_deref().and_then(<[_]>::first) {
        None => Ok(()),
        Some(error) => Err(format!(
            "with its secrets the call does not fit the input schema of its tool: {}",
            secrets.hide(&error.to_string())
        )),
    }
}

/// How a secret is written at a place of the arguments. The templates of the tools file escape what they
/// are given; what the built-in tools are given is a part of the request already.
fn written(tool: &Tool, bound: &Rendered, pointer: &str) -> Written {
    match &tool.execute {
        Execute::Http(_) | Execute::Local(_) | Execute::Worker => Written::Typed,
        Execute::Request(_) if pointer == "/url" => Written::InUrl,
        Execute::Request(_) if pointer.starts_with("/body/") => Written::Typed,
        Execute::Request(_) => {
            let kind = bound.content_type.as_deref().unwrap_or_default();
            if pointer == "/body" && kind.to_ascii_lowercase().contains("json") {
                Written::InJson
            } else {
                Written::Text
            }
        }
    }
}

fn is_alike(tool: &Tool, bound: &Rendered, request: &Rendered) -> bool {
    let names = |one: &Rendered| -> Vec<String> {
        one.headers.iter().map(|(name, _)| name.clone()).collect()
    };
    let goes_there = match &tool.execute {
        Execute::Request(_) => origin_of(&bound.url) == origin_of(&request.url),
        // Where these go, no argument says.
        Execute::Http(_) | Execute::Local(_) | Execute::Worker => true,
    };
    goes_there
        && bound.method == request.method
        && names(bound) == names(request)
        && bound.content_type == request.content_type
        && bound.body.is_some() == request.body.is_some()
        && bound.secrets == request.secrets
}

/// Sets the headers that hold a secret apart, so that nothing prints them.
pub(super) fn set_apart(outgoing: &mut Outgoing, bound: &Rendered, request: &Rendered) {
    let holds = |at: usize| {
        let pair = bound.headers.get(at).zip(request.headers.get(at));
        pair.is_some_and(|(bound, request)| bound != request)
    };
    let headers = std::mem::take(&mut outgoing.headers);
    for (at, (name, value)) in headers.into_iter().enumerate() {
        if holds(at) {
            outgoing.secret_headers.push((name, Hidden::new(value)));
        } else {
            outgoing.headers.push((name, value));
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::action::{Caller, PrincipalKind};
    use crate::skill::{Skill, Vars};
    use crate::tool::{Format, ToolsFile};

    fn secrets() -> Secrets {
        let text = concat!(
            "---\nname: a\ndescription: b\n",
            r#"inputs: {"token": {"secret": true}, "user": {"secret": true}, "pin": {"type": "integer", "secret": true}}"#,
            "\n---\n### Step 1 — A\n- intent: x\n- action: t {}\n",
        );
        let skill = Skill::parse(text).expect("a skill");
        let given = [("token", "a\"b&c"), ("user", "al"), ("pin", "42")];
        let given = given.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let vars = Vars::given(&skill, &given).expect("its inputs");
        vars.secrets().clone()
    }

    /// The request that is bound, and the one that is sent.
    fn both(tool: &str, args: &Value) -> Result<(Rendered, Option<Rendered>), String> {
        let definition = json!({ "execute": { "http": {
            "post": "https://shop.example/{a}?b={b}",
            "headers": { "X-Auth": "{a}:{b}" },
            "json": { "a": "{a}", "both": "{a}{b}", "pin": "{pin}" },
        } } });
        let text = json!({ "tools": { "send": definition } }).to_string();
        let file = ToolsFile::from_str(&text, Format::Json).expect("the tools");
        let registry = file.registry.with_built_in();
        let tool = registry.get(tool).expect("the tool");
        let caller = Caller {
            id: "key_1".to_owned(),
            name: "checkout".to_owned(),
            kind: PrincipalKind::Service,
            owner: None,
            attributes: std::collections::BTreeMap::new(),
        };
        let ctx = Context {
            args,
            caller: &caller,
            state: None,
            action_id: None,
            idempotency_key: Some("k:1"),
        };
        let bound = tool.render_execute(&ctx).expect("rendered");
        let sent = filled(tool, &ctx, &bound, &secrets())?;
        Ok((bound, sent))
    }

    #[test]
    fn i16_a_secret_is_escaped_for_where_it_stands() {
        let args = json!({
            "url": "https://shop.example/x?a={{token}}&b=%7B%7Btoken%7D%7D",
            "query": { "q": "{{token}}" },
            "headers": { "Authorization": "{{user}}:{{token}} {{pin}}", "X-Plain": "a" },
            "body": { "p": "{{pin}}", "t": "{{token}}", "in": "no. {{pin}}", "{{token}}": "{{other}}" },
        });
        let (bound, sent) = both("http.post", &args).expect("it fits");
        let sent = sent.expect("it has secrets");
        assert_eq!(
            sent.url,
            "https://shop.example/x?a=a%22b%26c&b=%7B%7Btoken%7D%7D&q=a%22b%26c"
        );
        assert_eq!(
            sent.headers[0].1, "al:a\"b&c 42",
            "however many stand in it"
        );
        assert_eq!(
            sent.body.as_deref(),
            Some(r#"{"in":"no. 42","p":42,"t":"a\"b&c","{{token}}":"{{other}}"}"#)
        );
        assert!(!format!("{bound:?}").contains("b&c"));
        let text = json!({
            "url": "https://shop.example/x", "headers": { "content-type": "application/json" },
            "body": "{\"t\":\"{{token}}\"}",
        });
        let (_, sent) = both("http.post", &text).expect("it fits");
        let body = sent.and_then(|sent| sent.body);
        assert_eq!(body.as_deref(), Some(r#"{"t":"a\"b&c"}"#));

        let args = json!({ "a": "{{token}}", "b": "{{user}}", "pin": "{{pin}}" });
        let (_, sent) = both("send", &args).expect("it fits");
        let sent = sent.expect("it has secrets");
        assert_eq!(sent.url, "https://shop.example/a%22b%26c?b=al");
        assert_eq!(sent.headers[0].1, "a\"b&c:al");
        assert_eq!(
            sent.body.as_deref(),
            Some(r#"{"a":"a\"b&c","both":"a\"b&cal","pin":42}"#)
        );
    }

    #[test]
    fn i16_what_only_the_request_makes_look_like_a_hole_stays_as_it_is() {
        for (tool, args) in [
            ("send", json!({ "a": "{{tok", "b": "en}}", "pin": 1 })),
            (
                "http.post",
                json!({ "url": "https://shop.example/?c=%7B%7Btoken%7D%7D", "body": { "{{token}}": 1 } }),
            ),
        ] {
            let (_, sent) = both(tool, &args).expect("it fits");
            assert_eq!(sent, None, "{tool}: no secret belongs into it");
        }
    }

    #[test]
    fn i16_a_secret_that_would_say_what_the_body_is_is_refused_without_being_told() {
        let args = json!({ "url": "https://shop.example/x", "headers": { "Content-Type": "{{token}}" }, "body": "x" });
        let told = both("http.post", &args).expect_err("it says what the body is");
        assert!(
            told.contains("nothing was sent") && !told.contains("b&c"),
            "{told}"
        );
    }

    #[test]
    fn a_header_with_a_secret_is_printed_nowhere() {
        let args = json!({ "url": "https://shop.example/x", "headers": { "A": "Bearer {{token}}", "B": "b" } });
        let (bound, sent) = both("http.get", &args).expect("it fits");
        let sent = sent.expect("it has secrets");
        let until = tokio::time::Instant::now() + std::time::Duration::from_secs(1);
        let (mut outgoing, _) = crate::target::prepare::request(&sent, until).expect("a request");
        set_apart(&mut outgoing, &bound, &sent);
        assert_eq!(outgoing.headers.len(), 1, "only what is no secret");
        assert_eq!(outgoing.secret_headers[0].1.expose(), "Bearer a\"b&c");
        assert!(!format!("{outgoing:?}").contains("b&c"));
    }
}
