//! The tools file and what a definition can do.

/// The tools that exist.
pub struct Registry {}
