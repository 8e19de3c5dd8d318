//! A house with people, a tool and an engine, and browsers to walk through its pages.

use std::collections::BTreeSet;
use std::sync::Arc;

use axum::Router;
use axum::body::{Body, to_bytes};
use holdpoint_engine::action::{ActionId, PrincipalKind};
use holdpoint_engine::engine::{
    ClaimWish, Engine, Options, Submission, Submitted, WebhookOptions, WorkOutcome,
};
use holdpoint_engine::identity::{NewKey, NewPerson, Role, Secret};
use holdpoint_engine::run::{Flags, Inputs, NewOrigin, NewRun, RunId, RunStatus};
use holdpoint_engine::target::{LocalCall, Locals};
use holdpoint_engine::time::SystemEntropy;
use holdpoint_engine::tool::{Format, ToolsFile};
use holdpoint_engine::webhook::SigningKey;
use holdpoint_storage::MemoryLog;
use http::header::{CONTENT_TYPE, COOKIE, LOCATION, SET_COOKIE};
use http::{Request, StatusCode};
use serde_json::json;
use tower::ServiceExt as _;

use super::query;
use crate::state::{AppState, WebConfig};

const TOOLS: &str = r#"{ "tools": { "issue_refund": {
    "safetyClass": "approval-bound",
    "summary": "Refund {amount_minor|money:currency} to order {order_id}",
    "idempotencyKey": "refund:{order_id}",
    "approval": { "required": 1, "groups": ["finance"], "hold": "1h" } },
  "read_balance": { "safetyClass": "idempotent", "execute": { "local": "balance" } },
  "close_account": { "safetyClass": "irreversible", "summary": "Close account {id}" } } }"#;
pub(super) const PASSWORD: &str = "correct horse battery";

/// A browser with its cookies.
pub(super) struct Browser {
    pub(super) router: Router,
    pub(super) cookies: Vec<(String, String)>,
}

pub(super) struct Page {
    pub(super) status: StatusCode,
    pub(super) location: String,
    pub(super) text: String,
}

impl Browser {
    pub(super) async fn send(&mut self, method: &str, path: &str, body: &str) -> Page {
        let cookies: Vec<_> = self
            .cookies
            .iter()
            .map(|(k, v)| format!("{k}={v}"))
            .collect();
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header("accept", "text/html")
            .header("sec-fetch-site", "same-origin")
            .header(CONTENT_TYPE, "application/x-www-form-urlencoded")
            .header(COOKIE, cookies.join("; "))
            .body(Body::from(body.to_owned()))
            .expect("a request");
        let response = self
            .router
            .clone()
            .oneshot(request)
            .await
            .expect("an answer");
        for cookie in response.headers().get_all(SET_COOKIE) {
            let cookie = cookie.to_str().expect("ascii");
            let (name, rest) = cookie.split_once('=').expect("a name");
            let value = rest.split(';').next().expect("a value");
            self.cookies.retain(|(known, _)| known != name);
            if !value.is_empty() {
                self.cookies.push((name.to_owned(), value.to_owned()));
            }
        }
        let header = |name| response.headers().get(name).and_then(|it| it.to_str().ok());
        let (status, location) = (response.status(), header(LOCATION).unwrap_or("").to_owned());
        let bytes = to_bytes(response.into_body(), 4_000_000)
            .await
            .expect("a body");
        let text = String::from_utf8(bytes.to_vec()).expect("UTF-8");
        let marked_up = attributes_with_markup(&text);
        assert!(marked_up.is_empty(), "{path}: {marked_up:?}");
        Page {
            status,
            location,
            text,
        }
    }

    pub(super) async fn get(&mut self, path: &str) -> Page {
        self.send("GET", path, "").await
    }

    pub(super) async fn sign_in(&mut self, email: &str, password: &str) -> Page {
        let form = query::join(&[
            ("email", email),
            ("password", password),
            ("return", "/queue"),
        ]);
        self.send("POST", "/sign-in", &form).await
    }
}

