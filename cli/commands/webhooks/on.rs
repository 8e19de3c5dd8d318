//! What can be done to webhook endpoints, in the folder or through a server; both answer the same
//! JSON.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use holdpoint::client::{Client, encoded};
use holdpoint_engine::time::{SystemClock, SystemEntropy};
use holdpoint_engine::webhook::{
    Cause, Endpoint, EndpointChange, EndpointId, MessageId, NewEndpoint, SigningKey, WebhookError,
    Webhooks,
};
use holdpoint_web::wire;
use reqwest::Method;
use serde_json::{Value, json};

use crate::commands::admin::{self, Admin, BY};
use crate::commands::user;
use crate::exit_code::ExitCode;
use crate::failure::{Failure, Outcome};

const ENDPOINTS: &str = "/v1/webhook-endpoints";

/// An endpoint to be made.
pub(super) struct New {
    pub(super) name: String,
    pub(super) url: String,
    pub(super) types: BTreeSet<String>,
    pub(super) tools: BTreeSet<String>,
    /// An address, or the id of a key.
    pub(super) owner: Option<String>,
    pub(super) from: Option<u64>,
}

/// The endpoints in a folder. `admin` is one.
fn hooks(admin: &Admin) -> Outcome<Option<Webhooks>> {
    let Admin::Folder { log, data, .. } = admin else {
        return Ok(None);
    };
    let key = SigningKey::open(data, &SystemEntropy)
        .map_err(|error| Failure::because("webhooks have no key", &error))?;
    let opened = Webhooks::open(
        Arc::clone(log),
        Arc::new(SystemClock),
        Arc::new(SystemEntropy),
        Ok(key),
    );
    opened
        .map(Some)
        .map_err(|error| Failure::because("webhook endpoints cannot be read", &error))
}

/// All endpoints.
pub(super) async fn list(admin: &Admin) -> Outcome<Vec<Value>> {
    match (admin, hooks(admin)?) {
        (Admin::Server(client), _) => {
            let body = client.get(ENDPOINTS).await?.body;
            admin::list(&body).map(<[Value]>::to_vec)
        }
        (Admin::Folder { .. }, hooks) => {
            let all = hooks.map(|hooks| hooks.list()).unwrap_or_default();
            all.iter().map(to_json).collect()
        }
    }
}

/// One endpoint.
pub(super) async fn show(admin: &Admin, id: EndpointId) -> Outcome<Value> {
    match (admin, hooks(admin)?) {
        (Admin::Server(client), _) => Ok(client.get(&path(id)).await?.body),
        (Admin::Folder { .. }, hooks) => {
            let found = hooks.and_then(|hooks| hooks.get(id));
            to_json(&found.ok_or_else(|| refused(&WebhookError::NotFound))?)
        }
    }
}

/// Makes an endpoint; its secret and the endpoint.
pub(super) async fn add(admin: &Admin, new: New) -> Outcome<(String, Value)> {
    match admin {
        Admin::Server(client) => {
            let mut body = json!({
                "name": new.name, "url": new.url, "types": new.types, "tools": new.tools,
            });
            if let Some(owner) = &new.owner {
                body["owner"] = json!(if owner.starts_with("key_") {
                    owner.clone()
                } else {
                    user::remote_id(admin, owner).await?
                });
            }
            if let Some(from) = new.from {
                body["from"] = json!(from);
            }
            secret(&client.post(ENDPOINTS, &body).await?.body)
        }
        Admin::Folder { identity, .. } => {
            let owner = match new.owner {
                Some(owner) if owner.starts_with("key_") => owner,
                Some(email) => user::local(identity, &email)?.id,
                None => {
                    return Err(Failure::usage("an endpoint belongs to somebody").help(
                        "say whose it is with --owner EMAIL; it hears of what they may see",
                    ));
                }
            };
            if identity.principal(&owner).is_none() {
                return Err(Failure::usage(format!("{owner} cannot act"))
                    .help("name an enabled person or a key that works"));
            }
            let new = NewEndpoint {
                owner,
                name: new.name,
                url: new.url,
                types: new.types,
                tools: new.tools,
                from: new.from,
            };
            let hooks = need(hooks(admin)?)?;
            let made = hooks.create(BY, new).await;
            let (endpoint, secret) = made.map_err(|error| refused(&error))?;
            Ok((secret.expose().to_owned(), to_json(&endpoint)?))
        }
    }
}

/// Changes where messages go, or what the endpoint hears of.
pub(super) async fn change(
    admin: &Admin,
    id: EndpointId,
    change: EndpointChange,
) -> Outcome<Value> {
    match admin {
        Admin::Server(client) => {
            let body = admin::wire(&wire::WebhookEndpointChange {
                name: change.name,
                url: change.url,
                types: change.types,
                tools: change.tools,
                reason: change.reason,
            })?;
            let request = client
                .request(Method::PATCH, &path(id))
                .header("content-type", "application/json")
                .body(body.to_string());
            Ok(client.send(request).await?.body)
        }
        Admin::Folder { .. } => {
            let changed = need(hooks(admin)?)?.change(BY, id, change).await;
            to_json(&changed.map_err(|error| refused(&error))?)
        }
    }
}

