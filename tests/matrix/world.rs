//! One world: people, a shop, a clock, what is durable, and one life of the engine after another.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use axum::Router;
use holdpoint_engine::action::{Action, ActionId, PrincipalKind};
use holdpoint_engine::engine::{Engine, Options};
use holdpoint_engine::identity::{NewKey, NewPerson, Principal, Role, Secret, SessionKind};
use holdpoint_engine::time::{Clock, Timestamp};
use holdpoint_engine::tool::{Format, ToolsFile};
use holdpoint_storage::{EventLog as _, MemoryLog};
use holdpoint_web::{AppState, WebConfig, router};
use serde_json::json;
use tokio::net::unix::pipe;
use tokio::sync::OnceCell;
use tokio::task::JoinHandle;

use crate::hooks::{Hooks, observing};
use crate::log::GatedLog;
use crate::shop::{self, Mood, Shop, Way};
use crate::steps::Plot;
use crate::worker::Bench;

/// A clock that the test sets.
pub(crate) struct Hands(AtomicI64);

impl Clock for Hands {
    fn now(&self) -> Timestamp {
        Timestamp(self.0.load(Ordering::SeqCst))
    }
}

/// The beginning of time.
const DAWN: i64 = 1_800_000_000_000;

/// What is scheduled is not to be called before this.
pub(crate) const NOT_BEFORE: Timestamp = Timestamp(DAWN + 600_000);

/// People who were there before.
pub(crate) struct Cast {
    log: Mutex<MemoryLog>,
    pub(crate) service: String,
    pub(crate) approver: String,
}

static CAST: OnceCell<Cast> = OnceCell::const_new();

/// The people, made once: hashing a password takes time.
pub(crate) async fn cast() -> &'static Cast {
    CAST.get_or_init(make_cast).await
}

async fn make_cast() -> Cast {
    let log = Arc::new(MemoryLog::new());
    let registry = ToolsFile::from_str("{\"tools\":{}}", Format::Json).expect("a tools file");
    let options = Options {
        clock: Arc::new(Hands(AtomicI64::new(DAWN))),
        ..Options::default()
    };
    let engine = Engine::open(log.clone(), Arc::new(registry.registry), options)
        .await
        .expect("an engine");
    let identity = engine.identity();
    let person = |name: &str, role| NewPerson {
        email: format!("{name}@example.com"),
        name: name.to_owned(),
        roles: [role].into(),
        password: Some(Secret::new("correct horse battery staple")),
        ..NewPerson::default()
    };
    let owner = identity
        .create_person("test", person("owner", Role::Requester))
        .await;
    let approver = identity
        .create_person("test", person("approver", Role::Approver))
        .await;
    approver.expect("a person");
    let password = Secret::new("correct horse battery staple");
    let session = identity
        .sign_in(
            "approver@example.com",
            &password,
            "198.51.100.1",
            SessionKind::Api,
        )
        .await;
    let key = NewKey {
        name: "checkout".to_owned(),
        kind: PrincipalKind::Service,
        owner: owner.expect("a person").id,
        scopes: ["work:ship".to_owned()].into(),
        attributes: BTreeMap::new(),
        expires_at: None,
    };
    let (_, key) = identity.create_key("test", key).await.expect("a key");
    let service = key.expose().to_owned();
    let approver = session.expect("a session").0.expose().to_owned();
    engine.shutdown(Duration::from_secs(5)).await;
    Cast {
        log: Mutex::new(log.reopen()),
        service,
        approver,
    }
}

/// What clients know because it was acknowledged.
#[derive(Clone, Copy, Debug, Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is an answer of its own"
)]
pub(crate) struct Acks {
    pub(crate) staged: Option<ActionId>,
    pub(crate) voted: bool,
    pub(crate) cancelled: bool,
    pub(crate) paused: bool,
    pub(crate) resumed: bool,
}

/// One life of the engine.
pub(crate) struct Life {
    pub(crate) engine: Engine,
    pub(crate) router: Router,
}

