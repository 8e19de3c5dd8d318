//! A run in this process, on a folder of its own.
//!
//! Every step is in the log before it is made, so that the process may end at any moment: a kill
//! loses nothing, and `--resume` goes on.

use std::sync::Arc;
use std::time::Duration;

use holdpoint_engine::action::{Action, ActionId, Phase};
use holdpoint_engine::engine::{FlagChange, Resumption};
use holdpoint_engine::run::event::Waiting;
use holdpoint_engine::run::heal::{Helper, Level};
use holdpoint_engine::run::{Inputs, NewOrigin, NewRun, Receipt, Run, RunId, RunStatus};
use serde_json::Value;

use super::paper::Paper;
use super::place::{Folder, House, reopen};
use super::plan::Job;
use super::receipt::{Printer, exit_code};
use super::{RunArgs, refused};
use crate::exit_code::ExitCode;
use crate::failure::{Failure, Outcome};
use crate::model::Model;

/// How long nothing may happen before it is looked whether anything still can.
const LOOK: Duration = Duration::from_secs(1);

/// How long calls on their way may take to end, once somebody wants to stop.
const STOPPING_TIME: Duration = Duration::from_secs(10);

/// Starts a run and follows it.
pub(super) fn start(args: &RunArgs, folder: &Folder, job: Job, paper: Paper) -> Outcome {
    block_on(async {
        let output = paper.output;
        let house = House::open(folder, helper(args, &job)?, output).await?;
        let new = NewRun {
            what: NewOrigin::Skill {
                text: job.skill.text().to_owned(),
                inputs: Inputs::Texts(job.given),
                ignore_manifest: args.ignore_manifest,
            },
            flags: args.flags(),
            // What waits for people is gone on with by the server that they use.
            unattended: args.stage,
            schedule: None,
            continues: None,
        };
        let started = house.engine.start_run(&house.by, new).await;
        let run = match started {
            Ok(run) => run,
            Err(error) => {
                house.close(STOPPING_TIME).await;
                return Err(refused(&error));
            }
        };
        output.note(&format!("{} started", run.id));
        follow(house, folder, run.id, paper).await
    })
}

/// The model that may help; none at level 0, where no client is made either.
fn helper(args: &RunArgs, job: &Job) -> Outcome<Option<Arc<dyn Helper>>> {
    let level = match args.max_level {
        0 => return Ok(None),
        1 => Level::One,
        _ => Level::Two,
    };
    let file = args.skill.as_deref().unwrap_or_default();
    if file == "-" {
        return Err(Failure::usage(
            "a model changes the file, and stdin cannot be changed; name a file",
        ));
    }
    let model = Model::of_environment(level, file.into(), job.skill.text())?;
    Ok(Some(Arc::new(model)))
}

/// Goes on with a run. One that has passed is only shown.
pub(super) fn resume(
    args: &RunArgs,
    folder: &Folder,
    id: RunId,
    secrets: Vec<(String, String)>,
    paper: Paper,
) -> Outcome {
    block_on(async {
        let house = reopen(folder, paper.output).await?;
        let resumed = go_on(args, &house, id, secrets).await;
        if let Err(failure) = resumed {
            house.close(STOPPING_TIME).await;
            return Err(failure);
        }
        follow(house, folder, id, paper).await
    })
}

async fn go_on(
    args: &RunArgs,
    house: &House,
    id: RunId,
    secrets: Vec<(String, String)>,
) -> Outcome<()> {
    let run = house
        .engine
        .run(&house.by, id)
        .map_err(|error| refused(&error))?;
    if !run.is_skill() {
        return Err(Failure::usage(format!("{id} is a run of code"))
            .help("it goes on in the program that has the code"));
    }
    if run.status() == RunStatus::Passed {
        return Ok(());
    }
    let more = args.flags();
    let how = Resumption {
        flags: FlagChange {
            allow_writes: more.allow_writes.then_some(true),
            yes: more.yes.then_some(true),
            stage: more.stage.then_some(true),
        },
        secrets,
    };
    let resumed = house.engine.resume_run(&house.by, id, how).await;
    resumed.map(|_| ()).map_err(|error| refused(&error))
}

/// How following a run ended.
enum Stop {
    /// It is over.
    Over,
    /// It waits for somebody who is not here.
    Waits,
    /// Somebody wants to stop.
    Interrupted,
    /// It cannot go on.
    Stuck,
}

async fn follow(house: House, folder: &Folder, id: RunId, paper: Paper) -> Outcome {
    let output = paper.output;
    let mut printer = Printer::new(paper);
    let stop = tokio::select! {
        stop = watch(&house, id, &mut printer) => stop?,
        () = interrupted() => Stop::Interrupted,
    };
    if let Stop::Interrupted = stop {
        drop(printer);
        output.note(&format!(
            "stopping once the call on its way has ended (once more to end at once); nothing is lost, go on with\n  {}",
            resume_command(folder, id)
        ));
        tokio::select! {
            () = house.close(STOPPING_TIME) => {}
            () = interrupted() => {}
        }
        return Ok(ExitCode::Interrupted);
    }
    let run = house
        .engine
        .run(&house.by, id)
        .map_err(|error| refused(&error))?;
    let receipt = to_value(&house.engine.receipt(&run))?;
    printer.finish(&receipt);
    house.close(STOPPING_TIME).await;
    match stop {
        Stop::Waits => output.note(&how_to_go_on(&run, folder)),
        Stop::Stuck => {
            return Err(
                Failure::failed("the run cannot go on; the log above says why").help(format!(
                    "when the cause is gone: {}",
                    resume_command(folder, id)
                )),
            );
        }
        Stop::Over if !run.start.secrets.is_empty() && exit_code(&receipt) != ExitCode::Ok => {
            output.note("its secret inputs are given again with --var-file when it is resumed");
        }
        Stop::Over | Stop::Interrupted => {}
    }
    Ok(exit_code(&receipt))
}