/// Deletes an endpoint.
pub(super) async fn remove(admin: &Admin, id: EndpointId, reason: &str) -> Outcome<()> {
    match admin {
        Admin::Server(client) => {
            let path = format!("{}?reason={}", path(id), encoded(reason));
            let request = client.request(Method::DELETE, &path);
            client.send(request).await?;
            Ok(())
        }
        Admin::Folder { .. } => {
            let deleted = need(hooks(admin)?)?.delete(BY, id, reason).await;
            deleted.map_err(|error| refused(&error))
        }
    }
}

/// Makes a new secret; it and the endpoint.
pub(super) async fn rotate(
    admin: &Admin,
    id: EndpointId,
    overlap: Option<Duration>,
    reason: Option<String>,
) -> Outcome<(String, Value)> {
    match admin {
        Admin::Server(client) => {
            let mut body = json!({});
            if let Some(overlap) = overlap {
                body["overlap"] = json!(format!("{}s", overlap.as_secs()));
            }
            if let Some(reason) = reason {
                body["reason"] = json!(reason);
            }
            let path = format!("{}/rotate", path(id));
            secret(&client.post(&path, &body).await?.body)
        }
        Admin::Folder { .. } => {
            let rotated = need(hooks(admin)?)?.rotate(BY, id, overlap, reason).await;
            let (endpoint, secret) = rotated.map_err(|error| refused(&error))?;
            Ok((secret.expose().to_owned(), to_json(&endpoint)?))
        }
    }
}

/// Enables an endpoint, or disables it.
pub(super) async fn set_enabled(
    admin: &Admin,
    id: EndpointId,
    on: bool,
    from: Option<u64>,
    reason: &str,
) -> Outcome<Value> {
    match admin {
        Admin::Server(client) => {
            let mut body = json!({ "reason": reason });
            if let Some(from) = from {
                body["from"] = json!(from);
            }
            let act = if on { "enable" } else { "disable" };
            let path = format!("{}/{act}", path(id));
            Ok(client.post(&path, &body).await?.body)
        }
        Admin::Folder { .. } => {
            let hooks = need(hooks(admin)?)?;
            let done = if on {
                hooks.enable(BY, id, from, reason).await
            } else {
                hooks.disable(BY, id, Cause::Person, reason).await
            };
            to_json(&done.map_err(|error| refused(&error))?)
        }
    }
}

/// Sends a test.
pub(super) async fn test(admin: &Admin, id: EndpointId) -> Outcome<Value> {
    let client = server(admin)?;
    let path = format!("{}/test", path(id));
    Ok(client.post(&path, &json!({})).await?.body)
}

/// Sends an event once more.
pub(super) async fn redeliver(admin: &Admin, id: MessageId) -> Outcome<Value> {
    let client = server(admin)?;
    let path = format!("/v1/webhook-deliveries/{id}/redeliver");
    Ok(client.post(&path, &json!({})).await?.body)
}

/// The messages that are kept.
pub(super) async fn deliveries(admin: &Admin, id: EndpointId) -> Outcome<Vec<Value>> {
    match admin {
        Admin::Server(client) => {
            let path = format!("/v1/webhook-deliveries?endpoint={id}");
            let body = client.get(&path).await?.body;
            admin::list(&body).map(<[Value]>::to_vec)
        }
        Admin::Folder { .. } => {
            let kept = need(hooks(admin)?)?.deliveries(id);
            let kept = kept.map_err(|error| refused(&error.into()))?;
            let wired = kept.iter().map(wire::WebhookDelivery::from);
            wired.map(|delivery| admin::wire(&delivery)).collect()
        }
    }
}

fn server(admin: &Admin) -> Outcome<&Client> {
    match admin {
        Admin::Server(client) => Ok(client),
        Admin::Folder { .. } => Err(Failure::usage(
            "messages are sent by a running server, not with the data folder in hand",
        )
        .help("name it with --server URL --token-file FILE")),
    }
}

fn need(hooks: Option<Webhooks>) -> Outcome<Webhooks> {
    hooks.ok_or_else(|| Failure::failed("the data folder is not at hand"))
}

fn path(id: EndpointId) -> String {
    format!("{ENDPOINTS}/{id}")
}

fn to_json(endpoint: &Endpoint) -> Outcome<Value> {
    admin::wire(&wire::WebhookEndpoint::from(endpoint))
}

fn secret(body: &Value) -> Outcome<(String, Value)> {
    match (
        body.get("secret").and_then(Value::as_str),
        body.get("endpoint"),
    ) {
        (Some(secret), Some(endpoint)) => Ok((secret.to_owned(), endpoint.clone())),
        _ => Err(Failure::failed("the server answered without a secret")),
    }
}

fn refused(error: &WebhookError) -> Failure {
    match error {
        WebhookError::Invalid { .. } => {
            Failure::failed(error.to_string()).with_code(ExitCode::Usage)
        }
        WebhookError::NotFound => Failure::failed("there is no such webhook endpoint")
            .help("`holdpoint webhooks ls` prints the ids, whk_…"),
        WebhookError::Forbidden(_) => {
            Failure::failed(error.to_string()).with_code(ExitCode::NotAllowed)
        }
        WebhookError::NotPossible(_) => {
            Failure::failed(error.to_string()).with_code(ExitCode::Conflict)
        }
        WebhookError::Store(error) => Failure::because("the data folder cannot be used", error),
    }
}
