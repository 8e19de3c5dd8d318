//! Needs that cannot be met, since fewer people may vote than they ask for.

use std::collections::BTreeSet;
use std::fmt;

use super::rules::qualifies;
use super::{CastVote, Need, Vote, Voter};

/// How far a need is from being met by those who may still vote. Says how many there are, never who.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shortage {
    /// How many more must approve.
    pub missing: usize,
    /// How many may.
    pub can: usize,
    /// Out of which groups; any approver where it is empty.
    pub groups: BTreeSet<String>,
}

impl Shortage {
    /// That of a need; none where it is met, or there are enough for it among `others`, who may still
    /// vote.
    pub fn of(need: &Need, votes: &[CastVote], others: &[Voter]) -> Option<Self> {
        let can = others.iter().filter(|voter| qualifies(need, voter)).count();
        let required = usize::try_from(need.required).unwrap_or(usize::MAX);
        let missing = required.saturating_sub(approvals(need, votes));
        (can < missing).then(|| Self {
            missing,
            can,
            groups: need.groups.clone(),
        })
    }
}

impl fmt::Display for Shortage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let people = if self.can == 1 { "person" } else { "people" };
        write!(
            f,
            "It cannot be met: {} more must approve, and {} {people} may. Have it asked for again once \
             there are more approvers",
            self.missing, self.can
        )?;
        if !self.groups.is_empty() {
            write!(f, " in {}", groups_in_words(&self.groups))?;
        }
        f.write_str(".")
    }
}

/// How many approvals count for a need.
pub fn approvals(need: &Need, votes: &[CastVote]) -> usize {
    let counts = |cast: &&CastVote| cast.vote == Vote::Approve && qualifies(need, &cast.voter);
    votes.iter().filter(counts).count()
}

/// `the group “a”`, `the groups “a”, “b”`.
pub fn groups_in_words(groups: &BTreeSet<String>) -> String {
    let quoted: Vec<_> = groups.iter().map(|group| format!("“{group}”")).collect();
    let word = if quoted.len() == 1 { "group" } else { "groups" };
    format!("the {word} {}", quoted.join(", "))
}
