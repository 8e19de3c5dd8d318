//! `holdpoint actions wait`, and waiting in general.

use std::time::{Duration, Instant};

use clap::Args;
use holdpoint::client::{Answer, Client, Error};
use holdpoint_engine::tool::parse_duration;
use serde_json::Value;

use crate::client::{self, ServerArgs};
use crate::commands::pause::Watch;
use crate::escape;
use crate::exit_code::ExitCode;
use crate::failure::{Failure, Outcome};
use crate::output::{Output, field};

/// The longest that one request asks the server to wait.
const POLL_MAX: Duration = Duration::from_secs(30);

/// The shortest time between two requests, for a server that does not wait.
const POLL_MIN: Duration = Duration::from_millis(200);

/// How long the first answer may take to come.
const FIRST_MAX: Duration = Duration::from_secs(10);

/// The longest rest before a server that is away is asked again.
const REST_MAX: Duration = Duration::from_secs(5);

/// The arguments of `actions wait`.
#[derive(Args, Debug)]
pub(crate) struct WaitArgs {
    /// The action, act_…
    id: String,
    /// At most this long
    #[arg(long = "for", value_name = "DURATION", default_value = "1h", value_parser = parse_duration)]
    at_most: Duration,
    /// Stop waiting once it is approved, rejected or expired
    #[arg(long)]
    decided: bool,
    #[command(flatten)]
    server: ServerArgs,
}

/// Waits and prints the action as it is then.
pub(super) async fn run(args: WaitArgs, output: Output) -> Outcome {
    let client = client::connect(&args.server)?;
    let path = super::path(&args.id)?;
    let action = until_final(&client, &path, args.at_most, args.decided, output).await?;
    report(&action, args.decided, output)
}

/// Prints how an action stands, and makes the exit code of it.
pub(super) fn report(action: &Value, decided: bool, output: Output) -> Outcome {
    let status = field(action, "/status");
    if output.json {
        output.value(action)?;
    } else {
        output.line(&escape::text(&format!("{} {status}", field(action, "/id"))))?;
        super::show::note_next(action, output);
    }
    Ok(match status.as_str() {
        // Approved is not done: only who waits for the decision has what was asked for.
        "approved" if !decided => ExitCode::Pending,
        "accepted" | "executing" | "unknown" if decided => ExitCode::Ok,
        status => ExitCode::of_status(status),
    })
}

/// The action once it is final (or decided), or as it is when the time is over.
pub(super) async fn until_final(
    client: &Client,
    path: &str,
    at_most: Duration,
    decided: bool,
    output: Output,
) -> Outcome<Value> {
    let end = Instant::now() + at_most;
    // Where there is no server at all, nobody should have to wait to learn of it.
    let soon = end.min(Instant::now() + FIRST_MAX);
    let mut answer = while_away(soon, output, || client.get(path)).await?;
    let mut action = std::mem::take(&mut answer.body);
    let mut etag = answer.etag;
    let (mut pause, mut is_still) = (Watch::default(), true);
    while !is_done(&action, decided) {
        // People decide while it is paused; only what they decided on is not sent.
        if is_still && !decided {
            pause.tell(client, output).await;
        }
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            break;
        }
        let asked = Instant::now();
        let changed = || client.get_changed(path, etag.as_deref(), left.min(POLL_MAX));
        let answer = match while_away(end, output, changed).await {
            Ok(answer) => answer,
            Err(error) if error.is_retryable() => return Err(gave_up(&action, error)),
            Err(error) => return Err(error.into()),
        };
        is_still = answer.body.is_null();
        if !is_still {
            action = answer.body;
            etag = answer.etag;
        }
        if let Some(rest) = POLL_MIN.checked_sub(asked.elapsed()) {
            tokio::time::sleep(rest.min(left)).await;
        }
    }
    Ok(action)
}

/// Reads, again until `end` while the server is away or busy: a restart of it is no end of a wait.
async fn while_away<Fut>(
    end: Instant,
    output: Output,
    read: impl Fn() -> Fut,
) -> Result<Answer, Error>
where
    Fut: Future<Output = Result<Answer, Error>>,
{
    let (mut rest, mut is_away) = (POLL_MIN, false);
    loop {
        match read().await {
            Err(error) if error.is_retryable() && Instant::now() + rest < end => {
                if !is_away {
                    is_away = true;
                    output.note(&escape::text(&format!(
                        "{error}; it is asked again until it answers or the time to wait is over"
                    )));
                }
                tokio::time::sleep(rest).await;
                rest = (rest * 2).min(REST_MAX);
            }
            ended => {
                if is_away && ended.is_ok() {
                    output.note("the server answers again");
                }
                return ended;
            }
        }
    }
}

/// The time is over, and the server is away: nothing says that the action has ended.
fn gave_up(action: &Value, error: Error) -> Failure {
    let (id, status) = (field(action, "/id"), field(action, "/status"));
    Failure::from(error)
        .with_code(ExitCode::Pending)
        .detail(format!(
            "the time to wait is over; {id} was {status} when it was last seen"
        ))
        .help(format!(
            "once the server is back: holdpoint actions wait {id}"
        ))
}

fn is_done(action: &Value, decided: bool) -> bool {
    match action.get("status").and_then(Value::as_str) {
        Some(
            "succeeded" | "failed" | "rejected" | "expired" | "cancelled" | "refused"
            | "replan_required",
        ) => true,
        Some("approved" | "accepted" | "executing" | "unknown") => decided,
        _ => false,
    }
}
