//! `holdpoint actions`: actions over the API of a running server.

mod decide;
mod list;
mod show;
mod submit;
mod wait;

use clap::Subcommand;

pub(super) use self::submit::pair;

use crate::failure::{Failure, Outcome};
use crate::output::Output;

/// What to do with actions.
#[derive(Debug, Subcommand)]
pub(crate) enum ActionsCommand {
    /// List actions, the newest first
    #[command(visible_alias = "list")]
    Ls(list::ListArgs),
    /// Show one action in full
    Show(show::ShowArgs),
    /// Propose a call of a tool
    Submit(submit::SubmitArgs),
    /// Say yes to an action, after showing what exactly is approved
    Approve(decide::ApproveArgs),
    /// Say no to an action
    Reject(decide::RejectArgs),
    /// Take back an approval while the hold time runs
    Withdraw(decide::ReasonArgs),
    /// Take back a proposal before it is executed
    Cancel(decide::ReasonArgs),
    /// Say what became of an action whose outcome is unknown
    Settle(decide::SettleArgs),
    /// Wait until an action is final; the exit code says how it ended
    Wait(wait::WaitArgs),
}

/// Runs one of them.
pub(crate) async fn run(command: ActionsCommand, output: Output) -> Outcome {
    match command {
        ActionsCommand::Ls(args) => list::run(args, output).await,
        ActionsCommand::Show(args) => show::run(args, output).await,
        ActionsCommand::Submit(args) => submit::run(args, output).await,
        ActionsCommand::Approve(args) => decide::approve(args, output).await,
        ActionsCommand::Reject(args) => decide::reject(args, output).await,
        ActionsCommand::Withdraw(args) => decide::withdraw(args, output).await,
        ActionsCommand::Cancel(args) => decide::cancel(args, output).await,
        ActionsCommand::Settle(args) => decide::settle(args, output).await,
        ActionsCommand::Wait(args) => wait::run(args, output).await,
    }
}

/// The path of an action. The id is checked here, so that nothing else gets into the path.
fn path(id: &str) -> Outcome<String> {
    id.parse::<holdpoint_engine::action::ActionId>()
        .map(|id| format!("/v1/actions/{id}"))
        .map_err(|error| {
            Failure::usage(format!("{id:?} is not an action: {error}"))
                .help("`holdpoint actions ls` prints the ids")
        })
}
