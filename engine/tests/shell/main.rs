//! The engine from its façade to a real shop on loopback.

mod approved;
mod bytes;
mod care;
mod clocks;
mod copies;
mod crowds;
mod doubt;
mod edges;
mod following;
mod hostile;
mod ledger;
mod lives;
mod moved;
mod on_disk;
mod pulls;
mod restarts;
mod rounds;
mod secrets;
mod shop;
mod time;
mod tool_changes;
mod work;
mod world;
