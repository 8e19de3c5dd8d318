//! What was once done with tools, read and made into a skill file.
//!
//! ```text
//!  lines ──Reader──► Recording (calls with their answers, in order) ──compile──► Compiled (text, census, …)
//! ```
//!
//! * `recognise`: what a file is, told from its first lines · `reader`: bounds, and the reader of each
//!   format (`trace`, `claude_code`, `codex`, `open_claw`), all of which fill one `gather` ·
//!   `answer`: what came back, without its wrappers
//! * `compile`: from calls to steps · `kept`: which calls are steps · `flow`: which arguments came
//!   out of earlier answers (`learn`: the values of answers, `agree`: names that mean the same, `telling`: what is
//!   equal by chance) · `steps`: the steps · `secret`: what must not be written · `fill`: an argument with its holes ·
//!   `inputs`, `dates`, `repeat`: what a person may want to vary · `naming`, `words`: text from the recording in one harmless
//!   line · `write`: the file
//!
//! Everything in a recording is hostile: a name, a note or an argument may hold anything, and no text
//! of it can add a step, a key or a hole to the file. What looks like a secret stands nowhere in the
//! file, in a warning or in an error.
//!
//! Pure: text goes in, text comes out. No file, no clock, no randomness.

mod agree;
mod answer;
mod claude_code;
mod codex;
mod compile;
mod dates;
mod error;
mod fill;
mod flow;
mod gather;
mod inputs;
mod kept;
mod learn;
mod naming;
mod open_claw;
mod reader;
mod recognise;
mod repeat;
mod secret;
mod steps;
mod telling;
#[cfg(test)]
mod tests;
mod trace;
mod words;
mod write;

pub use compile::{Apply, Census, Compiled, compile};
pub use error::{CompileError, RecordingError};
pub use gather::Recording;
pub use reader::Reader;
pub use recognise::{Format, Kind, Recogniser};
