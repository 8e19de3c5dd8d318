//! `holdpoint user`: the people of a Holdpoint.

mod on;

pub(super) use self::on::{local, remote_id};

use std::collections::BTreeSet;
use std::path::PathBuf;

use clap::{ArgMatches, Args, Subcommand};
use holdpoint_engine::identity::{NewPerson, Role, Secret};
use serde_json::{Value, json};

use super::actions::pair;
use super::admin::{Admin, AdminArgs};
use crate::exit_code::ExitCode;
use crate::failure::Outcome;
use crate::output::{Output, field};
use crate::{escape, secret};

/// What to do with people.
#[derive(Debug, Subcommand)]
pub(crate) enum UserCommand {
    /// Add a person
    Add(AddArgs),
    /// List all people
    #[command(visible_alias = "ls")]
    List(ListArgs),
    /// Lock a person out: sessions end, keys of theirs stop working
    Disable(ReasonArgs),
    /// Let a disabled person in again
    Enable(ReasonArgs),
    /// Set a new password; all sessions end
    Passwd(PasswdArgs),
    /// Print a link that signs a person in once, within 15 minutes
    Link(PersonArgs),
}

/// The arguments of `user add`.
#[derive(Args, Debug)]
#[command(after_help = "\
Example:
  holdpoint user add ada@example.com --name 'Ada Lovelace' --role approver --group finance --password-file ada.txt")]
pub(crate) struct AddArgs {
    /// The address to sign in with
    email: String,
    /// The name shown to others
    #[arg(long)]
    name: String,
    /// admin, approver, auditor, operator or requester; may be given several times
    #[arg(long, value_parser = role, required = true)]
    role: Vec<Role>,
    /// A group of approvers; may be given several times
    #[arg(long)]
    group: Vec<String>,
    /// What tools ask for in requiredScopes; may be given several times
    #[arg(long)]
    scope: Vec<String>,
    /// A further fact, such as tenant=acme; may be given several times
    #[arg(long, value_name = "KEY=VALUE", value_parser = pair)]
    attribute: Vec<(String, String)>,
    /// A file with the password, or - for stdin [default: ask; without a terminal, none]
    #[arg(long, value_name = "FILE")]
    password_file: Option<PathBuf>,
    #[command(flatten)]
    admin: AdminArgs,
}

/// The arguments of `user list`.
#[derive(Args, Debug)]
pub(crate) struct ListArgs {
    #[command(flatten)]
    admin: AdminArgs,
}

/// The arguments of `user disable` and `user enable`.
#[derive(Args, Debug)]
pub(crate) struct ReasonArgs {
    /// The address of the person
    email: String,
    /// Why, for the history
    #[arg(long)]
    reason: String,
    #[command(flatten)]
    admin: AdminArgs,
}

/// The arguments of `user passwd`.
#[derive(Args, Debug)]
pub(crate) struct PasswdArgs {
    /// The address of the person
    email: String,
    /// A file with the password, or - for stdin [default: ask]
    #[arg(long, value_name = "FILE")]
    password_file: Option<PathBuf>,
    #[command(flatten)]
    admin: AdminArgs,
}

/// The arguments of `user link`.
#[derive(Args, Debug)]
pub(crate) struct PersonArgs {
    /// The address of the person
    email: String,
    #[command(flatten)]
    admin: AdminArgs,
}

fn role(text: &str) -> Result<Role, String> {
    Role::parse(text).ok_or_else(|| {
        let names = Role::ALL.map(Role::name).join(", ");
        format!("there is no role {text:?}; there are {names}")
    })
}

