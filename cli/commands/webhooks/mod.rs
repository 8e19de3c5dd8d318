//! `holdpoint webhooks`: who is told of events, and what was sent.

mod on;

use std::time::Duration;

use clap::{ArgMatches, Args, Subcommand};
use holdpoint_engine::tool::parse_duration;
use holdpoint_engine::webhook::{EndpointId, MessageId};
use serde_json::{Value, json};

use super::admin::{Admin, AdminArgs};
use crate::escape;
use crate::exit_code::ExitCode;
use crate::failure::Outcome;
use crate::output::{Output, field};

/// What to do with webhooks.
#[derive(Debug, Subcommand)]
pub(crate) enum WebhooksCommand {
    /// List all endpoints
    #[command(visible_alias = "list")]
    Ls(ListArgs),
    /// Make an endpoint; its secret is printed once, alone on stdout
    Add(AddArgs),
    /// Show one endpoint
    Show(EndpointArgs),
    /// Delete an endpoint; its history stays
    Rm(ReasonArgs),
    /// Make a new secret, printed once; the old one signs as well for a while
    Rotate(RotateArgs),
    /// Send again, from where it stood or from another position
    Enable(EnableArgs),
    /// Send nothing any more; the place is kept
    Disable(ReasonArgs),
    /// Send a test through a running server, and say what came of it
    Test(EndpointArgs),
    /// List the last messages to an endpoint with their attempts
    Deliveries(EndpointArgs),
    /// Send an event once more through a running server, under the same id
    Redeliver(MessageArgs),
}

/// The arguments of `webhooks ls`.
#[derive(Args, Debug)]
pub(crate) struct ListArgs {
    #[command(flatten)]
    admin: AdminArgs,
}

/// The arguments of `webhooks add`.
#[derive(Args, Debug)]
#[command(after_help = "\
Example:
  holdpoint webhooks add --name orders --url https://orders.example.com/hook --owner ada@example.com > orders.whsec")]
pub(crate) struct AddArgs {
    /// The name shown to people
    #[arg(long)]
    name: String,
    /// Where messages go
    #[arg(long)]
    url: String,
    /// A type of event, such as action.succeeded; may be given several times [default: all]
    #[arg(long = "type", value_name = "TYPE")]
    types: Vec<String>,
    /// A tool; may be given several times [default: all]
    #[arg(long = "tool", value_name = "TOOL")]
    tools: Vec<String>,
    /// Whose it is, an address or key_…: it hears of what they may see [default with --server: yours]
    #[arg(long, value_name = "EMAIL|KEY")]
    owner: Option<String>,
    /// It hears of what follows this position of the log [default: its end]
    #[arg(long, value_name = "POSITION")]
    from: Option<u64>,
    #[command(flatten)]
    admin: AdminArgs,
}

/// The arguments of commands about one endpoint.
#[derive(Args, Debug)]
pub(crate) struct EndpointArgs {
    /// The endpoint, whk_…
    id: EndpointId,
    #[command(flatten)]
    admin: AdminArgs,
}

/// The arguments of `webhooks rm` and `webhooks disable`.
#[derive(Args, Debug)]
pub(crate) struct ReasonArgs {
    /// The endpoint, whk_…
    id: EndpointId,
    /// Why, for the history
    #[arg(long)]
    reason: String,
    #[command(flatten)]
    admin: AdminArgs,
}

/// The arguments of `webhooks rotate`.
#[derive(Args, Debug)]
pub(crate) struct RotateArgs {
    /// The endpoint, whk_…
    id: EndpointId,
    /// How long the old secret signs as well, at most 30d [default: 24h]
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    overlap: Option<Duration>,
    /// Why, for the history
    #[arg(long)]
    reason: Option<String>,
    #[command(flatten)]
    admin: AdminArgs,
}

