//! Why a recording is not read, or not made into a skill.

/// Why a recording is not read. The text never holds a part of the recording but names of keys.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RecordingError {
    /// A line is not as the format has it.
    #[error("line {line}: {what}")]
    Line {
        /// The line, from 1.
        line: usize,
        /// What is wrong with it, and what would be right.
        what: String,
    },
    /// It is wrong as a whole.
    #[error("{0}")]
    Whole(String),
}

/// Why a recording is not made into a skill.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CompileError {
    /// No call of it can be a step.
    #[error("no call of the recording can be a step: {0}")]
    NoStep(&'static str),
    /// A call holds something that a skill file cannot express.
    #[error("the call of line {line} cannot be written in a skill file: {what}")]
    Inexpressible {
        /// The line of the call, from 1.
        line: usize,
        /// What it is, and what to do.
        what: String,
    },
    /// There are more secrets than are looked for.
    #[error("the recording has more than {0} different secrets; record less at once")]
    TooManySecrets(usize),
    /// A skill file cannot hold it.
    #[error("it is too much for one skill file ({what}, at most {most}); {help}")]
    TooMuch {
        /// What there is too much of.
        what: &'static str,
        /// How much fits.
        most: usize,
        /// What to do.
        help: &'static str,
    },
    /// What was written is not read back as it was meant. A fault of this program.
    #[error("the skill file that was made is not read back: {0}")]
    NotReadBack(String),
}
