//! `holdpoint actions ls`.

use clap::Args;
use serde_json::Value;

use crate::client::{self, ServerArgs};
use crate::escape;
use crate::exit_code::ExitCode;
use crate::failure::{Failure, Outcome};
use crate::output::{Output, field};

/// The arguments of `actions ls`.
#[derive(Args, Debug)]
pub(crate) struct ListArgs {
    /// Only this status; may be given several times
    #[arg(long, value_name = "STATUS")]
    status: Vec<String>,
    /// Only this tool
    #[arg(long)]
    tool: Option<String>,
    /// Only actions of this caller (per_… or key_…)
    #[arg(long, value_name = "ID")]
    caller: Option<String>,
    /// Only with this label; may be given several times
    #[arg(long, value_name = "KEY=VALUE", value_parser = super::submit::pair)]
    label: Vec<(String, String)>,
    /// Only created at or after this moment (RFC 3339)
    #[arg(long, value_name = "TIME")]
    from: Option<String>,
    /// Only created before this moment (RFC 3339)
    #[arg(long, value_name = "TIME")]
    to: Option<String>,
    /// At most this many, 1 to 200
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u16).range(1..=200))]
    limit: u16,
    /// Where the page before ended
    #[arg(long)]
    cursor: Option<String>,
    #[command(flatten)]
    server: ServerArgs,
}

/// Prints one page.
pub(super) async fn run(args: ListArgs, output: Output) -> Outcome {
    let client = client::connect(&args.server)?;
    let path = format!("/v1/actions?{}", query(&args));
    let page = client.get(&path).await?.body;
    if output.json {
        output.value(&page)?;
        return Ok(ExitCode::Ok);
    }
    let actions = ["data", "actions"]
        .into_iter()
        .find_map(|name| page.get(name).and_then(Value::as_array))
        .ok_or_else(|| Failure::failed("the server answered without a list"))?;
    if actions.is_empty() {
        output.note("no actions");
        return Ok(ExitCode::Ok);
    }
    output.table(
        ["id", "status", "tool", "caller", "created", "summary"],
        actions.iter().map(|action| {
            [
                "/id",
                "/status",
                "/tool",
                "/caller/name",
                "/created_at",
                "/summary",
            ]
            .map(|pointer| field(action, pointer))
        }),
    )?;
    if let Some(cursor) = page.get("next_cursor").and_then(Value::as_str) {
        output.note(&format!(
            "there are more: --cursor {}",
            escape::text(cursor)
        ));
    }
    Ok(ExitCode::Ok)
}

fn query(args: &ListArgs) -> String {
    let mut pairs = vec![("limit".to_owned(), args.limit.to_string())];
    if !args.status.is_empty() {
        pairs.push(("status".to_owned(), args.status.join(",")));
    }
    for (name, value) in [
        ("tool", &args.tool),
        ("caller", &args.caller),
        ("from", &args.from),
        ("to", &args.to),
        ("cursor", &args.cursor),
    ] {
        if let Some(value) = value {
            pairs.push((name.to_owned(), value.clone()));
        }
    }
    for (key, value) in &args.label {
        pairs.push((format!("label.{key}"), value.clone()));
    }
    encode(&pairs)
}

/// Pairs as the query of a URL.
pub(super) fn encode(pairs: &[(String, String)]) -> String {
    let escape = |text: &str| -> String {
        text.bytes()
            .map(|byte| match byte {
                b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                    char::from(byte).to_string()
                }
                _ => format!("%{byte:02X}"),
            })
            .collect()
    };
    pairs
        .iter()
        .map(|(name, value)| format!("{}={}", escape(name), escape(value)))
        .collect::<Vec<_>>()
        .join("&")
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_query_is_escaped() {
        let pairs = [("label.a b".to_owned(), "x&y=é".to_owned())];
        assert_eq!(super::encode(&pairs), "label.a%20b=x%26y%3D%C3%A9");
    }
}