/// Runs one of them.
pub(crate) async fn run(command: UserCommand, matches: &ArgMatches, output: Output) -> Outcome {
    match command {
        UserCommand::Add(args) => add(args, matches, output).await,
        UserCommand::List(args) => {
            let admin = Admin::open(&args.admin, matches, output).await?;
            let people = on::list(&admin).await;
            admin.close().await;
            print_list(&people?, output)
        }
        UserCommand::Disable(args) => enable(args, false, matches, output).await,
        UserCommand::Enable(args) => enable(args, true, matches, output).await,
        UserCommand::Passwd(args) => passwd(args, matches, output).await,
        UserCommand::Link(args) => {
            let admin = Admin::open(&args.admin, matches, output).await?;
            let link = on::link(&admin, &args.email).await;
            admin.close().await;
            let link = link?;
            if output.json {
                output.value(&json!({ "url": link }))?;
            } else {
                output.line(&escape::text(&link))?;
            }
            output.note("it works once, within 15 minutes, while the server runs; whoever opens it is signed in");
            Ok(ExitCode::Ok)
        }
    }
}

async fn add(args: AddArgs, matches: &ArgMatches, output: Output) -> Outcome {
    let password = if args.password_file.is_some() || output.can_ask() {
        let prompt = format!("Password of {}: ", escape::text(&args.email));
        let password = secret::password(args.password_file.as_deref(), &prompt, output)?;
        Some(Secret::new(password))
    } else {
        None
    };
    let has_password = password.is_some();
    let new = NewPerson {
        email: args.email,
        name: args.name,
        roles: args.role.into_iter().collect(),
        groups: args.group.into_iter().collect(),
        scopes: args.scope.into_iter().collect::<BTreeSet<_>>(),
        attributes: args.attribute.into_iter().collect(),
        password,
    };
    let admin = Admin::open(&args.admin, matches, output).await?;
    let person = on::add(&admin, new).await;
    admin.close().await;
    let person = person?;
    print(&person, output)?;
    let email = escape::text(&field(&person, "/email"));
    output.note(&if has_password {
        format!("added {email}")
    } else {
        format!("added {email} without a password; `holdpoint user link {email}` lets them in")
    });
    Ok(ExitCode::Ok)
}

async fn enable(args: ReasonArgs, on: bool, matches: &ArgMatches, output: Output) -> Outcome {
    let admin = Admin::open(&args.admin, matches, output).await?;
    let person = on::set_enabled(&admin, &args.email, on, &args.reason).await;
    admin.close().await;
    print(&person?, output)?;
    output.note(if on {
        "they can sign in again"
    } else {
        "their sessions have ended, and their keys do not work"
    });
    Ok(ExitCode::Ok)
}

async fn passwd(args: PasswdArgs, matches: &ArgMatches, output: Output) -> Outcome {
    let prompt = format!("New password of {}: ", escape::text(&args.email));
    let password = secret::password(args.password_file.as_deref(), &prompt, output)?;
    let admin = Admin::open(&args.admin, matches, output).await?;
    let done = on::set_password(&admin, &args.email, &Secret::new(password)).await;
    admin.close().await;
    done?;
    output.note("the password is set, and all sessions have ended");
    Ok(ExitCode::Ok)
}

fn print(person: &Value, output: Output) -> Outcome<()> {
    if output.json {
        output.value(person)?;
    } else {
        output.line(&escape::text(&field(person, "/id")))?;
    }
    Ok(())
}

fn print_list(people: &[Value], output: Output) -> Outcome {
    if output.json {
        output.value(&json!({ "data": people }))?;
    } else if people.is_empty() {
        output.note("nobody yet; add somebody with `holdpoint user add`");
    } else {
        output.table(
            ["id", "email", "name", "roles", "groups", "state"],
            people.iter().map(|person| {
                let state = match person.get("disabled").and_then(Value::as_str) {
                    Some(reason) => format!("disabled: {reason}"),
                    None => "enabled".to_owned(),
                };
                [
                    field(person, "/id"),
                    field(person, "/email"),
                    field(person, "/name"),
                    words(person, "roles"),
                    words(person, "groups"),
                    state,
                ]
            }),
        )?;
    }
    Ok(ExitCode::Ok)
}

/// A list of words in one cell.
pub(super) fn words(value: &Value, name: &str) -> String {
    let words = value.get(name).and_then(Value::as_array);
    let words: Vec<_> = words
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    if words.is_empty() {
        "-".to_owned()
    } else {
        words.join(", ")
    }
}
