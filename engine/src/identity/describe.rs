//! Records of identity as the history shows them: never a hash, never a secret.

use std::collections::BTreeSet;

use holdpoint_storage::Record;
use serde_json::{Value, json};

use super::event::{self, Event};
use super::principal::Role;
use super::streams;
use crate::time::Timestamp;

/// The fact in a record as JSON, with the id of what it is about; `None` where the record is not
/// about people, keys or sessions, or cannot be understood.
pub fn describe(record: &Record) -> Option<Value> {
    let (what, id) = streams::subject(&record.stream)?;
    let event = event::decode::<Event>(&record.body).ok()?;
    let mut fact = facts(&event);
    if let (Some(fields), Some(id)) = (fact.as_object_mut(), id) {
        fields.insert(what.to_owned(), Value::String(id));
    }
    Some(fact)
}

fn facts(event: &Event) -> Value {
    match event {
        Event::PersonCreated {
            email,
            name,
            roles,
            groups,
            scopes,
            attributes,
            password,
        } => json!({
            "email": email, "name": name, "roles": names(roles), "groups": groups,
            "scopes": scopes, "attributes": attributes, "has_password": password.is_some(),
        }),
        Event::PersonChanged {
            name,
            roles,
            groups,
            scopes,
            attributes,
            reason,
        } => json!({
            "name": name, "roles": names(roles), "groups": groups, "scopes": scopes,
            "attributes": attributes, "reason": reason,
        }),
        Event::PasswordSet { password: _ } => json!({}),
        Event::PersonDisabled { reason }
        | Event::PersonEnabled { reason }
        | Event::KeyRevoked { reason } => json!({ "reason": reason }),
        Event::KeyCreated {
            public,
            hash: _,
            name,
            kind,
            owner,
            scopes,
            attributes,
            expires_at,
        } => json!({
            "public": public, "name": name, "kind": kind.name(), "owner": owner,
            "scopes": scopes, "attributes": attributes,
            "expires_at": expires_at.map(Timestamp::rfc3339),
        }),
        Event::SessionStarted {
            person,
            hash: _,
            kind,
            method,
            from,
            expires_at,
        } => json!({
            "person": person, "kind": kind.name(), "method": method.name(), "from": from,
            "expires_at": expires_at.rfc3339(),
        }),
        Event::SessionEnded { person, cause } => json!({
            "person": person, "cause": cause.name(),
        }),
        Event::SignInRefused {
            person,
            from,
            cause,
            unrecorded,
        } => json!({
            "person": person, "from": from, "cause": cause.name(), "unrecorded": unrecorded,
        }),
        Event::LinkCreated {
            person,
            hash: _,
            expires_at,
        } => json!({ "person": person, "expires_at": expires_at.rfc3339() }),
        Event::LinkRedeemed { session, from } => json!({ "session": session, "from": from }),
    }
}

fn names(roles: &BTreeSet<Role>) -> Vec<&'static str> {
    roles.iter().map(|role| role.name()).collect()
}
