//! What the reader of an action's page may do, and why, or why not.

use std::collections::BTreeSet;

use holdpoint_engine::action::{Action, Status};
use holdpoint_engine::approval::{Ineligible, Need, Vote, eligibility, groups_in_words};
use holdpoint_engine::identity::{Principal, Role};
use holdpoint_engine::time::Timestamp;

use crate::pages::view::{Names, StatusView, When};

/// What somebody may do with an action now. Only for show: the engine decides again.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "independent permissions")]
pub(in crate::pages) struct Standing {
    pub(in crate::pages) may_vote: bool,
    pub(in crate::pages) may_withdraw: bool,
    pub(in crate::pages) may_cancel: bool,
    pub(in crate::pages) may_settle: bool,
    /// Why the reader may vote, or why not.
    pub(in crate::pages) why: String,
}

/// Whether the action was asked for by this person or with a key of theirs.
pub(in crate::pages) fn is_requester(action: &Action, person: &Principal) -> bool {
    let caller = &action.proposal.caller;
    caller.id == person.id || caller.owner.as_ref() == Some(&person.id)
}

/// Whether the person could vote on the action now.
pub(in crate::pages) fn may_vote(action: &Action, person: &Principal, now: Timestamp) -> bool {
    action.takes_vote_of(&person.voter(), now)
}

pub(in crate::pages) fn standing(
    action: &Action,
    person: &Principal,
    names: &Names,
    held_until: Option<Timestamp>,
    now: Timestamp,
) -> Standing {
    let approved_it = action.approval.as_ref().is_some_and(|approval| {
        approval
            .votes
            .iter()
            .any(|cast| cast.voter.id == person.id && cast.vote == Vote::Approve)
    });
    let is_before_sending = matches!(
        action.status(),
        Status::Staged | Status::Approved | Status::Accepted
    );
    let asked = is_requester(action, person);
    let pushed = asked || action.requester().instigators.contains(&person.id);
    Standing {
        may_vote: may_vote(action, person, now),
        may_withdraw: held_until.is_some() && approved_it,
        // The engine takes a cancellation from the caller itself or the owner of its key.
        may_cancel: is_before_sending && asked,
        may_settle: action.status() == Status::Unknown
            && person.has(Role::Operator)
            && !pushed
            && !approved_it,
        why: why(action, person, names, now, pushed, approved_it),
    }
}

fn why(
    action: &Action,
    person: &Principal,
    names: &Names,
    now: Timestamp,
    pushed: bool,
    approved_it: bool,
) -> String {
    let status = action.status();
    let Some(approval) = &action.approval else {
        return match status {
            Status::Unknown => settle_words(person, pushed, approved_it),
            Status::Refused => {
                "There is nothing to vote on: it was refused, and nothing was sent.".into()
            }
            Status::Staged
            | Status::Approved
            | Status::Accepted
            | Status::Executing
            | Status::Succeeded
            | Status::Failed
            | Status::Rejected
            | Status::Expired
            | Status::Cancelled
            | Status::ReplanRequired => {
                "Nobody votes on this action: its class asks for no approval.".into()
            }
        };
    };
    if status == Status::Unknown {
        return settle_words(person, pushed, approved_it);
    }
    if status != Status::Staged {
        let word = StatusView::new(status).word.to_lowercase();
        return format!("There is nothing to vote on any more. The status is: {word}.");
    }
    let requirement = &approval.requirement;
    let requester = action.requester();
    let voter = person.voter();
    match eligibility(requirement, &requester, &approval.votes, &voter, now) {
        Ok(()) => format!("You may vote: {}. You have one vote.", entitlement(&requirement.needs, &voter.groups)),
        Err(Ineligible::NotAPerson) => {
            "You may not vote: only people vote, services and agents never do.".into()
        }
        Err(Ineligible::SelfApproval) if requester.id == person.id => {
            "You may not vote: you asked for this action yourself. Somebody else must decide.".into()
        }
        Err(Ineligible::SelfApproval) => format!(
            "You may not vote: it was asked for with the key “{}”, which belongs to you. Somebody else must decide.",
            action.proposal.caller.name
        ),
        Err(Ineligible::Instigated) => {
            "You may not vote: you started or resumed a run that this stands for a step of, or sent it an event. Somebody else must decide.".into()
        }
        Err(Ineligible::NotAnApprover) if !voter.is_approver => {
            "You may not vote: you do not have the role of approver. An administrator can give it to you.".into()
        }
        Err(Ineligible::NotAnApprover) => format!(
            "You may not vote: this needs people of {}, and you are in {}.",
            groups_asked(&requirement.needs),
            if voter.groups.is_empty() { "no group".into() } else { groups_in_words(&voter.groups) }
        ),
        Err(Ineligible::ChangedAccess) => {
            "You may not vote: since this was asked you have changed accounts, roles or groups. Somebody else must decide.".into()
        }
        Err(Ineligible::AlreadyVoted) => {
            let at = approval
                .votes
                .iter()
                .find(|cast| cast.voter.id == person.id)
                .map(|cast| When::new(cast.at, now).text().to_owned());
            format!(
                "You have voted already, at {}. One person has one vote; it waits for others.",
                at.unwrap_or_default()
            )
        }
        Err(Ineligible::Expired) => format!(
            "Nobody may vote any more: the deadline passed at {}. It was not rejected; {} can ask again.",
            When::new(requirement.deadline, now).text(),
            names.short(&requester.id)
        ),
    }
}

fn settle_words(person: &Principal, pushed: bool, approved_it: bool) -> String {
    if pushed || approved_it {
        "You may not settle this outcome: you asked for the action, made its run go on, or approved it. Another operator must.".into()
    } else if person.has(Role::Operator) {
        "You may settle this outcome: you are an operator, and you neither asked for it nor approved it.".into()
    } else {
        "The outcome is not known yet. Only an operator may settle it, if the target itself gives no answer.".into()
    }
}

fn entitlement(needs: &[Need], groups: &BTreeSet<String>) -> String {
    let shared: BTreeSet<String> = needs
        .iter()
        .flat_map(|need| need.groups.intersection(groups))
        .cloned()
        .collect();
    if shared.is_empty() {
        "you are an approver, and any approver may".into()
    } else {
        format!("you are an approver in {}", groups_in_words(&shared))
    }
}

fn groups_asked(needs: &[Need]) -> String {
    let groups: BTreeSet<String> = needs.iter().flat_map(|need| need.groups.clone()).collect();
    groups_in_words(&groups)
}
