//! Runs, from the façade of the engine: skill files and workflows in code.

mod code;
mod heal;
mod house;
mod schedules;
mod skill_files;
