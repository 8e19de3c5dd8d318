//! Mistakes of a file, shown where they are.

use std::borrow::Cow;
use std::io::IsTerminal as _;
use std::ops::Range;

use holdpoint_engine::tool::{Problem, ToolsFileError};
use miette::{
    GraphicalReportHandler, GraphicalTheme, LabeledSpan, MietteDiagnostic, NamedSource, Report,
    Severity,
};

use crate::escape;
use crate::exit_code::ExitCode;
use crate::failure::Failure;
use crate::output::counted;

/// The longest line that is shown whole, in bytes.
const LINE_BYTES_MAX: usize = 300;
/// How much of a longer one is shown before the place that it is shown for.
const AROUND: usize = 100;

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
    let place = problem.offset..problem.offset + problem.length;
    let (text, place) = shortened(text, place);
    let label = match &text {
        Cow::Borrowed(_) => "here".to_owned(),
        Cow::Owned(_) => format!("here, in column {}", problem.column),
    };
    let mut diagnostic = MietteDiagnostic::new(escape::text(&problem.message))
        .with_severity(severity)
        .with_label(LabeledSpan::at(place, label));
    if let Some(help) = &problem.help {
        diagnostic = diagnostic.with_help(escape::text(help));
    }
    let source = NamedSource::new(escape::text(file), escape::keep_places(&text));
    let report = Report::new(diagnostic).with_source_code(source);
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = handler().render_report(&mut out, report.as_ref());
    out
}

/// A text with its long lines cut, and where a place of it is then. The line of the place is shown around it.
fn shortened(text: &str, place: Range<usize>) -> (Cow<'_, str>, Range<usize>) {
    if text.lines().all(|line| line.len() <= LINE_BYTES_MAX) {
        return (Cow::Borrowed(text), place);
    }
    let mut out = String::new();
    let mut moved = 0..0;
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let end = start + line.len();
        let is_last = end == text.len();
        let has_place = start <= place.start && (place.start < end || is_last);
        let (from, to) = if line.len() <= LINE_BYTES_MAX {
            (start, end)
        } else if has_place {
            let from = place.start.saturating_sub(AROUND).max(start);
            (from, (place.start + LINE_BYTES_MAX).min(end))
        } else {
            (start, start + LINE_BYTES_MAX)
        };
        let from = text.floor_char_boundary(from);
        let to = text.ceil_char_boundary(to);
        if start < from {
            out.push('…');
        }
        if has_place {
            let at = out.len() + place.start.saturating_sub(from);
            moved = at..at + place.end.min(to).saturating_sub(place.start);
        }
        out.push_str(&text[from..to]);
        if to < end {
            out.push_str("…\n");
        }
        start = end;
    }
    (Cow::Owned(out), moved)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_line_is_shown_around_the_place_and_the_others_from_their_start() {
        let long = "ä".repeat(50_000);
        let text = format!("short\n{long}\nx{long}HERE{long}\nshort\n");
        let at = text.find("HERE").expect("it is there");
        let (shown, place) = shortened(&text, at..at + 4);
        assert_eq!(&shown[place], "HERE");
        assert!(shown.len() < 4 * LINE_BYTES_MAX, "{}", shown.len());
        assert_eq!(shown.lines().count(), 4, "every line keeps its number");
        let (shown, place) = shortened(&text, text.len()..text.len());
        assert!(place.end <= shown.len());
        let (whole, place) = shortened("a\nb", 2..3);
        assert_eq!((whole.as_ref(), place), ("a\nb", 2..3));
    }
}
