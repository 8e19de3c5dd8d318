//! A folder with an owner, a key and a tool, and somebody who submits.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::client::{Client, Failure, Reply};
use crate::support::{Place, Run, Server};

/// Who answers for the key.
pub(crate) const OWNER: &str = "ada@example.com";

/// A data folder called `data`, and everything to use it with.
pub(crate) struct Desk {
    pub(crate) place: Place,
    key: String,
}

impl Desk {
    pub(crate) fn open() -> Self {
        let place = Place::new();
        let tools = json!({
            "server": { "data": "data" },
            "tools": { "pay": { "safetyClass": "approval-bound" } },
        });
        place.write("holdpoint.json", &tools.to_string());
        place.add_person(OWNER, "admin");
        let key = place.create_key(OWNER);
        Self { place, key }
    }

    /// Serves a folder, which must work.
    pub(crate) fn serve(&self, data: &str) -> Server {
        self.try_serve(data)
            .unwrap_or_else(|run| panic!("it did not start: {run:?}"))
    }

    /// Serves a folder, or says why not.
    pub(crate) fn try_serve(&self, data: &str) -> Result<Server, Run> {
        Server::try_start(&self.place, &["--data", data], &[])
    }

    /// Serves a copy of a folder for the first time, or says why not.
    pub(crate) fn try_serve_copy(&self, data: &str) -> Result<Server, Run> {
        Server::try_start(&self.place, &["--data", data, "--confirm-restore"], &[])
    }

    /// Proposes a payment of some size.
    pub(crate) async fn propose(&self, server: &Server, note: &str) -> Result<Reply, Failure> {
        let body = json!({ "tool": "pay", "args": { "note": note, "text": "x".repeat(60_000) } });
        let client = Client::new(&server.url)?;
        client
            .call(&self.key, "POST", "/v1/actions", Some(&body))
            .await
    }

    /// Proposes a payment that must be taken; its id.
    pub(crate) async fn submit(&self, server: &Server, note: &str) -> Result<String, Failure> {
        let reply = self.propose(server, note).await?;
        Ok(reply.expect_ok("a payment")?.text("/id").to_owned())
    }

    /// Proposes until it is refused; the ids of what was taken, and the refusal.
    pub(crate) async fn load(
        &self,
        server: &Server,
        clerk: u32,
        most: u32,
    ) -> Result<(Vec<String>, Reply), Failure> {
        let mut accepted = Vec::new();
        for number in 0..most {
            let reply = self.propose(server, &format!("{clerk}-{number}")).await?;
            if !reply.is_ok() {
                return Ok((accepted, reply));
            }
            accepted.push(reply.text("/id").to_owned());
        }
        Err(format!("{most} payments were taken and the disk is not full").into())
    }

    /// Reads an action.
    pub(crate) async fn read(&self, server: &Server, id: &str) -> Result<Reply, Failure> {
        let client = Client::new(&server.url)?;
        let path = format!("/v1/actions/{id}");
        client.call(&self.key, "GET", &path, None).await
    }

    /// Checks that none of them is gone: it is there, or the store says that it cannot read now.
    pub(crate) async fn none_gone(&self, server: &Server, ids: &[String]) -> Result<(), Failure> {
        for id in ids {
            let reply = self.read(server, id).await?;
            let told = reply.status == 503 && reply.text("/code") == "storage_unavailable";
            assert!(reply.status == 200 || told, "{id} gave {reply:?}");
        }
        Ok(())
    }

    /// Checks that every one of them is there, whole.
    pub(crate) async fn all_there(&self, server: &Server, ids: &[String]) -> Result<(), Failure> {
        for id in ids {
            let reply = self.read(server, id).await?;
            assert!(reply.is_ok(), "{id} gave {reply:?}: {}", server.logged());
            let text = reply.body.pointer("/args/text").and_then(Value::as_str);
            assert_eq!(text.map(str::len), Some(60_000), "{id}");
        }
        Ok(())
    }
}

/// Copies a folder.
pub(crate) fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("creates");
    for entry in fs::read_dir(from).expect("lists") {
        let entry = entry.expect("lists");
        let target = to.join(entry.file_name());
        if entry.file_type().expect("a type").is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).expect("copies");
        }
    }
}
