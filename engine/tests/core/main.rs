//! The pure core of one action: examples, properties, and the table of transitions.

mod approvals;
mod attempts;
mod edges;
pub(crate) mod given;
mod held;
mod history;
pub(crate) mod kept;
mod late;
pub(crate) mod named;
mod properties;
pub(crate) mod table;
mod time;
mod tries;
mod words;
mod work;
