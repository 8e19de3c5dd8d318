//! What a submission may look like at all.

use std::time::Duration;

use crate::action::SafetyClass;
use crate::approval::Requirement;
use crate::canon::CanonicalJson;
use crate::engine::act::REASON_CHARS_MAX;
use crate::engine::{Submission, SubmitError};
use crate::limits::{DURATION_MAX, JSON_BYTES_MAX, LABEL_BYTES_MAX, LABELS_MAX};
use crate::time::Timestamp;
use crate::tool::Tool;

/// The longest name of a label, in bytes.
const LABEL_NAME_BYTES_MAX: usize = 64;

/// The longest request key, in bytes.
const REQUEST_KEY_BYTES_MAX: usize = 255;

pub(super) fn check(submission: &Submission) -> Result<(), SubmitError> {
    let invalid = |message: String| Err(SubmitError::Invalid(message));
    if let Some(reason) = &submission.reason
        && REASON_CHARS_MAX < reason.chars().count()
    {
        return invalid(format!(
            "a reason has at most {REASON_CHARS_MAX} characters"
        ));
    }
    if LABELS_MAX < submission.labels.len() {
        return invalid(format!(
            "an action has at most {LABELS_MAX} labels of its own"
        ));
    }
    for (name, value) in &submission.labels {
        if name.is_empty() || LABEL_NAME_BYTES_MAX < name.len() {
            return invalid(format!(
                "the name of a label has 1 to {LABEL_NAME_BYTES_MAX} bytes"
            ));
        }
        if LABEL_BYTES_MAX < value.len() {
            return invalid(format!(
                "the label {name} is longer than {LABEL_BYTES_MAX} bytes"
            ));
        }
    }
    if submission.expires_in.is_some_and(|time| time.is_zero()) {
        return invalid("the time to decide must be longer than nothing".to_owned());
    }
    if let Some(key) = &submission.request_key {
        let printable = key.key.bytes().all(|byte| matches!(byte, b' '..=b'~'));
        if key.key.is_empty() || REQUEST_KEY_BYTES_MAX < key.key.len() || !printable {
            return invalid(format!(
                "an Idempotency-Key has 1 to {REQUEST_KEY_BYTES_MAX} printable ASCII characters"
            ));
        }
    }
    match CanonicalJson::exact(&submission.args) {
        Err(error) => Err(SubmitError::InvalidArgs(vec![(
            error.pointer,
            error.message,
        )])),
        Ok(args) if JSON_BYTES_MAX < args.as_str().len() => invalid(format!(
            "the arguments are longer than {JSON_BYTES_MAX} bytes"
        )),
        Ok(_) => Ok(()),
    }
}

/// Labels of the submission stand beside those of the tool, never in their place.
pub(super) fn check_labels(tool: &Tool, submission: &Submission) -> Result<(), SubmitError> {
    match tool
        .label_names()
        .find(|name| submission.labels.contains_key(name))
    {
        Some(name) => Err(SubmitError::Invalid(format!(
            "the label {name} is made from the arguments and cannot be set"
        ))),
        None => Ok(()),
    }
}

/// What is answered at once cannot be answered later.
pub(super) fn check_schedule(tool: &Tool, submission: &Submission) -> Result<(), SubmitError> {
    if tool.class == SafetyClass::Idempotent && submission.not_before.is_some() {
        return Err(SubmitError::Invalid(
            "an idempotent tool is called at once, so not_before has no meaning for it".to_owned(),
        ));
    }
    Ok(())
}

/// An action that could never run is a mistake of whoever asks for it.
pub(super) fn check_times(
    not_before: Option<Timestamp>,
    requirement: Option<&Requirement>,
    now: Timestamp,
) -> Result<(), SubmitError> {
    requirement.map_or(Ok(()), |asked| check_hold(asked, now))?;
    check_not_before(not_before, requirement.map(|asked| asked.deadline), now)
}

/// The action would be held back for longer than there is time to decide.
fn check_hold(requirement: &Requirement, now: Timestamp) -> Result<(), SubmitError> {
    let hold = Duration::from_millis(requirement.hold_ms);
    let time = requirement.deadline.since(now);
    if hold < time {
        return Ok(());
    }
    Err(SubmitError::Invalid(format!(
        "expires_in ({} s) must be longer than the time for which the tool holds an approval back ({} \
         s), or no approval could ever be used",
        time.as_secs(),
        hold.as_secs()
    )))
}

/// Its moment would come after its deadline, or in too many years.
fn check_not_before(
    not_before: Option<Timestamp>,
    deadline: Option<Timestamp>,
    now: Timestamp,
) -> Result<(), SubmitError> {
    let Some(not_before) = not_before else {
        return Ok(());
    };
    if let Some(deadline) = deadline
        && deadline <= not_before
    {
        return Err(SubmitError::Invalid(format!(
            "not_before ({not_before}) must be before the deadline of the approval ({deadline})"
        )));
    }
    if now.plus(DURATION_MAX) < not_before {
        return Err(SubmitError::Invalid(format!(
            "not_before ({not_before}) is more than {} days ahead",
            DURATION_MAX.as_secs() / 86_400
        )));
    }
    Ok(())
}
