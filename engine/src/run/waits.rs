//! What a step waits for, in words.

use super::event::Waiting;
use super::state::{Made, Run};

/// What a step waits for, in words.
pub(super) fn waits_for(why: Waiting) -> &'static str {
    match why {
        Waiting::Approval => "it waits for people to decide",
        Waiting::Turn => "it waits for a worker",
        Waiting::Settlement => {
            "nobody knows yet whether it happened: the source of truth is asked, or a person settles it"
        }
        Waiting::Call => "it is decided: the call is on its way, or is made in a while",
        Waiting::Secret => "it needs its secret input again: resume the run with it",
    }
}

/// The same, with the names of the secret inputs that are needed.
pub(super) fn waits_in(run: &Run, made: &Made, why: Waiting) -> String {
    match why {
        Waiting::Approval | Waiting::Turn | Waiting::Settlement | Waiting::Call => {
            waits_for(why).to_owned()
        }
        Waiting::Secret => {
            let names = run.secrets_in(&made.call.args);
            let names: Vec<_> = names.map(String::as_str).collect();
            let names = names.join(", ");
            format!("it needs its secret input {names} again: resume the run with it")
        }
    }
}
