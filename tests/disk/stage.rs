//! The example's folder and shop, ready to be copied for each case, and the story that is told on it.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use holdpoint_storage::{EventLog as _, SledLog, SledOptions};
use serde_json::{Value, json};

use crate::client::{Client, FINAL, Failure, Reply, refund};
use crate::house;
use crate::library::{Disk, workshop};
use crate::program::Program;
use crate::setup::{self, Cast, Folder};
use crate::shop::{Order, Shop};

/// What is shortened in the example's tools, so that doubts end within a moment.
const SHORTER: [(&str, &str); 4] = [
    (r#""timeout": "5s""#, r#""timeout": "1s""#),
    (r#""requestLifetime": "1s""#, r#""requestLifetime": "10ms""#),
    (r#""settle": "200ms""#, r#""settle": "10ms""#),
    (r#""backoff": "1s..10s""#, r#""backoff": "10ms..50ms""#),
];
/// How long to wait before asking again.
const PAUSE: Duration = Duration::from_millis(10);
const PAUSES_MAX: u32 = 6000;

/// Where stories are told.
pub(crate) struct Stage {
    root: tempfile::TempDir,
    cast: Cast,
    /// The session of the approver.
    fiona: String,
    /// The session of the auditor.
    ada: String,
    pub(crate) shop: Shop,
    stories: u64,
}

/// One case: a folder of its own, and a story whose orders nobody else has.
pub(crate) struct Case {
    pub(crate) data: PathBuf,
    number: u64,
    /// The ids that were acknowledged.
    acknowledged: [Option<String>; 2],
    voted: bool,
}

impl Stage {
    /// A folder with people and keys, stopped cleanly, and a shop without idempotency.
    pub(crate) async fn open() -> Result<Self, Failure> {
        let root = workshop();
        let template = root.path().join("template");
        let folder = Folder::open(&template)?;
        let address = setup::free_address().await?;
        folder.write_tools(address)?;
        let mut tools = fs::read_to_string(folder.tools())?;
        for (long, short) in SHORTER {
            assert!(tools.contains(long), "the example's tools say {long}");
            tools = tools.replace(long, short);
        }
        fs::write(folder.tools(), tools)?;
        let shop = Shop::open(
            root.path().join("shop.json"),
            &folder.shop_token()?,
            Vec::new(),
        )?;
        shop.switches.forget_keys(true);
        let listener = tokio::net::TcpListener::bind(address).await?;
        tokio::spawn(shop.clone().serve(listener));
        let engine = house::open_engine(&folder).await?;
        let cast = folder.cast(engine.identity()).await?;
        engine.shutdown(Duration::from_mins(1)).await;
        drop(engine);
        let program = Program::start(&template, None)?.map_err(|ended| ended.said)?;
        let client = Client::new(&program.url)?;
        let fiona = client
            .sign_in(&cast.fiona.email, &cast.fiona.password)
            .await?;
        let ada = client.sign_in(&cast.ada.email, &cast.ada.password).await?;
        program.stop()?;
        Ok(Self {
            root,
            cast,
            fiona,
            ada,
            shop,
            stories: 0,
        })
    }

    /// A case on a copy of the template.
    pub(crate) fn case(&mut self) -> Result<Case, Failure> {
        self.stories += 1;
        let number = self.stories;
        let data = self.root.path().join(format!("case-{number}"));
        copy(&self.root.path().join("template"), &data)?;
        // Not a copy of the log that somebody has to confirm, but the log of this case.
        let log = SledLog::open(data.join("log"), &SledOptions::default())?;
        log.confirm_origin()?;
        drop(log);
        self.shop.ledger.change(|books| {
            for order in [number * 2, number * 2 + 1] {
                let order = order.to_string();
                let bought = Order::paid(&order, &customer(number), "A thing", 1000);
                books.orders.insert(order, bought);
            }
        })?;
        Ok(Case {
            data,
            number,
            acknowledged: [None, None],
            voted: false,
        })
    }

    /// Tells the story as far as the program lets it be told: a note, a refund, a vote, and waiting
    /// until both have an outcome. `Ok(Some(why))` is where it broke off.
    pub(crate) async fn tell(
        &self,
        case: &mut Case,
        program: &Program,
    ) -> Result<Option<String>, Failure> {
        let client = Client::new(&program.url)?;
        let (number, order) = (case.number, (case.number * 2 + 1).to_string());
        let note = json!({
            "tool": "order_note",
            "args": { "order_id": (number * 2).to_string(), "note_ref": "n1", "text": "Hello" },
        });
        let refund = refund(&order, &customer(number), 1000, "Sent back");
        let mut taken = Value::Null;
        for (place, body) in [note, refund].iter().enumerate() {
            let key = format!("story-{number}-{place}");
            let reply = client.submit(&self.cast.checkout_key, &key, body).await;
            taken = match broken(reply)? {
                Ok(reply) => reply.body,
                Err(why) => return Ok(Some(why)),
            };
            let id = taken["id"].as_str().unwrap_or_default().to_owned();
            let before = case.acknowledged[place].replace(id.clone());
            assert!(
                before.is_none_or(|before| before == id),
                "another action: {taken}"
            );
            assert_eq!(taken["args"], body["args"]);
        }
        let vote = client.vote(&self.fiona, &taken, "approve", None).await;
        match broken(vote)? {
            Ok(_) => case.voted = true,
            Err(why) => return Ok(Some(why)),
        }
        for id in case.acknowledged.iter().flatten() {
            let mut pauses = 0;
            loop {
                let path = format!("/v1/actions/{id}");
                let action = match broken(client.call(&self.ada, "GET", &path, None).await)? {
                    Ok(reply) => reply.body,
                    Err(why) => return Ok(Some(why)),
                };
                let status = action["status"].as_str().unwrap_or_default();
                if FINAL.contains(&status) {
                    break;
                }
                if let Err(why) = broken(client.send("GET", "/readyz", &[], None).await)? {
                    return Ok(Some(why));
                }
                pauses += 1;
                assert!(pauses < PAUSES_MAX, "it never ends: {action}");
                tokio::time::sleep(PAUSE).await;
            }
        }
        Ok(None)
    }

    /// After the story was told to its end: what was acknowledged is there, and each thing happened
    /// once.
    pub(crate) async fn check(&self, case: &Case, program: &Program) -> Result<(), Failure> {
        let client = Client::new(&program.url)?;
        for id in case.acknowledged.iter().flatten() {
            let action = client.wait_for(&self.ada, id, &FINAL).await?;
            assert_eq!(action["status"], "succeeded", "{action}");
            let key = action["idempotency_key"].as_str().unwrap_or_default();
            let books = self.shop.ledger.read();
            let calls = books.calls.get(key).copied().unwrap_or(0);
            assert_eq!(
                (calls, books.effects(key)),
                (1, 1),
                "calls and effects of {action}"
            );
        }
        Ok(())
    }

    /// How many complete calls the shop has had for the orders of a case.
    pub(crate) fn calls(&self, case: &Case) -> u64 {
        let orders = [case.number * 2, case.number * 2 + 1];
        let books = self.shop.ledger.read();
        let ours = books.calls.iter().filter(|(key, _)| {
            let mut parts = key.split(':');
            parts.any(|part| orders.iter().any(|order| part == order.to_string()))
        });
        ours.map(|(_, calls)| calls).sum()
    }

    /// Whether something new is taken. It must not be, where the store has stopped.
    pub(crate) async fn takes(&self, case: &Case, program: &Program) -> Result<bool, Failure> {
        let client = Client::new(&program.url)?;
        let order = (case.number * 2).to_string();
        let body = json!({
            "tool": "order_note",
            "args": { "order_id": order, "note_ref": "late", "text": "Late" },
        });
        let key = format!("late-{order}");
        let reply = client.submit(&self.cast.checkout_key, &key, &body).await;
        Ok(reply.is_ok_and(|reply| reply.is_ok()))
    }
}

impl Case {
    /// Watches the folder of its log.
    pub(crate) fn watch(&self) -> Disk {
        Disk::watch(&self.data.join("log"), &self.data.join("trace"))
    }

    /// Whether anything was acknowledged, and the vote.
    pub(crate) fn acknowledged(&self) -> usize {
        self.acknowledged.iter().flatten().count() + usize::from(self.voted)
    }

    pub(crate) fn remove(self) -> Result<(), Failure> {
        Ok(fs::remove_dir_all(self.data)?)
    }
}

/// An answer, or why the program cannot go on; an error where it refused for another reason.
fn broken(reply: Result<Reply, Failure>) -> Result<Result<Reply, String>, Failure> {
    match reply {
        Err(error) => Ok(Err(error.to_string())),
        Ok(reply) if reply.status >= 500 => Ok(Err(format!("{}: {}", reply.status, reply.body))),
        Ok(reply) if reply.is_ok() => Ok(Ok(reply)),
        Ok(reply) if ["already_voted", "already_decided"].contains(&reply.text("/code")) => {
            Ok(Ok(reply))
        }
        Ok(reply) => Err(format!("answered with {}: {}", reply.status, reply.body).into()),
    }
}

fn customer(number: u64) -> String {
    format!("cus_{number}")
}

/// Copies a folder, without the room that is set aside in it.
fn copy(from: &Path, to: &Path) -> Result<(), Failure> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let path = entry?.path();
        let place = to.join(path.file_name().unwrap_or_default());
        if path.is_dir() {
            copy(&path, &place)?;
        } else if !path.ends_with("reserve") {
            fs::copy(&path, place)?;
        }
    }
    Ok(())
}
