//! What can be done to people, in the folder or through a server; both answer the same JSON.

use std::time::Duration;

use holdpoint_engine::identity::{ChangeError, Identity, NewPerson, Person, Role, Secret};
use holdpoint_web::wire;
use reqwest::Method;
use serde_json::{Value, json};

use crate::commands::admin::{self, Admin, BY, refused};
use crate::failure::{Failure, Outcome};
use crate::output::field;

/// How long a sign-in link works.
const LINK_LIFE: Duration = Duration::from_mins(15);

/// Everybody.
pub(super) async fn list(admin: &Admin) -> Outcome<Vec<Value>> {
    match admin {
        Admin::Folder { identity, .. } => identity
            .people()
            .iter()
            .map(|person| admin::wire(&wire::Person::from(person)))
            .collect(),
        Admin::Server(client) => {
            let body = client.get("/v1/people").await?.body;
            admin::list(&body).map(<[Value]>::to_vec)
        }
    }
}

/// Adds a person.
pub(super) async fn add(admin: &Admin, new: NewPerson) -> Outcome<Value> {
    match admin {
        Admin::Folder { identity, .. } => person(identity.create_person(BY, new).await),
        Admin::Server(client) => {
            let mut body = json!({
                "email": new.email,
                "name": new.name,
                "roles": new.roles.iter().map(|role: &Role| role.name()).collect::<Vec<_>>(),
                "groups": new.groups,
                "scopes": new.scopes,
                "attributes": new.attributes,
            });
            if let Some(password) = &new.password {
                body["password"] = json!(password.expose());
            }
            Ok(client.post("/v1/people", &body).await?.body)
        }
    }
}

/// Disables or enables a person.
pub(super) async fn set_enabled(
    admin: &Admin,
    email: &str,
    enabled: bool,
    reason: &str,
) -> Outcome<Value> {
    match admin {
        Admin::Folder { identity, .. } => {
            let id = local(identity, email)?.id;
            person(if enabled {
                identity.enable_person(BY, &id, reason).await
            } else {
                identity.disable_person(BY, &id, reason).await
            })
        }
        Admin::Server(client) => {
            let path = remote(admin, email).await?;
            let body = json!({ "enabled": enabled, "reason": reason });
            let request = client
                .request(Method::PATCH, &path)
                .header(reqwest::header::CONTENT_TYPE, "application/json")
                .body(body.to_string());
            Ok(client.send(request).await?.body)
        }
    }
}

/// Sets a password.
pub(super) async fn set_password(admin: &Admin, email: &str, password: &Secret) -> Outcome<()> {
    match admin {
        Admin::Folder { identity, .. } => {
            let id = local(identity, email)?.id;
            let done = identity.set_password(BY, &id, password).await;
            done.map_err(|error| refused(&error))
        }
        Admin::Server(client) => {
            let path = remote(admin, email).await?;
            let body = json!({ "password": password.expose() });
            let request = client
                .request(Method::PUT, &format!("{path}/password"))
                .header(reqwest::header::CONTENT_TYPE, "application/json")
                .body(body.to_string());
            client.send(request).await?;
            Ok(())
        }
    }
}

/// A link that signs a person in once.
pub(super) async fn link(admin: &Admin, email: &str) -> Outcome<String> {
    match admin {
        Admin::Folder { identity, url, .. } => {
            let id = local(identity, email)?.id;
            let token = identity.create_sign_in_link(BY, &id, LINK_LIFE).await;
            let token = token.map_err(|error| refused(&error))?;
            Ok(format!("{url}/sign-in/link?token={}", token.expose()))
        }
        Admin::Server(_) => Err(Failure::usage(
            "a link is made with the data folder in hand, not through a server",
        )
        .help("stop the server and run it without --server, or set a password with `holdpoint user passwd`")),
    }
}

fn person(result: Result<Person, ChangeError>) -> Outcome<Value> {
    match result {
        Ok(person) => admin::wire(&wire::Person::from(&person)),
        Err(error) => Err(refused(&error)),
    }
}

/// The person with this address.
pub(crate) fn local(identity: &Identity, email: &str) -> Outcome<Person> {
    identity.person_by_email(email).ok_or_else(|| nobody(email))
}

/// The path of the person with this address.
async fn remote(admin: &Admin, email: &str) -> Outcome<String> {
    let id = remote_id(admin, email).await?;
    Ok(format!("/v1/people/{id}"))
}

/// The id of the person with this address, from the server.
pub(crate) async fn remote_id(admin: &Admin, email: &str) -> Outcome<String> {
    let people = list(admin).await?;
    let wanted = email.to_lowercase();
    let id = people
        .iter()
        .find(|person| field(person, "/email").to_lowercase() == wanted)
        .map(|person| field(person, "/id"))
        .ok_or_else(|| nobody(email))?;
    // It goes into a path.
    if id
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    {
        Ok(id)
    } else {
        Err(Failure::failed(
            "the server answered with an id that is none",
        ))
    }
}

fn nobody(email: &str) -> Failure {
    Failure::failed(format!("there is nobody with the address {email}"))
        .help("`holdpoint user list` shows who is there")
}