/// Everything of one case.
pub(crate) struct World {
    pub(crate) plot: Plot,
    pub(crate) cast: &'static Cast,
    pub(crate) shop: Shop,
    pub(crate) acks: Mutex<Acks>,
    bench: Mutex<Bench>,
    clock: Arc<Hands>,
    secret: shop::Secret,
    /// Whether the definition is another one.
    pub(crate) changed: AtomicBool,
    durable: Mutex<Arc<MemoryLog>>,
    hooks: Mutex<Hooks>,
    life: Mutex<Option<Arc<Life>>>,
    keeper: Mutex<Option<JoinHandle<()>>>,
}

fn lock<T>(slot: &Mutex<T>) -> MutexGuard<'_, T> {
    slot.lock().unwrap_or_else(PoisonError::into_inner)
}

impl World {
    pub(crate) async fn new(plot: Plot, mood: Mood) -> Arc<Self> {
        let cast = cast().await;
        let durable = Arc::new(lock(&cast.log).reopen());
        Arc::new(Self {
            plot,
            cast,
            shop: Shop::new(mood, plot == Plot::Kept),
            acks: Mutex::default(),
            bench: Mutex::default(),
            clock: Arc::new(Hands(AtomicI64::new(DAWN))),
            secret: shop::Secret::new(),
            changed: AtomicBool::new(false),
            durable: Mutex::new(durable),
            hooks: Mutex::default(),
            life: Mutex::default(),
            keeper: Mutex::default(),
        })
    }

    pub(crate) fn hooks(&self) -> Hooks {
        lock(&self.hooks).clone()
    }

    pub(crate) fn acks(&self) -> MutexGuard<'_, Acks> {
        lock(&self.acks)
    }

    /// What the worker knows.
    pub(crate) fn bench(&self) -> MutexGuard<'_, Bench> {
        lock(&self.bench)
    }

    /// Fails where the log has a commit record before its moment, or while paused.
    pub(crate) fn judge_order(&self, words: &str) {
        let mut is_paused = false;
        for record in self.durable().read_all(0, 10_000).expect("the records") {
            match record.kind.as_str() {
                "engine.paused" => is_paused = true,
                "engine.resumed" => is_paused = false,
                "action.commit_recorded" => {
                    assert!(!is_paused, "i03: {words}: committed while paused");
                    assert!(NOT_BEFORE.0 <= record.time_ms, "i03: {words}: too early");
                }
                _ => {}
            }
        }
    }

    /// What is durable.
    pub(crate) fn durable(&self) -> Arc<MemoryLog> {
        lock(&self.durable).clone()
    }

    /// The life there is, where there is one that takes requests.
    pub(crate) fn life(&self) -> Option<Arc<Life>> {
        lock(&self.life).clone()
    }

    /// Starts the process on what is durable.
    pub(crate) async fn start(&self) -> Arc<Life> {
        let hooks = self.hooks();
        let log = GatedLog {
            inner: self.durable(),
            hooks: hooks.clone(),
        };
        let keeper = tokio::spawn(shop::keep(self.secret.path.clone(), hooks.clone()));
        if let Some(before) = lock(&self.keeper).replace(keeper) {
            before.abort();
        }
        let options = Options {
            clock: self.clock.clone(),
            target: Some(Arc::new(Way {
                shop: self.shop.clone(),
                hooks: hooks.clone(),
            })),
            ..Options::default()
        };
        let changed = self.changed.load(Ordering::SeqCst);
        let file = ToolsFile::from_str(&tools(&self.secret.path, changed), Format::Json);
        let registry = Arc::new(file.expect("a tools file").registry);
        let engine = match Engine::open(Arc::new(log), registry, options).await {
            Ok(engine) => engine,
            // It died while it started; what the dead read is not to be believed.
            Err(_) if hooks.is_dead() => std::future::pending().await,
            Err(error) => panic!("i23: it does not start: {error:?}"),
        };
        let state = AppState::new(engine.clone(), WebConfig::default(), None);
        let life = Arc::new(Life {
            engine,
            router: router(state),
        });
        *lock(&self.life) = Some(life.clone());
        life
    }

    /// The process dies at this instant, with the clients that were talking to it.
    pub(crate) async fn kill(&self, clients: JoinHandle<Action>) {
        {
            let mut hooks = lock(&self.hooks);
            *hooks = hooks.kill();
        }
        clients.abort();
        // Whoever was about to do something does not do it to the next life.
        let _aborted = clients.await;
        self.die();
    }

    /// The process ends.
    pub(crate) fn die(&self) {
        {
            let mut hooks = lock(&self.hooks);
            *hooks = hooks.kill();
        }
        drop(lock(&self.life).take());
        if let Some(keeper) = lock(&self.keeper).take() {
            keeper.abort();
        }
        // Whoever of that life still waits for the secret is let go.
        drop(pipe::OpenOptions::new().open_sender(&self.secret.path));
        let mut durable = lock(&self.durable);
        *durable = Arc::new(durable.reopen());
    }

    /// Time passes.
    pub(crate) fn pass(&self, time: Duration) {
        let millis = i64::try_from(time.as_millis()).expect("a short time");
        self.clock.0.fetch_add(millis, Ordering::SeqCst);
        self.shop.books().now += time;
        if let Some(life) = self.life() {
            life.engine.wake();
        }
    }

    /// The action as it is, where there is one.
    pub(crate) fn action(&self, life: &Life) -> Option<Action> {
        let id = self.id()?;
        observing(|| life.engine.get(auditor(), id))
            .ok()
            .map(|view| view.action)
    }

    /// The id of the action, from what is durable.
    pub(crate) fn id(&self) -> Option<ActionId> {
        let records = self.durable().read_all(0, 10_000).expect("the records");
        let streams = records.iter().map(|record| record.stream.to_string());
        let mut hex = streams.filter_map(|name| name.strip_prefix("action/").map(str::to_owned));
        let id = hex.next()?;
        Some(format!("act_{id}").parse().expect("an id"))
    }
}

