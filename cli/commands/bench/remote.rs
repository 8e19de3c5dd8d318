//! A server that runs somewhere: what an outside client can see of it.

use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use holdpoint_web::wire::Tools;
use hyper::Method;
use reqwest::Url;
use serde::de::IgnoredAny;
use serde_json::json;

use super::client::{Proposal, Target};
use super::connection::{Ask, Connection, Place};
use super::load;
use super::report::Report;
use super::{Bounds, CLIENTS};
use crate::failure::{Failure, Outcome};
use crate::{escape, secret};
use holdpoint::client::is_loopback;

/// The arguments for a running server.
#[derive(Args, Debug)]
#[command(next_help_heading = "A running server")]
pub(super) struct RemoteArgs {
    /// Measure this server instead; http://HOST:PORT
    #[arg(long, value_name = "URL", requires = "token_file")]
    pub(super) server: Option<String>,
    /// A file with an API key that may submit
    #[arg(long, value_name = "FILE", requires = "server")]
    token_file: Option<PathBuf>,
    /// An approval-bound tool to submit to [default: the first of the server's, by name]
    #[arg(long, value_name = "NAME", requires = "server")]
    tool: Option<String>,
    /// Its arguments, JSON; {n} is another text for each action [default: {}]
    #[arg(long, value_name = "JSON", requires = "server")]
    args: Option<String>,
    /// A file with a session token of somebody who may approve; may be given several times. With
    /// it, whole actions are measured as well: THE TOOL IS REALLY CALLED, for each of them
    #[arg(long, value_name = "FILE", requires_all = ["server", "tool"])]
    approver_token_file: Vec<PathBuf>,
    /// Send the tokens over plain HTTP to another machine
    #[arg(long, requires = "server")]
    plain_http: bool,
}

/// Measures the server at `url`.
pub(super) async fn measure(
    args: &RemoteArgs,
    url: &str,
    bounds: Bounds,
    report: &mut Report,
) -> Outcome<()> {
    let place = Place::of(&address(url, args.plain_http)?);
    // Clap has seen to it that there is a file.
    let submitter = args.token_file.as_deref().map(secret::read);
    let submitter = submitter.unwrap_or_else(|| Err(Failure::usage("name a --token-file")))?;
    let approvers: Vec<String> = args
        .approver_token_file
        .iter()
        .map(|path| secret::read(path))
        .collect::<Outcome<_>>()?;
    let proposal = Proposal {
        tool: tool(&place, &submitter, args.tool.as_deref()).await?,
        args: arguments(args.args.as_deref().unwrap_or("{}"))?,
    };
    report.output.note(&format!(
        "submitting to {} at {}; what is staged is cancelled afterwards",
        escape::text(&proposal.tool),
        escape::text(url)
    ));
    report.keep("tool", json!(proposal.tool));
    let completes = !approvers.is_empty();
    let target = Arc::new(Target::new(place, submitter, approvers)?);
    for clients in CLIENTS {
        stage(&target, clients, bounds, &proposal, report).await?;
    }
    if completes {
        for clients in CLIENTS {
            complete(&target, clients, bounds, &proposal, report).await?;
        }
    }
    Ok(())
}

async fn stage(
    target: &Arc<Target>,
    clients: usize,
    bounds: Bounds,
    proposal: &Proposal,
    report: &mut Report,
) -> Outcome<()> {
    let crowd = bounds.crowd(clients);
    let (rate, ids) = load::stage(target, crowd, proposal.clone()).await?;
    let name = format!("staged_per_second_{clients}");
    report.rate(&format!("staged over HTTP, {clients} clients"), &name, rate)?;
    rate_limited(target, &name, report);
    let there = rate.count;
    let gone = load::cancel(target, clients, bounds.fill, ids).await?;
    if gone < there {
        report.output.note(&format!(
            "{} actions could not be cancelled in time; they wait until they expire",
            there - gone
        ));
    }
    // Nothing is measured while they are cancelled.
    target.take_refused_for_rate();
    Ok(())
}

