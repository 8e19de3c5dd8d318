//! The program, with one key for the honest and one for the agent that floods.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};

use reqwest::Client;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde_json::{Value, json};
use tempfile::TempDir;

const PASSWORD: &str = "correct horse battery staple";

/// A running server; stopped when dropped.
pub(crate) struct Server {
    child: Child,
    pub(crate) address: SocketAddr,
    pub(crate) key: String,
    pub(crate) agent: String,
    /// How many file handles this process, and the server as much, may have.
    pub(crate) handles: usize,
    _folder: TempDir,
}

/// Raises the limit on file handles as far as it goes, for this process and its children.
fn raise_handles() -> usize {
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: limit.maximum,
        maximum: limit.maximum,
    };
    // Where it is not allowed, the limit is what it was.
    let current = match setrlimit(Resource::Nofile, raised) {
        Ok(()) => limit.maximum,
        Err(_) => limit.current,
    };
    current.map_or(usize::MAX, |handles| {
        usize::try_from(handles).unwrap_or(usize::MAX)
    })
}

impl Server {
    pub(crate) fn start() -> Self {
        let handles = raise_handles();
        let folder = tempfile::tempdir().expect("a folder");
        let write = |name: &str, text: &str| {
            fs::write(folder.path().join(name), text).expect("writable");
        };
        write("pw", PASSWORD);
        let tools = json!({ "tools": { "pay": {
            "safetyClass": "approval-bound",
            "input": { "type": "object", "required": ["amount"] },
        } } });
        write("holdpoint.json", &tools.to_string());
        let command = |args: &[&str]| {
            let mut command = Command::new(env!("CARGO_BIN_EXE_holdpoint"));
            command
                .args(args)
                .current_dir(folder.path())
                .env_clear()
                .env("HOME", folder.path())
                .stdin(Stdio::null());
            command
        };
        let run = |args: &[&str]| {
            let output = command(args).output().expect("the program starts");
            assert!(output.status.success(), "{output:?}");
            String::from_utf8(output.stdout)
                .expect("UTF-8")
                .trim()
                .to_owned()
        };
        let email = "olga@example.com";
        run(&[
            "user",
            "add",
            email,
            "--name",
            "Olga",
            "--role",
            "admin",
            "--password-file",
            "pw",
        ]);
        let make_key = |name: &str, kind: &str| {
            run(&[
                "key", "create", "--name", name, "--kind", kind, "--owner", email,
            ])
        };
        let (key, agent) = (make_key("honest", "service"), make_key("flood", "agent"));
        let log = fs::File::create(folder.path().join("server.log")).expect("a log");
        let mut child = command(&["serve", "--listen", "127.0.0.1:0"])
            .stdout(Stdio::piped())
            .stderr(log)
            .spawn()
            .expect("the program starts");
        let mut line = String::new();
        let stdout = child.stdout.take().expect("piped");
        BufReader::new(stdout).read_line(&mut line).expect("UTF-8");
        let address = line.trim().strip_prefix("listening on http://");
        let address = address.and_then(|text| text.parse().ok());
        Self {
            child,
            address: address.unwrap_or_else(|| panic!("it does not listen: {line}")),
            key,
            agent,
            handles,
            _folder: folder,
        }
    }

    pub(crate) fn process_id(&self) -> u32 {
        self.child.id()
    }

    /// The status and the answer.
    pub(crate) async fn get(&self, client: &Client, path: &str) -> (u16, Value) {
        let request = client
            .get(format!("http://{}{path}", self.address))
            .bearer_auth(&self.key);
        let answer = request.send().await.expect("an answer");
        let status = answer.status().as_u16();
        (status, read(answer).await)
    }

    /// Submits; none where the connection ended before an answer.
    pub(crate) async fn post(
        &self,
        client: &Client,
        headers: &[(&str, &str)],
        body: String,
    ) -> Option<(u16, Value)> {
        let mut request = client
            .post(format!("http://{}/v1/actions", self.address))
            .bearer_auth(&self.key)
            .header("content-type", "application/json")
            .body(body);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let answer = request.send().await.ok()?;
        let status = answer.status().as_u16();
        Some((status, read(answer).await))
    }
}

async fn read(answer: reqwest::Response) -> Value {
    let text = answer.text().await.unwrap_or_default();
    serde_json::from_str(&text).unwrap_or(Value::Null)
}

impl Drop for Server {
    fn drop(&mut self) {
        // Both fail only where it is gone already.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
