//! When people are reminded.

use super::expiry;
use crate::action::{Action, Event, Reminder};
use crate::time::Timestamp;

/// The reminder that is due, or the expiry. Whoever looks late, after a stop, makes only the last
/// one: what the earlier one would say is no longer true.
pub(super) fn remind(action: &Action, at: Timestamp) -> Option<Event> {
    if let Some(expired) = expiry(action, at) {
        return Some(expired);
    }
    let (_, due) = action.next_reminder()?;
    if at < due {
        return None;
    }
    let last_call = action
        .reminder_at(Reminder::NineTenths)
        .is_some_and(|due| due <= at);
    let reminder = if last_call {
        Reminder::NineTenths
    } else {
        Reminder::Half
    };
    let deadline = action.deadline()?;
    Some(Event::Reminded {
        reminder,
        deadline,
        at,
    })
}
