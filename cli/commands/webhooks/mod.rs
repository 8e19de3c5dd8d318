//! `holdpoint webhooks`: who is told of events, and what was sent.

mod on;
mod print;

use std::collections::BTreeSet;
use std::time::Duration;

use clap::{ArgMatches, Args, Subcommand};
use holdpoint_engine::tool::parse_duration;
use holdpoint_engine::webhook::{EndpointChange, EndpointId, MessageId};

use self::print::{print, print_deliveries, print_list, print_secret, print_sent};
use super::admin::{Admin, AdminArgs};
use crate::exit_code::ExitCode;
use crate::failure::Outcome;
use crate::output::Output;

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
    /// Change where messages go, or what it hears of; its place and its secrets stay
    Change(ChangeArgs),
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

/// The arguments of `webhooks change`.
#[derive(Args, Debug)]
#[command(after_help = "\
What is not named stays as it is. Types and tools that are named replace all that it had.

Example:
  holdpoint webhooks change whk_… --url https://orders.example.com/new --reason 'the host moved'")]
pub(crate) struct ChangeArgs {
    /// The endpoint, whk_…
    id: EndpointId,
    #[command(flatten)]
    what: What,
    /// Why, for the history
    #[arg(long)]
    reason: Option<String>,
    #[command(flatten)]
    admin: AdminArgs,
}

/// What changes: at least one of these.
#[derive(Args, Debug)]
#[group(required = true, multiple = true)]
struct What {
    /// The name from now on
    #[arg(long)]
    name: Option<String>,
    /// Where messages go from the next attempt on
    #[arg(long)]
    url: Option<String>,
    /// A type of event that it hears of from now on; may be given several times
    #[arg(long = "type", value_name = "TYPE", conflicts_with = "all_types")]
    types: Vec<String>,
    /// It hears of events of every type
    #[arg(long)]
    all_types: bool,
    /// A tool that it hears of from now on; may be given several times
    #[arg(long = "tool", value_name = "TOOL", conflicts_with = "all_tools")]
    tools: Vec<String>,
    /// It hears of every tool
    #[arg(long)]
    all_tools: bool,
}

/// What is named, or all, or what it was.
fn chosen(named: Vec<String>, all: bool) -> Option<BTreeSet<String>> {
    (all || !named.is_empty()).then(|| named.into_iter().collect())
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
        WebhooksCommand::Change(args) => &args.admin,
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
        WebhooksCommand::Ls(_) => print_list(&on::list(admin).await?, admin, output),
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
        WebhooksCommand::Change(args) => {
            let change = EndpointChange {
                name: args.what.name,
                url: args.what.url,
                types: chosen(args.what.types, args.what.all_types),
                tools: chosen(args.what.tools, args.what.all_tools),
                reason: args.reason,
            };
            print(&on::change(admin, args.id, change).await?, output)
        }
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
