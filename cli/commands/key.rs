//! `holdpoint key`: the keys of services and agents.

use std::time::Duration;

use clap::{ArgMatches, Args, Subcommand, ValueEnum};
use holdpoint_engine::action::PrincipalKind;
use holdpoint_engine::identity::NewKey;
use holdpoint_engine::time::{Clock as _, SystemClock};
use holdpoint_engine::tool::parse_duration;
use holdpoint_web::wire;
use serde_json::{Value, json};

use super::actions::pair;
use super::admin::{self, Admin, AdminArgs, BY, refused};
use super::user;
use crate::escape;
use crate::exit_code::ExitCode;
use crate::failure::{Failure, Outcome};
use crate::output::{Output, field};

/// What to do with keys.
#[derive(Debug, Subcommand)]
pub(crate) enum KeyCommand {
    /// Make a key; it is printed once, alone on stdout
    Create(CreateArgs),
    /// List all keys, without their secrets
    #[command(visible_alias = "ls")]
    List(ListArgs),
    /// Make a key useless, for ever
    Revoke(RevokeArgs),
}

/// Who uses a key.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Kind {
    /// A program of the house.
    Service,
    /// A program that decides by itself what to ask for.
    Agent,
}

/// The arguments of `key create`.
#[derive(Args, Debug)]
#[command(after_help = "\
Example:
  holdpoint key create --name checkout --kind service --owner ada@example.com --scope refunds:write > checkout.key")]
pub(crate) struct CreateArgs {
    /// The name of the service or agent
    #[arg(long)]
    name: String,
    /// Who uses it
    #[arg(long)]
    kind: Kind,
    /// The address of the person who answers for it; they cannot approve what it asks for
    #[arg(long, value_name = "EMAIL")]
    owner: String,
    /// What tools ask for in requiredScopes; may be given several times
    #[arg(long)]
    scope: Vec<String>,
    /// A further fact, such as tenant=acme; may be given several times
    #[arg(long, value_name = "KEY=VALUE", value_parser = pair)]
    attribute: Vec<(String, String)>,
    /// From when on it does not work any more, from now [default: never]
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    expires: Option<Duration>,
    #[command(flatten)]
    admin: AdminArgs,
}

/// The arguments of `key list`.
#[derive(Args, Debug)]
pub(crate) struct ListArgs {
    #[command(flatten)]
    admin: AdminArgs,
}

/// The arguments of `key revoke`.
#[derive(Args, Debug)]
pub(crate) struct RevokeArgs {
    /// The key, key_…
    id: String,
    /// Why, for the history
    #[arg(long)]
    reason: String,
    #[command(flatten)]
    admin: AdminArgs,
}

/// Runs one of them.
pub(crate) async fn run(command: KeyCommand, matches: &ArgMatches, output: Output) -> Outcome {
    match command {
        KeyCommand::Create(args) => {
            let admin = Admin::open(&args.admin, matches, output).await?;
            let made = create(&admin, args).await;
            admin.close().await;
            let (secret, key) = made?;
            if output.json {
                output.value(&json!({ "secret": secret, "key": key }))?;
            } else {
                output.line(&escape::text(&secret))?;
            }
            output.note(&format!(
                "made {}; the line on stdout is the key, and it is not shown again",
                escape::text(&field(&key, "/id"))
            ));
            Ok(ExitCode::Ok)
        }
        KeyCommand::List(args) => {
            let admin = Admin::open(&args.admin, matches, output).await?;
            let keys = list(&admin).await;
            admin.close().await;
            print_list(&keys?, output)
        }
        KeyCommand::Revoke(args) => {
            let admin = Admin::open(&args.admin, matches, output).await?;
            let key = revoke(&admin, &args.id, &args.reason).await;
            admin.close().await;
            let key = key?;
            if output.json {
                output.value(&key)?;
            }
            output.note("the key does not work any more");
            Ok(ExitCode::Ok)
        }
    }
}

async fn create(admin: &Admin, args: CreateArgs) -> Outcome<(String, Value)> {
    let kind = match args.kind {
        Kind::Service => PrincipalKind::Service,
        Kind::Agent => PrincipalKind::Agent,
    };
    let expires_at = args.expires.map(|life| SystemClock.now().plus(life));
    match admin {
        Admin::Folder { identity, .. } => {
            let new = NewKey {
                name: args.name,
                kind,
                owner: user::local(identity, &args.owner)?.id,
                scopes: args.scope.into_iter().collect(),
                attributes: args.attribute.into_iter().collect(),
                expires_at,
            };
            let made = identity.create_key(BY, new).await;
            let (key, secret) = made.map_err(|error| refused(&error))?;
            Ok((
                secret.expose().to_owned(),
                admin::wire(&wire::Key::from(&key))?,
            ))
        }
        Admin::Server(client) => {
            let attributes = args
                .attribute
                .into_iter()
                .map(|(key, value)| (key, json!(value)));
            let mut body = json!({
                "name": args.name,
                "kind": kind.name(),
                "owner": user::remote_id(admin, &args.owner).await?,
                "scopes": args.scope,
                "attributes": Value::Object(attributes.collect()),
            });
            if let Some(at) = expires_at {
                body["expires_at"] = json!(at.rfc3339());
            }
            let made = client.post("/v1/keys", &body).await?.body;
            match (made.get("secret").and_then(Value::as_str), made.get("key")) {
                (Some(secret), Some(key)) => Ok((secret.to_owned(), key.clone())),
                _ => Err(Failure::failed("the server answered without a key")),
            }
        }
    }
}

async fn list(admin: &Admin) -> Outcome<Vec<Value>> {
    match admin {
        Admin::Folder { identity, .. } => identity
            .keys()
            .iter()
            .map(|key| admin::wire(&wire::Key::from(key)))
            .collect(),
        Admin::Server(client) => {
            let body = client.get("/v1/keys").await?.body;
            admin::list(&body).map(<[Value]>::to_vec)
        }
    }
}

async fn revoke(admin: &Admin, id: &str, reason: &str) -> Outcome<Value> {
    let is_id = id.starts_with("key_")
        && id
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    if !is_id {
        return Err(Failure::usage(format!("{id:?} is not the id of a key"))
            .help("`holdpoint key list` prints the ids, key_…"));
    }
    match admin {
        Admin::Folder { identity, .. } => {
            let key = identity.revoke_key(BY, id, reason).await;
            let key = key.map_err(|error| refused(&error))?;
            admin::wire(&wire::Key::from(&key))
        }
        Admin::Server(client) => {
            let path = format!("/v1/keys/{id}/revoke");
            Ok(client.post(&path, &json!({ "reason": reason })).await?.body)
        }
    }
}

fn print_list(keys: &[Value], output: Output) -> Outcome {
    if output.json {
        output.value(&json!({ "data": keys }))?;
    } else if keys.is_empty() {
        output.note("no keys yet; make one with `holdpoint key create`");
    } else {
        output.table(
            [
                "id",
                "name",
                "kind",
                "owner",
                "scopes",
                "expires",
                "last used",
                "state",
            ],
            keys.iter().map(|key| {
                let state = match key.get("revoked").and_then(Value::as_str) {
                    Some(reason) => format!("revoked: {reason}"),
                    None => "works".to_owned(),
                };
                [
                    field(key, "/id"),
                    field(key, "/name"),
                    field(key, "/kind"),
                    field(key, "/owner"),
                    user::words(key, "scopes"),
                    field(key, "/expires_at"),
                    field(key, "/last_used_at"),
                    state,
                ]
            }),
        )?;
    }
    Ok(ExitCode::Ok)
}
