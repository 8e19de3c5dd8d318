//! The pure rules of people: how many must agree, who may vote, until when.
//!
//! Knows nothing of actions or tools.
//!
//! * Every [`Need`] must be met; the highest requirement of all matching rules therefore holds.
//! * One person has one vote per revision; a vote counts for every need that the person qualifies for.
//! * A rejection ends it at once and needs a reason.
//! * The requester, and the owner of the requesting credential, never vote; nor does whoever made the run
//!   go on that asked. Only people vote.
//! * Whoever changed what people may do since it was asked does not vote on it.
//! * A vote at or after the deadline does not count.

mod rules;
mod shortage;

use std::collections::BTreeSet;

use bincode::{Decode, Encode};

pub use rules::{Ineligible, Tally, eligibility, tally};
pub use shortage::{Shortage, approvals, groups_in_words};

use crate::time::Timestamp;

/// One requirement: this many people, out of these groups.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Need {
    /// How many different people must approve; at least 1.
    pub required: u32,
    /// The groups that they must belong to, any of them; empty means any approver.
    pub groups: BTreeSet<String>,
    /// Why it is asked, where a rule asked for it ("above 500.00").
    pub because: Option<String>,
}

/// What an approval waits for.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Requirement {
    /// All of these must be met; never empty.
    pub needs: Vec<Need>,
    /// From this moment on no vote counts and no approval can be used.
    pub deadline: Timestamp,
    /// How long after the last approval the call is held back, in milliseconds.
    pub hold_ms: u64,
}

impl Requirement {
    /// The largest number of people that any need asks for.
    pub fn required(&self) -> u32 {
        self.needs
            .iter()
            .map(|need| need.required)
            .max()
            .unwrap_or(1)
    }
}

/// Yes or no.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub enum Vote {
    /// Let it happen.
    Approve,
    /// Do not let it happen; ends the approval.
    Reject,
}

impl Vote {
    /// Its name on the wire.
    pub fn name(self) -> &'static str {
        match self {
            Self::Approve => "approve",
            Self::Reject => "reject",
        }
    }
}

/// A person as the vote saw them; kept for ever, whatever becomes of the account.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Voter {
    /// The id of the person, `per_…`.
    pub id: String,
    /// The name at that time.
    pub name: String,
    /// The groups at that time.
    pub groups: BTreeSet<String>,
    /// Whether this is a person: services and agents never vote.
    pub is_person: bool,
    /// Whether the person had the role of approver.
    pub is_approver: bool,
    /// When the person last changed what somebody, or they themselves, may do here: accounts,
    /// roles, groups, passwords of others.
    pub changed_access_at: Option<Timestamp>,
}

/// A vote that was counted.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct CastVote {
    /// Who voted.
    pub voter: Voter,
    /// What they said.
    pub vote: Vote,
    /// Why; always there for a rejection.
    pub reason: Option<String>,
    /// When.
    pub at: Timestamp,
}

/// Who may not vote because they are on the asking side.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Requester {
    /// The id of the caller: a person, or a key of a service or an agent.
    pub id: String,
    /// The person who owns the calling credential, where the caller is not a person.
    pub owner: Option<String>,
    /// Who made the run go on that it is a step of, and the owners of their keys.
    pub instigators: BTreeSet<String>,
    /// When it was asked.
    pub asked_at: Timestamp,
}

impl Requester {
    /// Whether this is the caller, or owns the calling credential.
    pub fn asks(&self, id: &str) -> bool {
        self.id == id || self.owner.as_deref() == Some(id)
    }
}
