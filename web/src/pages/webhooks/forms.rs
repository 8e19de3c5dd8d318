//! The forms about webhook endpoints. Each that is taken ends in a redirect.

use std::collections::BTreeSet;

use axum::extract::Path;
use axum::response::{IntoResponse, Redirect, Response};
use holdpoint_engine::identity::{Principal, Secret};
use holdpoint_engine::webhook::{
    DeliveryState, Endpoint, EndpointChange, EndpointId, MessageId, NewEndpoint, WebhookError,
};
use serde::Deserialize;

use super::view::Fields;
use super::{FormState, administrator, of_read, read_id, show, show_list};
use crate::pages::error::PageError;
use crate::pages::form::Sent;
use crate::pages::shell::Visit;

/// Every form about an endpoint; each uses a part of it.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(in crate::pages) struct HookForm {
    token: String,
    name: String,
    url: String,
    types: String,
    tools: String,
    owner: String,
    from: String,
    reason: String,
}

impl HookForm {
    fn fields(&self) -> Fields {
        Fields {
            name: self.name.clone(),
            url: self.url.clone(),
            types: self.types.clone(),
            tools: self.tools.clone(),
            owner: self.owner.clone(),
            from: self.from.clone(),
            reason: self.reason.clone(),
        }
    }

    fn reason(&self) -> Option<String> {
        let reason = self.reason.trim();
        (!reason.is_empty()).then(|| reason.to_owned())
    }

    fn from(&self) -> Result<Option<u64>, WebhookError> {
        let text = self.from.trim();
        if text.is_empty() {
            return Ok(None);
        }
        let parsed = text.parse().map(Some);
        parsed.map_err(|_| WebhookError::Invalid {
            field: "from",
            reason: "is a position of the log, a whole number".to_owned(),
        })
    }
}

/// Names that are typed with blanks or commas between them.
fn names(text: &str) -> BTreeSet<String> {
    let separator = |c: char| c.is_whitespace() || c == ',';
    let words = text.split(separator).filter(|word| !word.is_empty());
    words.map(str::to_owned).collect()
}

/// What is wrong, at its field; or the page that says why nothing could be done.
fn mistake(error: &WebhookError) -> Result<FormState, PageError> {
    let message = error.to_string();
    let field = match error {
        WebhookError::Invalid { field, .. } => *field,
        WebhookError::NotPossible(_) => "main",
        WebhookError::NotFound | WebhookError::Forbidden(_) | WebhookError::Store(_) => {
            return Err(of_read(error));
        }
    };
    let errors = vec![(field, message)];
    Ok(FormState { errors })
}

/// The administrator who sent the form, from a page of this session.
fn sender<'v>(visit: &'v Visit, form: &HookForm) -> Result<&'v Principal, PageError> {
    let person = administrator(visit)?;
    visit.check_token(&form.token)?;
    Ok(person)
}

fn to(path: &str) -> Response {
    Redirect::to(path).into_response()
}

fn page_of(id: EndpointId) -> String {
    format!("/settings/webhooks/{id}")
}

/// `POST /settings/webhooks`.
pub(in crate::pages) async fn create(
    visit: Visit,
    Sent(form): Sent<HookForm>,
) -> Result<Response, PageError> {
    let person = sender(&visit, &form)?;
    let engine = &visit.state.engine;
    let owner = form.owner.trim();
    let owner = match engine.identity().person_by_email(owner) {
        Some(person) => person.id,
        None => owner.to_owned(),
    };
    let made = match form.from() {
        Ok(from) => {
            let new = NewEndpoint {
                owner,
                name: form.name.clone(),
                url: form.url.clone(),
                types: names(&form.types),
                tools: names(&form.tools),
                from,
            };
            engine.create_webhook(person, new).await
        }
        Err(error) => Err(error),
    };
    match made {
        Ok((endpoint, secret)) => {
            keep(&visit, endpoint.id, secret);
            Ok(to(&page_of(endpoint.id)))
        }
        Err(error) => show_list(&visit, form.fields(), mistake(&error)?),
    }
}

/// The next page about the endpoint shows the secret, once.
fn keep(visit: &Visit, id: EndpointId, secret: Secret) {
    if let Some(browser) = &visit.browser {
        let once = &visit.state.once;
        once.keep(&browser.session, &id.to_string(), secret, visit.now());
    }
}

/// The page again, with what is wrong and what was typed.
fn again(
    visit: &Visit,
    id: EndpointId,
    form: &HookForm,
    error: &WebhookError,
) -> Result<Response, PageError> {
    let endpoint = found(visit, id)?;
    let state = mistake(error)?;
    let mut fields = Fields::of(&endpoint);
    if !form.url.is_empty() || !form.name.is_empty() {
        fields = form.fields();
    }
    fields.from.clone_from(&form.from);
    fields.reason.clone_from(&form.reason);
    show(visit, &endpoint, fields, state)
}

