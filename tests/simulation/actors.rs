//! What people and programs do, one thing at a time, as the dice fall.

use std::sync::Arc;

use holdpoint_engine::time::Clock as _;
use serde_json::json;

use crate::client::{Answer, escaped, field};
use crate::model::Model;
use crate::people::{APPROVERS, PROGRAMS, Sent, Tab, sign_in};
use crate::tools::{LOOK, TOOLS};
use crate::weather::Fault;
use crate::world::World;

/// One thing that somebody does next.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Deed {
    Submit,
    Repeat,
    Look,
    OpenTab,
    Approve,
    Reject,
    Withdraw,
    Cancel,
    Settle,
    Work,
    ChangeRoles,
    LeaveOrReturn,
    RevokeKey,
    Pause,
    Resume,
    Mend,
}

impl Deed {
    /// Draws one.
    pub(crate) fn drawn(world: &World) -> Self {
        if world.strikes(Fault::RolesChange) {
            return Self::ChangeRoles;
        }
        if world.strikes(Fault::PersonLeaves) {
            return Self::LeaveOrReturn;
        }
        if world.strikes(Fault::KeyRevoked) {
            return Self::RevokeKey;
        }
        if world.strikes(Fault::Pause) {
            return Self::Pause;
        }
        if world.watch().switch.is_paused && world.dice.in_thousand(250) {
            return Self::Resume;
        }
        let is_any_off = world.watch().ears.list().iter().any(|(_, is_off)| *is_off);
        let rate = if is_any_off { 250 } else { 60 };
        if 0 < world.ears && world.dice.in_thousand(rate) {
            return Self::Mend;
        }
        match world.dice.below(100) {
            0..18 => Self::Submit,
            18..25 => Self::Repeat,
            25..29 => Self::Look,
            29..46 => Self::OpenTab,
            46..69 => Self::Approve,
            69..72 => Self::Reject,
            72..76 => Self::Withdraw,
            76..80 => Self::Cancel,
            80..86 => Self::Settle,
            _ => Self::Work,
        }
    }

    /// Does it. Nobody waits for it: whoever does it may be cut off by a crash.
    pub(crate) async fn run(self, world: Arc<World>) {
        match self {
            Self::Submit => world.submit_new().await,
            Self::Repeat => world.submit_again().await,
            Self::Look => world.look().await,
            Self::OpenTab => world.open_tab().await,
            Self::Approve => world.vote("approve").await,
            Self::Reject => world.vote("reject").await,
            Self::Withdraw => world.withdraw().await,
            Self::Cancel => world.cancel().await,
            Self::Settle => world.settle().await,
            Self::Work => world.work().await,
            Self::ChangeRoles => world.change_roles().await,
            Self::LeaveOrReturn => world.leave_or_return().await,
            Self::RevokeKey => world.revoke_key().await,
            Self::Pause => world.pause().await,
            Self::Resume => world.resume().await,
            Self::Mend => world.mend_ears().await,
        }
    }
}

impl World {
    async fn submit_new(&self) {
        let tool = self.some_tool();
        let program = *self.dice.pick(&PROGRAMS).unwrap_or(&"checkout");
        let (key, reference) = {
            let mut people = self.people();
            people.submitted += 1;
            (
                format!("request-{}", people.submitted),
                format!("r{}", people.submitted),
            )
        };
        let body = json!({ "tool": tool, "args": {
            "order": format!("o{}", self.dice.below(4)),
            "amount": self.amount(),
            "reference": reference,
        } });
        let mut body = body;
        if self.dice.in_thousand(100) {
            let later = self
                .clock
                .now()
                .plus_ms(self.dice.between(1_000, 1_200_000));
            body["not_before"] = json!(later.rfc3339());
        }
        let sent = Sent {
            program,
            key,
            body,
            id: None,
        };
        if tool == LOOK {
            let before = self.watch().switch.told();
            let answer = self.post(&sent).await;
            if answer.is_some_and(|answer| answer.status.is_success()) {
                self.must_not_have_left(before, LOOK);
            }
            return;
        }
        self.people().sent.push(sent.clone());
        if self.strikes(Fault::DoubleClick) {
            tokio::join!(self.submit(&sent), self.submit(&sent));
        } else {
            self.submit(&sent).await;
        }
    }

