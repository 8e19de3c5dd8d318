//! From the file of a recording to the file of a skill, for `compile` and `import`.
//!
//! `read`: lines, within bounds · `place`: where the skill is written, and how

mod place;
mod read;

use std::io::{BufRead, Write as _};
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use holdpoint_engine::recording::{Apply, Compiled, Format, compile};
use serde_json::json;

pub(super) use read::{Opened, open, open_file};

use crate::escape;
use crate::exit_code::ExitCode;
use crate::failure::{Failure, Outcome};
use crate::output::Output;

/// Where a skill is written.
#[derive(Args, Debug)]
pub(super) struct SkillArgs {
    /// The skill file [default: named after the recording, in the current folder]; - for stdout
    #[arg(short, long, value_name = "SKILL", help_heading = "Transcripts")]
    output: Option<PathBuf>,
    /// Replace a skill file that is there
    #[arg(long, help_heading = "Transcripts")]
    force: bool,
    /// Put proposals into effect that else are open questions; several with commas
    #[arg(
        long,
        value_enum,
        value_name = "WHAT",
        value_delimiter = ',',
        help_heading = "Transcripts"
    )]
    apply: Vec<Proposal>,
}

/// What can be proposed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Proposal {
    /// Days of the recording move with the day of the run
    Dates,
    /// Values that several steps use become inputs
    Inputs,
}

/// Reads a recording, makes a skill of it, writes it, and says what to look at.
pub(super) fn make_skill(
    file: &Path,
    format: Format,
    input: Box<dyn BufRead>,
    args: &SkillArgs,
    output: Output,
) -> Outcome {
    let recording = read::read(file, format, input)?;
    let stem = file.file_stem().unwrap_or_default().to_string_lossy();
    let apply = Apply {
        dates: args.apply.contains(&Proposal::Dates),
        inputs: args.apply.contains(&Proposal::Inputs),
    };
    let compiled = compile(&recording, &stem, apply).map_err(|error| {
        Failure::because(
            format!("no skill can be made of {}", file.display()),
            &error,
        )
        .help("nothing was written")
    })?;
    let to_stdout = args.output.as_deref() == Some(Path::new("-"));
    let path = args
        .output
        .clone()
        .unwrap_or_else(|| PathBuf::from(compiled.file_name()));
    if !to_stdout {
        place::write(&path, &compiled.text, args.force)?;
    }
    tell(&compiled, (!to_stdout).then_some(&path), output)?;
    Ok(ExitCode::Ok)
}

/// Says what was made. The skill itself goes to stdout where it was asked for there.
fn tell(compiled: &Compiled, path: Option<&PathBuf>, output: Output) -> Outcome<()> {
    let Compiled {
        name,
        text,
        census,
        warnings,
        questions,
        secrets,
    } = compiled;
    if output.json {
        let mut told = json!({
            "file": path.map(|path| path.display().to_string()),
            "name": name,
            "effects": {
                "read": census.read,
                "idempotent-write": census.idempotent_write,
                "destructive": census.destructive,
            },
            "warnings": warnings,
            "questions": questions,
            "secrets": secrets,
        });
        if path.is_none() {
            told["text"] = text.as_str().into();
        }
        output.value(&told)?;
        return Ok(());
    }
    if let Some(path) = path {
        output.line(&census.to_string())?;
        let path = escape::text(&path.display().to_string());
        output.note(&format!("wrote {path}"));
    } else {
        // Byte for byte, and escaped by whoever made it.
        let mut out = std::io::stdout().lock();
        out.write_all(text.as_bytes())?;
        out.flush()?;
        output.note(&census.to_string());
    }
    for warning in warnings {
        output.note(&format!("warning: {}", escape::text(warning)));
    }
    if !secrets.is_empty() {
        let names = secrets.join(", ");
        output.note(&format!(
            "secrets were taken out; a run asks for them: {names}"
        ));
    }
    if !questions.is_empty() {
        output.note("open questions (they stand in the file too):");
    }
    for question in questions {
        output.note(&format!("  - {}", escape::text(question)));
    }
    Ok(())
}
