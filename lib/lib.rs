//! Holdpoint for Rust programs that talk to a running server.
//!
//! * [`client`]: submit actions and learn what became of them, vote, and carry out the work of tools
//!   that services pull.
//!
//! A program that wants the engine inside itself uses the crate `holdpoint_engine` instead.

pub mod client;