impl Drop for World {
    fn drop(&mut self) {
        self.die();
    }
}

/// Somebody who sees all.
pub(crate) fn auditor() -> &'static Principal {
    static AUDITOR: OnceLock<Principal> = OnceLock::new();
    AUDITOR.get_or_init(|| Principal {
        id: "per_ada".to_owned(),
        name: "ada".to_owned(),
        kind: PrincipalKind::Person,
        owner: None,
        scopes: [].into(),
        groups: [].into(),
        roles: [Role::Auditor, Role::Operator].into(),
        attributes: BTreeMap::new(),
        changed_access_at: None,
    })
}

fn tools(secret: &Path, changed: bool) -> String {
    let state = json!({
        "http": { "get": "https://shop.example/orders/{order_id}" }, "watch": ["/status"],
    });
    let check = json!({
        "http": { "get": "https://shop.example/refunds?key={idempotency_key}" },
        "happened": "size(body.refunds) > 0",
        "settle": "3s",
    });
    let ship = json!({
        "safetyClass": "approval-bound",
        "idempotencyKey": "ship-{order_id}",
        "description": if changed { "another one" } else { "by a worker" },
        "state": state,
        "check": check,
        "requestLifetime": "5s",
        "approval": { "expiresIn": "1h" },
    });
    let refund = json!({
        "safetyClass": "approval-bound",
        "idempotencyKey": "refund-{order_id}",
        "state": state,
        "execute": {
            "http": {
                "post": "https://shop.example/refunds",
                "json": { "order": "{order_id}", "amount": "{amount}" },
            },
            "timeout": if changed { "31s" } else { "30s" },
            "retry": { "attempts": 10, "backoff": "1s..2s" },
            "result": { "type": "object" },
        },
        "requestLifetime": "5s",
        "approval": { "expiresIn": "1h" },
    });
    let mut checked = refund.clone();
    checked["check"] = check;
    checked["execute"]["http"]["auth"] = json!({ "bearer": { "file": secret } });
    let mut kept = refund;
    kept["keyRetention"] = json!(format!("{}m", shop::KEPT.as_secs() / 60));
    json!({ "tools": { "ship": ship, "issue_refund": checked, "issue_again": kept } }).to_string()
}
