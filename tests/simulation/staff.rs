//! Operators and administrators: who settles what nobody knows, and who changes what people may do.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use holdpoint_engine::action::PrincipalKind;
use holdpoint_engine::identity::{NewKey, PersonChange};

use crate::model::Model;
use crate::people::APPROVERS;
use crate::world::World;

impl World {
    /// An operator looks at the books of the bank, and says what is there. Nobody can know while a
    /// request may still arrive, or a worker still do it: the server cannot tell them, whose clock may have
    /// been set forward while it was down, but the worker can. In a hurry they settle what the machine could still find out, at the end
    /// only what it cannot.
    pub(crate) async fn settle(&self) {
        let is_hasty = self.weather.rages();
        let wanted =
            |model: &Model| model.waits_for_a_person() || is_hasty && model.status == "unknown";
        let Some(action) = self.one_of_those(wanted) else {
            return;
        };
        let key = {
            let watch = self.watch();
            let id = action.trim_start_matches("act_");
            watch.models.get(id).map(|model| model.key.clone())
        };
        let key = key.unwrap_or_default();
        let person = *self.dice.pick(&["oscar", "olga"]).unwrap_or(&"olga");
        let Some(tab) = self.tab(person, action).await else {
            return;
        };
        self.people().tabs.pop();
        let now = self.clock.true_ms();
        let is_in_hand = {
            let people = self.people();
            people.hands.iter().any(|hand| hand.may_act(&key, now))
        };
        let happened = {
            let books = self.bank.books();
            if is_in_hand || books.is_on_its_way(&key) {
                return;
            }
            if books.effects(&key) > 0 { "yes" } else { "no" }
        };
        let form = format!("{}happened={happened}&reason=I+looked", tab.binding);
        self.send_form(tab.person, &tab.action, "settle", &form)
            .await;
    }

    /// An administrator puts somebody into another group.
    pub(crate) async fn change_roles(&self) {
        let Some(engine) = self.engine() else {
            return;
        };
        let person = *self.dice.pick(&APPROVERS).unwrap_or(&"ann");
        let id = self.people().ids.get(person).cloned().unwrap_or_default();
        let group = *self.dice.pick(&["finance", "sales"]).unwrap_or(&"finance");
        let change = PersonChange {
            groups: Some([group.to_owned()].into()),
            ..PersonChange::default()
        };
        let by = *self.dice.pick(&["root", "dan"]).unwrap_or(&"root");
        let by = self.people().ids.get(by).cloned().unwrap_or_default();
        let changed = engine.identity().change_person(&by, &id, change).await;
        self.note(format!("{person} is put into {group}: {}", changed.is_ok()));
        tokio::time::sleep(Duration::from_millis(1)).await;
    }

    /// An approver leaves: once that is answered, their session is over. Or one comes back.
    pub(crate) async fn leave_or_return(&self) {
        let Some(engine) = self.engine() else {
            return;
        };
        let person = *self.dice.pick(&APPROVERS).unwrap_or(&"ann");
        let (id, root, is_gone) = {
            let people = self.people();
            let id = |name| people.ids.get(name).cloned().unwrap_or_default();
            (id(person), id("root"), people.gone.contains(person))
        };
        let identity = engine.identity();
        if is_gone {
            let back = identity.enable_person(&root, &id, "is back").await;
            self.note(format!("{person} is back: {}", back.is_ok()));
            if back.is_ok() {
                self.people().gone.remove(person);
            }
            return;
        }
        let session = self.people().sessions.get(person).cloned();
        let left = identity.disable_person(&root, &id, "has left").await;
        self.note(format!("{person} has left: {}", left.is_ok()));
        if left.is_err() {
            return;
        }
        {
            let mut people = self.people();
            people.gone.insert(person);
            people.sessions.remove(person);
        }
        if let Some(session) = session
            && let Some(page) = self.page(&session, "/").await
            && page.status.is_success()
        {
            self.fail(format!("I18: {person} has left, and is still let in"));
        }
    }

    /// The key of the agent is revoked, and it gets another one. Once that is answered the old one
    /// opens nothing.
    pub(crate) async fn revoke_key(&self) {
        let Some(engine) = self.engine() else {
            return;
        };
        let (root, owner, old, token) = {
            let people = self.people();
            (
                people.ids["root"].clone(),
                people.ids["cyn"].clone(),
                people.programs["robot"].clone(),
                people.keys["robot"].clone(),
            )
        };
        let identity = engine.identity();
        let revoked = identity.revoke_key(&root, &old, "it leaked").await;
        self.note(format!(
            "the key of the agent is revoked: {}",
            revoked.is_ok()
        ));
        if revoked.is_ok()
            && let Some(answer) = self.call(&token, "GET", "/v1/actions", None, None).await
            && answer.status.is_success()
        {
            self.fail("I18: a key that is revoked still opens".to_owned());
        }
        let new = NewKey {
            name: "robot".to_owned(),
            kind: PrincipalKind::Agent,
            owner,
            scopes: BTreeSet::new(),
            attributes: BTreeMap::new(),
            expires_at: None,
        };
        if let Ok((key, secret)) = identity.create_key(&root, new).await {
            let mut people = self.people();
            people.programs.insert("robot", key.id);
            people.keys.insert("robot", secret.expose().to_owned());
            // What the old key asked for is no business of the new one.
            people.sent.retain(|sent| sent.program != "robot");
        }
    }
}
