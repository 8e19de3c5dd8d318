//! Runs, from the façade of the engine: skill files and workflows in code.

mod code;
mod house;
mod skill_files;
