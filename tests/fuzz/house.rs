//! A server in this process, for what can only be read by one.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::sync::{Arc, OnceLock};

use axum::Router;
use axum::body::Body;
use holdpoint_engine::action::PrincipalKind;
use holdpoint_engine::engine::{Engine, ListQuery, Options, Submission, Submitted};
use holdpoint_engine::identity::{NewKey, NewPerson, Principal, Role, Secret, SessionKind};
use holdpoint_engine::tool::{Format, ToolsFile};
use holdpoint_storage::MemoryLog;
use holdpoint_web::{AppState, WebConfig, router};
use http_body_util::BodyExt as _;
use hyper::Request;
use serde_json::{Value, json};
use tokio::runtime::Runtime;
use tower::ServiceExt as _;

const PASSWORD: &str = "correct horse battery staple";

/// The house; made once.
pub(crate) struct House {
    runtime: Runtime,
    pub(crate) engine: Engine,
    router: Router,
    pub(crate) key: String,
    pub(crate) cookie: String,
    service: Principal,
    pub(crate) reader: Principal,
}

static HOUSE: OnceLock<House> = OnceLock::new();

pub(crate) fn house() -> &'static House {
    HOUSE.get_or_init(|| {
        let runtime = Runtime::new().expect("a runtime");
        let (engine, router, key, cookie, service, reader) = runtime.block_on(build());
        House {
            runtime,
            engine,
            router,
            key,
            cookie,
            service,
            reader,
        }
    })
}

async fn build() -> (Engine, Router, String, String, Principal, Principal) {
    let tools = "{\"tools\":{\"pay\":{\"safetyClass\":\"approval-bound\"}}}";
    let file = ToolsFile::from_str(tools, Format::Json).expect("a tools file");
    let log = Arc::new(MemoryLog::new());
    let engine = Engine::open(log, Arc::new(file.registry), Options::default())
        .await
        .expect("an engine");
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
    let password = Secret::new(PASSWORD);
    let session = identity
        .sign_in(
            "olga@example.com",
            &password,
            "198.51.100.1",
            SessionKind::Browser,
        )
        .await
        .expect("a session");
    let cookie = format!("holdpoint-session={}", session.0.expose());
    let (_, reader) = identity
        .authenticate_session(session.0.expose())
        .await
        .expect("a principal");
    let new = NewKey {
        name: "fuzz".to_owned(),
        kind: PrincipalKind::Service,
        owner: person.id,
        scopes: [].into(),
        attributes: BTreeMap::new(),
        expires_at: None,
    };
    let (_, secret) = identity.create_key("test", new).await.expect("a key");
    let key = secret.expose().to_owned();
    let service = identity
        .authenticate_bearer(&key)
        .await
        .expect("a principal");
    let config = WebConfig {
        requests_per_second: NonZeroU32::MAX,
        ..WebConfig::default()
    };
    let state = AppState::new(engine.clone(), config, None);
    (engine, router(state), key, cookie, service, reader)
}

impl House {
    /// What stands before the place in a cursor, for a list without filters.
    pub(crate) fn cursor_tag(&self) -> String {
        let query = ListQuery {
            limit: 1,
            ..ListQuery::default()
        };
        for amount in 0..2 {
            self.page_of(json!({ "amount": amount }), None);
        }
        let page = self.engine.list(&self.reader, &query).expect("a page");
        let cursor = page.next_cursor.expect("a second page");
        cursor.split_once('.').expect("a tag").0.to_owned()
    }

    /// The status and the text of an answer.
    pub(crate) fn ask(&self, request: Request<Body>) -> (u16, String) {
        let router = self.router.clone();
        self.runtime.block_on(async move {
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

    /// The path of the page of an action with these arguments, where they are taken.
    pub(crate) fn page_of(&self, args: Value, reason: Option<String>) -> Option<String> {
        let submission = Submission {
            tool: "pay".to_owned(),
            args,
            reason,
            labels: BTreeMap::new(),
            expires_in: None,
            request_key: None,
            not_before: None,
        };
        let submitted = self
            .runtime
            .block_on(self.engine.submit(&self.service, submission));
        match submitted.ok()? {
            Submitted::Action { action, .. } => Some(format!("/actions/{}", action.action.id)),
            Submitted::Answered(_) => None,
        }
    }
}
