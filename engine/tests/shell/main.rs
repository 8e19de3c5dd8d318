//! The engine from its façade to a real shop on loopback.

mod approved;
mod crowds;
mod doubt;
mod edges;
mod following;
mod hostile;
mod lives;
mod on_disk;
mod restarts;
mod shop;
mod world;
