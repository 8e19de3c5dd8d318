//! `holdpoint actions submit`.

use std::io::Read as _;
use std::time::Duration;

use clap::Args;
use holdpoint::client::Client;
use holdpoint_engine::time::Timestamp;
use holdpoint_engine::tool::parse_duration;
use serde::de::IgnoredAny;
use serde_json::{Value, json};

use crate::client::{self, ServerArgs};
use crate::escape;
use crate::exit_code::ExitCode;
use crate::failure::{Failure, Outcome};
use crate::output::{Output, field};

/// The longest arguments that are read, in bytes; the server's own bound is lower.
const ARGS_BYTES_MAX: u64 = 4 * 1024 * 1024;

/// The arguments of `actions submit`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  holdpoint actions submit issue_refund --args '{\"order_id\":\"8812\"}' --reason 'arrived broken'
  holdpoint actions submit issue_refund --args @refund.json --wait 10m")]
pub(crate) struct SubmitArgs {
    /// The tool
    tool: String,
    /// The arguments: JSON, @FILE, or - for stdin
    #[arg(long, default_value = "{}", value_name = "JSON|@FILE|-")]
    args: String,
    /// Why, in your own words
    #[arg(long)]
    reason: Option<String>,
    /// A further label; may be given several times
    #[arg(long, value_name = "KEY=VALUE", value_parser = pair)]
    label: Vec<(String, String)>,
    /// A shorter time to decide than the tool's own, in whole seconds or more
    #[arg(long, value_name = "DURATION", value_parser = whole_seconds)]
    expires_in: Option<Duration>,
    /// Not to be called before this moment (RFC 3339); before its deadline
    #[arg(long, value_name = "TIME", value_parser = moment)]
    not_before: Option<Timestamp>,
    /// Wait this long until it is final; the exit code says how it ended
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    wait: Option<Duration>,
    /// The same key with the same request answers with the first action [default: a new key]
    #[arg(long, value_name = "KEY")]
    idempotency_key: Option<String>,
    #[command(flatten)]
    server: ServerArgs,
}

/// Submits an action and prints its id and status.
pub(super) async fn run(args: SubmitArgs, output: Output) -> Outcome {
    let client = client::connect(&args.server)?;
    let body = body(&args)?;
    let key = match &args.idempotency_key {
        Some(key) => key.clone(),
        None => format!("cli-{}", holdpoint::client::random_key()?),
    };
    let sent = client.submit_text(&body, &key).await;
    let answer = sent.map_err(Failure::from).map_err(|failure| {
        if failure.is_settled() {
            return failure;
        }
        // Sending the same key again is safe whatever became of the first try.
        failure.detail(format!(
            "to send it again without doing it twice, add --idempotency-key {key}"
        ))
    })?;
    if answer.replayed {
        output.note("the same request was made before; this is its action");
    }
    let action = answer.body;
    let (Some(wait), Some(id)) = (args.wait, action.get("id").and_then(Value::as_str)) else {
        return submitted(&client, &action, output).await;
    };
    // Before the wait, which may end without a word of it.
    output.note(&format!("waiting for {}", escape::text(id)));
    let action = super::wait::until_final(&client, &super::path(id)?, wait, false, output).await?;
    super::wait::report(&action, false, output)
}

/// Prints what became of a submission that is not waited for.
async fn submitted(client: &Client, action: &Value, output: Output) -> Outcome {
    let status = field(action, "/status");
    if output.json {
        output.value(action)?;
    } else if action.get("id").is_some_and(Value::is_string) {
        output.line(&escape::text(&format!("{} {status}", field(action, "/id"))))?;
        super::show::note_next(action, output);
    } else {
        // An idempotent tool was called at once: its answer is the data.
        output.line(&escape::text(&status))?;
        output.value(action.get("result").unwrap_or(&Value::Null))?;
    }
    super::show::note_pause(client, action, output).await;
    Ok(match status.as_str() {
        "refused" | "failed" => ExitCode::of_status(&status),
        // It was accepted for later, which is what was asked for.
        _ => ExitCode::Ok,
    })
}

