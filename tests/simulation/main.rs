//! Deterministic simulation: the real engine and the real router on a simulated clock, disk, network
//! and target, with simulated people, all drawn from one seed.
//!
//! ```text
//! cargo test --test simulation                     the short version
//! SIM_SEED=42 cargo test --test simulation one     that seed alone, with all that happened
//! SIM_SEEDS=100000 cargo test --test simulation    the long version, with its figures
//! SIM_FIRST=5000                                   begins there instead of at seed 0
//! ```
//!
//! Read [`life`] first: one seed. [`world`] is what it lives in: [`clock`], [`disk`], [`bank`] (the
//! target) and the [`safe`] with the credential for it, the people of [`people`] and what they do in [`actors`] and, where they are workers,
//! [`hands`], who ask by [`claims`]; [`staff`] are operators, who also use the pause [`switch`], and [`hooks`] are the
//! endpoints of webhooks; [`copies`] puts an older copy in the place of the log. [`weather`] says which faults a seed has; [`quiet`] is what comes when they
//! end. What the engine reads of the disk it reads through [`eyes`]. After every step [`watch`] reads
//! what has become durable and holds it against [`model`], an oracle written from the design ([`known`]
//! is what it knows of each tool, [`access`] of people, [`ears`] its part about webhooks), and against the books of the bank,
//! which are the truth. [`run`] lives through many seeds at once, [`broken`] sees to it that the checks
//! bite, and [`reach`] knows which transitions no seed need take.
//!
//! A violation that was found is a seed in `seeds.txt`, which every run lives through first.

mod access;
mod actors;
mod bank;
mod books;
mod broken;
mod claims;
mod client;
mod clock;
mod copies;
mod dice;
mod disk;
mod ears;
mod eyes;
mod hands;
mod hooks;
mod known;
mod life;
mod model;
mod people;
mod quiet;
mod reach;
mod rebuild;
mod run;
mod safe;
mod staff;
mod switch;
mod tests;
mod tools;
mod watch;
mod weather;
mod world;