/// The arguments of `webhooks enable`.
#[derive(Args, Debug)]
pub(crate) struct EnableArgs {
    /// The endpoint, whk_…
    id: EndpointId,
    /// Why, for the history
    #[arg(long)]
    reason: String,
    /// Go on after this position of the log; what lies in between is skipped or sent again
    #[arg(long, value_name = "POSITION")]
    from: Option<u64>,
    #[command(flatten)]
    admin: AdminArgs,
}

/// The arguments of `webhooks redeliver`.
#[derive(Args, Debug)]
pub(crate) struct MessageArgs {
    /// The message, msg_…
    id: MessageId,
    #[command(flatten)]
    admin: AdminArgs,
}

/// Runs one of them.
pub(crate) async fn run(command: WebhooksCommand, matches: &ArgMatches, output: Output) -> Outcome {
    let args = match &command {
        WebhooksCommand::Ls(args) => &args.admin,
        WebhooksCommand::Add(args) => &args.admin,
        WebhooksCommand::Show(args)
        | WebhooksCommand::Test(args)
        | WebhooksCommand::Deliveries(args) => &args.admin,
        WebhooksCommand::Rm(args) | WebhooksCommand::Disable(args) => &args.admin,
        WebhooksCommand::Rotate(args) => &args.admin,
        WebhooksCommand::Enable(args) => &args.admin,
        WebhooksCommand::Redeliver(args) => &args.admin,
    };
    let admin = Admin::open(args, matches, output).await?;
    let outcome = carry_out(command, &admin, output).await;
    admin.close().await;
    outcome
}

async fn carry_out(command: WebhooksCommand, admin: &Admin, output: Output) -> Outcome {
    match command {
        WebhooksCommand::Ls(_) => print_list(&on::list(admin).await?, output),
        WebhooksCommand::Add(args) => {
            let new = on::New {
                name: args.name,
                url: args.url,
                types: args.types.into_iter().collect(),
                tools: args.tools.into_iter().collect(),
                owner: args.owner,
                from: args.from,
            };
            let (secret, endpoint) = on::add(admin, new).await?;
            print_secret(&secret, &endpoint, "made", output)
        }
        WebhooksCommand::Show(args) => print(&on::show(admin, args.id).await?, output),
        WebhooksCommand::Rm(args) => {
            on::remove(admin, args.id, &args.reason).await?;
            output.note("it is deleted; its history stays");
            Ok(ExitCode::Ok)
        }
        WebhooksCommand::Rotate(args) => {
            let rotated = on::rotate(admin, args.id, args.overlap, args.reason);
            let (secret, endpoint) = rotated.await?;
            print_secret(&secret, &endpoint, "a new secret for", output)
        }
        WebhooksCommand::Enable(args) => {
            let done = on::set_enabled(admin, args.id, true, args.from, &args.reason).await?;
            print(&done, output)?;
            output.note("messages are sent again");
            Ok(ExitCode::Ok)
        }
        WebhooksCommand::Disable(args) => {
            let done = on::set_enabled(admin, args.id, false, None, &args.reason).await?;
            print(&done, output)?;
            output.note("nothing is sent any more; its place is kept");
            Ok(ExitCode::Ok)
        }
        WebhooksCommand::Test(args) => print_sent(&on::test(admin, args.id).await?, output),
        WebhooksCommand::Redeliver(args) => {
            print_sent(&on::redeliver(admin, args.id).await?, output)
        }
        WebhooksCommand::Deliveries(args) => {
            print_deliveries(&on::deliveries(admin, args.id).await?, output)
        }
    }
}

fn print_secret(secret: &str, endpoint: &Value, what: &str, output: Output) -> Outcome {
    if output.json {
        output.value(&json!({ "secret": secret, "endpoint": endpoint }))?;
    } else {
        output.line(&escape::text(secret))?;
    }
    output.note(&format!(
        "{what} {}; the line on stdout is the secret, and it is not shown again",
        escape::text(&field(endpoint, "/id"))
    ));
    Ok(ExitCode::Ok)
}

