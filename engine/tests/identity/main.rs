//! People, keys, sessions and links over a log in memory.

mod house;
mod people;
mod secrets;
mod sessions;
