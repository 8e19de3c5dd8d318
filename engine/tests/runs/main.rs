//! Runs: their core, and from the façade of the engine skill files and workflows in code.

mod anew;
mod authority;
mod calling_off;
mod code;
mod core;
mod crashes;
mod divergence;
mod endless;
mod ends;
mod given;
mod heal;
mod house;
mod instigators;
mod outcomes;
mod properties;
mod resends;
mod room;
mod schedules;
mod schedules_at_once;
mod secret_inputs;
mod skill_files;
mod standing_in;
mod steered;
mod values;
mod waits;
mod world;
