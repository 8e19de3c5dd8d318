//! A whole Holdpoint in this process: log, engine, server, people, shop.

use std::num::NonZeroU32;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use holdpoint_engine::action::PrincipalKind;
use holdpoint_engine::engine::{Engine, Options};
use holdpoint_engine::identity::{
    Identity, NewKey, NewPerson, Person, Principal, Role, Secret, SessionKind,
};
use holdpoint_engine::tool::{Format, ToolsFile};
use holdpoint_storage::{EventLog, SledLog, SledOptions};
use holdpoint_web::{AppState, WebConfig};
use reqwest::Url;
use serde_json::json;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::client::Target;
use super::connection::Place;
use super::shop::Shop;
use crate::commands::{admin, serve};
use crate::data;
use crate::failure::{Failure, Outcome};

/// As many calls at once as there are clients.
const CALLS_MAX: usize = 64;

/// How many people approve.
const APPROVERS: usize = 8;

/// One service and a few people do the work of all: no limit that they could reach.
const REQUESTS_PER_SECOND: NonZeroU32 = NonZeroU32::new(1_000_000).expect("it is not zero");

/// The password of somebody who exists for a minute, on loopback.
const PASSWORD: &str = "a person of the benchmark";

/// Everything that is measured.
pub(super) struct World {
    /// The log.
    pub(super) log: Arc<dyn EventLog>,
    /// The engine.
    pub(super) engine: Engine,
    /// The shop.
    pub(super) shop: Shop,
    /// The server, and those who ask it.
    pub(super) target: Arc<Target>,
    /// The service that submits.
    pub(super) caller: Principal,
    stop: CancellationToken,
    server: JoinHandle<std::io::Result<()>>,
}

impl World {
    /// Makes one in a folder.
    pub(super) async fn open(folder: &Path) -> Outcome<Self> {
        let shop = Shop::open().await?;
        let tools = ToolsFile::from_str(&tools(&shop.url), Format::Json)
            .map_err(|error| Failure::because("the tools of the benchmark are wrong", &error))?;
        let log = SledLog::open(folder, &SledOptions::default())
            .map_err(|error| data::refused(&error))?;
        let log: Arc<dyn EventLog> = Arc::new(log);
        let options = Options {
            calls_max: CALLS_MAX,
            ..Options::default()
        };
        let engine = serve::open_engine(&log, Arc::new(tools.registry), options).await?;
        let (key, sessions) = people(engine.identity()).await?;
        let caller = engine
            .identity()
            .authenticate_bearer(&key)
            .await
            .map_err(|error| Failure::because("the key of the benchmark does not work", &error))?;
        let failed = |error: std::io::Error| Failure::because("cannot start the server", &error);
        let listener = TcpListener::bind("127.0.0.1:0").await.map_err(failed)?;
        let url = format!("http://{}", listener.local_addr().map_err(failed)?);
        let url = Url::parse(&url)
            .map_err(|error| Failure::because("the server has no address", &error))?;
        let config = WebConfig {
            requests_per_second: REQUESTS_PER_SECOND,
            ..WebConfig::default()
        };
        let state = AppState::new(engine.clone(), config, None);
        let stop = CancellationToken::new();
        let server = tokio::spawn(holdpoint_web::serve(listener, state, stop.clone()));
        Ok(Self {
            log,
            engine,
            shop,
            target: Arc::new(Target::new(Place::of(&url), key, sessions)?),
            caller,
            stop,
            server,
        })
    }

    /// Stops all of it.
    pub(super) async fn close(self) {
        self.stop.cancel();
        // What the server says on its way out changes nothing that was measured.
        drop(self.server.await);
        self.engine.shutdown(Duration::from_secs(10)).await;
        self.log.close().await;
    }
}

/// A key of a service, and sessions of others who approve.
async fn people(identity: &Identity) -> Outcome<(String, Vec<String>)> {
    let owner = person(identity, "owner@bench.example", Role::Admin).await?;
    let key = identity
        .create_key(
            "bench",
            NewKey {
                name: "bench".to_owned(),
                kind: PrincipalKind::Service,
                owner: owner.id,
                scopes: std::collections::BTreeSet::new(),
                attributes: std::collections::BTreeMap::new(),
                expires_at: None,
            },
        )
        .await;
    let (_, key) = key.map_err(|error| admin::refused(&error))?;
    let mut sessions = Vec::with_capacity(APPROVERS);
    for number in 0..APPROVERS {
        let email = format!("approver-{number}@bench.example");
        person(identity, &email, Role::Approver).await?;
        let (session, ..) = identity
            .sign_in(
                &email,
                &Secret::new(PASSWORD),
                "127.0.0.1",
                SessionKind::Api,
            )
            .await
            .map_err(|error| Failure::because("an approver cannot sign in", &error))?;
        sessions.push(session.expose().to_owned());
    }
    Ok((key.expose().to_owned(), sessions))
}

async fn person(identity: &Identity, email: &str, role: Role) -> Outcome<Person> {
    let new = NewPerson {
        email: email.to_owned(),
        name: email.to_owned(),
        roles: [role].into(),
        password: Some(Secret::new(PASSWORD)),
        ..NewPerson::default()
    };
    identity
        .create_person("bench", new)
        .await
        .map_err(|error| admin::refused(&error))
}

/// `refund` reads the order again before it is called; `parked` waits without a state.
fn tools(shop: &str) -> String {
    let execute = json!({ "http": {
        "post": format!("{shop}/refunds"),
        "json": { "order": "{order}", "amount": "{amount}" },
    } });
    json!({ "tools": {
        "parked": {
            "safetyClass": "approval-bound",
            "summary": "Refund {amount} to order {order}",
            "execute": execute,
        },
        "refund": {
            "safetyClass": "approval-bound",
            "summary": "Refund {amount} to order {order}",
            "concurrency": CALLS_MAX,
            "state": {
                "http": { "get": format!("{shop}/orders/{{order}}") },
                "watch": ["/left"],
            },
            "execute": execute,
        },
    } })
    .to_string()
}
