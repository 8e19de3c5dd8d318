//! A folder to run the program in, a server, and a shop to call.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use axum::extract::{Path as UrlPath, State};
use axum::http::HeaderMap;
use axum::routing::{get, post};
use axum::{Json, Router};
use serde_json::{Value, json};
use tempfile::TempDir;

/// A password that must not be seen anywhere.
pub(crate) const PASSWORD: &str = "canary-password-7f3a";

/// What a run of the program came to.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Run {
    /// Stdout, after checking that the exit code is 0.
    pub(crate) fn ok(self) -> String {
        self.code(0).out
    }

    /// The run, after checking its exit code.
    pub(crate) fn code(self, code: i32) -> Self {
        assert_eq!(
            self.code, code,
            "stdout: {}\nstderr: {}",
            self.out, self.err
        );
        self
    }

    /// Stdout as JSON.
    pub(crate) fn json(self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

/// A folder of its own, with nothing of the machine's environment.
pub(crate) struct Place {
    folder: TempDir,
}

impl Place {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        Self { folder }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).expect("writable");
    }

    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_holdpoint"));
        command
            .args(args)
            .current_dir(self.folder.path())
            .env_clear()
            .env("HOME", self.folder.path())
            .stdin(Stdio::null());
        command
    }

    pub(crate) fn run(&self, args: &[&str]) -> Run {
        self.run_with(args, &[])
    }

    pub(crate) fn run_with(&self, args: &[&str], env: &[(&str, &str)]) -> Run {
        let output = self
            .command(args)
            .envs(env.iter().copied())
            .output()
            .expect("the program starts");
        Run {
            code: output.status.code().expect("no signal"),
            out: String::from_utf8(output.stdout).expect("UTF-8"),
            err: String::from_utf8(output.stderr).expect("UTF-8"),
        }
    }

    /// Adds a person with [`PASSWORD`].
    pub(crate) fn add_person(&self, email: &str, role: &str) {
        self.write("pw", PASSWORD);
        self.run(&[
            "user",
            "add",
            email,
            "--name",
            email,
            "--role",
            role,
            "--password-file",
            "pw",
        ])
        .ok();
    }

    /// Makes a key of a service and leaves it in the file `key`.
    pub(crate) fn create_key(&self, owner: &str) -> String {
        let key = self
            .run(&[
                "key", "create", "--name", "svc", "--kind", "service", "--owner", owner,
            ])
            .ok();
        self.write("key", &key);
        key.trim().to_owned()
    }
}

/// A running server; stopped when dropped.
pub(crate) struct Server {
    pub(crate) child: Child,
    pub(crate) url: String,
    log: PathBuf,
}

impl Server {
    /// Starts `serve` on a free port of this machine; it logs as much as it can.
    pub(crate) fn start(place: &Place, args: &[&str]) -> Self {
        Self::start_in(place, args, &[])
    }

    /// The same in this environment.
    pub(crate) fn start_in(place: &Place, args: &[&str], env: &[(&str, &str)]) -> Self {
        let args = [&["--log", "trace"], args].concat();
        Self::try_start(place, &args, env).unwrap_or_else(|run| panic!("it did not start: {run:?}"))
    }

    /// Starts `serve`, or answers how it ended where it does not serve.
    pub(crate) fn try_start(
        place: &Place,
        args: &[&str],
        env: &[(&str, &str)],
    ) -> Result<Self, Run> {
        let log = place.path("server.log");
        let mut child = place.command(&["serve"]);
        if !args.contains(&"--listen") {
            child.args(["--listen", "127.0.0.1:0"]);
        }
        let mut child = child
            .args(args)
            .envs(env.iter().copied())
            .stdout(Stdio::piped())
            .stderr(fs::File::create(&log).expect("a log"))
            .spawn()
            .expect("the program starts");
        let mut line = String::new();
        let stdout = child.stdout.take().expect("piped");
        BufReader::new(stdout).read_line(&mut line).expect("UTF-8");
        if let Some(url) = line.trim().strip_prefix("listening on ") {
            let url = url.to_owned();
            return Ok(Self { child, url, log });
        }
        Err(Run {
            code: child.wait().expect("it ends").code().expect("no signal"),
            out: line,
            err: fs::read_to_string(&log).expect("a log"),
        })
    }

    /// Asks it to stop, waits, and answers its exit code and what it logged.
    pub(crate) fn stop(mut self) -> (Option<i32>, String) {
        let pid = self.child.id().to_string();
        let asked = Command::new("kill").args(["-TERM", &pid]).status();
        assert!(asked.expect("kill starts").success());
        let code = self.child.wait().expect("it ends").code();
        (code, self.logged())
    }

    /// What it has logged.
    pub(crate) fn logged(&self) -> String {
        fs::read_to_string(&self.log).expect("a log")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // After `stop` it has ended already.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// A shop with orders that can be refunded, on this machine.
#[derive(Clone)]
pub(crate) struct Shop {
    pub(crate) address: String,
    left: Arc<AtomicUsize>,
    refunds: Arc<Mutex<Vec<String>>>,
}

impl Shop {
    pub(crate) fn open() -> Self {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
        listener.set_nonblocking(true).expect("a socket");
        let shop = Self {
            address: format!("http://{}", listener.local_addr().expect("bound")),
            left: Arc::new(AtomicUsize::new(5000)),
            refunds: Arc::default(),
        };
        let router = Router::new()
            .route("/orders/{id}", get(order))
            .route("/refunds", post(refund))
            .with_state(shop.clone());
        std::thread::spawn(move || {
            tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .expect("a runtime")
                .block_on(async {
                    let listener = tokio::net::TcpListener::from_std(listener).expect("a socket");
                    axum::serve(listener, router).await.expect("serves");
                });
        });
        shop
    }

    /// Changes the order behind everybody's back.
    pub(crate) fn set_left(&self, left: usize) {
        self.left.store(left, Ordering::SeqCst);
    }

    /// The idempotency keys of the refunds that were made.
    pub(crate) fn refunds(&self) -> Vec<String> {
        self.refunds.lock().expect("not poisoned").clone()
    }

    /// A tools file with this shop behind it.
    pub(crate) fn tools(&self) -> String {
        json!({ "tools": { "issue_refund": {
            "safetyClass": "approval-bound",
            "summary": "Refund {amount} to order {order_id}",
            "idempotencyKey": "refund:{order_id}:{ref}",
            "state": {
                "http": { "get": format!("{}/orders/{{order_id}}", self.address) },
                "watch": ["/left"],
            },
            "execute": { "http": {
                "post": format!("{}/refunds", self.address),
                "json": { "order": "{order_id}", "amount": "{amount}" },
            } },
        } } })
        .to_string()
    }
}

async fn order(State(shop): State<Shop>, UrlPath(id): UrlPath<String>) -> Json<Value> {
    Json(json!({ "id": id, "left": shop.left.load(Ordering::SeqCst) }))
}

async fn refund(State(shop): State<Shop>, headers: HeaderMap, body: Json<Value>) -> Json<Value> {
    let key = headers.get("idempotency-key").map(|key| format!("{key:?}"));
    let mut refunds = shop.refunds.lock().expect("not poisoned");
    refunds.push(key.unwrap_or_default());
    Json(json!({ "refunded": body.0 }))
}

/// Every file below a folder.
pub(crate) fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            found.extend(files_below(&path));
        } else {
            found.push(path);
        }
    }
    found
}
