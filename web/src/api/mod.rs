//! The JSON API: a file per resource. Routes and their description are declared together.

mod actions;
mod actions_list;
mod body;
pub(crate) mod docs;
mod errors;
mod events;
mod idempotency;
mod keys;
mod ops;
mod params;
mod pause;
mod people;
mod receipt;
mod run_acts;
mod run_errors;
mod runs;
mod schedules;
mod sessions;
mod stream;
mod tools;
mod votes;
mod wait;
mod webhook_deliveries;
mod webhooks;
mod work;

use std::sync::LazyLock;

use axum::Router;
use axum::middleware;
use utoipa::OpenApi as _;
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa::openapi::{Components, OpenApi};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::problem::ProblemBody;
use crate::state::AppState;

pub(crate) use body::Body;
pub(crate) use params::Params;
pub(crate) use runs::in_log;

#[derive(utoipa::OpenApi)]
#[openapi(
    info(
        title = "Holdpoint",
        description = "Hand in the calls that you want to make; the harmless ones run, the risky \
            ones provably run once, and the dangerous ones wait until a person says yes or no. \
            Errors are problem+json (RFC 9457); `/docs/problems` explains every code.",
        license(name = "MIT OR Apache-2.0", identifier = "MIT OR Apache-2.0"),
    ),
    components(schemas(ProblemBody)),
    tags(
        (name = "actions", description = "Proposed calls, and what has become of them"),
        (name = "decisions", description = "What people do with actions"),
        (name = "work", description = "What services pull and carry out"),
        (name = "runs", description = "Skill files and workflows that are carried out, step by step"),
        (name = "history", description = "The log, in order and live"),
        (name = "tools", description = "What can be called"),
        (name = "identity", description = "Sessions, people and keys"),
        (name = "webhooks", description = "Who is told of events, and what was sent"),
        (name = "operations", description = "For probes and machines"),
    ),
)]
struct Description;

/// The routes, and the document that describes them: the same for every server of a process, and
/// too dear to be made more than once.
static ROUTES: LazyLock<(Router<AppState>, OpenApi)> = LazyLock::new(make);

/// The routes.
pub(crate) fn routes() -> Router<AppState> {
    ROUTES.0.clone()
}

/// The document that describes the API (OpenAPI 3.1).
pub fn openapi() -> &'static OpenApi {
    &ROUTES.1
}

fn make() -> (Router<AppState>, OpenApi) {
    let (routes, description) = declared();
    let strict = routes.route_layer(middleware::from_fn(params::known));
    (strict, description)
}

fn declared() -> (Router<AppState>, OpenApi) {
    let mut description = Description::openapi();
    let bearer = HttpBuilder::new()
        .scheme(HttpAuthScheme::Bearer)
        .description(Some("An API key (`hp_…`) or a session token (`hps_…`)"))
        .build();
    description
        .components
        .get_or_insert_with(Components::new)
        .add_security_scheme("bearer", SecurityScheme::Http(bearer));
    OpenApiRouter::with_openapi(description)
        .routes(routes!(actions_list::list, actions::submit))
        .routes(routes!(actions::show))
        .routes(routes!(actions::history))
        .routes(routes!(receipt::receipt))
        .routes(routes!(votes::vote))
        .routes(routes!(votes::withdraw))
        .routes(routes!(votes::cancel))
        .routes(routes!(votes::settle))
        .routes(routes!(work::claim))
        .routes(routes!(work::heartbeat))
        .routes(routes!(work::complete))
        .routes(routes!(runs::list, runs::start))
        .routes(routes!(runs::show))
        .routes(routes!(runs::receipt))
        .routes(routes!(run_acts::history, run_acts::signal))
        .routes(routes!(run_acts::cancel))
        .routes(routes!(run_acts::resume))
        .routes(routes!(schedules::list, schedules::create))
        .routes(routes!(schedules::show, schedules::delete))
        .routes(routes!(schedules::pause))
        .routes(routes!(schedules::resume))
        .routes(routes!(schedules::run_now))
        .routes(routes!(events::list))
        .routes(routes!(stream::stream))
        .routes(routes!(tools::list))
        .routes(routes!(sessions::sign_in, sessions::sign_out))
        .routes(routes!(people::list, people::create))
        .routes(routes!(people::show, people::change))
        .routes(routes!(people::set_password))
        .routes(routes!(keys::list, keys::create))
        .routes(routes!(keys::revoke))
        .routes(routes!(pause::show, pause::pause))
        .routes(routes!(pause::resume))
        .routes(routes!(pause::attention))
        .routes(routes!(webhooks::list, webhooks::create))
        .routes(routes!(webhooks::show, webhooks::change, webhooks::delete))
        .routes(routes!(webhooks::rotate))
        .routes(routes!(webhooks::enable))
        .routes(routes!(webhooks::disable))
        .routes(routes!(webhooks::test))
        .routes(routes!(webhook_deliveries::list))
        .routes(routes!(webhook_deliveries::show))
        .routes(routes!(webhook_deliveries::redeliver))
        .routes(routes!(ops::livez))
        .routes(routes!(ops::readyz))
        .routes(routes!(ops::metrics))
        .routes(routes!(ops::openapi))
        .routes(routes!(docs::page))
        .routes(routes!(docs::problems))
        .routes(routes!(docs::style))
        .split_for_parts()
}
