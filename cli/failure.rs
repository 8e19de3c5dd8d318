//! Why a command did not do what was asked, in words that say what to do next.

use std::error::Error;

use serde_json::{Value, json};

use crate::escape;
use crate::exit_code::ExitCode;

/// The result of a command: how it ended, or why not.
pub(crate) type Outcome<T = ExitCode> = Result<T, Failure>;

/// Why a command did not do what was asked.
#[derive(Debug)]
pub(crate) struct Failure {
    /// What the process ends with.
    pub(crate) code: ExitCode,
    /// What to tell about it; apart, so that results stay small.
    words: Box<Words>,
}

#[derive(Debug)]
struct Words {
    /// What was wrong; one sentence without a full stop.
    message: String,
    /// Single findings, or the causes.
    details: Vec<String>,
    /// What to do next.
    help: Option<String>,
    /// The problem document of the server, where it came from there.
    problem: Option<Value>,
    /// Already formatted text that replaces all of the above on a terminal.
    report: Option<String>,
}

/// An error with its causes, in one line.
pub(crate) fn chain(error: &(dyn Error + 'static)) -> String {
    Failure::because("", error).words.details.join(": ")
}

impl Failure {
    /// A failure with this exit code.
    pub(crate) fn new(code: ExitCode, message: impl Into<String>) -> Self {
        Self {
            code,
            words: Box::new(Words {
                message: message.into(),
                details: Vec::new(),
                help: None,
                problem: None,
                report: None,
            }),
        }
    }

    /// It did not work.
    pub(crate) fn failed(message: impl Into<String>) -> Self {
        Self::new(ExitCode::Failure, message)
    }

    /// The command line or the configuration is wrong.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::new(ExitCode::Usage, message)
    }

    /// It did not work because of `error`; its whole chain is kept.
    pub(crate) fn because(message: impl Into<String>, error: &(dyn Error + 'static)) -> Self {
        let mut failure = Self::failed(message);
        let mut cause = Some(error);
        while let Some(error) = cause {
            let text = error.to_string();
            if failure.words.details.last() != Some(&text) {
                failure.words.details.push(text);
            }
            cause = error.source();
        }
        failure
    }

    /// What was wrong, without causes and help.
    pub(crate) fn message(&self) -> &str {
        &self.words.message
    }

    /// What was wrong and why, in one line.
    pub(crate) fn in_a_line(&self) -> String {
        let words = &self.words;
        let all = std::iter::once(&words.message).chain(&words.details);
        all.map(String::as_str).collect::<Vec<_>>().join(": ")
    }

    /// What to do next, where that was said.
    pub(crate) fn next(&self) -> Option<&str> {
        self.words.help.as_deref()
    }

    /// Whether the server said no, and would say so again: the request is not worth repeating.
    pub(crate) fn is_settled(&self) -> bool {
        let problem = self.words.problem.as_ref();
        let retryable = problem.and_then(|problem| problem.get("retryable"));
        retryable.and_then(Value::as_bool) == Some(false)
    }

    /// With another exit code.
    pub(crate) fn with_code(mut self, code: ExitCode) -> Self {
        self.code = code;
        self
    }

    /// With what to do next.
    pub(crate) fn help(mut self, help: impl Into<String>) -> Self {
        self.words.help = Some(help.into());
        self
    }

    /// With one more finding or cause.
    pub(crate) fn detail(mut self, detail: impl Into<String>) -> Self {
        self.words.details.push(detail.into());
        self
    }

    /// With text that was laid out already, such as a source snippet.
    pub(crate) fn report(mut self, report: String) -> Self {
        self.words.report = Some(report);
        self
    }

    /// With the problem document that the server answered.
    pub(crate) fn problem(mut self, problem: Value) -> Self {
        self.words.problem = Some(problem);
        self
    }

    /// As text for a terminal. Everything but a finished report is escaped.
    pub(crate) fn to_text(&self) -> String {
        use std::fmt::Write as _;
        let mut out = String::new();
        if let Some(report) = &self.words.report {
            out.push_str(report);
            if !report.ends_with('\n') {
                out.push('\n');
            }
        }
        // Writing to a string cannot fail.
        let _ = writeln!(out, "error: {}", escape::text(&self.words.message));
        // A report shows the details already.
        for detail in self
            .words
            .details
            .iter()
            .filter(|_| self.words.report.is_none())
        {
            let _ = writeln!(out, "  - {}", escape::text(detail));
        }
        if let Some(help) = &self.words.help {
            let _ = writeln!(out, "help: {}", escape::text(help));
        }
        out
    }

    /// As JSON for scripts.
    pub(crate) fn to_json(&self) -> Value {
        json!({ "error": {
            "exit_code": self.code.number(),
            "message": self.words.message,
            "details": self.words.details,
            "help": self.words.help,
            "problem": self.words.problem,
        } })
    }
}

/// Writing the output failed.
impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        // A reader that has seen enough (`| head`) is no failure of ours.
        let code = if error.kind() == std::io::ErrorKind::BrokenPipe {
            ExitCode::Ok
        } else {
            ExitCode::Failure
        };
        Self::because("cannot write the output", &error).with_code(code)
    }
}
