//! The variables of a run on its command line.

use std::io::Read;
use std::path::{Path, PathBuf};

use clap::Args;
use holdpoint_engine::limits::JSON_BYTES_MAX;

use crate::exit_code::ExitCode;
use crate::failure::{Failure, Outcome};
use crate::secret;

/// Where variables come from.
#[derive(Args, Debug)]
pub(crate) struct VarArgs {
    /// A variable, read by the type that the file declares; may be given several times. Secrets are better
    /// given with --var-file
    #[arg(long, value_name = "NAME=VALUE")]
    var: Vec<String>,
    /// A variable whose value is the text of a file, or of stdin (`-`); one line break at the end is
    /// not part of it
    #[arg(long, value_name = "NAME=FILE")]
    var_file: Vec<String>,
}

impl VarArgs {
    /// Their names and texts; `is_secret` says which of them are secrets. What is wrong is told by its
    /// place: the text may be a secret.
    pub(crate) fn read(&self, is_secret: impl Fn(&str) -> bool) -> Outcome<Vec<(String, String)>> {
        let wrong = |option: &str, number: usize, how: &str| {
            Failure::usage(format!("{option} number {} is not {how}", number + 1))
        };
        let mut vars = Vec::new();
        for (number, text) in self.var.iter().enumerate() {
            let pair = pair(text).ok_or_else(|| wrong("--var", number, "NAME=VALUE"))?;
            vars.push((pair.0.to_owned(), pair.1.to_owned()));
        }
        for (number, text) in self.var_file.iter().enumerate() {
            let (name, file) =
                pair(text).ok_or_else(|| wrong("--var-file", number, "NAME=FILE"))?;
            let file = PathBuf::from(file);
            let value = if is_secret(name) {
                secret::read(&file)
            } else {
                plain(name, &file)
            };
            let value = value.map_err(|failure| failure.with_code(ExitCode::Usage))?;
            vars.push((name.to_owned(), value));
        }
        Ok(vars)
    }
}

fn pair(text: &str) -> Option<(&str, &str)> {
    text.split_once('=').filter(|(name, _)| !name.is_empty())
}

/// The text of a file that is no secret: all of it but one line break at the end, and it may be empty.
fn plain(name: &str, path: &Path) -> Outcome<String> {
    let bound = u64::try_from(JSON_BYTES_MAX).map_or(u64::MAX, |most| most + 1);
    let mut text = String::new();
    let read = if path == Path::new("-") {
        std::io::stdin().take(bound).read_to_string(&mut text)
    } else {
        std::fs::File::open(path).and_then(|file| file.take(bound).read_to_string(&mut text))
    };
    let shown = path.display();
    read.map_err(|error| {
        Failure::because(
            format!("cannot read the variable {name:?} from {shown}"),
            &error,
        )
    })?;
    if JSON_BYTES_MAX < text.len() {
        return Err(Failure::usage(format!(
            "{shown} is longer than {JSON_BYTES_MAX} bytes, the most that a variable ({name:?}) holds"
        )));
    }
    let value = text.strip_suffix('\n').unwrap_or(&text);
    Ok(value.strip_suffix('\r').unwrap_or(value).to_owned())
}