async fn watch(house: &House, id: RunId, printer: &mut Printer) -> Outcome<Stop> {
    let mut known = 0;
    loop {
        let run = house.engine.wait_run(&house.by, id, known, LOOK).await;
        let run = run.map_err(|error| refused(&error))?;
        let is_news = run.events != known;
        known = run.events;
        if run.ended.is_some() {
            return Ok(Stop::Over);
        }
        if needs_others(house, &run) {
            return Ok(Stop::Waits);
        }
        if is_news {
            let began = tokio::time::Instant::now();
            printer.update(&to_value(&house.engine.receipt(&run))?);
            // Showing it must not take more time than making it.
            tokio::time::sleep(began.elapsed() * 2).await;
        } else if !house.engine.is_run_carried_on(id) {
            return Ok(Stop::Stuck);
        }
    }
}

/// Whether the run waits for something that nobody does while this process holds the folder.
fn needs_others(house: &House, run: &Run) -> bool {
    let open = run.steps.iter().filter_map(|step| step.open());
    let mut waiting = open.filter_map(|made| made.waiting);
    if waiting.any(|(_, why)| why == Waiting::Secret) {
        return true;
    }
    waited_for(house, run).any(|action| match &action.phase {
        Phase::Staged => true,
        Phase::Approved { .. } | Phase::Accepted { .. } => action.is_pulled(),
        _ => is_for_people(&action),
    })
}

/// The call of a run of which only a person can say what became of it.
pub(crate) fn in_doubt(house: &House, run: &Run) -> Option<ActionId> {
    let found = waited_for(house, run).find(is_for_people);
    found.map(|action| action.id)
}

fn is_for_people(action: &Action) -> bool {
    match &action.phase {
        Phase::Unknown {
            next_check,
            next_resend,
            ..
        } => next_check.is_none() && next_resend.is_none(),
        _ => false,
    }
}

/// The actions that steps of a run wait for.
fn waited_for<'a>(house: &'a House, run: &'a Run) -> impl Iterator<Item = Action> + 'a {
    let open = run.steps.iter().filter_map(|step| step.open());
    let waiting = open.filter_map(|made| made.waiting);
    waiting.filter_map(|(id, _)| Some(house.engine.get(&house.by, id).ok()?.action))
}

fn how_to_go_on(run: &Run, folder: &Folder) -> String {
    let secrets = needed_secrets(run);
    if !secrets.is_empty() {
        let given: Vec<_> = secrets
            .iter()
            .map(|name| format!("--var-file {name}=FILE"))
            .collect();
        return format!(
            "it needs its secret input {} again; go on with\n  {} {}",
            secrets.join(", "),
            resume_command(folder, run.id),
            given.join(" ")
        );
    }
    let data = super::place::shell(&folder.data.display().to_string());
    let then = if run.start.unattended {
        "and the run goes on there by itself".to_owned()
    } else {
        format!(
            "stop the server, and go on with\n  {}",
            resume_command(folder, run.id)
        )
    };
    format!(
        "it waits for people, and nobody can reach them while this process holds the folder. Serve it:\n  holdpoint serve --data {data}\ndecide on the action there, {then}\n(built-in http tools need \"runHttpTools\": true under \"server\" of the tools file)"
    )
}

/// The secret inputs of the steps that wait for theirs.
fn needed_secrets(run: &Run) -> Vec<&str> {
    let open = run.steps.iter().filter_map(|step| step.open());
    let waits = open.filter(|made| made.waiting.is_some_and(|(_, why)| why == Waiting::Secret));
    waits
        .flat_map(|made| run.secrets_in(&made.call.args))
        .map(String::as_str)
        .collect()
}

fn resume_command(folder: &Folder, id: RunId) -> String {
    format!("holdpoint run --resume {id}{}", folder.again)
}

pub(in crate::commands) fn to_value(receipt: &Receipt) -> Outcome<Value> {
    serde_json::to_value(receipt)
        .map_err(|error| Failure::because("the receipt cannot be written", &error))
}

fn block_on<T>(future: impl Future<Output = Outcome<T>>) -> Outcome<T> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::because("cannot start", &error))?;
    let outcome = runtime.block_on(future);
    // A call that nobody waits for any more does not hold the process.
    runtime.shutdown_background();
    outcome
}

/// The next wish to stop, from a terminal or from whoever started the program.
pub(super) async fn interrupted() {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        if let Ok(mut terminate) = signal(SignalKind::terminate()) {
            tokio::select! {
                _ = tokio::signal::ctrl_c() => {}
                _ = terminate.recv() => {}
            }
            return;
        }
    }
    if tokio::signal::ctrl_c().await.is_err() {
        std::future::pending::<()>().await;
    }
}