fn found(visit: &Visit, id: EndpointId) -> Result<Endpoint, PageError> {
    let found = visit.state.engine.webhook(administrator(visit)?, id);
    found.map_err(|error| of_read(&error))
}

fn conclude<T>(
    visit: &Visit,
    id: EndpointId,
    form: &HookForm,
    outcome: Result<T, WebhookError>,
) -> Result<Response, PageError> {
    match outcome {
        Ok(_) => Ok(to(&page_of(id))),
        Err(error) => again(visit, id, form, &error),
    }
}

/// `POST /settings/webhooks/{id}/change`.
pub(in crate::pages) async fn change(
    visit: Visit,
    Path(id): Path<String>,
    Sent(form): Sent<HookForm>,
) -> Result<Response, PageError> {
    let person = sender(&visit, &form)?;
    let id = read_id(&id)?;
    let change = EndpointChange {
        name: Some(form.name.clone()),
        url: Some(form.url.clone()),
        types: Some(names(&form.types)),
        tools: Some(names(&form.tools)),
        reason: form.reason(),
    };
    let changed = visit.state.engine.change_webhook(person, id, change).await;
    conclude(&visit, id, &form, changed)
}

/// `POST /settings/webhooks/{id}/rotate`.
pub(in crate::pages) async fn rotate(
    visit: Visit,
    Path(id): Path<String>,
    Sent(form): Sent<HookForm>,
) -> Result<Response, PageError> {
    let person = sender(&visit, &form)?;
    let id = read_id(&id)?;
    let engine = &visit.state.engine;
    let rotated = engine.rotate_webhook(person, id, None, form.reason()).await;
    let rotated = rotated.map(|(_, secret)| keep(&visit, id, secret));
    conclude(&visit, id, &form, rotated)
}

/// `POST /settings/webhooks/{id}/enable`.
pub(in crate::pages) async fn enable(
    visit: Visit,
    Path(id): Path<String>,
    Sent(form): Sent<HookForm>,
) -> Result<Response, PageError> {
    let person = sender(&visit, &form)?;
    let id = read_id(&id)?;
    let engine = &visit.state.engine;
    let enabled = match form.from() {
        Ok(from) => engine.enable_webhook(person, id, from, &form.reason).await,
        Err(error) => Err(error),
    };
    conclude(&visit, id, &form, enabled)
}

/// `POST /settings/webhooks/{id}/disable`.
pub(in crate::pages) async fn disable(
    visit: Visit,
    Path(id): Path<String>,
    Sent(form): Sent<HookForm>,
) -> Result<Response, PageError> {
    let person = sender(&visit, &form)?;
    let id = read_id(&id)?;
    let engine = &visit.state.engine;
    let disabled = engine.disable_webhook(person, id, &form.reason).await;
    conclude(&visit, id, &form, disabled)
}

/// `POST /settings/webhooks/{id}/delete`.
pub(in crate::pages) async fn delete(
    visit: Visit,
    Path(id): Path<String>,
    Sent(form): Sent<HookForm>,
) -> Result<Response, PageError> {
    let person = sender(&visit, &form)?;
    let id = read_id(&id)?;
    match visit
        .state
        .engine
        .delete_webhook(person, id, &form.reason)
        .await
    {
        // Deleted by somebody else in the meantime is as good.
        Ok(()) | Err(WebhookError::NotFound) => Ok(to("/settings/webhooks")),
        Err(error) => again(&visit, id, &form, &error),
    }
}

/// `POST /settings/webhooks/{id}/test`.
pub(in crate::pages) async fn test(
    visit: Visit,
    Path(id): Path<String>,
    Sent(form): Sent<HookForm>,
) -> Result<Response, PageError> {
    let person = sender(&visit, &form)?;
    let id = read_id(&id)?;
    let sent = visit.state.engine.test_webhook(person, id).await;
    sent_by_hand(&visit, id, &form, sent.map(|delivery| delivery.state))
}

/// `POST /settings/webhooks/deliveries/{id}/redeliver`.
pub(in crate::pages) async fn redeliver(
    visit: Visit,
    Path(id): Path<String>,
    Sent(form): Sent<HookForm>,
) -> Result<Response, PageError> {
    let person = sender(&visit, &form)?;
    let message: MessageId = id.parse().map_err(|_| PageError::NotFound)?;
    let sent = visit.state.engine.redeliver_webhook(person, message).await;
    let state = sent.map(|delivery| delivery.state);
    sent_by_hand(&visit, message.endpoint(), &form, state)
}

/// What came of it is in the list of messages, at the top.
fn sent_by_hand(
    visit: &Visit,
    id: EndpointId,
    form: &HookForm,
    state: Result<DeliveryState, WebhookError>,
) -> Result<Response, PageError> {
    match state {
        Ok(_) => Ok(to(&format!("{}#messages", page_of(id)))),
        Err(error) => again(visit, id, form, &error),
    }
}
