//! What is fed, and what must hold of whatever comes of it. None of them may panic but by its own
//! assertions. The tests of `tests/fuzz` and the targets of `fuzz` share them.

mod api;
mod export;
mod hidden;
mod house;
mod post;
mod recordings;
mod skill;
mod stored;
mod targets;
mod timetable;
mod webhook;

pub(crate) use api::api;
pub(crate) use export::export_file;
pub(crate) use hidden::hidden;
pub(crate) use recordings::recording;
pub(crate) use skill::skill_file;
pub(crate) use stored::stored;
pub(crate) use targets::{
    address, answer, cursor, headers, json, page, record, rule, schema, template, tools_file,
};
pub(crate) use timetable::timetable;
pub(crate) use webhook::webhook;
