//! What people see in a browser.
//!
//! Rendered on the server and complete without a script. GET changes nothing; every form that was
//! taken ends in a redirect (303). Templates get view models made by pure functions ([`view`]), and
//! text from outside only as [`crate::display::Shown`].

mod action;
mod assets;
mod error;
mod events;
mod export;
mod flash;
#[cfg(test)]
mod flow_test;
mod form;
mod history;
#[cfg(test)]
mod house;
mod list;
mod outcomes;
#[cfg(test)]
mod outcomes_test;
mod query;
mod queue;
mod runs;
#[cfg(test)]
mod samples;
mod shell;
mod sign_in;
#[cfg(test)]
mod templates_test;
mod tools;
mod view;
mod webhooks;

use axum::Router;
use axum::routing::{get, post};
use holdpoint_engine::seeded::Bug;

use crate::state::AppState;

pub(crate) use error::{PageError, Reader, handler_page, problem_page};

/// The pages and their assets.
pub fn router() -> Router<AppState> {
    let approve = post(action::approve);
    let approve = if Bug::VoteOnGet.is_on() {
        approve.get(action::approve)
    } else {
        approve
    };
    Router::new()
        .route("/", get(queue::root))
        .route("/queue", get(queue::get))
        .route("/actions/{id}", get(action::get))
        .route("/actions/{id}/approve", approve)
        .route("/actions/{id}/reject", post(action::reject))
        .route("/actions/{id}/withdraw", post(action::withdraw))
        .route("/actions/{id}/cancel", post(action::cancel))
        .route("/actions/{id}/settle", post(action::settle))
        .route("/runs", get(runs::list))
        .route("/runs/{id}", get(runs::get))
        .route("/runs/{id}/receipt.json", get(runs::receipt))
        .route("/runs/{id}/cancel", post(runs::cancel))
        .route("/runs/{id}/resume", post(runs::resume))
        .route("/schedules", get(runs::schedules))
        .route("/schedules/{id}/run", post(runs::run_schedule))
        .route("/schedules/{id}/pause", post(runs::pause_schedule))
        .route("/schedules/{id}/resume", post(runs::resume_schedule))
        .route("/schedules/{id}/delete", post(runs::delete_schedule))
        .route("/history", get(history::get))
        .route("/history/events", get(events::get))
        .route("/history/export.csv", get(export::csv))
        .route("/history/export.jsonl", get(export::jsonl))
        .route("/tools", get(tools::get))
        .route("/outcomes", get(outcomes::get))
        .route(
            "/settings/webhooks",
            get(webhooks::list).post(webhooks::create),
        )
        .route("/settings/webhooks/{id}", get(webhooks::get))
        .route("/settings/webhooks/{id}/change", post(webhooks::change))
        .route("/settings/webhooks/{id}/rotate", post(webhooks::rotate))
        .route("/settings/webhooks/{id}/enable", post(webhooks::enable))
        .route("/settings/webhooks/{id}/disable", post(webhooks::disable))
        .route("/settings/webhooks/{id}/delete", post(webhooks::delete))
        .route("/settings/webhooks/{id}/test", post(webhooks::test))
        .route(
            "/settings/webhooks/deliveries/{id}/redeliver",
            post(webhooks::redeliver),
        )
        .route("/sign-in", get(sign_in::get).post(sign_in::post))
        .route("/sign-in/link", get(sign_in::link).post(sign_in::redeem))
        .route("/sign-out", post(sign_in::sign_out))
        .route("/assets/{name}", get(assets::get))
        .route("/favicon.ico", get(assets::favicon))
}
