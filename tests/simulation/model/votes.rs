//! What people do about an action.

use std::collections::BTreeSet;

use holdpoint_engine::action::Event;
use holdpoint_engine::approval::{CastVote, Vote};

use super::Model;
use super::attempt::must;

impl Model {
    pub(super) fn deadline(&self) -> i64 {
        self.approval
            .as_ref()
            .map_or(i64::MAX, |approval| approval.deadline.0)
    }

    pub(super) fn vote(&mut self, event: &Event) -> Result<(), String> {
        let Event::VoteRecorded {
            cast,
            revision,
            digest,
            snapshot_digest,
        } = event
        else {
            return Ok(());
        };
        let who = &cast.voter;
        must!(
            cast.at.0 < self.deadline(),
            "I9: a vote at or after the deadline"
        );
        must!(
            *revision == self.revision
                && *digest == self.digest
                && *snapshot_digest == self.snapshot,
            "I3: a vote on something else than what is there"
        );
        must!(
            who.is_person && who.is_approver,
            "I8: {} may not vote",
            who.id
        );
        must!(
            !self.askers.contains(&who.id),
            "I8: {} votes on the own action",
            who.id
        );
        let changed = who
            .changed_access_at
            .is_some_and(|at| self.asked_at <= at.0);
        must!(!changed, "I8: {} changed access since", who.id);
        let needs = self.known.needs(&self.args);
        let is_asked = needs.iter().any(|(_, group)| is_in(*group, cast));
        must!(is_asked, "I8: nobody asks for the vote of {}", who.id);
        let twice = self.votes.iter().any(|other| other.voter.id == who.id);
        must!(!twice, "I8: {} votes twice", who.id);
        self.said.insert((who.id.clone(), cast.vote.name()));
        self.votes.push(cast.clone());
        Ok(())
    }

    /// Whether the votes suffice: each need has as many different people of its group.
    pub(super) fn is_approved(&self) -> bool {
        let all_yes = self.votes.iter().all(|cast| cast.vote == Vote::Approve);
        let needs = self.known.needs(&self.args);
        let is_met = |(required, group): &(usize, Option<&str>)| {
            let counts = |cast: &&CastVote| is_in(*group, cast);
            let people = self.votes.iter().filter(counts);
            let people: BTreeSet<_> = people.map(|cast| &cast.voter.id).collect();
            *required <= people.len()
        };
        all_yes && !needs.is_empty() && needs.iter().all(is_met)
    }

    pub(super) fn restage(&mut self, event: &Event) -> Result<&'static str, String> {
        if let Event::Restaged {
            revision,
            snapshot,
            request,
            requirement,
            ..
        } = event
        {
            must!(
                *revision == self.revision + 1,
                "I3: revision {revision} after {}",
                self.revision
            );
            must!(
                requirement.deadline.0 == self.deadline(),
                "I9: staging again moves the deadline"
            );
            self.revision = *revision;
            self.snapshot = Some(snapshot.digest);
            self.request = Some(request.digest);
            self.approval = Some(requirement.clone());
            self.votes.clear();
            self.tries.1 = 0;
        }
        Ok("staged")
    }
}

fn is_in(group: Option<&str>, cast: &CastVote) -> bool {
    group.is_none_or(|group| cast.voter.groups.contains(group))
}
