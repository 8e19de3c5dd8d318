//! The engine from its façade to a real shop on loopback.

mod lives;
mod world;