    /// Often one of a few, so that different calls look alike.
    fn amount(&self) -> u64 {
        if self.dice.in_thousand(300) {
            *self.dice.pick(&[100, 700]).unwrap_or(&100)
        } else {
            // Some are more than is left.
            match self.dice.between(1, 1000) {
                usual @ ..=985 => usual,
                _ => 200_000,
            }
        }
    }

    fn some_tool(&self) -> &'static str {
        let all: u64 = TOOLS.iter().map(|(_, weight)| weight).sum();
        let mut drawn = self.dice.below(all + 1);
        for (tool, weight) in TOOLS {
            if drawn < weight {
                return tool;
            }
            drawn -= weight;
        }
        LOOK
    }

    /// The same request again, or one that is like it but for its arguments.
    async fn submit_again(&self) {
        let old = self.dice.pick(&self.people().sent).cloned();
        let Some(mut old) = old else {
            return;
        };
        if self.strikes(Fault::OtherArguments) {
            old.body["args"]["amount"] = json!(2000);
            let answer = self.post(&old).await;
            if let (Some(answer), Some(_)) = (answer, &old.id)
                && answer.status.is_success()
            {
                self.fail(format!(
                    "I15: {} is taken with other arguments too",
                    old.key
                ));
            }
        } else if self.strikes(Fault::Repeat) {
            self.submit(&old).await;
        }
    }

    async fn post(&self, sent: &Sent) -> Option<Answer> {
        let token = self.people().keys.get(sent.program).cloned()?;
        self.watch().asks(&sent.body);
        let path = "/v1/actions";
        self.call(&token, "POST", path, Some(&sent.body), Some(&sent.key))
            .await
    }

    /// Submits, and compares the id with the one that an earlier answer to this request gave.
    async fn submit(&self, sent: &Sent) {
        let Some(answer) = self.post(sent).await else {
            return;
        };
        let json = answer.json();
        let (Some(id), true) = (json["id"].as_str(), answer.status.is_success()) else {
            return;
        };
        if self.strikes(Fault::AnswerOfOursLost) {
            return;
        }
        let mut people = self.people();
        let Some(known) = people.sent.iter_mut().find(|other| other.key == sent.key) else {
            return;
        };
        let first = known.id.get_or_insert_with(|| id.to_owned()).clone();
        drop(people);
        if first != id {
            self.fail(format!("I4: {} is {first} and {id}", sent.key));
        }
    }

    async fn look(&self) {
        let Some((program, id)) = self.some_action() else {
            return;
        };
        let token = self.people().keys[program].clone();
        let wait = *self
            .dice
            .pick(&["", "", "?wait=10s", "?wait=60s"])
            .unwrap_or(&"");
        let path = format!("/v1/actions/{id}{wait}");
        self.call(&token, "GET", &path, None, None).await;
    }

    /// An action whose id somebody learned, newer ones more often.
    fn some_action(&self) -> Option<(&'static str, String)> {
        let people = self.people();
        let known: Vec<_> = people
            .sent
            .iter()
            .filter(|sent| sent.id.is_some())
            .collect();
        let back = self
            .dice
            .place(known.len())
            .min(self.dice.place(known.len()));
        let sent = known.get(known.len().checked_sub(back + 1)?)?;
        Some((sent.program, sent.id.clone()?))
    }

    /// An action that is in this status, as an approver finds it in the queue.
    pub(crate) fn one_that_is(&self, status: &str) -> Option<String> {
        self.one_of_those(|model| model.status == status)
    }

    /// One of the actions for which this holds.
    pub(crate) fn one_of_those(&self, holds: impl Fn(&Model) -> bool) -> Option<String> {
        let watch = self.watch();
        let all = watch.models.iter().filter(|(_, model)| holds(model));
        let ids: Vec<_> = all.map(|(id, _)| format!("act_{id}")).collect();
        self.dice.pick(&ids).cloned()
    }

    /// The session of a person; a new one where there is none.
    async fn session(&self, person: &'static str) -> Option<String> {
        let known = self.people().sessions.get(person).cloned();
        if known.is_some() {
            return known;
        }
        let engine = self.engine()?;
        let id = self.people().ids.get(person).cloned()?;
        let session = sign_in(&engine, &id).await?;
        self.people().sessions.insert(person, session.clone());
        Some(session)
    }

    async fn open_tab(&self) {
        let Some(action) = self
            .one_that_is("staged")
            .or_else(|| self.one_that_is("approved"))
        else {
            return;
        };
        let person = *self.dice.pick(&APPROVERS).unwrap_or(&"ann");
        self.tab(person, action).await;
    }

    /// Opens an action in a new tab.
    pub(crate) async fn tab(&self, person: &'static str, action: String) -> Option<Tab> {
        let session = self.session(person).await?;
        let page = self.page(&session, &format!("/actions/{action}")).await?;
        if page.asks_to_sign_in() {
            self.people().sessions.remove(person);
            return None;
        }
        let mut binding = String::new();
        for name in ["token", "revision", "digest", "snapshot_digest"] {
            if let Some(value) = field(&page.text, name) {
                let pair = format!("{name}={}&", escaped(value));
                binding.push_str(&pair);
            }
        }
        let tab = Tab {
            person,
            action,
            binding,
        };
        self.people().tabs.push(tab.clone());
        Some(tab)
    }

    async fn vote(&self, vote: &'static str) {
        let tabs = self.people().tabs.len();
        let newest = tabs.saturating_sub(1);
        let place = if self.strikes(Fault::StaleTab) {
            self.dice.place(tabs)
        } else {
            newest
        };
        let tab = self.people().tabs.get(place).cloned();
        let Some(tab) = tab else {
            return;
        };
        if self.strikes(Fault::DoubleClick) {
            tokio::join!(self.click(&tab, vote), self.click(&tab, vote));
        } else {
            self.click(&tab, vote).await;
        }
    }

    async fn click(&self, tab: &Tab, vote: &'static str) {
        let form = format!("{}reason=as+it+should+be&read=yes", tab.binding);
        let person = self.people().ids.get(tab.person).cloned();
        let person = person.unwrap_or_default();
        self.pull();
        let now = self.clock.true_ms();
        self.watch().people.click(&person, &tab.action, now);
        let answer = self.send_form(tab.person, &tab.action, vote, &form).await;
        if answer.is_some_and(|answer| answer.message() == "voted") {
            self.watch().told_vote(&tab.action, &person, vote);
        }
    }

    pub(crate) async fn send_form(
        &self,
        person: &'static str,
        action: &str,
        what: &str,
        form: &str,
    ) -> Option<Answer> {
        let session = self.session(person).await?;
        let path = format!("/actions/{action}/{what}");
        let answer = self.form(&session, &path, form).await?;
        if answer.asks_to_sign_in() {
            self.people().sessions.remove(person);
        }
        self.pull();
        Some(answer)
    }

    async fn withdraw(&self) {
        let tab = self.dice.pick(&self.people().tabs).cloned();
        let still = self.one_that_is("approved");
        if let Some(tab) = tab {
            let action = still.unwrap_or(tab.action);
            let form = format!("{}reason=not+yet", tab.binding);
            self.send_form(tab.person, &action, "withdraw", &form).await;
        }
    }

    /// A program takes back what it asked for, more often than not too late.
    async fn cancel(&self) {
        let late = self
            .one_that_is("unknown")
            .or_else(|| self.one_that_is("executing"));
        let Some((program, id)) = self.some_action() else {
            return;
        };
        let id = late.filter(|_| self.dice.in_thousand(500)).unwrap_or(id);
        let program = if self.dice.in_thousand(500) {
            program
        } else {
            "checkout"
        };
        let token = self.people().keys[program].clone();
        let path = format!("/v1/actions/{id}/cancel");
        self.call(&token, "POST", &path, None, None).await;
    }
}
