//! The command line, as a person or a script meets it: every test runs the real program.

mod alarm;
mod bench;
mod care;
mod endpoints;
mod files;
mod lost;
mod people;
#[path = "../crash/random.rs"]
mod random;
mod recordings;
mod runs;
mod skills;
mod story;
mod support;
mod time;
mod tls;
mod trouble;
mod usage;
mod waits;
mod webhooks;
mod work;
