//! `holdpoint skill fmt`: the lines of skill files in one spelling.

use std::io::Write as _;
use std::path::Path;

use clap::Args;
use holdpoint_engine::skill::Skill;
use serde_json::json;

use super::file::{self, STDIN, SkillFile};
use crate::escape;
use crate::exit_code::ExitCode;
use crate::failure::{Failure, Outcome};
use crate::output::{Output, counted};
use crate::replace::replace;

/// The arguments of `skill fmt`.
#[derive(Args, Debug)]
#[command(after_help = "\
Only what is certain to change nothing is written anew: the dash and the spaces of step headers
(### Step N — Title), the spaces of step lines and of front matter (- key: value, key: value), and
the white space between the values of JSON. Prose, the order of lines, blank lines and line ends
stay as they are. The new text is read again and must say the same; a file is replaced whole or not
at all. Nothing is written where a file has mistakes (exit code 2).

Examples:
  holdpoint skill fmt SKILL.md
  holdpoint skill fmt --check skills/*.md
  holdpoint skill fmt - < SKILL.md > tidy.md")]
pub(crate) struct FmtArgs {
    /// Skill files; `-` reads stdin and writes stdout
    #[arg(value_name = "FILE", required = true)]
    files: Vec<String>,
    /// Change nothing, and fail where something would change
    #[arg(long)]
    check: bool,
}

/// Replaces the files that are not in that spelling, or says which ones they are.
pub(crate) fn run(args: &FmtArgs, output: Output) -> Outcome {
    let files = args
        .files
        .iter()
        .map(|name| file::read(name))
        .collect::<Outcome<Vec<SkillFile>>>()?;
    if let Some(failure) = file::failure(&files) {
        return Err(failure);
    }
    let mut told = Vec::new();
    let mut untidy = 0;
    for (name, file) in args.files.iter().zip(&files) {
        let Ok(skill) = &file.read else { continue };
        let tidy = tidied(file, skill)?;
        let changed = tidy.text() != file.text;
        untidy += usize::from(changed);
        if name == STDIN && !args.check {
            // Byte for byte: this is a filter.
            let mut out = std::io::stdout().lock();
            out.write_all(tidy.text().as_bytes())?;
            out.flush()?;
            continue;
        }
        if changed && !args.check {
            replace(
                Path::new(name),
                file.text.as_bytes(),
                tidy.text().as_bytes(),
            )?;
        }
        if changed && !output.json {
            let what = if args.check {
                "would change"
            } else {
                "changed"
            };
            output.line(&format!("{} {what}", escape::text(&file.name)))?;
        }
        told.push(json!({ "file": file.name, "changed": changed }));
    }
    if output.json && !told.is_empty() {
        output.value(&json!({ "files": told }))?;
    }
    if args.check && untidy > 0 {
        let message = format!("{} would change", counted(untidy, "file"));
        return Err(Failure::failed(message).help("run the command without --check"));
    }
    Ok(ExitCode::Ok)
}

fn tidied(file: &SkillFile, skill: &Skill) -> Outcome<Skill> {
    skill.tidied().map_err(|error| {
        Failure::because(format!("{} cannot be written anew", file.name), &error)
            .help("it is as it was")
    })
}
