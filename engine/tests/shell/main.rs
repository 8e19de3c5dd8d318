//! The engine from its façade to a real shop on loopback.

mod crowds;
mod doubt;
mod lives;
mod restarts;
mod world;
