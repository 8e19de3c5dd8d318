//! Webhook endpoints, for administrators: who is told of events, and what was sent.

mod forms;
#[cfg(test)]
mod tests;
mod view;

use askama::Template;
use axum::extract::Path;
use axum::response::Response;
use holdpoint_engine::identity::{Principal, Role};
use holdpoint_engine::webhook::{EVENT_TYPES, Endpoint, EndpointId, WebhookError};
use http::StatusCode;
use http::header::CACHE_CONTROL;

use super::error::PageError;
use super::shell::{Shell, Visit, page};
use crate::display::Shown;
use view::{DeliveryView, EndpointView, Fields, outcome};

pub(super) use forms::{change, create, delete, disable, enable, redeliver, rotate, test};

/// What a page says about a form that was not taken.
#[derive(Default)]
struct FormState {
    errors: Vec<(&'static str, String)>,
}

#[derive(Template)]
#[template(path = "webhooks.html")]
struct ListPage {
    shell: Shell,
    endpoints: Vec<EndpointView>,
    fields: Fields,
    types: Vec<(&'static str, &'static str)>,
    form: FormState,
}

#[derive(Template)]
#[template(path = "webhook.html")]
struct EndpointPage {
    shell: Shell,
    endpoint: EndpointView,
    deliveries: Vec<DeliveryView>,
    /// Why the event that it is sent now was not taken the last time.
    last_outcome: Option<Shown>,
    fields: Fields,
    types: Vec<(&'static str, &'static str)>,
    /// Shown once, on the page after the form that made it.
    secret: Option<String>,
    form: FormState,
}

/// The person, who must be an administrator.
fn administrator(visit: &Visit) -> Result<&Principal, PageError> {
    let person = visit.person()?;
    if person.has(Role::Admin) {
        Ok(person)
    } else {
        Err(PageError::Forbidden(
            "Webhooks are for administrators. Ask one of them.".into(),
        ))
    }
}

fn read_id(text: &str) -> Result<EndpointId, PageError> {
    text.parse().map_err(|_| PageError::NotFound)
}

/// `GET /settings/webhooks`.
pub(super) async fn list(visit: Visit) -> Result<Response, PageError> {
    show_list(&visit, Fields::default(), FormState::default())
}

fn show_list(visit: &Visit, fields: Fields, form: FormState) -> Result<Response, PageError> {
    let person = administrator(visit)?;
    let now = visit.now();
    let endpoints = visit.state.engine.webhooks(person);
    let identity = visit.state.engine.identity();
    let mut shell = visit.shell("Webhooks").section("settings");
    shell.has_errors = !form.errors.is_empty();
    let has_errors = shell.has_errors;
    let template = ListPage {
        shell,
        endpoints: endpoints
            .iter()
            .map(|it| EndpointView::new(it, identity, now))
            .collect(),
        fields,
        types: types(),
        form,
    };
    answer(visit, &template, has_errors)
}

/// `GET /settings/webhooks/{id}`.
pub(super) async fn get(visit: Visit, Path(id): Path<String>) -> Result<Response, PageError> {
    let person = administrator(&visit)?;
    let endpoint = visit.state.engine.webhook(person, read_id(&id)?);
    let endpoint = endpoint.map_err(|error| of_read(&error))?;
    let fields = Fields::of(&endpoint);
    show(&visit, &endpoint, fields, FormState::default())
}

fn show(
    visit: &Visit,
    endpoint: &Endpoint,
    fields: Fields,
    form: FormState,
) -> Result<Response, PageError> {
    let person = administrator(visit)?;
    let engine = &visit.state.engine;
    let now = visit.now();
    let kept = engine.webhook_deliveries(person, endpoint.id);
    let kept = kept.map_err(|error| of_read(&error))?;
    let view = EndpointView::new(endpoint, engine.identity(), now);
    let mut shell = visit
        .shell(format!("Webhook {}", view.name.plain()))
        .section("settings");
    shell.has_errors = !form.errors.is_empty();
    let has_errors = shell.has_errors;
    let session = visit.browser.as_ref().map(|it| it.session.as_str());
    let secret = session
        .and_then(|session| visit.state.once.take(session, &view.id, now))
        .map(|secret| secret.expose().to_owned());
    let trying = endpoint.place.trying.map(|it| it.position);
    let last = kept
        .iter()
        .find(|it| trying.is_some() && it.id.position() == trying)
        .and_then(|it| it.attempts.last());
    let template = EndpointPage {
        shell,
        last_outcome: last.map(outcome),
        deliveries: kept.iter().map(|it| DeliveryView::new(it, now)).collect(),
        endpoint: view,
        fields,
        types: types(),
        secret,
        form,
    };
    answer(visit, &template, has_errors)
}

/// A page that no cache keeps: it may hold a secret.
fn answer(
    visit: &Visit,
    template: &impl Template,
    has_errors: bool,
) -> Result<Response, PageError> {
    let mut response = page(visit, template)?;
    let no_store = http::HeaderValue::from_static("no-store");
    response.headers_mut().insert(CACHE_CONTROL, no_store);
    if has_errors {
        *response.status_mut() = StatusCode::UNPROCESSABLE_ENTITY;
    }
    Ok(response)
}

fn types() -> Vec<(&'static str, &'static str)> {
    EVENT_TYPES.iter().map(|it| (it.name, it.tells)).collect()
}

/// For reads; what a refused form leads to is decided where forms are taken.
fn of_read(error: &WebhookError) -> PageError {
    match error {
        WebhookError::NotFound => PageError::NotFound,
        WebhookError::Forbidden(why) => PageError::Forbidden(why.clone()),
        WebhookError::Invalid { .. } | WebhookError::NotPossible(_) => {
            PageError::BadRequest(error.to_string())
        }
        WebhookError::Store(cause) => PageError::unavailable(cause),
    }
}
