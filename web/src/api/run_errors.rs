//! From what is refused about runs to problems.

use holdpoint_engine::run::{RunError, RunRefusal};
use holdpoint_engine::skill::{SkillError, SkillErrors};

use super::errors::{LATER, unavailable};
use crate::problem::{Code, FieldError, Problem};

impl From<RunError> for Problem {
    fn from(error: RunError) -> Self {
        match error {
            RunError::NotFound => Self::new(
                Code::NotFound,
                "there is no such run, or this credential may not see it",
            ),
            RunError::Forbidden(detail) => Self::new(Code::Forbidden, detail),
            RunError::Refused(refusal) => refused(&refusal),
            RunError::BadSkill(errors) => bad_skill(&errors),
            RunError::BadInputs(lines) => lines_of(Code::BadInputs, "/inputs", "input", lines),
            RunError::BadTools(lines) => lines_of(Code::BadTools, "/skill", "tool", lines),
            RunError::BadSteps(lines) => lines_of(Code::BadSkill, "/skill", "step", lines),
            RunError::Invalid(detail) => Self::new(Code::InvalidRequest, detail),
            RunError::KeyReused { first } => {
                let detail = match first {
                    Some(run) => format!(
                        "this Idempotency-Key was used before with another body, for {run}; use a new key"
                    ),
                    None => {
                        "this Idempotency-Key was used before for another request; use a new key"
                            .to_owned()
                    }
                };
                Self::new(Code::KeyReused, detail)
            }
            RunError::Overloaded => Self::new(Code::Overloaded, error.to_string()).after(LATER),
            RunError::TooManyOwn => Self::new(Code::RateLimited, error.to_string()).after(LATER),
            RunError::NoRoom(source) | RunError::Unavailable(source) => {
                unavailable(source.as_ref())
            }
        }
    }
}

fn refused(refusal: &RunRefusal) -> Problem {
    let code = match refusal {
        RunRefusal::Over | RunRefusal::GoesOn(_) => Code::RunOver,
        RunRefusal::NotResumable(_) => Code::NotResumable,
        RunRefusal::TooManySignals(_) | RunRefusal::TooManyUntaken { .. } | RunRefusal::Full => {
            Code::NotPossible
        }
        RunRefusal::Start | RunRefusal::Diverged(_) | RunRefusal::NotUnderWay(_) => {
            // Only the engine itself can send what these refuse.
            tracing::error!(%refusal, "a request led to a refusal that requests cannot cause");
            return Problem::new(
                Code::Internal,
                "the server made a mistake; the log has more",
            );
        }
    };
    Problem::new(code, refusal.to_string())
}

fn bad_skill(errors: &SkillErrors) -> Problem {
    let first = errors.0.first();
    let detail = first.map_or_else(
        || "the skill file cannot be read".to_owned(),
        |first| match errors.0.len() {
            1 => format!("the skill file cannot be read: {first}"),
            more => format!("the skill file has {more} mistakes; the first: {first}"),
        },
    );
    let mistake = |error: &SkillError| FieldError {
        line: Some(error.line),
        column: Some(error.column),
        help: error.help.clone(),
        ..FieldError::new("/skill", "skill", error.message.as_str())
    };
    Problem::new(Code::BadSkill, detail).at(errors.0.iter().map(mistake).collect())
}

fn lines_of(code: Code, pointer: &str, kind: &str, lines: Vec<String>) -> Problem {
    let detail = lines.join("; ");
    let mistakes = lines
        .into_iter()
        .map(|line| FieldError::new(pointer, kind, line));
    Problem::new(code, detail).at(mistakes.collect())
}
