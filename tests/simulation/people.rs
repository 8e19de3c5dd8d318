//! Who takes part, and what they have in their hands: credentials, open tabs, requests that were
//! sent.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use holdpoint_engine::action::PrincipalKind;
use holdpoint_engine::engine::Engine;
use holdpoint_engine::identity::{NewKey, NewPerson, Role};
use serde_json::Value;

use crate::claims::Asked;
use crate::hands::Hand;

/// A tab of a browser, as its page was when it was opened.
#[derive(Clone)]
pub(crate) struct Tab {
    pub(crate) person: &'static str,
    pub(crate) action: String,
    /// The fields that every vote of this page sends.
    pub(crate) binding: String,
}

/// A submission that a program may send again.
#[derive(Clone)]
pub(crate) struct Sent {
    pub(crate) program: &'static str,
    pub(crate) key: String,
    pub(crate) body: Value,
    /// The id that the first answer gave.
    pub(crate) id: Option<String>,
}

/// Everything that people and programs remember.
#[derive(Default)]
pub(crate) struct People {
    pub(crate) ids: BTreeMap<&'static str, String>,
    /// The ids of the keys of programs.
    pub(crate) programs: BTreeMap<&'static str, String>,
    pub(crate) keys: BTreeMap<&'static str, String>,
    pub(crate) sessions: BTreeMap<&'static str, String>,
    /// Whose accounts are disabled.
    pub(crate) gone: BTreeSet<&'static str>,
    pub(crate) tabs: Vec<Tab>,
    pub(crate) sent: Vec<Sent>,
    pub(crate) hands: Vec<Hand>,
    /// Claims under a key that have no answer yet.
    pub(crate) asked: Vec<Asked>,
    pub(crate) submitted: u64,
    /// How many claims were made under a key.
    pub(crate) claimed: u64,
}

/// Who votes. Cyn owns the key of the agent.
pub(crate) const APPROVERS: [&str; 4] = ["ann", "bob", "cyn", "dan"];

/// The programs that submit.
pub(crate) const PROGRAMS: [&str; 2] = ["checkout", "robot"];

impl People {
    /// Creates everybody. What is there already, from before a crash, is found again.
    pub(crate) async fn settle_in(&mut self, engine: &Engine) -> Result<(), String> {
        let identity = engine.identity();
        let words = |error: holdpoint_engine::identity::ChangeError| error.to_string();
        for (name, roles) in [
            ("root", &[Role::Admin][..]),
            ("ann", &[Role::Approver]),
            ("bob", &[Role::Approver]),
            ("cyn", &[Role::Approver]),
            ("dan", &[Role::Approver, Role::Admin]),
            ("oscar", &[Role::Operator]),
            ("olga", &[Role::Operator]),
        ] {
            let new = NewPerson {
                email: format!("{name}@example.com"),
                name: name.to_owned(),
                roles: roles.iter().copied().collect(),
                groups: BTreeSet::from(["finance".to_owned()]),
                ..NewPerson::default()
            };
            let person = identity.create_person("cli", new).await.map_err(words)?;
            self.ids.insert(name, person.id);
        }
        for (name, kind, owner, scopes) in [
            ("checkout", PrincipalKind::Service, "oscar", &[][..]),
            ("robot", PrincipalKind::Agent, "cyn", &[]),
            ("packer", PrincipalKind::Service, "root", &["work:*"]),
        ] {
            let new = NewKey {
                name: name.to_owned(),
                kind,
                owner: self.ids[owner].clone(),
                scopes: scopes.iter().map(|scope| (*scope).to_owned()).collect(),
                attributes: BTreeMap::new(),
                expires_at: None,
            };
            let (key, secret) = identity.create_key("cli", new).await.map_err(words)?;
            self.programs.insert(name, key.id);
            self.keys.insert(name, secret.expose().to_owned());
        }
        Ok(())
    }
}

/// A new session of a person, by a sign-in link; none where that cannot be stored now.
pub(crate) async fn sign_in(engine: &Engine, person: &str) -> Option<String> {
    let identity = engine.identity();
    let minute = Duration::from_mins(1);
    let link = identity
        .create_sign_in_link("cli", person, minute)
        .await
        .ok()?;
    let redeemed = identity
        .redeem_sign_in_link(link.expose(), "192.0.2.1")
        .await;
    let (token, _, _) = redeemed.ok()?;
    Some(token.expose().to_owned())
}
