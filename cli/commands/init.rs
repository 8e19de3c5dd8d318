//! `holdpoint init`: a tools file to start from.

use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::json;

use crate::exit_code::ExitCode;
use crate::failure::{Failure, Outcome};
use crate::output::Output;

/// JSON has no comments: its tools carry descriptions, and `docs/CLI.md` explains the keys.
const JSON: &str = include_str!("../templates/holdpoint.json");

/// The same with a comment on every key.
const TOML: &str = include_str!("../templates/holdpoint.toml");

/// The arguments of `init`.
#[derive(Args, Debug)]
pub(crate) struct InitArgs {
    /// The folder to start in
    #[arg(default_value = ".")]
    folder: PathBuf,
    /// Write holdpoint.toml, with a comment on every key, instead of holdpoint.json
    #[arg(long)]
    toml: bool,
    /// Replace a file that is there
    #[arg(long)]
    force: bool,
}

/// Writes the file and makes the data folder.
pub(crate) fn run(args: &InitArgs, output: Output) -> Outcome {
    let (name, text) = if args.toml {
        ("holdpoint.toml", TOML)
    } else {
        ("holdpoint.json", JSON)
    };
    // `holdpoint.json` reads better than `./holdpoint.json`.
    let folder = args.folder.strip_prefix(".").unwrap_or(&args.folder);
    let file = folder.join(name);
    let data = folder.join("holdpoint-data");
    if file.exists() && !args.force {
        return Err(
            Failure::usage(format!("{} is there already", file.display()))
                .help("check it with `holdpoint check`, or replace it with --force"),
        );
    }
    create_folder(&data)?;
    std::fs::write(&file, text)
        .map_err(|error| Failure::because(format!("cannot write {}", file.display()), &error))?;
    if output.json {
        output.value(&json!({
            "config": file.display().to_string(),
            "data": data.display().to_string(),
        }))?;
    }
    output.note(&format!(
        "wrote {} and made the folder {}

Next{}:
  1. say what your tools are, and look at them:      holdpoint check
  2. make somebody who may approve:                  holdpoint user add you@example.com --name You --role admin --role approver
  3. make the owner of your service, somebody else:  holdpoint user add owner@example.com --name Owner --role requester
     (whoever owns a key does not vote on what it asks for)
  4. make a key for the service:                     holdpoint key create --name my-service --kind service --owner owner@example.com > service.key
  5. start it, and sign in at the URL that it says:  holdpoint serve",
        file.display(),
        data.display(),
        if folder == Path::new("") {
            String::new()
        } else {
            format!(", in {}", folder.display())
        },
    ));
    Ok(ExitCode::Ok)
}

/// The data folder holds credentials' hashes and everybody's actions: it is its owner's alone.
fn create_folder(folder: &Path) -> Outcome<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder
        .create(folder)
        .map_err(|error| Failure::because(format!("cannot make {}", folder.display()), &error))
}
