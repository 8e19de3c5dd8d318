//! Operators and administrators: who settles what nobody knows, and who changes what people may do.

use std::time::Duration;

use holdpoint_engine::identity::PersonChange;

use crate::model::Model;
use crate::people::APPROVERS;
use crate::world::World;

impl World {
    /// An operator looks at the books of the bank, and says what is there. Nobody can know while a
    /// request may still arrive. In a hurry they settle what the machine could still find out, at the end
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
        let happened = {
            let books = self.bank.books();
            if books.is_on_its_way(&key) {
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
}
