//! A whole Holdpoint in this process: log, engine, server, people, shop.

use std::num::NonZeroU32;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use holdpoint_engine::action::PrincipalKind;
use holdpoint_engine::engine::{Engine, Options};
use holdpoint_engine::identity::{
    Identity, NewKey, NewPerson, Principal, Role, Secret, SessionKind,
};
use holdpoint_engine::tool::{Format, ToolsFile};
use holdpoint_storage::{EventLog, SledLog, SledOptions};
use holdpoint_web::{AppState, WebConfig};
use serde_json::json;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::shop::Shop;
use crate::commands::{admin, serve};
use crate::data;
use crate::failure::{Failure, Outcome};

/// As many calls at once as there are clients.
const CALLS_MAX: usize = 64;

/// One service and one person do the work of all: no limit that they could reach.
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
    /// Where the server is.
    pub(super) url: String,
    /// The credential of the service that submits.
    pub(super) key: String,
    /// The credential of the person who approves.
    pub(super) session: String,
    /// The service that submits.
    pub(super) caller: Principal,
    actions: AtomicU64,
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
        let (key, session) = people(engine.identity()).await?;
        let caller = engine
            .identity()
            .authenticate_bearer(&key)
            .await
            .map_err(|error| Failure::because("the key of the benchmark does not work", &error))?;
        let failed = |error: std::io::Error| Failure::because("cannot start the server", &error);
        let listener = TcpListener::bind("127.0.0.1:0").await.map_err(failed)?;
        let url = format!("http://{}", listener.local_addr().map_err(failed)?);
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
            url,
            key,
            session,
            caller,
            actions: AtomicU64::new(0),
            stop,
            server,
        })
    }

    /// A number that no action had before.
    pub(super) fn next_action(&self) -> u64 {
        self.actions.fetch_add(1, Ordering::Relaxed)
    }

    /// How many actions there are.
    pub(super) fn actions(&self) -> u64 {
        self.actions.load(Ordering::Relaxed)
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

/// A key of a service, and a session of somebody else who approves.
async fn people(identity: &Identity) -> Outcome<(String, String)> {
    let person = |email: &str, role: Role| NewPerson {
        email: email.to_owned(),
        name: email.to_owned(),
        roles: [role].into(),
        password: Some(Secret::new(PASSWORD)),
        ..NewPerson::default()
    };
    let create = |new| identity.create_person("bench", new);
    let owner = create(person("owner@bench.example", Role::Admin)).await;
    let owner = owner.map_err(|error| admin::refused(&error))?;
    let approver = create(person("approver@bench.example", Role::Approver)).await;
    let approver = approver.map_err(|error| admin::refused(&error))?;
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
    let (session, ..) = identity
        .sign_in(
            &approver.email,
            &Secret::new(PASSWORD),
            "127.0.0.1",
            SessionKind::Api,
        )
        .await
        .map_err(|error| Failure::because("the approver cannot sign in", &error))?;
    Ok((key.expose().to_owned(), session.expose().to_owned()))
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
