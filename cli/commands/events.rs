//! `holdpoint events`: the history of everything, in the order of the log.

use std::time::Duration;

use clap::{Args, Subcommand};
use holdpoint::client::Client;
use serde_json::Value;

use crate::client::{self, ServerArgs};
use crate::escape;
use crate::exit_code::ExitCode;
use crate::failure::{Failure, Outcome};
use crate::output::{Output, field};

/// How long to wait before a broken stream is opened again.
const RECONNECT_AFTER: Duration = Duration::from_secs(1);

/// The longest event of a stream, in bytes; a longer one is not ours.
const EVENT_BYTES_MAX: usize = 16 * 1024 * 1024;

/// What to do with events.
#[derive(Debug, Subcommand)]
pub(crate) enum EventsCommand {
    /// Print the events after a position, and follow them
    Tail(TailArgs),
}

/// The arguments of `events tail`.
#[derive(Args, Debug)]
pub(crate) struct TailArgs {
    /// Only after this position of the log
    #[arg(long, default_value_t = 0, value_name = "POSITION")]
    after: u64,
    /// At most this many, 1 to 200
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u16).range(1..=200))]
    limit: u16,
    /// Print new events as they happen, until interrupted
    #[arg(short, long)]
    follow: bool,
    #[command(flatten)]
    server: ServerArgs,
}

/// Prints events.
pub(crate) async fn run(command: EventsCommand, output: Output) -> Outcome {
    let EventsCommand::Tail(args) = command;
    let client = client::connect(&args.server)?;
    if args.follow {
        return follow(&client, args.after, output).await;
    }
    let path = format!("/v1/events?after={}&limit={}", args.after, args.limit);
    let page = client.get(&path).await?.body;
    if output.json {
        for event in entries(&page)? {
            output.line(&escape::json(event))?;
        }
    } else {
        print_table(&page, output)?;
        if let Some(last) = entries(&page)?.last() {
            output.note(&format!(
                "the next ones: --after {}",
                escape::text(&field(last, "/position"))
            ));
        }
    }
    Ok(ExitCode::Ok)
}

/// The events of a page.
fn entries(page: &Value) -> Outcome<&[Value]> {
    page.as_array()
        .or_else(|| {
            ["data", "events"]
                .into_iter()
                .find_map(|name| page.get(name).and_then(Value::as_array))
        })
        .map(Vec::as_slice)
        .ok_or_else(|| Failure::failed("the server answered without a list of events"))
}

/// Prints a page of events as a table.
pub(crate) fn print_table(page: &Value, output: Output) -> Outcome<()> {
    let events = entries(page)?;
    if events.is_empty() {
        output.note("no events");
        return Ok(());
    }
    output.table(
        ["position", "at", "kind", "stream", "actor"],
        events.iter().map(row),
    )?;
    Ok(())
}

fn row(event: &Value) -> [String; 5] {
    ["/position", "/at", "/kind", "/stream", "/actor"].map(|pointer| field(event, pointer))
}

/// Prints events as they happen; opens a broken stream again after the last one that was printed.
async fn follow(client: &Client, mut after: u64, output: Output) -> Outcome {
    let mut connected = false;
    loop {
        let path = format!("/v1/events/stream?after={after}");
        let request = client
            .request(reqwest::Method::GET, &path)
            .header(reqwest::header::ACCEPT, "text/event-stream")
            .header("Last-Event-ID", after.to_string());
        match client.open_answer(request).await.map_err(Failure::from) {
            Ok(response) => {
                connected = true;
                read_stream(response, &mut after, output).await?;
                output.note("the stream ended; opening it again");
            }
            // The first try says what is wrong; later ones wait for the server to come back.
            Err(failure) if !connected || failure.code != ExitCode::Failure => return Err(failure),
            Err(_) => {}
        }
        tokio::time::sleep(RECONNECT_AFTER).await;
    }
}

/// Reads server-sent events until the stream ends.
async fn read_stream(
    mut response: reqwest::Response,
    after: &mut u64,
    output: Output,
) -> Outcome<()> {
    let mut buffer = Vec::new();
    while let Ok(Some(chunk)) = response.chunk().await {
        buffer.extend_from_slice(&chunk);
        while let Some(end) = buffer.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = buffer.drain(..=end).collect();
            let line = String::from_utf8_lossy(&line);
            let Some(data) = line.trim_end().strip_prefix("data:") else {
                continue;
            };
            let Ok(event) = serde_json::from_str::<Value>(data.trim_start()) else {
                continue;
            };
            if output.json {
                output.line(&escape::json(&event))?;
            } else {
                output.line(&row(&event).map(|cell| escape::text(&cell)).join("  "))?;
            }
            if let Some(position) = event.get("position").and_then(Value::as_u64) {
                *after = position;
            }
        }
        if EVENT_BYTES_MAX < buffer.len() {
            return Err(Failure::failed(
                "the server sends an event that is too long",
            ));
        }
    }
    Ok(())
}
