//! The API against a real engine on a log in memory.

mod browser;
mod decisions;
mod forms;
mod idempotency;
mod lists;
mod matrix;
mod openapi;
mod problems;
mod runs;
mod schedules;
mod serving;
mod signals;
mod stream;
mod webhooks;
mod work;
mod world;
