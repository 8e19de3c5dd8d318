//! A server in this process, for what can only be read by one.

use std::collections::BTreeMap;
use std::future::Future;
use std::num::NonZeroU32;
use std::sync::{Arc, Mutex, PoisonError};

use axum::Router;
use axum::body::Body;
use holdpoint_engine::action::PrincipalKind;
use holdpoint_engine::engine::{Engine, ListQuery, Options, Submission, Submitted, WebhookOptions};
use holdpoint_engine::identity::{NewKey, NewPerson, Principal, Role, Secret, SessionKind};
use holdpoint_engine::time::SystemEntropy;
use holdpoint_engine::tool::{Format, ToolsFile};
use holdpoint_engine::webhook::SigningKey;
use holdpoint_storage::MemoryLog;
use holdpoint_web::{AppState, WebConfig, router};
use http_body_util::BodyExt as _;
use hyper::Request;
use serde_json::{Value, json};
use tokio::runtime::Runtime;
use tower::ServiceExt as _;

use super::post::Post;

const PASSWORD: &str = "correct horse battery staple";

/// One tool that is approved by people, and one that workers pull at once.
pub(crate) const TOOLS: &str = "{\"tools\":{\"pay\":{\"safetyClass\":\"approval-bound\"},\
    \"note\":{\"safetyClass\":\"irreversible\"}}}";

/// How often one house is entered. What is made in it stays, and memory does not grow for ever.
const VISITS_MAX: u32 = 2000;

/// The house.
pub(crate) struct House {
    runtime: Runtime,
    pub(crate) engine: Engine,
    router: Router,
    /// The key of a service.
    pub(crate) key: String,
    /// The cookie of an administrator, and their token.
    pub(crate) cookie: String,
    pub(crate) token: String,
    service: Principal,
    pub(crate) reader: Principal,
    pub(crate) post: Arc<Post>,
    /// What stands before the place in a cursor, for a list without filters.
    pub(crate) cursor_tag: String,
}

struct Visited {
    house: Arc<House>,
    visits: u32,
}

static HOUSE: Mutex<Option<Visited>> = Mutex::new(None);

pub(crate) fn house() -> Arc<House> {
    let mut visited = HOUSE.lock().unwrap_or_else(PoisonError::into_inner);
    if visited.as_ref().is_some_and(|it| it.visits == VISITS_MAX) {
        // Whoever is still in it keeps it.
        *visited = None;
    }
    let it = visited.get_or_insert_with(|| Visited {
        house: Arc::new(House::build()),
        visits: 0,
    });
    it.visits += 1;
    Arc::clone(&it.house)
}

async fn open(post: Arc<Post>) -> Engine {
    let file = ToolsFile::from_str(TOOLS, Format::Json).expect("a tools file");
    let webhooks = WebhookOptions {
        key: Ok(SigningKey::random(&SystemEntropy).expect("a key")),
        public_url: None,
        notifier: Some(post),
    };
    let options = Options {
        webhooks,
        ..Options::default()
    };
    let log = Arc::new(MemoryLog::new());
    Engine::open(log, Arc::new(file.registry), options)
        .await
        .expect("an engine")
}

/// Somebody who may do everything, and a service with a key.
async fn move_in(engine: &Engine) -> (String, String, Principal, String, Principal) {
    let identity = engine.identity();
    let person = NewPerson {
        email: "olga@example.com".to_owned(),
        name: "Olga".to_owned(),
        roles: [Role::Admin, Role::Auditor].into(),
        password: Some(Secret::new(PASSWORD)),
        ..NewPerson::default()
    };
    let person = identity
        .create_person("test", person)
        .await
        .expect("a person");
    let sign_in = async |kind| {
        let password = Secret::new(PASSWORD);
        let session = identity.sign_in("olga@example.com", &password, "198.51.100.1", kind);
        session.await.expect("a session").0.expose().to_owned()
    };
    let session = sign_in(SessionKind::Browser).await;
    let token = sign_in(SessionKind::Api).await;
    let cookie = format!("holdpoint-session={session}");
    let (_, reader) = identity
        .authenticate_session(&session)
        .await
        .expect("a principal");
    let new = NewKey {
        name: "fuzz".to_owned(),
        kind: PrincipalKind::Service,
        owner: person.id,
        scopes: ["work:*".to_owned()].into(),
        attributes: BTreeMap::new(),
        expires_at: None,
    };
    let (_, secret) = identity.create_key("test", new).await.expect("a key");
    let key = secret.expose().to_owned();
    let service = identity
        .authenticate_bearer(&key)
        .await
        .expect("a principal");
    (cookie, token, reader, key, service)
}

impl House {
    fn build() -> Self {
        let runtime = Runtime::new().expect("a runtime");
        let post = Arc::new(Post::default());
        let engine = runtime.block_on(open(Arc::clone(&post)));
        let (cookie, token, reader, key, service) = runtime.block_on(move_in(&engine));
        let config = WebConfig {
            requests_per_second: NonZeroU32::MAX,
            ..WebConfig::default()
        };
        let state = runtime.block_on(async { AppState::new(engine.clone(), config, None) });
        let mut house = Self {
            runtime,
            engine,
            router: router(state),
            key,
            cookie,
            token,
            service,
            reader,
            post,
            cursor_tag: String::new(),
        };
        house.cursor_tag = house.tag();
        house
    }

    fn tag(&self) -> String {
        let query = ListQuery {
            limit: 1,
            ..ListQuery::default()
        };
        for amount in 0..2 {
            self.submit("pay", json!({ "amount": amount }), None);
        }
        let page = self.engine.list(&self.reader, &query).expect("a page");
        let cursor = page.next_cursor.expect("a second page");
        cursor.split_once('.').expect("a tag").0.to_owned()
    }

    /// What comes of something that is waited for.
    pub(crate) fn wait<T>(&self, for_it: impl Future<Output = T>) -> T {
        self.runtime.block_on(for_it)
    }

    /// The status and the text of an answer.
    pub(crate) fn ask(&self, request: Request<Body>) -> (u16, String) {
        let router = self.router.clone();
        self.wait(async move {
            let answer = router.oneshot(request).await.expect("an answer");
            let status = answer.status().as_u16();
            let bytes = answer
                .into_body()
                .collect()
                .await
                .expect("a body")
                .to_bytes();
            (status, String::from_utf8(bytes.to_vec()).expect("UTF-8"))
        })
    }

    /// The id of an action with these arguments, where they are taken.
    pub(crate) fn submit(&self, tool: &str, args: Value, reason: Option<String>) -> Option<String> {
        let submission = Submission {
            tool: tool.to_owned(),
            args,
            reason,
            labels: BTreeMap::new(),
            expires_in: None,
            request_key: None,
            not_before: None,
        };
        match self
            .wait(self.engine.submit(&self.service, submission))
            .ok()?
        {
            Submitted::Action { action, .. } => Some(action.action.id.to_string()),
            Submitted::Answered(_) => None,
        }
    }
}