fn state(endpoint: &Value) -> String {
    match endpoint.pointer("/disabled/reason").and_then(Value::as_str) {
        Some(reason) => format!(
            "disabled ({}): {reason}",
            field(endpoint, "/disabled/cause")
        ),
        None if endpoint["trying"].is_null() => "enabled".to_owned(),
        None => format!(
            "enabled, {} attempts at position {}, the next at {}",
            field(endpoint, "/trying/attempts"),
            field(endpoint, "/trying/position"),
            field(endpoint, "/trying/next_attempt_at")
        ),
    }
}

fn words(endpoint: &Value, key: &str) -> String {
    let names = endpoint.get(key).and_then(Value::as_array);
    let names: Vec<_> = names
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    if names.is_empty() {
        "all".to_owned()
    } else {
        names.join(", ")
    }
}

fn print(endpoint: &Value, output: Output) -> Outcome {
    if output.json {
        output.value(endpoint)?;
        return Ok(ExitCode::Ok);
    }
    let rows = [
        ("id", field(endpoint, "/id")),
        ("name", field(endpoint, "/name")),
        ("url", field(endpoint, "/url")),
        ("owner", field(endpoint, "/owner")),
        ("types", words(endpoint, "types")),
        ("tools", words(endpoint, "tools")),
        ("state", state(endpoint)),
        ("position", field(endpoint, "/position")),
        ("old secret until", field(endpoint, "/old_secret_until")),
        ("created", field(endpoint, "/created_at")),
        ("changed", field(endpoint, "/updated_at")),
    ];
    for (name, value) in rows {
        output.line(&format!("{name:<18}{}", escape::text(&value)))?;
    }
    Ok(ExitCode::Ok)
}

fn print_list(endpoints: &[Value], output: Output) -> Outcome {
    if output.json {
        output.value(&json!({ "data": endpoints }))?;
    } else if endpoints.is_empty() {
        output.note("no webhook endpoints yet; make one with `holdpoint webhooks add`");
    } else {
        let rows = endpoints.iter().map(|endpoint| {
            [
                field(endpoint, "/id"),
                field(endpoint, "/name"),
                field(endpoint, "/url"),
                words(endpoint, "types"),
                field(endpoint, "/position"),
                state(endpoint),
            ]
        });
        output.table(["id", "name", "url", "types", "position", "state"], rows)?;
    }
    Ok(ExitCode::Ok)
}

fn last_attempt(delivery: &Value) -> String {
    let last = delivery["attempts"].as_array().and_then(|all| all.last());
    let Some(last) = last else {
        return "-".to_owned();
    };
    match last["error"].as_str() {
        Some(error) => error.to_owned(),
        None => format!("answered {}", field(last, "/http_status")),
    }
}

fn print_sent(delivery: &Value, output: Output) -> Outcome {
    if output.json {
        output.value(delivery)?;
    } else {
        output.line(&escape::text(&format!(
            "{} {}: {}",
            field(delivery, "/id"),
            field(delivery, "/status"),
            last_attempt(delivery)
        )))?;
    }
    if delivery["status"] == "delivered" {
        return Ok(ExitCode::Ok);
    }
    output.note("it was not taken");
    Ok(ExitCode::Failure)
}

fn print_deliveries(deliveries: &[Value], output: Output) -> Outcome {
    if output.json {
        output.value(&json!({ "data": deliveries }))?;
    } else if deliveries.is_empty() {
        output.note("nothing was sent yet");
    } else {
        let rows = deliveries.iter().map(|delivery| {
            [
                field(delivery, "/id"),
                field(delivery, "/type"),
                field(delivery, "/status"),
                field(delivery, "/attempts_made"),
                field(delivery, "/next_attempt_at"),
                last_attempt(delivery),
            ]
        });
        let head = ["id", "type", "status", "attempts", "next", "last attempt"];
        output.table(head, rows)?;
    }
    Ok(ExitCode::Ok)
}
