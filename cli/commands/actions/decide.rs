//! What people do about an action: `approve`, `reject`, `withdraw`, `cancel`, `settle`.

use clap::Args;
use holdpoint::client::Client;
use serde_json::{Value, json};

use crate::client::{self, ServerArgs};
use crate::escape;
use crate::exit_code::ExitCode;
use crate::failure::{Failure, Outcome};
use crate::output::{Output, field};

/// The arguments of `actions approve`.
#[derive(Args, Debug)]
#[command(after_help = "\
Without --yes it shows the action and asks. A script passes what it (or a person) has looked at:
  holdpoint actions approve act_… --yes --digest sha256:… [--snapshot-digest sha256:…]")]
pub(crate) struct ApproveArgs {
    /// The action, act_…
    id: String,
    /// Why, for the history
    #[arg(long)]
    reason: Option<String>,
    /// Do not ask; needs --digest, so that nothing is approved that was not seen
    #[arg(long, requires = "digest")]
    yes: bool,
    /// The digest of what was looked at; anything else is a conflict
    #[arg(long)]
    digest: Option<String>,
    /// The digest of the state that was looked at; needed with --yes where the action has one
    #[arg(long)]
    snapshot_digest: Option<String>,
    #[command(flatten)]
    server: ServerArgs,
}

/// The arguments of `actions reject`.
#[derive(Args, Debug)]
pub(crate) struct RejectArgs {
    /// The action, act_…
    id: String,
    /// Why; the requester sees it
    #[arg(long)]
    reason: String,
    #[command(flatten)]
    server: ServerArgs,
}

/// The arguments of `actions withdraw` and `actions cancel`.
#[derive(Args, Debug)]
pub(crate) struct ReasonArgs {
    /// The action, act_…
    id: String,
    /// Why, for the history
    #[arg(long)]
    reason: Option<String>,
    #[command(flatten)]
    server: ServerArgs,
}

/// The arguments of `actions settle`.
#[derive(Args, Debug)]
#[command(group = clap::ArgGroup::new("what").required(true))]
pub(crate) struct SettleArgs {
    /// The action, act_…
    id: String,
    /// It took effect
    #[arg(long, group = "what")]
    happened: bool,
    /// It did not take effect
    #[arg(long, group = "what")]
    did_not_happen: bool,
    /// How you know; it stays in the history
    #[arg(long)]
    reason: String,
    #[command(flatten)]
    server: ServerArgs,
}

/// Shows what will be approved exactly, asks, and sends the digests that were shown.
pub(super) async fn approve(args: ApproveArgs, output: Output) -> Outcome {
    let client = client::connect(&args.server)?;
    let path = super::path(&args.id)?;
    let action = client.get(&path).await?.body;
    let digest = field(&action, "/digest");
    let snapshot = action.pointer("/snapshot/digest").and_then(Value::as_str);
    if let Some(seen) = &args.digest
        && *seen != digest
    {
        return Err(moved("digest", seen, &digest));
    }
    match (&args.snapshot_digest, snapshot) {
        (Some(seen), now) if now != Some(seen) => {
            return Err(moved("snapshot digest", seen, now.unwrap_or("none")));
        }
        (None, Some(now)) if args.yes => {
            return Err(Failure::usage(
                "the action was staged on a state, and --yes approves that too",
            )
            .help(format!(
                "look at it with `holdpoint actions show {}`, then add --snapshot-digest {now}",
                args.id
            )));
        }
        _ => {}
    }
    if !args.yes {
        if !output.can_ask() {
            return Err(
                Failure::usage("there is no terminal to ask at").help(format!(
                    "look at it with `holdpoint actions show {}`, then pass --yes --digest DIGEST{}",
                    args.id,
                    snapshot.map_or("", |_| " --snapshot-digest DIGEST"),
                )),
            );
        }
        output.line(super::show::describe(&action).trim_end())?;
        output.note("\nApprove exactly this? Type yes:");
        let answer = console::Term::stderr()
            .read_line()
            .map_err(|error| Failure::because("cannot read the answer", &error))?;
        if answer.trim() != "yes" {
            return Err(Failure::failed("not approved; nothing was sent"));
        }
    }
    vote(
        &client,
        &path,
        "approve",
        args.reason.as_deref(),
        &action,
        output,
    )
    .await
}

/// Votes no, on what the action is now.
pub(super) async fn reject(args: RejectArgs, output: Output) -> Outcome {
    let client = client::connect(&args.server)?;
    let path = super::path(&args.id)?;
    let action = client.get(&path).await?.body;
    vote(
        &client,
        &path,
        "reject",
        Some(&args.reason),
        &action,
        output,
    )
    .await
}

async fn vote(
    client: &Client,
    path: &str,
    vote: &str,
    reason: Option<&str>,
    shown: &Value,
    output: Output,
) -> Outcome {
    let mut body = json!({
        "vote": vote,
        "digest": shown.get("digest"),
        "revision": shown.get("revision"),
    });
    if let Some(reason) = reason {
        body["reason"] = json!(reason);
    }
    if let Some(digest) = shown.pointer("/snapshot/digest").and_then(Value::as_str) {
        body["snapshot_digest"] = json!(digest);
    }
    let action = client.post(&format!("{path}/votes"), &body).await?.body;
    print(&action, output)
}

/// Takes back an approval.
pub(super) async fn withdraw(args: ReasonArgs, output: Output) -> Outcome {
    post(args, "withdraw", output).await
}

/// Takes back a proposal.
pub(super) async fn cancel(args: ReasonArgs, output: Output) -> Outcome {
    post(args, "cancel", output).await
}

async fn post(args: ReasonArgs, verb: &str, output: Output) -> Outcome {
    let client = client::connect(&args.server)?;
    let path = super::path(&args.id)?;
    let body = match args.reason {
        Some(reason) => json!({ "reason": reason }),
        None => json!({}),
    };
    let action = client.post(&format!("{path}/{verb}"), &body).await?.body;
    print(&action, output)
}

/// Says what became of an unknown outcome.
pub(super) async fn settle(args: SettleArgs, output: Output) -> Outcome {
    let client = client::connect(&args.server)?;
    let path = super::path(&args.id)?;
    let body = json!({ "happened": args.happened, "reason": args.reason });
    let action = client.post(&format!("{path}/settle"), &body).await?.body;
    print(&action, output)
}

fn print(action: &Value, output: Output) -> Outcome {
    if output.json {
        output.value(action)?;
    } else {
        let line = format!("{} {}", field(action, "/id"), field(action, "/status"));
        output.line(&escape::text(&line))?;
        let votes = action.pointer("/approval/votes").and_then(Value::as_array);
        if action.get("status").and_then(Value::as_str) == Some("staged") {
            output.note(&format!(
                "{} of {} approvals are in",
                votes.map_or(0, Vec::len),
                field(action, "/approval/required")
            ));
        }
    }
    Ok(ExitCode::Ok)
}

fn moved(what: &str, seen: &str, now: &str) -> Failure {
    Failure::new(
        ExitCode::Conflict,
        format!("it is no longer what you looked at: the {what} was {seen} and is {now}"),
    )
    .help("look at it again with `holdpoint actions show ID`, then decide anew")
}