/// The starts of tags in which an attribute holds a tag: it would be read out, and end the attribute early.
fn attributes_with_markup(page: &str) -> Vec<&str> {
    let tags = page.match_indices('<').filter_map(|(at, _)| {
        let tag = &page[at..];
        // Up to the end of the tag: a `>` outside of quotes.
        let mut is_quoted = false;
        let end = tag.char_indices().skip(1).find(|(_, c)| match c {
            '"' => {
                is_quoted = !is_quoted;
                false
            }
            '<' => true,
            '>' => !is_quoted,
            _ => false,
        });
        let (end, stop) = end?;
        (stop == '<' && tag[..end].contains("=\"")).then(|| &tag[..end])
    });
    tags.collect()
}

pub(super) struct House {
    pub(super) log: Arc<MemoryLog>,
    pub(super) engine: Engine,
    pub(super) router: Router,
}

impl House {
    pub(super) async fn new() -> Self {
        let house = Self::on(Arc::new(MemoryLog::new())).await;
        house.people().await;
        house
    }

    /// A house on a log that others lived on before.
    pub(super) async fn on(log: Arc<MemoryLog>) -> Self {
        let file = ToolsFile::from_str(TOOLS, Format::Json).expect("a tools file");
        let locals = Locals::default().with("balance", |call: LocalCall| async move {
            Ok(json!({ "balance": 5, "said": call.args["say"] }))
        });
        let options = Options {
            locals,
            webhooks: WebhookOptions {
                key: Ok(SigningKey::random(&SystemEntropy).expect("random bytes")),
                ..WebhookOptions::default()
            },
            ..Options::default()
        };
        let engine = Engine::open(log.clone(), Arc::new(file.registry), options)
            .await
            .expect("an engine");
        let router =
            crate::server::router(AppState::new(engine.clone(), WebConfig::default(), None));
        Self {
            log,
            engine,
            router,
        }
    }

    async fn people(&self) {
        let engine = &self.engine;
        for (name, groups) in [
            ("ada", vec!["finance"]),
            ("bob", vec!["finance"]),
            ("olga", vec![]),
            ("oscar", vec![]),
            ("root", vec![]),
            ("rita", vec![]),
            ("alma", vec![]),
        ] {
            let role = match name {
                "oscar" => Role::Operator,
                "root" => Role::Admin,
                "rita" => Role::Requester,
                "alma" => Role::Auditor,
                _ => Role::Approver,
            };
            let new = NewPerson {
                email: format!("{name}@example.com"),
                name: name.to_owned(),
                roles: BTreeSet::from([role]),
                groups: groups.into_iter().map(str::to_owned).collect(),
                password: Some(Secret::new(PASSWORD)),
                ..NewPerson::default()
            };
            engine
                .identity()
                .create_person("test", new)
                .await
                .expect("a person");
        }
    }

    /// A run that rita starts, once it stands so.
    pub(super) async fn run(&self, text: &str, stage: bool, status: RunStatus) -> RunId {
        let identity = self.engine.identity();
        let rita = identity.person_by_email("rita@example.com").expect("rita");
        let rita = identity.principal(&rita.id).expect("enabled");
        let new = NewRun {
            what: NewOrigin::Skill {
                text: text.to_owned(),
                inputs: Inputs::Values(Vec::new()),
                ignore_manifest: false,
            },
            flags: Flags {
                stage,
                ..Flags::default()
            },
            unattended: true,
            schedule: None,
            continues: None,
        };
        let run = self.engine.start_run(&rita, new).await.expect("a run");
        self.until(run.id, status).await;
        run.id
    }

    /// Waits until a run stands so.
    pub(super) async fn until(&self, id: RunId, status: RunStatus) {
        let identity = self.engine.identity();
        let ada = identity.person_by_email("ada@example.com").expect("ada");
        let ada = identity.principal(&ada.id).expect("enabled");
        let mut run = self.engine.run(&ada, id).expect("the run");
        while run.status() != status {
            let known = run.events;
            let wait = std::time::Duration::from_secs(30);
            let moved = self.engine.wait_run(&ada, id, known, wait).await;
            run = moved.expect("the run");
            assert_ne!(run.events, known, "it stays so: {run:?}");
        }
    }