async fn complete(
    target: &Arc<Target>,
    clients: usize,
    bounds: Bounds,
    proposal: &Proposal,
    report: &mut Report,
) -> Outcome<()> {
    let crowd = bounds.crowd(clients);
    let whole = load::complete(target, crowd, proposal.clone(), None).await?;
    let name = format!("completed_per_second_{clients}");
    report.rate(
        &format!("completed (submit, approve, call, record), {clients} clients"),
        &name,
        whole.rate,
    )?;
    report.times(
        "  from sending the approval to knowing the end",
        &format!("approve_to_end_{clients}"),
        whole.to_end,
    )?;
    let others = whole.ends.iter().filter(|(end, _)| *end != "succeeded");
    for (end, count) in others {
        let end = escape::text(end);
        report
            .output
            .note(&format!("{count} of them ended as {end}"));
    }
    report.keep(&format!("ends_{clients}"), json!(whole.ends));
    rate_limited(target, &name, report);
    Ok(())
}

/// Says so where the figure is the server's limit and not its speed.
fn rate_limited(target: &Target, name: &str, report: &mut Report) {
    let refused = target.take_refused_for_rate();
    report.keep(&format!("{name}_refused_for_rate"), json!(refused));
    if 0 < refused {
        report.output.note(&format!(
            "{refused} requests were refused with 429: this figure is the server's limit for one key or person, \
             not its speed. Start it with a higher --requests-per-second to measure the speed"
        ));
    }
}

fn address(url: &str, plain_http: bool) -> Outcome<Url> {
    let parsed = Url::parse(url).map_err(|error| {
        Failure::because(format!("{url:?} is not a URL"), &error)
            .with_code(crate::exit_code::ExitCode::Usage)
            .help("write --server http://HOST:PORT")
    })?;
    if parsed.scheme() != "http" {
        return Err(
            Failure::usage("only a server itself is measured, at its http:// address").help(
                "what a proxy in front of it does for https is not Holdpoint's; name the address behind it",
            ),
        );
    }
    if !is_loopback(&parsed) && !plain_http {
        return Err(Failure::usage(format!(
            "{parsed} would carry the tokens unencrypted to another machine"
        ))
        .help("measure on the machine itself, or accept that with --plain-http"));
    }
    Ok(parsed)
}

/// The arguments, after checking that they are JSON.
fn arguments(text: &str) -> Outcome<String> {
    let IgnoredAny = serde_json::from_str(text).map_err(|error| {
        Failure::because("the arguments are not JSON", &error)
            .with_code(crate::exit_code::ExitCode::Usage)
            .help("pass --args '{\"name\": \"bench-{n}\"}'")
    })?;
    Ok(text.to_owned())
}

/// The tool to submit to: one whose actions wait for people, so that submitting calls nothing.
async fn tool(place: &Place, token: &str, asked: Option<&str>) -> Outcome<String> {
    let ask = Ask {
        method: Method::GET,
        path: "/v1/tools",
        token,
        idempotency_key: None,
        body: None,
    };
    let answer = Connection::open(place.clone()).await?.send(&ask).await?;
    if answer.status != 200 {
        return Err(crate::problem::of_answer(answer.status, &answer.body, true));
    }
    let tools: Tools = serde_json::from_slice(&answer.body)
        .map_err(|error| Failure::because("the server did not list its tools", &error))?;
    let mut waiting = tools
        .data
        .into_iter()
        .filter(|tool| tool.safety_class == "approval-bound")
        .map(|tool| tool.name);
    let found = match asked {
        Some(asked) => waiting.find(|name| name == asked),
        None => waiting.min(),
    };
    found.ok_or_else(|| {
        Failure::usage(match asked {
            Some(asked) => format!("{asked} is not an approval-bound tool of this server"),
            None => "this server has no approval-bound tool".to_owned(),
        })
        .help("actions of other tools are called when they are submitted; name one with --tool whose actions wait for people")
    })
}
