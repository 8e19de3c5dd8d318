//! `holdpoint pause` and `holdpoint resume`.

use clap::Args;
use serde_json::{Value, json};

use crate::client::{self, ServerArgs};
use crate::escape;
use crate::exit_code::ExitCode;
use crate::failure::Outcome;
use crate::output::{Output, field};

/// The arguments of `pause`.
#[derive(Args, Debug)]
#[command(after_help = "\
Until somebody resumes, no call leaves and no worker is given work, also after a restart of the
server. What is on its way is finished. Submitting, voting, cancelling and expiry go on.")]
pub(crate) struct PauseArgs {
    /// Why; everybody sees it
    #[arg(long)]
    reason: String,
    #[command(flatten)]
    server: ServerArgs,
}

/// The arguments of `resume`.
#[derive(Args, Debug)]
pub(crate) struct ResumeArgs {
    /// Why, for the history
    #[arg(long)]
    reason: Option<String>,
    #[command(flatten)]
    server: ServerArgs,
}

/// Switches to paused.
pub(crate) async fn pause(args: PauseArgs, output: Output) -> Outcome {
    let client = client::connect(&args.server)?;
    let body = json!({ "reason": args.reason });
    let answer = client.post("/v1/pause", &body).await?;
    report(&answer.body, output)
}

/// Sends what is due again.
pub(crate) async fn resume(args: ResumeArgs, output: Output) -> Outcome {
    let client = client::connect(&args.server)?;
    let body = args
        .reason
        .as_ref()
        .map_or_else(|| json!({}), |reason| json!({ "reason": reason }));
    let answer = client.post("/v1/resume", &body).await?;
    report(&answer.body, output)
}

fn report(state: &Value, output: Output) -> Outcome {
    if output.json {
        output.value(state)?;
    } else {
        output.line(&escape::text(&words(state)))?;
    }
    Ok(ExitCode::Ok)
}

/// What the switch is, in one sentence.
pub(crate) fn words(state: &Value) -> String {
    if state.get("paused").and_then(Value::as_bool) == Some(true) {
        return format!(
            "paused by {} since {}: {}",
            field(state, "/name"),
            field(state, "/since"),
            field(state, "/reason")
        );
    }
    "not paused".to_owned()
}
