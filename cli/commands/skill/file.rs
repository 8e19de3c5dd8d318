//! Reading skill files, and showing what is wrong with them.

use std::fs::File;
use std::io::Read;

use holdpoint_engine::limits::SKILL_BYTES_MAX;
use holdpoint_engine::skill::{Skill, SkillError};
use holdpoint_engine::tool::Problem;
use miette::Severity;

use crate::config;
use crate::exit_code::ExitCode;
use crate::failure::{Failure, Outcome};
use crate::output::counted;

/// The name that stands for the input.
pub(in crate::commands) const STDIN: &str = "-";

/// A skill file that was read.
pub(in crate::commands) struct SkillFile {
    /// Its name on the command line; words for the input.
    pub(in crate::commands) name: String,
    pub(in crate::commands) text: String,
    /// What it says, or its mistakes.
    pub(in crate::commands) read: Result<Skill, Vec<SkillError>>,
}

/// Reads a file, or the input for `-`. What cannot be opened is a failure; what is no skill is not.
pub(in crate::commands) fn read(name: &str) -> Outcome<SkillFile> {
    let source: Box<dyn Read> = if name == STDIN {
        Box::new(std::io::stdin().lock())
    } else {
        let opened = File::open(name).map_err(|error| {
            Failure::because(format!("{name} cannot be read"), &error).with_code(ExitCode::Usage)
        })?;
        Box::new(opened)
    };
    let mut bytes = Vec::new();
    let bound = u64::try_from(SKILL_BYTES_MAX).map_or(u64::MAX, |most| most + 1);
    source
        .take(bound)
        .read_to_end(&mut bytes)
        .map_err(|error| {
            Failure::because(format!("{name} cannot be read"), &error).with_code(ExitCode::Usage)
        })?;
    let shown = if name == STDIN { "the input" } else { name };
    let (text, read) = match String::from_utf8(bytes) {
        Ok(text) => {
            let read = Skill::parse(&text).map_err(|errors| errors.0);
            (text, read)
        }
        Err(error) => {
            let valid = error.utf8_error().valid_up_to();
            let text = String::from_utf8_lossy(error.as_bytes()).into_owned();
            (text.clone(), Err(vec![not_utf8(&text, valid)]))
        }
    };
    Ok(SkillFile {
        name: shown.to_owned(),
        text,
        read,
    })
}

fn not_utf8(text: &str, at: usize) -> SkillError {
    let (line, column) = holdpoint_engine::canon::line_and_column(text, at);
    SkillError {
        line,
        column,
        span: at..at,
        message: "the file is not UTF-8 here".to_owned(),
        help: Some("save it as UTF-8".to_owned()),
    }
}

/// The failure of all files that have mistakes, with the lines they are in; none where there are none.
pub(in crate::commands) fn failure(files: &[SkillFile]) -> Option<Failure> {
    let wrong: Vec<(&SkillFile, &Vec<SkillError>)> = files
        .iter()
        .filter_map(|file| Some((file, file.read.as_ref().err()?)))
        .collect();
    let count = wrong.iter().map(|(_, errors)| errors.len()).sum();
    let mistakes = counted(count, "mistake");
    let mut failure = match wrong.as_slice() {
        [] => return None,
        [(file, _)] => Failure::usage(format!("{} has {mistakes}", file.name)),
        several => Failure::usage(format!("{} files have {mistakes}", several.len())),
    };
    let mut report = String::new();
    for (file, errors) in wrong {
        for error in errors {
            failure = failure.detail(format!("{}:{error}", file.name));
            report.push_str(&show(file, error, Severity::Error));
        }
    }
    Some(failure.report(report))
}

/// A mistake or a warning with the lines around it.
pub(in crate::commands) fn show(
    file: &SkillFile,
    error: &SkillError,
    severity: Severity,
) -> String {
    let problem = Problem {
        message: error.message.clone(),
        help: error.help.clone(),
        pointer: String::new(),
        offset: error.span.start,
        length: error.span.len(),
        line: error.line,
        column: error.column,
    };
    config::show(&file.name, &file.text, &problem, severity)
}
