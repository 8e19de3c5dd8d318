//! What people may do, as their own records tell it: the votes are held against this, not against what
//! the engine wrote into them.
//!
//! A change counts for every click that begins after it has become durable; for one that was on its way
//! then, either may hold.

use std::collections::{BTreeMap, BTreeSet};

use holdpoint_engine::approval::{CastVote, Voter};
use holdpoint_engine::identity::{Event, Role};
use holdpoint_storage::Record;

/// What somebody may do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Access {
    groups: BTreeSet<String>,
    is_approver: bool,
    is_disabled: bool,
    /// When they last changed what somebody may do.
    changed_at: Option<i64>,
}

/// One person, from the first word about them to the last, each with the true time of it.
#[derive(Clone, Default)]
struct Known(Vec<(u64, Access)>);

impl Known {
    fn change(&mut self, now: u64, change: impl FnOnce(&mut Access)) {
        let mut access = self.0.last().map(|(_, last)| last.clone());
        change(access.get_or_insert_default());
        self.0.extend(access.map(|access| (now, access)));
    }

    /// Where the last word stands that everybody knows by now.
    fn settled(&self, now: u64) -> usize {
        let known = self.0.iter().take_while(|(at, _)| *at < now);
        known.count().saturating_sub(1)
    }
}

/// Everybody.
#[derive(Clone, Default)]
pub(crate) struct People {
    all: BTreeMap<String, Known>,
    /// Who clicked on what in this process: the oldest word that may hold for it.
    clicks: BTreeMap<(String, String), usize>,
}

impl People {
    /// A durable record, read at this true time.
    pub(crate) fn record(
        &mut self,
        record: &Record,
        event: &Event,
        now: u64,
    ) -> Result<(), String> {
        let Some(id) = record.stream.as_str().strip_prefix("person/") else {
            return Ok(());
        };
        let id = format!("per_{id}");
        match event {
            Event::PersonCreated { roles, groups, .. }
            | Event::PersonChanged { roles, groups, .. } => {
                let is_approver = roles.contains(&Role::Approver);
                self.all.entry(id).or_default().change(now, |access| {
                    access.groups.clone_from(groups);
                    access.is_approver = is_approver;
                });
            }
            Event::PersonDisabled { .. } | Event::PersonEnabled { .. } => {
                let is_disabled = matches!(event, Event::PersonDisabled { .. });
                let known = self.all.get_mut(&id);
                let known = known.ok_or("I6: somebody changes who never came")?;
                known.change(now, |access| access.is_disabled = is_disabled);
            }
            Event::PasswordSet { .. } if record.actor != id => {}
            Event::PasswordSet { .. }
            | Event::KeyCreated { .. }
            | Event::KeyRevoked { .. }
            | Event::SessionStarted { .. }
            | Event::SessionEnded { .. }
            | Event::SignInRefused { .. }
            | Event::LinkCreated { .. }
            | Event::LinkRedeemed { .. } => return Ok(()),
        }
        if let Some(by) = self.all.get_mut(&record.actor) {
            by.change(now, |access| {
                access.changed_at = access.changed_at.max(Some(record.time_ms));
            });
        }
        Ok(())
    }

    /// Somebody clicks on an action now.
    pub(crate) fn click(&mut self, person: &str, action: &str, now: u64) {
        let settled = self.all.get(person).map_or(0, |known| known.settled(now));
        let action = action.strip_prefix("act_").unwrap_or(action);
        let key = (person.to_owned(), action.to_owned());
        let least = self.clicks.entry(key).or_insert(settled);
        *least = settled.min(*least);
    }

    /// Whether the account is disabled.
    pub(crate) fn is_gone(&self, person: &str) -> bool {
        let known = self.all.get(person).and_then(|known| known.0.last());
        known.is_some_and(|(_, access)| access.is_disabled)
    }

    /// The process is gone, and every click with it.
    pub(crate) fn bury(&mut self) {
        self.clicks.clear();
    }

    /// A durable vote on an action: somebody cast it who may.
    pub(crate) fn votes(&self, action: &str, cast: &CastVote) -> Result<(), String> {
        let voter = &cast.voter;
        let key = (voter.id.clone(), action.to_owned());
        let Some(least) = self.clicks.get(&key) else {
            return Err(format!("I19: {} never voted on {action}", voter.id));
        };
        let said = as_it_says(voter);
        let known = self.all.get(&voter.id).map_or(&[][..], |known| &known.0);
        if known.iter().skip(*least).any(|(_, access)| *access == said) {
            return Ok(());
        }
        let last = known.last();
        Err(format!(
            "I18: {} votes as {said:?}, and is {last:?}",
            voter.id
        ))
    }
}

/// What a vote says of whoever cast it.
fn as_it_says(voter: &Voter) -> Access {
    Access {
        groups: voter.groups.clone(),
        is_approver: voter.is_approver,
        is_disabled: false,
        changed_at: voter.changed_access_at.map(|at| at.0),
    }
}