    pub(super) fn browser(&self) -> Browser {
        Browser {
            router: self.router.clone(),
            cookies: Vec::new(),
        }
    }

    pub(super) async fn signed_in(&self, name: &str) -> Browser {
        let mut browser = self.browser();
        let page = browser
            .sign_in(&format!("{name}@example.com"), PASSWORD)
            .await;
        assert_eq!(page.location, "/queue", "{}", page.text);
        browser
    }

    /// A call that olga asked for, and whose worker does not know what became of it.
    pub(super) async fn doubt(&self) -> ActionId {
        let identity = self.engine.identity();
        let owner = identity.person_by_email("olga@example.com").expect("olga");
        let new = NewKey {
            name: "worker".into(),
            kind: PrincipalKind::Service,
            owner: owner.id,
            scopes: BTreeSet::from(["work:*".to_owned()]),
            attributes: std::collections::BTreeMap::new(),
            expires_at: None,
        };
        let (_, key) = identity.create_key("test", new).await.expect("a key");
        let by = identity.authenticate_key(key.expose()).await;
        let by = by.expect("the key");
        let submission = Submission {
            tool: "close_account".into(),
            args: json!({ "id": "77" }),
            reason: None,
            labels: std::collections::BTreeMap::new(),
            expires_in: None,
            not_before: None,
            request_key: None,
        };
        let submitted = self.engine.submit(&by, submission).await;
        assert!(submitted.is_ok(), "{submitted:?}");
        let wish = ClaimWish {
            tools: vec!["close_account".to_owned()],
            lease: None,
            wait: std::time::Duration::from_secs(10),
            request_key: None,
        };
        let work = self.engine.claim(&by, wish).await.expect("a claim");
        let work = work.expect("work");
        let outcome = WorkOutcome::Unknown("the line <b>broke</b>".to_owned());
        let done = self
            .engine
            .complete(&by, work.id, work.epoch, outcome)
            .await;
        done.expect("reported").action.id
    }

    /// A refund that an agent of olga's asks for.
    pub(super) async fn refund(&self) -> ActionId {
        let identity = self.engine.identity();
        let owner = identity.person_by_email("olga@example.com").expect("olga");
        let new = NewKey {
            name: "support-bot".into(),
            kind: PrincipalKind::Agent,
            owner: owner.id,
            scopes: BTreeSet::new(),
            attributes: std::collections::BTreeMap::new(),
            expires_at: None,
        };
        let (_, key) = identity.create_key("test", new).await.expect("a key");
        let by = identity
            .authenticate_key(key.expose())
            .await
            .expect("the key");
        let submission = Submission {
            tool: "issue_refund".into(),
            args: json!({ "order_id": "8812", "amount_minor": 4800, "currency": "EUR" }),
            reason: Some("Wrong size.".into()),
            labels: std::collections::BTreeMap::new(),
            expires_in: None,
            not_before: None,
            request_key: None,
        };
        match self
            .engine
            .submit(&by, submission)
            .await
            .expect("an action")
        {
            Submitted::Action { action, .. } => action.action.id,
            Submitted::Answered(_) => panic!("a refund is staged"),
        }
    }
}

/// The hidden fields of a form of a page, as its button would send them.
pub(super) fn fields(page: &str, form: &str) -> Vec<(String, String)> {
    let start = page.find(&format!("id=\"{form}\"")).expect("the form");
    let form = page[start..].split("</form>").next().expect("its end");
    let attribute = |tag: &str, name: &str| {
        let rest = tag
            .split(&format!(" {name}=\""))
            .nth(1)
            .expect("an attribute");
        rest.split('"').next().expect("a quote").to_owned()
    };
    form.split("<input type=\"hidden\"")
        .skip(1)
        .map(|tag| (attribute(tag, "name"), attribute(tag, "value")))
        .collect()
}

pub(super) fn body(fields: &[(String, String)], reason: &str) -> String {
    let mut pairs: Vec<_> = fields
        .iter()
        .map(|(k, v)| (k.as_str(), v.as_str()))
        .collect();
    pairs.push(("reason", reason));
    query::join(&pairs)
}
