//! The pure core of one action: examples, properties, and the table of transitions.

mod approvals;
mod attempts;
mod edges;
mod given;
mod properties;
mod table;
mod time;
mod work;
