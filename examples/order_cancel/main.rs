//! A workflow in code: an order is cancelled, with an approval in the middle and a way back.
//!
//! ```text
//! cargo run --release --example order_cancel                # you are the approver
//! cargo run --release --example order_cancel -- --headless  # the whole story by itself
//! ```
//!
//! * [`workflow`]: the function; read this. `holdpoint.json`: what Holdpoint is told about the tools.
//! * [`shop`]: what the tools do. [`desk`]: the log, the engine, and the people. [`story`]: what is played.

mod desk;
mod shop;
mod story;
mod workflow;

use std::io::{BufRead as _, stdin};
use std::process::ExitCode;

use clap::Parser;
use holdpoint_engine::approval::Vote;

use desk::{Desk, Failure, Stand};
use workflow::Wish;

/// Cancels an order: refund (which needs an approval), shipment, message; undone where it cannot be whole.
#[derive(Parser)]
#[command(name = "order_cancel")]
struct Args {
    /// Play the whole story by itself, and exit with 1 if anything is not as it should be
    #[arg(long)]
    headless: bool,
    /// The order to cancel: 1001, 1002 (its parcel has left) or 1003
    #[arg(default_value = "1001")]
    order: String,
}

#[tokio::main]
async fn main() -> ExitCode {
    let args = Args::parse();
    let outcome = if args.headless {
        headless().await
    } else {
        interactive(args.order).await.map(|()| true)
    };
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            anstream::eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn headless() -> Result<bool, Failure> {
    let folder = tempfile::tempdir()?;
    let story = story::play(folder.path()).await?;
    anstream::print!("{}", story.text);
    Ok(story.holds)
}

/// Starts one run and asks whoever sits at the terminal to decide.
async fn interactive(order_id: String) -> Result<(), Failure> {
    let folder = tempfile::tempdir()?;
    let desk = Desk::open(folder.path(), story::shop()).await?;
    let reason = "The customer has changed their mind".to_owned();
    let id = desk.cancel_order(&Wish { order_id, reason }).await?;
    let mut stand = desk.stand(id).await?;
    loop {
        match stand {
            Stand::Waits(action) => {
                let intent = action.proposal.reason.as_deref().unwrap_or_default();
                anstream::println!("{}\n  because: {intent}", action.proposal.summary);
                anstream::println!("Approve it? [y/n]");
                let answer = stdin().lock().lines().next().transpose()?;
                let vote = match answer.as_deref().map(str::trim) {
                    Some("y" | "yes") => Vote::Approve,
                    Some(_) | None => Vote::Reject,
                };
                desk.vote(&action, vote).await?;
                stand = desk.after(id, action.id).await?;
            }
            Stand::Over(run) => {
                for step in &run.steps {
                    let report = step.made().and_then(|made| made.settled());
                    let outcome = report.map_or("under way", |report| report.outcome.name());
                    anstream::println!("{:>2} {:<17} {outcome}", step.path.as_str(), step.title());
                }
                let ended = run.ended.as_ref();
                if let Some(message) = ended.and_then(|ended| ended.message.as_ref()) {
                    anstream::println!("{message}");
                }
                anstream::println!("the run {}", run.status().name());
                desk.close().await;
                return Ok(());
            }
        }
    }
}
