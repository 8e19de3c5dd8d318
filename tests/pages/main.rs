//! The pages in a real browser: what a person can do, see and not be fooled by.

mod browser;
mod house;
mod people;
mod runs;
mod trouble;
