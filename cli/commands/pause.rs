//! `holdpoint pause` and `holdpoint resume`, in the folder or through a server.

use clap::{ArgMatches, Args};
use holdpoint::client::Client;
use holdpoint_engine::engine::{ActError, pause_in, resume_in};
use holdpoint_engine::time::{Clock as _, SystemClock};
use holdpoint_web::wire;
use serde_json::{Value, json};

use super::admin::{self, Admin, AdminArgs, BY};
use crate::escape;
use crate::exit_code::ExitCode;
use crate::failure::{Failure, Outcome};
use crate::output::{Output, field};

/// Whom the pages name for what is done with the data folder in hand.
const NAME: &str = "the command line";

/// The arguments of `pause`.
#[derive(Args, Debug)]
#[command(after_help = "\
Until somebody resumes, no call leaves and no worker is given work, also after a restart of the
server. What is on its way is finished. Submitting, voting, cancelling and expiry go on.

Without --server it is done in the data folder where no server holds it, so that the next start sends
nothing; else through the server on this machine.")]
pub(crate) struct PauseArgs {
    /// Why; everybody sees it
    #[arg(long)]
    reason: String,
    #[command(flatten)]
    admin: AdminArgs,
}

/// The arguments of `resume`.
#[derive(Args, Debug)]
#[command(after_help = "\
Without --server it is done in the data folder where no server holds it; else through the server on
this machine.")]
pub(crate) struct ResumeArgs {
    /// Why, for the history
    #[arg(long)]
    reason: Option<String>,
    #[command(flatten)]
    admin: AdminArgs,
}

/// Switches to paused.
pub(crate) async fn pause(args: PauseArgs, matches: &ArgMatches, output: Output) -> Outcome {
    let admin = Admin::find(&args.admin, matches, output).await?;
    let done = match &admin {
        Admin::Server(client) => {
            let body = json!({ "reason": args.reason });
            let answer = client.post("/v1/pause", &body).await;
            answer.map(|answer| answer.body).map_err(Failure::from)
        }
        Admin::Folder { log, .. } => {
            let now = SystemClock.now();
            let paused = pause_in(log.as_ref(), now, (BY, NAME), &args.reason).await;
            paused
                .map_err(|error| refused(&error))
                .and_then(|paused| admin::wire(&wire::Pause::new(Some(paused))))
        }
    };
    report(admin, done, output).await
}

/// Sends what is due again.
pub(crate) async fn resume(args: ResumeArgs, matches: &ArgMatches, output: Output) -> Outcome {
    let admin = Admin::find(&args.admin, matches, output).await?;
    let done = match &admin {
        Admin::Server(client) => {
            let body = args
                .reason
                .as_ref()
                .map_or_else(|| json!({}), |reason| json!({ "reason": reason }));
            let answer = client.post("/v1/resume", &body).await;
            answer.map(|answer| answer.body).map_err(Failure::from)
        }
        Admin::Folder { log, .. } => {
            let now = SystemClock.now();
            let resumed = resume_in(log.as_ref(), now, (BY, NAME), args.reason).await;
            resumed
                .map_err(|error| refused(&error))
                .and_then(|()| admin::wire(&wire::Pause::new(None)))
        }
    };
    report(admin, done, output).await
}

async fn report(admin: Admin, done: Outcome<Value>, output: Output) -> Outcome {
    if let (Admin::Folder { data, .. }, Ok(_)) = (&admin, &done) {
        output.note(&format!(
            "no server holds {}: it counts for the next one that starts on it",
            data.display()
        ));
    }
    admin.close().await;
    let state = done?;
    if output.json {
        output.value(&state)?;
    } else {
        output.line(&escape::text(&words(&state)))?;
    }
    Ok(ExitCode::Ok)
}

fn refused(error: &ActError) -> Failure {
    match error {
        ActError::Unavailable(_) => {
            Failure::because("it was not stored, or it is unknown whether it was", error)
                .help("look at the disk, then at `holdpoint doctor`, before you do it again")
        }
        ActError::NotFound | ActError::Forbidden(_) | ActError::Refused(_) => {
            Failure::usage(error.to_string())
        }
    }
}

/// Tells whoever waits that the server is paused, once for each pause.
#[derive(Default)]
pub(crate) struct Watch {
    /// Since when the pause is that was told.
    told: Option<String>,
}

impl Watch {
    /// Asks the server; answers what is to be told, escaped. What is waited for is told anyway: that
    /// there is no word on this is no failure.
    pub(crate) async fn look(&mut self, client: &Client) -> Option<String> {
        let state = client.get("/v1/pause").await.ok()?.body;
        let since = is_paused(&state).then(|| field(&state, "/since"))?;
        if self.told.as_ref() == Some(&since) {
            return None;
        }
        self.told = Some(since);
        Some(escape::text(&format!(
            "the server is {}; nothing new is sent until somebody resumes it",
            words(&state)
        )))
    }

    /// Asks the server, and says so where it is paused.
    pub(crate) async fn tell(&mut self, client: &Client, output: Output) {
        if let Some(words) = self.look(client).await {
            output.note(&words);
        }
    }
}

fn is_paused(state: &Value) -> bool {
    state.get("paused").and_then(Value::as_bool) == Some(true)
}

/// What the switch is, in one sentence.
pub(crate) fn words(state: &Value) -> String {
    if is_paused(state) {
        return format!(
            "paused by {} since {}: {}",
            field(state, "/name"),
            field(state, "/since"),
            field(state, "/reason")
        );
    }
    "not paused".to_owned()
}
