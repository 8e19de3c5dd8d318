//! `holdpoint login`: signs a person in and keeps the token in a file.

use std::path::PathBuf;

use clap::Args;
use serde_json::json;

use crate::client::{self, ServerArgs};
use crate::exit_code::ExitCode;
use crate::failure::{Failure, Outcome};
use crate::output::{Output, field};
use crate::{escape, secret};

/// The arguments of `login`.
#[derive(Args, Debug)]
pub(crate) struct LoginArgs {
    /// Who signs in
    email: String,
    /// A file with the password, or - for stdin [default: ask]
    #[arg(long, value_name = "FILE")]
    password_file: Option<PathBuf>,
    /// End the session instead and remove the token file
    #[arg(long, conflicts_with = "password_file")]
    end: bool,
    #[command(flatten)]
    server: ServerArgs,
}

/// Starts or ends a session.
pub(crate) async fn run(args: LoginArgs, output: Output) -> Outcome {
    let token_file = args
        .server
        .token_file
        .clone()
        .or_else(secret::default_token_file)
        .ok_or_else(|| {
            Failure::usage("there is no home folder to keep the token in")
                .help("say where with --token-file FILE")
        })?;
    if args.end {
        let client = client::connect(&args.server)?;
        let request = client.request(reqwest::Method::DELETE, "/v1/sessions");
        client.send(request).await?;
        std::fs::remove_file(&token_file).map_err(|error| {
            Failure::because(format!("cannot remove {}", token_file.display()), &error)
        })?;
        output.note("signed out");
        return Ok(ExitCode::Ok);
    }
    let client = client::anonymous(&args.server)?;
    let password = secret::password(
        args.password_file.as_deref(),
        &format!("Password of {}: ", escape::text(&args.email)),
        output,
    )?;
    let answer = client
        .post(
            "/v1/sessions",
            &json!({ "email": args.email, "password": password }),
        )
        .await?;
    let token = answer
        .body
        .get("token")
        .and_then(serde_json::Value::as_str)
        .ok_or_else(|| Failure::failed("the server answered without a token"))?;
    secret::write(&token_file, token)?;
    let until = field(&answer.body, "/expires_at");
    if output.json {
        output.value(&json!({
            "token_file": token_file.display().to_string(),
            "expires_at": answer.body.get("expires_at"),
            "person": answer.body.get("person"),
        }))?;
    }
    output.note(&format!(
        "signed in until {}; the token is in {}",
        escape::text(&until),
        token_file.display()
    ));
    Ok(ExitCode::Ok)
}
