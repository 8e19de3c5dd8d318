//! `holdpoint doctor`: looks at everything and explains what is wrong.

mod folder;
mod people;
mod server;
mod webhooks;

use clap::parser::ValueSource;
use clap::{ArgMatches, Args};
use serde_json::json;

use crate::client::{self, ServerArgs};
use crate::config::{self, PlaceArgs, Settings};
use crate::escape;
use crate::exit_code::ExitCode;
use crate::failure::Outcome;
use crate::output::{Output, counted};

/// The arguments of `doctor`.
#[derive(Args, Debug)]
#[command(after_help = "\
It changes nothing. Where a server holds the data folder it asks that server; with a token it also
explains actions that are stuck and webhook endpoints that hear nothing, and with that of an
administrator whether there are enough approvers.")]
pub(crate) struct DoctorArgs {
    #[command(flatten)]
    place: PlaceArgs,
    #[command(flatten)]
    server: ServerArgs,
}

/// How something is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum State {
    /// As it should be.
    Good,
    /// It works, and somebody should look.
    Warning,
    /// It does not work.
    Bad,
}

impl State {
    fn name(self) -> &'static str {
        match self {
            Self::Good => "ok",
            Self::Warning => "warning",
            Self::Bad => "wrong",
        }
    }
}

/// One thing that was looked at.
struct Finding {
    what: &'static str,
    state: State,
    words: String,
    help: Option<String>,
}

/// An action that does not move, explained.
struct Explained<'a> {
    id: &'a str,
    summary: &'a str,
    trouble: &'a str,
    since: &'a str,
    next: &'a str,
    tried: &'a [&'a str],
}

impl Explained<'_> {
    fn words(&self) -> String {
        let what = match self.trouble {
            "unknown" => "the call went out, and whether it took effect is not known",
            "short" => "fewer people may vote than it asks for",
            "alarm" => "there is an alarm about its key",
            _ => "it could be called, and is not",
        };
        let mut words = format!(
            "{} ({}): {what} since {}; {}",
            self.id, self.summary, self.since, self.next
        );
        for line in self.tried {
            words.push_str(" | ");
            words.push_str(line);
        }
        words
    }
}

/// That every action goes its way.
const NONE: &str = "none has an unknown outcome, none stands still, none lacks people who may vote, none \
                    has an alarm about its key";

/// How many were not explained one by one; none where all were.
fn more_in_words([unknown, stuck, short, alarms]: [u64; 4]) -> Option<String> {
    (0 < unknown + stuck + short + alarms).then(|| {
        format!(
            "{unknown} more unknown outcomes, {stuck} more that stand still, {short} more that lack \
             people who may vote, {alarms} more alarms"
        )
    })
}

/// Everything that was found.
#[derive(Default)]
struct Findings(Vec<Finding>);

impl Findings {
    fn good(&mut self, what: &'static str, words: impl Into<String>) {
        self.add(what, State::Good, words, None);
    }

    fn warn(&mut self, what: &'static str, words: impl Into<String>, help: &str) {
        self.add(what, State::Warning, words, Some(help));
    }

    fn bad(&mut self, what: &'static str, words: impl Into<String>, help: &str) {
        self.add(what, State::Bad, words, Some(help));
    }

    fn add(
        &mut self,
        what: &'static str,
        state: State,
        words: impl Into<String>,
        help: Option<&str>,
    ) {
        self.0.push(Finding {
            what,
            state,
            words: words.into(),
            help: help.map(str::to_owned),
        });
    }
}

/// Looks, and prints what was found. Fails where something is wrong.
pub(crate) async fn run(args: DoctorArgs, matches: &ArgMatches, output: Output) -> Outcome {
    let mut findings = Findings::default();
    let (tools, file) = match config::load_required(args.place.config.as_deref()) {
        Ok((path, tools, file)) => {
            let name = path.display();
            match tools.warnings.len() {
                0 => findings.good("tools file", format!("{name} is valid")),
                count => findings.warn(
                    "tools file",
                    format!("{name} is valid, with {}", counted(count, "warning")),
                    "`holdpoint check` shows them",
                ),
            }
            (Some(tools), file)
        }
        Err(failure) => {
            findings.bad(
                "tools file",
                failure.in_a_line(),
                "`holdpoint check` shows what and where",
            );
            (None, config::FileSettings::default())
        }
    };
    let settings = Settings::resolve(args.place.data.as_ref(), None, file, config::leaf(matches));
    let folder = &settings.data.value;
    let looked = folder::look(folder, tools.as_ref(), &mut findings, output).await;
    let mut server = args.server.clone();
    if config::leaf(matches).value_source("server") == Some(ValueSource::DefaultValue) {
        server.server = client::address_here(settings.listen.value);
    }
    server::look(&server, looked, tools.as_ref(), &mut findings).await;

    let worst = findings.0.iter().map(|finding| finding.state).max();
    print(&findings, output)?;
    Ok(if worst == Some(State::Bad) {
        ExitCode::Failure
    } else {
        ExitCode::Ok
    })
}

fn print(findings: &Findings, output: Output) -> Outcome<()> {
    if output.json {
        let list = findings.0.iter().map(|finding| {
            json!({
                "what": finding.what,
                "state": finding.state.name(),
                "words": finding.words,
                "help": finding.help,
            })
        });
        output.value(&json!({ "findings": list.collect::<Vec<_>>() }))?;
        return Ok(());
    }
    for finding in &findings.0 {
        output.line(&format!(
            "{:8} {:13} {}",
            finding.state.name(),
            finding.what,
            escape::text(&finding.words)
        ))?;
        if let Some(help) = &finding.help {
            output.line(&format!("{:22} -> {}", "", escape::text(help)))?;
        }
    }
    Ok(())
}
