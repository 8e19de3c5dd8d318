//! Mistakes of a file, shown where they are.

use std::io::IsTerminal as _;

use holdpoint_engine::tool::{Problem, ToolsFileError};
use miette::{
    GraphicalReportHandler, GraphicalTheme, LabeledSpan, MietteDiagnostic, NamedSource, Report,
    Severity,
};

use crate::escape;
use crate::exit_code::ExitCode;
use crate::failure::Failure;
use crate::output::counted;

/// The failure of a file with mistakes: all of them with the lines they are in.
pub(crate) fn invalid(error: &ToolsFileError) -> Failure {
    let count = counted(error.problems.len(), "mistake");
    let mut failure = Failure::new(ExitCode::Usage, format!("{} has {count}", error.file));
    let mut report = String::new();
    for problem in &error.problems {
        let place = format!("{}:{}:{}", error.file, problem.line, problem.column);
        failure = failure.detail(match &problem.help {
            Some(help) => format!("{place}: {} ({help})", problem.message),
            None => format!("{place}: {}", problem.message),
        });
        report.push_str(&show(&error.file, &error.text, problem, Severity::Error));
    }
    if error.text.is_empty() {
        return failure;
    }
    failure.report(report)
}

/// One problem with the lines around it.
pub(crate) fn show(file: &str, text: &str, problem: &Problem, severity: Severity) -> String {
    let mut diagnostic = MietteDiagnostic::new(escape::text(&problem.message))
        .with_severity(severity)
        .with_label(LabeledSpan::at(
            problem.offset..problem.offset + problem.length,
            "here",
        ));
    if let Some(help) = &problem.help {
        diagnostic = diagnostic.with_help(escape::text(help));
    }
    let source = NamedSource::new(escape::text(file), escape::keep_places(text));
    let report = Report::new(diagnostic).with_source_code(source);
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = handler().render_report(&mut out, report.as_ref());
    out
}

fn handler() -> GraphicalReportHandler {
    let colour = anstream::AutoStream::choice(&std::io::stderr()) != anstream::ColorChoice::Never;
    let theme = if colour && std::io::stderr().is_terminal() {
        GraphicalTheme::unicode()
    } else {
        GraphicalTheme::unicode_nocolor()
    };
    GraphicalReportHandler::new_themed(theme)
        .with_links(false)
        .with_width(100)
}
