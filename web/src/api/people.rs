//! People: for administrators.

use std::collections::BTreeSet;

use axum::Json as AxumJson;
use axum::extract::{Path, State};
use axum::response::{IntoResponse, Response};
use holdpoint_engine::identity::{
    ChangeError, NewPerson, Person, PersonChange, Principal, Role, Secret,
};
use http::StatusCode;
use http::header::LOCATION;

use super::Body;
use super::params::nearest;
use crate::auth::Caller;
use crate::problem::{Code, FieldError, Problem, ProblemBody};
use crate::state::AppState;
use crate::wire;

/// Only administrators manage people and keys.
pub(super) fn require_admin(by: &Principal) -> Result<(), Problem> {
    if by.has(Role::Admin) {
        return Ok(());
    }
    Err(Problem::new(
        Code::Forbidden,
        "only a person with the role of admin may do that",
    ))
}

fn roles(names: &[String]) -> Result<BTreeSet<Role>, Problem> {
    names
        .iter()
        .enumerate()
        .map(|(index, name)| {
            Role::parse(name).ok_or_else(|| {
                let known: Vec<&str> = Role::ALL.iter().map(|role| role.name()).collect();
                let hint = nearest(name, &known)
                    .map_or_else(|| known.join(", "), |near| format!("did you mean {near}?"));
                let detail = format!("there is no role {name}: {hint}");
                Problem::new(Code::InvalidRequest, detail.clone()).at(vec![FieldError::new(
                    format!("/roles/{index}"),
                    "unknown_role",
                    detail,
                )])
            })
        })
        .collect()
}

/// List people
#[utoipa::path(
    get, path = "/v1/people", tag = "identity", operation_id = "list_people",
    security(("bearer" = [])),
    responses(
        (status = 200, description = "All people", body = wire::People),
        (status = "default", description = "A problem", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub(super) async fn list(
    State(state): State<AppState>,
    Caller(by): Caller,
) -> Result<AxumJson<wire::People>, Problem> {
    require_admin(&by)?;
    let people = state.engine.identity().people();
    Ok(AxumJson(wire::People {
        data: people.iter().map(Into::into).collect(),
    }))
}

/// Create a person
#[utoipa::path(
    post, path = "/v1/people", tag = "identity", operation_id = "create_person",
    security(("bearer" = [])),
    request_body = wire::NewPerson,
    responses(
        (status = 201, description = "Created; `Location` names the person", body = wire::Person),
        (status = "default", description = "A problem", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub(super) async fn create(
    State(state): State<AppState>,
    Caller(by): Caller,
    body: Body<wire::NewPerson>,
) -> Result<Response, Problem> {
    require_admin(&by)?;
    let new = body.value;
    let new = NewPerson {
        roles: roles(&new.roles)?,
        email: new.email,
        name: new.name,
        groups: new.groups,
        scopes: new.scopes,
        attributes: new.attributes,
        password: new.password.map(Secret::new),
    };
    let person = state.engine.identity().create_person(&by.id, new).await?;
    let location = [(LOCATION, format!("/v1/people/{}", person.id))];
    Ok((
        StatusCode::CREATED,
        location,
        AxumJson(wire::Person::from(&person)),
    )
        .into_response())
}

/// Read a person
#[utoipa::path(
    get, path = "/v1/people/{id}", tag = "identity", operation_id = "get_person",
    security(("bearer" = [])),
    params(("id" = String, Path, description = "`per_…`")),
    responses(
        (status = 200, description = "The person", body = wire::Person),
        (status = "default", description = "A problem", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub(super) async fn show(
    State(state): State<AppState>,
    Caller(by): Caller,
    Path(id): Path<String>,
) -> Result<AxumJson<wire::Person>, Problem> {
    // People may look at themselves.
    if by.id != id {
        require_admin(&by)?;
    }
    let person = state.engine.identity().person(&id);
    let person = person.ok_or_else(|| Problem::new(Code::NotFound, "there is no such person"))?;
    Ok(AxumJson((&person).into()))
}

/// Change a person
///
/// Whatever is left out stays. With `enabled: false` the sessions and keys of the person stop
/// working at once.
#[utoipa::path(
    patch, path = "/v1/people/{id}", tag = "identity", operation_id = "change_person",
    security(("bearer" = [])),
    params(("id" = String, Path, description = "`per_…`")),
    request_body = wire::PersonChange,
    responses(
        (status = 200, description = "The person as changed", body = wire::Person),
        (status = "default", description = "A problem", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub(super) async fn change(
    State(state): State<AppState>,
    Caller(by): Caller,
    Path(id): Path<String>,
    body: Body<wire::PersonChange>,
) -> Result<AxumJson<wire::Person>, Problem> {
    require_admin(&by)?;
    let change = body.value;
    let reason = change.reason.clone();
    let enabled = change.enabled;
    let change = PersonChange {
        name: change.name,
        roles: change.roles.map(|names| roles(&names)).transpose()?,
        groups: change.groups,
        scopes: change.scopes,
        attributes: change.attributes,
        reason: change.reason,
    };
    let person = match enabled {
        None => {
            state
                .engine
                .identity()
                .change_person(&by.id, &id, change)
                .await?
        }
        Some(enabled) => {
            only_enabled(&change)?;
            enable(&state, &by.id, &id, enabled, reason.as_deref()).await?
        }
    };
    Ok(AxumJson((&person).into()))
}

/// Each request is one change in the history, so that it is done whole or not at all.
fn only_enabled(change: &PersonChange) -> Result<(), Problem> {
    let is_alone = change.name.is_none()
        && change.roles.is_none()
        && change.groups.is_none()
        && change.scopes.is_none()
        && change.attributes.is_none();
    if is_alone {
        return Ok(());
    }
    let detail = "enabled is changed alone: send the other members in a request of their own";
    Err(
        Problem::new(Code::InvalidRequest, detail).at(vec![FieldError::new(
            "/enabled",
            "not_alone",
            detail,
        )]),
    )
}

async fn enable(
    state: &AppState,
    by: &str,
    id: &str,
    enabled: bool,
    reason: Option<&str>,
) -> Result<Person, Problem> {
    let reason = reason.ok_or_else(|| {
        let detail = "say why the account is enabled or disabled";
        Problem::new(Code::ReasonRequired, detail)
            .at(vec![FieldError::new("/reason", "missing", detail)])
    })?;
    let identity = state.engine.identity();
    let changed: Result<Person, ChangeError> = if enabled {
        identity.enable_person(by, id, reason).await
    } else {
        identity.disable_person(by, id, reason).await
    };
    Ok(changed?)
}

/// Set a password
///
/// Ends all sessions of the person.
#[utoipa::path(
    put, path = "/v1/people/{id}/password", tag = "identity", operation_id = "set_password",
    security(("bearer" = [])),
    params(("id" = String, Path, description = "`per_…`")),
    request_body = wire::NewPassword,
    responses(
        (status = 204, description = "Done"),
        (status = "default", description = "A problem", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub(super) async fn set_password(
    State(state): State<AppState>,
    Caller(by): Caller,
    Path(id): Path<String>,
    body: Body<wire::NewPassword>,
) -> Result<StatusCode, Problem> {
    require_admin(&by)?;
    let password = Secret::new(body.value.password);
    state
        .engine
        .identity()
        .set_password(&by.id, &id, &password)
        .await?;
    Ok(StatusCode::NO_CONTENT)
}