/// The body, with the arguments exactly as they were written: what a parser of ours would lose
/// (a digit, the first of two equal keys) is for the server to refuse.
fn body(args: &SubmitArgs) -> Outcome<String> {
    let text = args_text(&args.args)?;
    let IgnoredAny = serde_json::from_str(&text).map_err(|error| {
        Failure::because("the arguments are not JSON", &error)
            .with_code(ExitCode::Usage)
            .help("pass --args '{\"name\": \"value\"}', --args @FILE, or --args - for stdin")
    })?;
    let mut rest = serde_json::Map::new();
    rest.insert("tool".to_owned(), json!(args.tool));
    if let Some(reason) = &args.reason {
        rest.insert("reason".to_owned(), json!(reason));
    }
    if !args.label.is_empty() {
        let labels = args
            .label
            .iter()
            .map(|(key, value)| (key.clone(), json!(value)));
        rest.insert("labels".to_owned(), Value::Object(labels.collect()));
    }
    if let Some(expires_in) = args.expires_in {
        rest.insert(
            "expires_in".to_owned(),
            json!(format!("{}s", expires_in.as_secs())),
        );
    }
    if let Some(moment) = args.not_before {
        rest.insert("not_before".to_owned(), json!(moment.rfc3339()));
    }
    let rest = Value::Object(rest).to_string();
    // The object is never empty: it has the tool.
    let head = rest.strip_suffix('}').unwrap_or(&rest);
    Ok(format!("{head},\"args\":{}}}", text.trim()))
}

fn args_text(argument: &str) -> Outcome<String> {
    let mut text = String::new();
    let failed = |place: &str, error: &std::io::Error| {
        Failure::because(format!("cannot read the arguments from {place}"), error)
            .with_code(ExitCode::Usage)
    };
    let place = if argument == "-" {
        std::io::stdin()
            .take(ARGS_BYTES_MAX + 1)
            .read_to_string(&mut text)
            .map_err(|error| failed("stdin", &error))?;
        "stdin"
    } else if let Some(path) = argument.strip_prefix('@') {
        std::fs::File::open(path)
            .and_then(|file| file.take(ARGS_BYTES_MAX + 1).read_to_string(&mut text))
            .map_err(|error| failed(path, &error))?;
        path
    } else {
        return Ok(argument.to_owned());
    };
    if u64::try_from(text.len()).is_ok_and(|length| ARGS_BYTES_MAX < length) {
        return Err(Failure::usage(format!(
            "the arguments in {place} are longer than {ARGS_BYTES_MAX} bytes"
        )));
    }
    Ok(text)
}

fn moment(text: &str) -> Result<Timestamp, String> {
    Timestamp::parse_rfc3339(text)
        .ok_or_else(|| "write a moment with its zone, as in 2026-12-01T08:00:00Z".to_owned())
}

/// Reads a duration that the server takes: nothing of it is dropped in silence.
fn whole_seconds(text: &str) -> Result<Duration, String> {
    let time = parse_duration(text).map_err(|error| error.to_string())?;
    if time.subsec_nanos() == 0 {
        return Ok(time);
    }
    Err(
        "parts of a second cannot be given here; write whole ones, as in 90s, 30m or 24h"
            .to_owned(),
    )
}

/// Reads `KEY=VALUE`.
pub(crate) fn pair(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.is_empty() => Ok((key.to_owned(), value.to_owned())),
        _ => Err("write KEY=VALUE".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_of_a_second_is_refused_and_never_dropped() {
        assert_eq!(whole_seconds("1m30s"), Ok(Duration::from_secs(90)));
        assert_eq!(whole_seconds("2000ms"), Ok(Duration::from_secs(2)));
        for part in ["1500ms", "500ms", "1s1ms"] {
            let why = whole_seconds(part).expect_err("a part of a second");
            assert!(why.contains("parts of a second"), "{why}");
        }
    }
}
