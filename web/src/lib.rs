//! The HTTP side of Holdpoint: the JSON API for programs, the pages for people.
//!
//! Read in this order:
//!
//! 1. [`server`]: the accept loop, with every time limit and cap of [`limits`]; [`edge`]: what
//!    happens to every request (id, span, rate limit, panics, security headers).
//! 2. [`state`]: what handlers share. [`auth`]: who calls, from the credential and nothing else.
//! 3. [`problem`]: the one shape of every error of the API; `shape` turns them into pages for people.
//! 4. [`wire`]: the JSON that travels. [`api`]: the routes that programs call.
//! 5. [`pages`]: what people see.
//!
//! This crate decides nothing about actions. It turns requests into calls of
//! [`holdpoint_engine::engine::Engine`], and answers into bytes.

pub mod api;
pub mod auth;
pub mod client;
pub mod display;
pub mod edge;
pub mod limits;
mod once;
pub mod pages;
pub mod problem;
mod prompt;
mod rate;
pub mod server;
mod shape;
pub mod state;
mod step_of;
pub mod wire;

pub use server::{router, serve};
pub use state::{AppState, PublicUrl, WebConfig};
